"""Hot functions and hot lines on the screen.

Numbers stand in front, since names of functions have no good width: what does not fit
behind the numbers goes on below, and a line of source is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO

from blockmark import __version__
from blockmark.report.console import Screen
from blockmark.report.facts.numbers import ABSENT
from blockmark.report.tables.layout import cell_width, wrap
from blockmark.runs.profile import HotFunction, HotLine, Profile, ProfiledReplay

_GAP = 2
_LEAST_TEXT = 24
_EVENTS = {
    "l1d_misses": "L1D misses",
    "ll_misses": "last-level misses",
    "branch_misses": "branch misses",
}
_LOOPS = {
    "native": "native loop",
    "per-op": "called from Python, once per operation",
    "per-step": "called from Python, once per step",
}


def print_profile(
    replay: ProfiledReplay,
    *,
    top: int = 15,
    files: Iterable[str] = (),
    stream: IO[str] | None = None,
    width: int | None = None,
) -> None:
    """Print what was profiled, its `top` functions and lines, and where the `files` are.

    `stream` and `width` as for `print_run`.
    """
    screen = Screen.of(stream, width)
    profile = replay.profile
    screen.say(
        f"blockmark {__version__}  profile of {replay.implementation}, {replay.model} in "
        f"{replay.scenario}",
        "head",
    )
    screen.say(f"{_load(replay.params)}; {_LOOPS.get(replay.call_style, replay.call_style)}.")
    screen.say(f"By {replay.tool}: {_weight(replay)}.")
    if further := _further(profile):
        screen.say(f"In them {further}; simulated, not measured.")
    for note in replay.notes:
        screen.say(note)
    _print(screen, _functions(profile, top))
    if any(each.cycle for each in profile.functions[:top]):
        screen.say("*: functions that call each other; the total is that of all of them.")
    _print(screen, _lines(profile, top))
    screen.blank()
    for file in files:
        # Whole, so that it can be copied.
        screen.line(((screen.printable(file), "plain"),))


def _load(params: Mapping[str, object]) -> str:
    size = params.get("block_size")
    return (
        f"{params.get('total_blocks'):,} blocks x {size:,} token{'' if size == 1 else 's'}, "
        f"concurrency {params.get('concurrency'):,}, heap {params.get('heap')}, "
        f"pool {params.get('pool')}, seed {params.get('seed')}"
    )


def _weight(replay: ProfiledReplay) -> str:
    text = (
        f"{replay.profile.total:,} {replay.profile.unit} in {replay.steps:,} "
        f"step{'' if replay.steps == 1 else 's'} ({replay.operations:,} operations)"
    )
    if replay.profile.exact:
        text += f", {replay.profile.total / max(1, replay.operations):.1f} an operation"
    return text


def _further(profile: Profile) -> str:
    parts = [
        f"{count:,} {_EVENTS[name]}" for name, count in profile.events.items() if name in _EVENTS
    ]
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A table: titles of the number columns, the title of the text, and the rows."""

    titles: tuple[str, ...]
    text: str
    rows: tuple[tuple[tuple[str, ...], str, str], ...]  # numbers, name, what stands after it
    cut: bool  # whether the text after the name may be cut


def _functions(profile: Profile, top: int) -> _Rows:
    shown = [each for each in profile.functions if each.own][:top]
    with_calls = any(each.calls is not None for each in shown)
    titles = ["self %", "total %"]
    titles += ["calls"] * with_calls
    misses = _miss_column(profile)
    titles += misses
    rows: list[tuple[tuple[str, ...], str, str]] = []
    for each in shown:
        mark = "*" if each.cycle else ""
        numbers = [_share(each.own, profile.total), _share(each.total, profile.total) + mark]
        if with_calls:
            numbers.append(ABSENT if each.calls is None else f"{each.calls:,}")
        numbers += _misses(each, profile)
        rows.append((tuple(numbers), each.name, _place(each)))
    return _Rows(tuple(titles), "function", tuple(rows), cut=False)


def _lines(profile: Profile, top: int) -> _Rows:
    misses = _miss_column(profile)
    rows: list[tuple[tuple[str, ...], str, str]] = []
    for each in profile.lines[:top]:
        numbers = [_share(each.own, profile.total)]
        numbers += _misses(each, profile)
        rows.append((tuple(numbers), _place(each) or "no line known", each.text))
    return _Rows(("self %", *misses), "line", tuple(rows), cut=True)


def _miss_column(profile: Profile) -> list[str]:
    return ["L1D miss %"] if profile.events.get("l1d_misses") else []


def _misses(each: HotFunction | HotLine, profile: Profile) -> list[str]:
    """The share of all misses, where that column is."""
    whole = profile.events.get("l1d_misses", 0)
    return [_share(each.events["l1d_misses"], whole)] if whole else []


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else ABSENT


def _place(each: HotFunction | HotLine) -> str:
    """`tables/vector.hpp:41`: the file with its folder, which is enough to find it."""
    if not each.file:
        return ""
    short = "/".join(PurePath(each.file).parts[-2:]).removeprefix("/")
    return f"{short}:{each.line}" if each.line else short


def _print(screen: Screen, table: _Rows) -> None:
    if not table.rows:
        return
    columns = [table.titles, *(numbers for numbers, _, _ in table.rows)]
    widths = [max(map(len, texts)) for texts in zip(*columns, strict=True)]
    indent = sum(widths) + _GAP * len(widths)
    room = screen.width - indent
    screen.blank()
    # Too narrow for both: the numbers get a line, and the names the ones below.
    narrow = room < _LEAST_TEXT
    if narrow:
        indent, room = _GAP, screen.width - _GAP
    title = _right(table.titles, widths)
    screen.line(((title.rstrip() if narrow else title + table.text, "head"),))
    for numbers, name, after in table.rows:
        lead = _right(numbers, widths)
        texts = _texts(screen.printable(name), screen.printable(after), room, table.cut)
        if narrow:
            screen.line(((lead.rstrip(), "plain"),))
        else:
            screen.line(((lead, "plain"), (texts.pop(0), "name")))
        for line in texts:
            screen.line(((" " * indent + line, "name"),))


def _right(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(
        text.rjust(width) + " " * _GAP for text, width in zip(texts, widths, strict=True)
    )


def _texts(name: str, after: str, room: int, cut: bool) -> list[str]:
    """A name and what stands after it, in lines that fit."""
    room = max(room, 1)
    joined = f"{name}  {after}" if after else name
    if cell_width(joined) <= room:
        return [joined]
    if cut:
        rest = room - cell_width(name) - _GAP
        if rest > len("...") + 8:
            return [f"{name}  {_cut(after, rest)}"]
        return [*wrap(name, room), *([_cut(after, room)] if after else [])]
    return [*wrap(name, room), *(wrap(after, room) if after else [])]


def _cut(text: str, room: int) -> str:
    if cell_width(text) <= room:
        return text
    while text and cell_width(text) > room - 3:
        text = text[:-1]
    return f"{text}..."
