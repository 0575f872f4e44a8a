"""A trace as a stream of requests: opened, checked row by row, never held whole."""

from __future__ import annotations

import math
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from blockmark.workload.errors import ConfigError

from .fields import CsvRows, FieldError, JsonRows, Rows, ids, tokens
from .format import SECOND, Format
from .hashes import split_or_merge
from .known import find_format, named_format
from .lines import DamagedFileError, Lines
from .request import Request
from .stamps import to_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[int, int, str], None]

_ROWS_A_LOOK = 1024  # rows between two looks at how far the file is
_SHOWN_STEPS = 200  # calls of `progress` for a whole file
_LAST_SECOND = 1e11  # no stamp lies further from another


class Trace:
    """The requests of one file, in its order; may be iterated again and again.

    Memory does not grow with the file: a pass over 1.4 million rows of CSV (59 MB, 4 s)
    has a peak of 0.5 MB on Python's heap, one over gzip JSON lines of 1.0 MB (buffers,
    one row and one request).

    Stamps that go back are taken as the latest one before them (a request then arrives
    together with the one in front of it), so arrivals never decrease; equal stamps stay
    in the order of the file. A request without prompt or output tokens is left out.

    Counted while iterating, from zero each time: `rows` read, `requests` given out,
    `skipped` (reason -> rows), `out_of_order` rows and `furthest_back_s`, how far the
    worst of them went back; `equal_stamps`, rows with the stamp of the one before;
    `repeated_ids`, requests in which a hash id comes twice; `odd_id_counts`, requests
    whose ids are more or fewer than their blocks.
    """

    def __init__(
        self,
        path: str,
        form: Format,
        *,
        limit: int | None,
        window: tuple[float, float] | None,
        speedup: float,
        progress: Progress | None,
    ) -> None:
        self.path = path
        self.form = form
        self.limit = limit
        self.window = window
        self.speedup = speedup
        self._progress = progress
        self.ignored: tuple[str, ...] = ()
        self._reset()

    def _reset(self) -> None:
        self.rows = 0
        self.requests = 0
        self.skipped: dict[str, int] = {}
        self.out_of_order = 0
        self.furthest_back_s = 0.0
        self.equal_stamps = 0
        self.repeated_ids = 0
        self.odd_id_counts = 0

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.form.name

    @property
    def has_arrivals(self) -> bool:
        """Whether requests have an `arrival_s`."""
        return self.form.arrival is not None

    @property
    def hash_block(self) -> int:
        """Tokens that one hash id stands for; 0 if the trace has none."""
        return self.form.hash_block

    def check_block_size(self, block_size: int) -> None:
        """Raises ConfigError where blocks of this size can't be had from its hash ids."""
        if self.hash_block:
            try:
                split_or_merge(self.hash_block, block_size)
            except ConfigError as error:
                raise ConfigError(f"{self.path}: {error}") from None

    def __iter__(self) -> Iterator[Request]:
        """Read the file. Raises ConfigError for a row that can't be read, by line and field,
        for a file that breaks off, and at the end if no row was of use; every good row
        before that has been given out by then.
        """
        self._reset()
        with Lines(self.path) as lines:
            try:
                yield from self._requests(lines)
            except DamagedFileError as error:
                raise ConfigError(self._broken_off(error)) from None
            if self._progress is not None:
                self._progress(lines.size, lines.size, "")
        if not self.requests:
            raise ConfigError(f"{self.path}: {self._why_nothing()}")

    def _requests(self, lines: Lines) -> Iterator[Request]:
        source = iter(lines)
        rows: Rows
        if self.form.kind == "csv":
            rows = CsvRows(self.path, next(source)[1], self.form)
        else:
            rows = JsonRows(self.form)
        clock = _Clock(self)
        shown = 0
        for number, text in source:
            try:
                request = self._request(rows.fields(text), clock)
            except FieldError as error:
                raise ConfigError(f"{self.path}: line {number:,}: {error}") from None
            if len(rows.ignored) != len(self.ignored):
                self.ignored = tuple(rows.ignored)
            if request is not None:
                self.requests += 1
                yield request
                if self.requests == self.limit:
                    return
            elif clock.over:
                return
            if self._progress is not None and self.rows % _ROWS_A_LOOK == 0:
                step = lines.position * _SHOWN_STEPS // max(1, lines.size)
                if step > shown:
                    shown = step
                    self._progress(lines.position, lines.size, "")

    def _request(self, fields: tuple[Any, ...], clock: _Clock) -> Request | None:
        """The request of a row; None if it is left out, or behind the window."""
        form = self.form
        stamp = 0
        if form.arrival is not None:
            stamp = _parsed(form.arrival, to_ns, fields[0], form.unit_ns)
        prompt = _parsed(form.prompt, tokens, fields[1])
        output = _parsed(form.output, tokens, fields[2])
        found = () if form.hash_ids is None else _parsed(form.hash_ids, ids, fields[3])
        self.rows += 1
        clock.start(stamp)
        if not (prompt and output):
            reason = "no output tokens" if prompt else "no prompt tokens" if output else "no tokens"
            self._skip(reason)
            return None
        arrival = None
        if form.arrival is not None:
            arrival = clock.arrival(stamp)
            if arrival < 0:
                self._skip("before the window")
                return None
            if clock.over:
                self.rows -= 1  # the first one behind the window was only looked at
                return None
        if form.hash_block:
            self._look_at_ids(prompt, found)
        return Request(arrival, prompt, output, found, form.hash_block)

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _look_at_ids(self, prompt: int, found: tuple[int, ...]) -> None:
        if len(set(found)) < len(found):
            self.repeated_ids += 1
        # With an id for the unfilled last block or without, both are met.
        if not 0 <= len(found) - prompt // self.hash_block <= bool(prompt % self.hash_block):
            self.odd_id_counts += 1

    def _broken_off(self, error: DamagedFileError) -> str:
        mend = "fetch the file again"
        if self.requests:
            mend += f", or take what is there with a limit of {self.requests}"
        return f"{self.path}: {error} after {self.rows:,} rows, which were read; {mend}"

    def _why_nothing(self) -> str:
        if not self.rows:
            return "has no rows" if self.window is None else "has no rows in the window"
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.skipped.items())
        return f"none of its {self.rows:,} rows can be used ({reasons})"

    def oddities(self) -> list[str]:
        """What a reader should be told of the last iteration; a sentence each."""
        told = []
        for reason, count in self.skipped.items():
            told.append(f"{count:,} of {self.rows:,} rows left out: {reason}.")
        if count := self.out_of_order:
            told.append(
                f"{count:,} {_have('row', count)} an earlier time than the row before (by up to "
                f"{self.furthest_back_s:,.6g} s); taken to arrive together with it."
            )
        if count := self.equal_stamps:
            told.append(
                f"{count:,} {_have('row', count)} the time of the row before; order as in the file."
            )
        if count := self.repeated_ids:
            told.append(f"{count:,} {_have('request', count)} the same hash id more than once.")
        if count := self.odd_id_counts:
            told.append(
                f"{count:,} {_have('request', count)} more or fewer hash ids than blocks of "
                f"{self.hash_block} tokens."
            )
        if self.ignored:
            names = ", ".join(ascii(name)[1:-1][:40] for name in self.ignored)
            told.append(f"Columns that are not known and were ignored: {names}.")
        return told


