"""The screen after a run: setting, the answer, tables, and what is missing.

Everything goes through rich as literal text, never as markup, so that a name such
as `[/x]` is a name. Lines are laid out here and handed over whole: rich adds the
colours, and leaves them out where the output is no terminal or NO_COLOR is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from blockmark.report.facts.load import common_sentence, load_sentence, load_table
from blockmark.report.facts.order import value_of
from blockmark.report.facts.rates import is_of_rates
from blockmark.report.facts.setting import (
    conditions,
    effort,
    load_line,
    machine_line,
    setting_name,
    step_words,
    verification,
)
from blockmark.report.facts.sweep import Sweep, in_run_order, sweeps
from blockmark.report.findings.answers import answers
from blockmark.report.findings.disturbance import disturbance
from blockmark.report.findings.gaps import general_gaps, unmeasured_along, unmeasured_metrics
from blockmark.report.findings.headline import Finding
from blockmark.report.findings.leaders import leaders
from blockmark.report.study import StudyView, view_of
from blockmark.report.tables.along import has_long_titles, rate_sweep_tables, screen_tables
from blockmark.report.tables.brief import lead
from blockmark.report.tables.cells import operation_tables, rate_tables, step_table
from blockmark.report.tables.comparison import Sheet
from blockmark.report.tables.counters import operation_counter_tables, step_counter_tables
from blockmark.report.tables.ladder import short_ladder_tables
from blockmark.report.tables.layout import Line, Role, cell_width, layout, wrap
from blockmark.report.tables.legend import words_of
from blockmark.report.tables.model import Table
from blockmark.runs.errors import one_line
from blockmark.runs.model import Run, Setting

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: dict[Role, str] = {
    "plain": "",
    "head": "bold",
    "group": "bold",
    "name": "",
    "control": "dim",
    "message": "yellow",
}
_YOURS = "Yours: blockmark run --impl package.module:Class"


def print_run(
    run: Run,
    *,
    stream: IO[str] | None = None,
    width: int | None = None,
    saved: str | None = None,
    report: str | None = None,
    detail: bool = False,
) -> None:
    """Print a run: the answer first, then the table of steps, then what else there is.

    `stream` is standard output if not given, `width` that of the terminal (80 where
    there is none). `saved` and `report` are paths as the user would type them, named
    in the last line. With `detail` the first setting of each scenario also has its counters
    and the table of single operations; the report has those of all. Where something was
    measured that has no step, such as a pool alone, they are shown in any case. A scenario of
    many settings has tables of the growth along them instead, a column a setting.
    """
    screen = Screen.of(stream, width)
    notes: dict[str, None] = {}
    _print_header(screen, run)
    told: set[str] = set()
    hidden = False
    found = answers(run)
    for sweep in sweeps(run):
        if view := view_of(sweep):
            screen.blank()
            notes.update(dict.fromkeys(_print_study(screen, run, sweep, view)))
            continue
        if sweep.is_long:
            screen.blank()
            notes.update(dict.fromkeys(_print_sweep(screen, run, sweep)))
            continue
        for place, setting in enumerate(in_run_order(run, sweep)):
            screen.blank()
            said = found[setting.key]
            first = lead(said)
            _print_setting(screen, run, setting, first)
            steps = step_table(run, setting)
            tables = [steps, *rate_tables(run, setting, screen=True)]
            more = _more_tables(run, setting) if place == 0 else []
            if detail or _lacks_a_step(run, setting):
                tables += more
            else:
                hidden = hidden or bool(more)
            for table in tables:
                screen.table(table)
                notes.update(dict.fromkeys(table.notes))
            notes.update(dict.fromkeys(words_of(steps)))
            for finding in said:
                if finding not in first:
                    why = finding.why if finding.why not in told else ""
                    told.add(why)
                    screen.say(f"{finding.topic}: {finding.text} {why}")
        for table in rate_sweep_tables(run, sweep):
            screen.table(table)
            notes.update(dict.fromkeys(table.notes))
    for table in short_ladder_tables(run):
        screen.table(table)
        notes.update(dict.fromkeys(table.notes))
    if not run.settings:
        screen.say("Nothing was measured.")
    screen.blank()
    for note in notes:
        screen.say(note)
    gaps = [*unmeasured_metrics(run), *general_gaps(run)]
    if gaps:
        screen.say(f"Not measured: {'; '.join(gaps)}.")
    if hidden:
        screen.say(f"Single operations and counters: blockmark show {saved or 'RUN'} --detail")
    _print_closing(screen, run, saved, report)


def print_sheet(sheet: Sheet, *, stream: IO[str] | None = None, width: int | None = None) -> None:
    """Print a comparison; `stream` and `width` as for `print_run`."""
    screen = Screen.of(stream, width)
    screen.say(sheet.title, "head")
    for sentence in sheet.lead:
        screen.say(sentence)
    for section in sheet.sections:
        screen.blank()
        screen.say(section.heading, "head")
        screen.table(section.table)
    screen.blank()
    for sentence in sheet.closing:
        screen.say(sentence)


@dataclass(frozen=True, slots=True)
class Screen:
    """A console of a known width, and what its encoding can show."""

    console: Console
    width: int
    printable: Callable[[str], str]

    @classmethod
    def of(cls, stream: IO[str] | None = None, width: int | None = None) -> Screen:
        """The screen behind a stream (standard output if None)."""
        from rich.console import Console

        console = Console(
            file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width
        )
        encoding = console.encoding

        def printable(text: str) -> str:
            safe = one_line(text)
            try:
                return safe.encode(encoding, "backslashreplace").decode(encoding)
            except LookupError:
                return safe.encode("ascii", "backslashreplace").decode("ascii")

        return cls(console, max(1, console.width), printable)

    def blank(self) -> None:
        """An empty line."""
        self.line(())

    def say(self, text: str, role: Role = "plain") -> None:
        """A paragraph, wrapped at blanks."""
        for line in wrap(self.printable(text), self.width):
            self.line(((line, role),))

    def table(self, table: Table) -> None:
        """A table behind an empty line."""
        lines = layout(table, self.width, self.printable)
        if lines:
            self.blank()
        for line in lines:
            self.line(line)

    def line(self, line: Line) -> None:
        """One line as it is, never wrapped."""
        from rich.text import Text

        text = Text(no_wrap=True, overflow="ignore", end="")
        for piece, role in line:
            text.append(piece, _STYLES[role])
        self.console.print(text, no_wrap=True, overflow="ignore", crop=False)


def _print_header(screen: Screen, run: Run) -> None:
    names = ", ".join(info.name for info in run.scenarios)
    parts = [f"blockmark {run.blockmark_version}", names]
    if len(run.settings) == 1:
        parts.append(load_line(run.settings[0]))
    parts = [part for part in parts if part]
    screen.say(f"{'  '.join(parts)}, seed {run.seed}", "head")
    about = [machine_line(run)]
    if len(run.settings) == 1 and (state := conditions(run, run.settings[0])):
        about.append(state)
    screen.say("; ".join([*about, effort(run)]))
    if run.quick:
        screen.say("Quick run: not for decisions.", "message")
    if said := disturbance(run):
        screen.say(said, "message")


def _lacks_a_step(run: Run, setting: Setting) -> bool:
    """Whether the table of steps says nothing of a candidate that was measured."""
    return any(
        cell.ok and cell.kind != "control" and value_of(cell, "step_ns") is None
        for cell in run.cells_of(setting.key)
    )


def _more_tables(run: Run, setting: Setting) -> list[Table]:
    """Counters of a step, then single operations with theirs."""
    return [
        *step_counter_tables(run, setting),
        *operation_tables(run, setting),
        *operation_counter_tables(run, setting),
    ]


def _print_setting(screen: Screen, run: Run, setting: Setting, first: Sequence[Finding]) -> None:
    """What was measured, and above its conditions what came of it."""
    if len(run.settings) > 1:
        name = ", ".join(part for part in (setting.scenario, setting_name(run, setting)) if part)
        load = load_line(setting)
        screen.say(f"{name}: {load}" if load else name, "head")
    for finding in first:
        screen.say(f"{finding.topic}: {finding.text}")
    if len(run.settings) > 1 and (state := conditions(run, setting)):
        screen.say(f"{_capital(state)}.")
    text = f"{_capital(verification(run, setting))}."
    if step := step_words(setting):
        text += f" A step: {step}."
    screen.say(text)
    if about := load_sentence(setting):
        screen.say(about)


def _print_study(screen: Screen, run: Run, sweep: Sweep, view: StudyView) -> list[str]:
    """A scenario of a study; returns the notes of its tables."""
    heading = sweep.scenario + (f" over {sweep.axis}" if sweep.axes else "")
    screen.say(f"{heading}: {view.load_words(sweep.settings)}", "head")
    screen.say(f"{_capital(verification(run, *sweep.settings))}.")
    tables = view.tables(run, sweep)
    for table in tables:
        screen.table(table)
    for sentence in view.sentences(run, sweep):
        screen.say(sentence)
    for line in unmeasured_along(run, sweep):
        screen.say(line, "message")
    return [note for table in tables for note in table.notes]


def _print_sweep(screen: Screen, run: Run, sweep: Sweep) -> list[str]:
    """Many settings in a few tables; returns the notes of these."""
    settings = sweep.settings
    title = f"{sweep.scenario}, {len(settings)} settings over {sweep.axis}: "
    screen.say(title + load_line(*settings), "head")
    if state := conditions(run, *settings):
        screen.say(f"{_capital(state)}.")
    screen.say(f"{_capital(verification(run, *settings))}.")
    if about := common_sentence(sweep):
        screen.say(about)
    paced = rate_sweep_tables(run, sweep)
    along_rates = bool(paced) and is_of_rates(sweep)
    tables = paced if along_rates else [*screen_tables(run, sweep), *paced]
    if differences := load_table(sweep, short=has_long_titles(sweep)):
        tables.insert(0, differences)
    for table in tables:
        screen.table(table)
    if not along_rates and (finding := leaders(run, sweep)):
        screen.say(f"{finding.topic}: {finding.text}")
    for line in unmeasured_along(run, sweep):
        screen.say(line, "message")
    return [note for table in tables for note in table.notes]


def _print_closing(screen: Screen, run: Run, saved: str | None, report: str | None) -> None:
    # A hint for who has measured nothing of their own yet, where a manager is what is measured.
    replayed = any(view_of(sweep) is None for sweep in sweeps(run))
    hint = replayed and not any(info.origin for info in run.implementations)
    places = [f"{label}: {path}" for label, path in (("Saved", saved), ("Report", report)) if path]
    pieces = [screen.printable(piece) for piece in (*([_YOURS] if hint else []), *places)]
    for line in _side_by_side(pieces, screen.width):
        screen.line(((line, "plain"),))


def _side_by_side(pieces: Iterable[str], width: int) -> list[str]:
    """Pieces with three blanks between, as many a line as fit; none is broken."""
    lines: list[str] = []
    for piece in pieces:
        if lines and cell_width(lines[-1]) + 3 + cell_width(piece) <= width:
            lines[-1] += f"   {piece}"
        else:
            lines.append(piece)
    return lines


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
