"""What a real-time loop at the step rate showed: shares of a core, lateness, and who keeps up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from blockmark.report.growth import Line, lines_of
from blockmark.report.numbers import ABSENT, count, exact, significant, with_unit
from blockmark.report.order import CALL_STYLES, by_call_style, value_of
from blockmark.report.rates import (
    HELD,
    highest_rate,
    is_disturbed,
    is_paced,
    is_saturated,
    rate_sweeps,
)
from blockmark.report.setting import number, word
from blockmark.report.step_table import step_rate
from blockmark.report.sweep import Sweep
from blockmark.report.table import (
    Column,
    Entry,
    Group,
    Row,
    Table,
    measured,
    without_empty_columns,
)
from blockmark.runs.model import Cell, Run, Setting
from blockmark.verdict.headline import without_call_style

SATURATED = "saturated"
_GROWS = "grows"
_PERCENT = 100.0
# One unit throughout: lateness goes from tens of nanoseconds to milliseconds, and tables of
# several rates and ways to wait are read against each other.
_US = 1e-3

_WAITING = {
    "spin": "waiting by spinning",
    "sleep": "waiting asleep",
    "hybrid": "waiting asleep, the last 100 us by spinning",
}
_BUSY = "Busy: time inside the steps / wall time of the paced loop."
_PACKED = "Packed: the same with every scheduled row packed behind each step."
_CPU = "CPU: what the kernel charges for the whole loop, waiting included"
_CPU_SPINNING = (
    f"{_CPU}; waiting by spinning makes it all of a core, whatever the steps cost, and what is "
    "missing of that went to other work on the machine."
)
_CPU_ASLEEP = f"{_CPU}; no-op: the same loop with empty steps, which is the pacing's own cost."
_LATE = "Late: actual less intended start of a step."
_HIGHEST = "Highest: what short spinning loops held to 99 %, searched to 3 %."
_SATURATED = f"Saturated: fewer than {100 * HELD:.0f} % of the intended steps were reached."
_MARK = "~"
_DISTURBED = (
    f"{_MARK} fell behind a rate that short loops held: pre-empted, or held up by what ran between "
    "the steps. The share is too high, if anything."
)
_FULL = (
    "A saturated loop's share says no more than that the loop is full, and its lateness grows "
    "until it ends."
)
_ESTIMATED = (
    "Estimated: step time x rate, from steps back to back in caches that nothing else uses, "
    "which flatters every structure."
)
_BY_OPERATIONS = (
    "By operations: the arithmetic of a published comparison, one lookup and one block taken "
    "and given back for every sequence and step, each as a single operation."
)
_MEMCPY = "Memcpy: the packed bytes copied in the same loop, which packing is judged against."
_NO_OP = (
    "No-op: the same loop with empty steps; busy is what reading the clock adds, CPU what "
    "waiting takes."
)
_SPLIT = "The kernel splits user and kernel time by ticks, which is coarse; trust their sum."
_DONE = "Done: end of a step less its intended start, which is what a caller waits."
_COLLECTOR = "Python's cyclic collector while the loop of steps ran, inside steps and between."

_Show = Callable[[Cell], Entry]


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    show: _Show
    note: str = ""


def rate_tables(run: Run, setting: Setting, *, screen: bool = False) -> list[Table]:
    """The paced loops of one setting; empty if there were none.

    The main table, the loop itself (what it costs and the estimates beside it), when
    steps began and were done, and the collector where Python looped and it was not off.
    A `screen` has the first and the last. Cells that were not measured have no row; the
    step table says why.
    """
    cells = [cell for cell in run.cells_of(setting.key) if is_paced(cell)]
    if not cells:
        return []
    # Without step times the busy share is the order.
    cells.sort(key=lambda cell: value_of(cell, "busy_share") or 0.0)
    rate = step_rate(setting)
    at = "" if rate is None else f" at {count(rate)}/s"
    tables = [_main(setting, cells, f"paced{at}")]
    if not screen:
        tables.append(_loop(cells, f"the loop{at}"))
        tables.append(_times(cells, f"times{at}, us"))
    if word(setting.params, "gc") != "off":
        tables.append(_collector(cells, f"collector{at}"))
    return [table for table in tables if table.columns]


def rate_sweep_tables(run: Run, sweep: Sweep) -> list[Table]:
    """Busy shares along the step rates of a scenario, and the highest rate that each holds.

    One table for each group of settings that differ in the rate alone; empty if there are
    no two rates with paced loops.
    """
    tables = (_over_rates(run, rates, name) for name, rates in rate_sweeps(run, sweep))
    return [table for table in tables if table.groups]


def _main(setting: Setting, cells: Sequence[Cell], corner: str) -> Table:
    spinning = word(setting.params, "pacing") in ("spin", None)
    columns = [
        _Column("busy %", _busy, _BUSY),
        _Column("packed %", _packed, _PACKED),
        _Column("CPU %", _share("thread_cpu_share"), _CPU_SPINNING if spinning else _CPU_ASLEEP),
    ]
    if not spinning:
        columns.append(_Column("no-op %", _share("noop_cpu_share")))
    columns += [
        _Column("late p99 us", _growing("lateness_ns.p99"), _LATE),
        _Column("missed", _missed),
        _Column("highest/s", _plain("highest_rate"), _HIGHEST),
    ]
    table = without_empty_columns(_table(corner, columns, cells))
    notes = [_loop_words(setting, cells), *table.notes]
    if any(entry.text == SATURATED for row in table.rows for entry in row.entries):
        notes.append(_SATURATED)
    if any(is_saturated(cell) for cell in cells):
        notes.append(_FULL)
    if any(is_disturbed(cell) for cell in cells):
        notes.append(_DISTURBED)
    return replace(table, notes=tuple(note for note in notes if note))


def _loop(cells: Sequence[Cell], corner: str) -> Table:
    columns = (
        _Column("estimated %", _share("busy_share_estimated"), _ESTIMATED),
        _Column("by operations %", _share("busy_share_by_operations"), _BY_OPERATIONS),
        _Column("memcpy %", _share("copy_share"), _MEMCPY),
        _Column("no-op busy %", _share("noop_busy_share"), _NO_OP),
        _Column("no-op CPU %", _share("noop_cpu_share")),
        _Column("user %", _share("user_cpu_share"), _SPLIT),
        _Column("kernel %", _share("kernel_cpu_share")),
        _Column("psutil %", _share("psutil_cpu_share")),
        _Column("reached/s", _plain("achieved_rate")),
    )
    return _with_numbers(_table(corner, columns, cells), columns)


def _times(cells: Sequence[Cell], corner: str) -> Table:
    kinds = (("late", "lateness_ns", _LATE), ("done", "paced_latency_ns", _DONE))
    columns = [
        _Column(f"{kind} {label}", _growing(f"{metric}.{label}"), note)
        for kind, metric, note in kinds
        for label in ("p50", "p99", "max")
    ]
    return _with_numbers(_table(corner, columns, cells), columns)


def _collector(cells: Sequence[Cell], corner: str) -> Table:
    looping = [cell for cell in cells if cell.call_style != "native"]
    columns = (
        _Column("collections", _counted("gc_collections"), _COLLECTOR),
        _Column("of a core %", _share("gc_pause_share")),
        _Column("longest us", _plain("gc_longest_pause_ns", _US)),
    )
    return _with_numbers(_table(corner, columns, looping), columns)


def _over_rates(run: Run, sweep: Sweep, name: str) -> Table:
    groups = []
    for style, lines in lines_of(run, sweep).items():
        rows = [
            Row(without_call_style(line.impl), _along(line), control=line.control)
            for line in lines
            if any(cell is not None and is_paced(cell) for cell in line.cells)
        ]
        if rows:
            title = ", ".join(part for part in (name, CALL_STYLES[style]) if part)
            groups.append(Group(title, tuple(rows)))
    columns = (*(Column(title) for title in sweep.titles()), Column("highest/s"))
    entries = {entry for group in groups for row in group.rows for entry in row.entries}
    notes = [_BUSY, _HIGHEST]
    if Entry(SATURATED) in entries:
        notes.append(_SATURATED)
    if any(entry.mark for entry in entries):
        notes.append(_DISTURBED)
    return Table("busy % at steps/s", columns, tuple(groups), tuple(notes))


def _along(line: Line) -> tuple[Entry, ...]:
    entries = []
    for cell in line.cells:
        if cell is None:
            entries.append(Entry())
        elif not cell.ok:
            # The reasons are told with everything else that was not measured.
            gone = cell.status == "unavailable"
            entries.append(Entry(missing=True) if gone else Entry(cell.status))
        elif is_saturated(cell):
            entries.append(Entry(SATURATED))
        else:
            entries.append(replace(_busy(cell), interval=""))
    highest = highest_rate(line)
    return (*entries, Entry(significant(highest) if highest is not None else ABSENT))


def _table(corner: str, columns: Sequence[_Column], cells: Iterable[Cell]) -> Table:
    groups = tuple(
        Group(
            CALL_STYLES[style],
            tuple(
                Row(
                    # The row's group says how it is called.
                    without_call_style(cell.impl),
                    tuple(column.show(cell) for column in columns),
                    control=cell.kind == "control",
                )
                for cell in members
            ),
        )
        for style, members in by_call_style(cells)
    )
    notes = dict.fromkeys(column.note for column in columns if column.note)
    return Table(corner, tuple(Column(column.title) for column in columns), groups, tuple(notes))


def _with_numbers(table: Table, columns: Sequence[_Column]) -> Table:
    """The table without the columns in which no row has a value, and without their notes.

    Why a value is missing is told with everything else that was not measured.
    """
    kept = [
        position
        for position in range(len(table.columns))
        if any(row.entries[position].text != ABSENT for row in table.rows)
    ]
    groups = tuple(
        Group(
            group.title,
            tuple(
                replace(row, entries=tuple(row.entries[position] for position in kept))
                for row in group.rows
            ),
        )
        for group in table.groups
    )
    notes = dict.fromkeys(columns[position].note for position in kept)
    return Table(
        table.corner,
        tuple(table.columns[position] for position in kept),
        groups,
        tuple(note for note in notes if note),
    )


def _busy(cell: Cell) -> Entry:
    value = cell.metric("busy_share")
    return measured(value, _PERCENT, mark=_MARK if is_disturbed(cell) else "")


def _share(metric: str) -> _Show:
    return lambda cell: measured(cell.metric(metric), _PERCENT)


def _plain(metric: str, factor: float = 1.0) -> _Show:
    return lambda cell: measured(cell.metric(metric), factor)


def _counted(metric: str) -> _Show:
    def show(cell: Cell) -> Entry:
        value = cell.metric(metric)
        if value is None:
            return Entry()
        return Entry(count(value.value), missing=value.value is None)

    return show


def _growing(metric: str) -> _Show:
    """A time that means nothing in a saturated loop: there it is as long as the loop is."""

    def show(cell: Cell) -> Entry:
        value = cell.metric(metric)
        if value is not None and is_saturated(cell):
            return Entry(_GROWS)
        return measured(value, _US)

    return show


def _missed(cell: Cell) -> Entry:
    return Entry(SATURATED) if is_saturated(cell) else _counted("missed_deadlines")(cell)


def _packed(cell: Cell) -> Entry:
    """What a saturated packed loop took is no share at the rate, so the run has the word alone."""
    value = cell.metric("busy_share_with_pack")
    if value is not None and (value.unavailable or "").startswith(SATURATED):
        return Entry(SATURATED)
    return measured(value, _PERCENT)


def _loop_words(setting: Setting, cells: Sequence[Cell]) -> str:
    """`Paced loops of 0.5 s, waiting by spinning; between steps 4 MiB are streamed.`"""
    params = setting.params
    seconds = number(params, "rate_seconds")
    waiting = _WAITING.get(word(params, "pacing") or "", "")
    text = "Paced loops" if seconds is None else f"Paced loops of {exact(seconds)} s"
    if waiting:
        text += f", {waiting}"
    between = {
        "idle": "between steps nothing runs",
        "stream": _streamed(setting, cells),
        "objects": "between steps Python objects are made and dropped",
    }.get(word(params, "between") or "")
    if between:
        text += f"; {between}"
    return "" if text == "Paced loops" else f"{text}."


def _streamed(setting: Setting, cells: Sequence[Cell]) -> str:
    """The bytes that had time between two steps, which may be fewer than were asked for."""
    found = [size for cell in cells if (size := value_of(cell, "streamed_bytes")) is not None]
    asked = number(setting.params, "between_bytes")
    sizes = [min(found), max(found)] if found else [] if asked is None else [asked]
    if sizes and not max(sizes):
        return "there was no time to stream anything between steps"
    named = " to ".join(dict.fromkeys(map(_size, sizes)))
    return f"between steps {f'{named} are' if named else 'a buffer is'} streamed"


def _size(value: float) -> str:
    """`4 MiB`: somebody chose it, so zeros behind it would pretend a measurement."""
    figure, _, unit = with_unit(value, "bytes").partition(" ")
    return f"{figure.rstrip('0').rstrip('.') if '.' in figure else figure} {unit}"