class _Clock:
    """Times of one pass over a trace, from stamps that may go back."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        window = trace.window or (0.0, math.inf)
        self._start = round(window[0] * SECOND)
        self._end = None if window[1] > _LAST_SECOND else round(window[1] * SECOND)
        self._origin: int | None = None
        self._latest: int | None = None
        self.over = False

    def start(self, stamp: int) -> None:
        """Count from this stamp, if it is the first."""
        if self._origin is None:
            self._origin = stamp

    def arrival(self, stamp: int) -> float:
        """Seconds since the start of the window (below 0: not there yet), sped up.

        Sets `over` when the window has ended.
        """
        assert self._origin is not None
        trace = self._trace
        latest = self._origin if self._latest is None else self._latest
        if stamp < latest:
            trace.out_of_order += 1
            trace.furthest_back_s = max(trace.furthest_back_s, (latest - stamp) / SECOND)
            stamp = latest
        elif stamp == self._latest:
            trace.equal_stamps += 1
        self._latest = stamp
        since = stamp - self._origin
        self.over = self._end is not None and since >= self._end
        return (since - self._start) / SECOND / trace.speedup


def _have(noun: str, count: int) -> str:
    return f"{noun} has" if count == 1 else f"{noun}s have"


def _parsed(field: str, parse: Callable[..., Any], *values: Any) -> Any:
    try:
        return parse(*values)
    except ValueError as error:
        raise FieldError(field, str(error)) from None


def open_trace(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    limit: int | None = None,
    window: tuple[float, float] | None = None,
    speedup: float = 1.0,
    progress: Progress | None = None,
) -> Trace:
    """Open a trace, plain or gzip, in the format that its first line shows or `format` names.

    `limit`: requests at most. `window`: only requests from `start` to before `end`, in
    seconds of the trace's own clock since its first row (before `speedup`); arrivals
    then count from `start`. `speedup` divides arrivals. `progress` is called with
    (bytes read, bytes of the file, "") about 200 times a pass.

    Raises ConfigError where the file cannot be read, is empty or in no known format, or
    an option makes no sense for it; rows are checked while iterating.
    """
    name = fspath(path)
    if format is not None:
        named_format(format)  # a wrong name is told before the file is looked at
    if limit is not None and limit < 1:
        raise ConfigError(f"a limit of {limit} requests leaves nothing of the trace; use 1 or more")
    if not 1e-6 <= speedup <= 1e9:
        raise ConfigError(
            f"a trace can't be sped up by {speedup:g}; use a number between 1e-06 and 1e+09"
        )
    if window is not None and not 0 <= window[0] < min(window[1], _LAST_SECOND):
        raise ConfigError(
            f"a window from {window[0]:g} s to {window[1]:g} s holds nothing; "
            "give a start of 0 or more and an end behind it"
        )
    with Lines(name) as lines:
        try:
            first = next(iter(lines), None)
        except DamagedFileError as error:
            raise ConfigError(f"{name}: {error} before its first row; fetch it again") from None
    if first is None:
        raise ConfigError(f"{name}: is empty; a trace has a header or a record in its first line")
    form = find_format(name, first[1], format)
    if form.kind == "csv":
        CsvRows(name, first[1], form)
    if form.arrival is None and (window is not None or speedup != 1.0):
        what = "a window" if window is not None else "a speed-up"
        raise ConfigError(f"{name}: has no arrival times, so {what} has no meaning; leave it out")
    return Trace(name, form, limit=limit, window=window, speedup=speedup, progress=progress)
