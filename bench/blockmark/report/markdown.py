"""report.md: a run as an engineering note, and its main table for other documents.

Question, setting, answer, tables, pictures, how each number was taken, what is
missing, how to run it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from urllib.parse import quote

from blockmark.report.facts.counter_source import method_words, parts_of, run_source_words
from blockmark.report.facts.escape import cell
from blockmark.report.facts.load import common_sentence, load_rows, load_table, trace_name
from blockmark.report.facts.numbers import ABSENT, UNAVAILABLE
from blockmark.report.facts.picture import Picture
from blockmark.report.facts.rates import is_of_rates
from blockmark.report.facts.setting import (
    conditions,
    effort,
    load_line,
    machine_facts,
    machine_line,
    setting_name,
    step_words,
    verification,
)
from blockmark.report.facts.sweep import MOST_SHOWN, Sweep, in_run_order, sweeps
from blockmark.report.facts.versions import commit_words, run_title, version_lines
from blockmark.report.findings.answers import answers
from blockmark.report.findings.disturbance import disturbance
from blockmark.report.findings.gaps import general_gaps, unmeasured_cells, unmeasured_metrics
from blockmark.report.findings.headline import Finding, share_range
from blockmark.report.findings.leaders import leaders
from blockmark.report.study import StudyView, view_of, workload_of
from blockmark.report.tables.along import rate_sweep_tables, report_tables
from blockmark.report.tables.brief import brief_table, lead
from blockmark.report.tables.cells import operation_tables, rate_tables, step_table
from blockmark.report.tables.comparison import Sheet
from blockmark.report.tables.counters import counter_tables
from blockmark.report.tables.declared import OPERATIONS, STEP_METRICS
from blockmark.report.tables.ladder import engines_of, ladder_tables
from blockmark.report.tables.model import Column, Entry, Row, Table
from blockmark.runs.histogram import PERMILLE
from blockmark.runs.metrics import METRICS
from blockmark.runs.metrics.counters import COUNTERS
from blockmark.runs.model import Run, ScenarioInfo, Setting

# The findings that say which structure to choose.
_WHICH = ("Structure", "In Python the ranking differs")
QUICK = "**Quick run: not for decisions.**"
_QUESTION = (
    "What does a block manager's data structure cost the host in each scheduler step, and how "
    "much of that is the structure, the language, and the price of a call?"
)


def render_report(run: Run, pictures: Sequence[Picture] = ()) -> str:
    """The whole note. `pictures` are linked by file name, as lying beside it."""
    parts = [f"# {cell(_title(run))}"]
    if run.quick:
        parts.append(QUICK)
    parts.append(cell(disturbance(run)))
    parts += ["## Question", *_questions(run)]
    parts += [text for info in run.scenarios for text in _prose(info)]
    parts += ["## Answer", *_answer(run)]
    parts += ["## Setting", *_setting(run)]
    for sweep in sweeps(run):
        if view := view_of(sweep):
            parts += _study(run, sweep, view, pictures)
            continue
        if sweep.is_long or sweep.is_line:
            parts += _growth(run, sweep, pictures)
        parts += _undrawn(run, sweep, pictures)
        for setting in in_run_order(run, sweep):
            parts += _results(run, setting, pictures)
    parts += _section("The ladder: what each part costs", ladder_tables(run), level=2)
    parts += ["## How the numbers were taken", *_methods(run)]
    parts += ["## Implementations", _implementations(run)]
    parts += ["## Not measured", *_missing(run)]
    parts += ["## Run it again", _command(run)]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_main_table(run: Run) -> str:
    """The step tables alone, with the setting and the machine in a line each.

    Above each stands which data structure it speaks for. Many settings of a scenario are the
    columns of a single table.
    """
    parts = [QUICK] if run.quick else []
    found = answers(run)
    for sweep in sweeps(run):
        if view := view_of(sweep):
            parts.append(f"{cell(_over(sweep))}: {cell(view.load_words(sweep.settings))}")
            parts += [render_table(table) for table in view.tables(run, sweep)]
            continue
        if sweep.is_long:
            parts.append(f"{cell(_over(sweep))}: {cell(load_line(*sweep.settings))}")
            parts += [render_table(table) for table in report_tables(run, sweep)[:1]]
            continue
        for setting in in_run_order(run, sweep):
            parts.append(f"{cell(_heading(run, setting))}: {cell(load_line(setting))}")
            parts += [
                _sentence(one, first=False) for one in found[setting.key] if one.topic in _WHICH
            ]
            parts.append(render_table(step_table(run, setting)))
    parts.append(cell(f"{machine_line(run)}; {effort(run)}. {disturbance(run)}".strip()))
    return "\n\n".join(part for part in parts if part)


def render_brief(run: Run) -> str:
    """The answer in the first setting: a sentence on the structure, one on the call, a table."""
    if not run.settings:
        return QUICK if run.quick else ""
    setting = in_run_order(run, sweeps(run)[0])[0]
    parts = [QUICK] if run.quick else []
    parts += [_sentence(finding, first=False) for finding in lead(answers(run)[setting.key])]
    parts.append(render_table(brief_table(run, setting)))
    parts.append(
        cell(
            f"{load_line(setting)}; {machine_line(run)}; {effort(run)}. {disturbance(run)}".strip()
        )
    )
    return "\n\n".join(part for part in parts if part)


def render_ladder(run: Run) -> str:
    """The ladder alone, with the machine, the day and the releases in a line."""
    parts = [QUICK] if run.quick else []
    tables = ladder_tables(run)
    parts += [render_table(replace(table, notes=())) for table in tables]
    parts += dict.fromkeys(cell(note) for table in tables for note in table.notes)
    parts.append(
        cell(f"{machine_line(run)}; {effort(run)}; {run.created[:10]}; {engines_of(run)}.")
    )
    return "\n\n".join(part for part in parts if part)


def render_sheet(sheet: Sheet) -> str:
    """A comparison as a document."""
    return render_comparison(sheet, ())


def render_comparison(sheet: Sheet, pictures: Sequence[Picture]) -> str:
    """A comparison with its pictures, which stand before the tables."""
    parts = [f"# {cell(sheet.title)}", *(cell(sentence) for sentence in sheet.lead)]
    parts += [render_image(picture) for picture in pictures]
    for section in sheet.sections:
        parts += [f"## {cell(section.heading)}", render_table(section.table)]
    parts += [cell(sentence) for sentence in sheet.closing]
    return "\n\n".join(parts) + "\n"


def render_table(table: Table) -> str:
    """A table, its caption above and its notes below.

    Statuses stand in the row, their reasons below the table.
    """
    if not table.columns:
        return "\n".join(_reasons(table.rows))
    head = [cell(table.corner), *(cell(column.title) for column in table.columns)]
    lines = [_line(head), _line([":--", *(_ruler(column) for column in table.columns)])]
    width = len(table.columns)
    for group in table.groups:
        if group.title:
            lines.append(_line([f"**{cell(group.title)}**", *[""] * width]))
        for row in group.rows:
            if row.message:
                status = f"**{cell(row.message.partition(':')[0])}**"
                lines.append(_line([cell(row.name), status, *[""] * (width - 1)]))
            else:
                lines.append(_line([cell(row.name), *map(_entry, row.entries)]))
    notes = [*_reasons(table.rows), *(cell(note) for note in table.notes)]
    above = f"{cell(table.caption)}\n\n" if table.caption else ""
    return above + "\n".join(lines) + "".join(f"\n\n{note}" for note in notes)


def _line(cells: Iterable[str]) -> str:
    return "|" + "".join(f" {text} |" if text else " |" for text in cells)


def _ruler(column: Column) -> str:
    return ":--" if column.kind == "word" else "--:"


def _entry(entry: Entry) -> str:
    if entry.missing:
        return UNAVAILABLE
    interval = f" ({entry.interval})" if entry.interval else ""
    return cell(entry.text + entry.mark + interval) if entry.text != ABSENT else ABSENT


def _reasons(rows: Iterable[Row]) -> list[str]:
    return [f"{cell(row.name)}: {cell(row.message)}" for row in rows if row.message]


def _questions(run: Run) -> list[str]:
    """What each study asks, and what is asked of managers."""
    views = [view_of(sweep) for sweep in sweeps(run)]
    return list(dict.fromkeys(_QUESTION if view is None else view.QUESTION for view in views))


def _study(run: Run, sweep: Sweep, view: StudyView, pictures: Sequence[Picture]) -> list[str]:
    parts = [f"## {cell(_over(sweep))}"]
    told = [view.load_words(sweep.settings), verification(run, *sweep.settings)]
    parts.append(cell(f"{_sentences(told)}."))
    parts += [render_image(picture) for picture in pictures if picture.scenario == sweep.scenario]
    return parts + [render_table(table) for table in view.tables(run, sweep)]


def _title(run: Run) -> str:
    """The scenarios' titles, each with the trace that ran where there was one."""
    titles = []
    for info in run.scenarios:
        settings = [setting for setting in run.settings if setting.scenario == info.name]
        traces = dict.fromkeys(filter(None, map(trace_name, settings)))
        titles.append(
            ": ".join([info.title or info.name, *([", ".join(traces)] if traces else [])])
        )
    return "; ".join(titles) or "Nothing was run"


def _prose(info: ScenarioInfo) -> list[str]:
    """A scenario's own words on why it exists, paragraph by paragraph."""
    paragraphs = info.analysis.replace("\r\n", "\n").split("\n\n")
    return [cell(" ".join(paragraph.split())) for paragraph in paragraphs]


def _answer(run: Run) -> list[str]:
    if not any(c.ok for c in run.cells):
        return ["Nothing was measured; the reasons are listed below."]
    parts: list[str] = []
    found = answers(run)
    for sweep in sweeps(run):
        if view := view_of(sweep):
            found_here = view.sentences(run, sweep)
            parts.append("\n".join(f"- {cell(sentence)}" for sentence in found_here))
            continue
        settings: Sequence[Setting] = in_run_order(run, sweep)
        if sweep.is_long:
            if not is_of_rates(sweep) and (finding := leaders(run, sweep)):
                parts.append(f"- {_sentence(finding, first=False)}")
            # With many settings, those at the ends have to stand for the rest.
            settings = (sweep.settings[0], sweep.settings[-1])
        for setting in settings:
            lines = [_sentence(finding, first=not parts) for finding in found[setting.key]]
            if shares := share_range(run, setting):
                lines.append(f"**Share**: {cell(shares)}")
            if lines and len(run.settings) > 1:
                parts.append(f"{cell(_heading(run, setting))}:")
            if lines:
                parts.append("\n".join(f"- {line}" for line in lines))
    return parts or ["No step was measured, so nothing is ranked; the tables stand alone."]


def _sentence(finding: Finding, *, first: bool) -> str:
    """The why is told once, in the first setting."""
    text = f"{finding.text} {finding.why}" if first else finding.text
    return f"**{cell(finding.topic)}**: {cell(text)}"


def _setting(run: Run) -> list[str]:
    facts = [*machine_facts(run), ("Counters", run_source_words(run))]
    lines = [
        "| | |",
        "|:--|:--|",
        *(_line([cell(name), cell(text)]) for name, text in facts if text),
        _line(["Effort", cell(f"{effort(run)}, seed {run.seed}")]),
        _line(["Run", cell(f"{', '.join([run_title(run), *run.tags])}, {run.created}")]),
        *(_line(["Measured", cell(text)]) for text in version_lines(run)),
        *(_line(["blockmark", cell(text)]) for text in [commit_words(run.checkout)] if text),
    ]
    return ["\n".join(lines)]


def _growth(run: Run, sweep: Sweep, pictures: Sequence[Picture]) -> list[str]:
    """All settings of a scenario beside each other."""
    settings = sweep.settings
    parts = [f"## {cell(_over(sweep))}"]
    told = [load_line(*settings), conditions(run, *settings), verification(run, *settings)]
    parts.append(cell(f"{_sentences(told)}. {common_sentence(sweep)}"))
    paced = rate_sweep_tables(run, sweep)
    along_rates = bool(paced) and is_of_rates(sweep)
    if not (sweep.is_long or along_rates) and (finding := leaders(run, sweep)):
        parts.append(_sentence(finding, first=False))
    parts += [render_image(picture) for picture in pictures if picture.scenario == sweep.scenario]
    tables = paced if along_rates else [*report_tables(run, sweep), *paced]
    if differences := load_table(sweep):
        tables.insert(0, differences)
    return parts + [render_table(table) for table in tables]


def _undrawn(run: Run, sweep: Sweep, pictures: Sequence[Picture]) -> list[str]:
    """That some settings have no picture, and why."""
    drawn = {picture.setting for picture in pictures}
    some = sum(setting.key in drawn for setting in sweep.settings)
    if some in (0, len(sweep.settings)):
        return []
    if sweep.is_long:
        why = f"there is no one axis of numbers to draw against, only {sweep.axis}"
    elif len(run.scenarios) > MOST_SHOWN:
        why = f"this run has {len(run.scenarios)} scenarios"
    else:
        return []
    return [cell(f"Pictures are of {some} of the {len(sweep.settings)} settings: {why}.")]


def _results(run: Run, setting: Setting, pictures: Sequence[Picture]) -> list[str]:
    parts = [f"## {cell(_heading(run, setting))}"]
    told = [load_line(setting), conditions(run, setting), verification(run, setting)]
    text = _sentences(told)
    if step := step_words(setting):
        text += f". A step: {step}"
    parts.append(cell(f"{text}."))
    if rows := load_rows(setting):
        parts.append("\n".join([_line(["The load", ""]), _line([":--", ":--"]), *map(_pair, rows)]))
    parts.append(render_table(step_table(run, setting)))
    parts += [render_image(picture) for picture in pictures if picture.setting == setting.key]
    parts += _section("The paced loop", rate_tables(run, setting))
    tables = operation_tables(run, setting)
    if tables:
        parts.append("### Operation by operation")
        parts.append("Value, and the range of the rounds.")
    parts += [render_table(table) for table in tables]
    parts += _section("Counters", counter_tables(run, setting))
    return parts


def _section(heading: str, tables: Sequence[Table], level: int = 3) -> list[str]:
    """Tables under a heading, and below them their notes, each once; nothing without tables."""
    if not tables:
        return []
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    bare = [render_table(replace(table, notes=())) for table in tables]
    return [f"{'#' * level} {heading}", *bare, *map(cell, notes)]


def render_image(picture: Picture) -> str:
    """A picture that lies beside the document, with its caption below."""
    # Inside the brackets of an image a closing one must be escaped too.
    title = cell(picture.title).replace("]", "\\]")
    return f"![{title}]({quote(picture.file)})\n\n*{cell(picture.caption)}*"


def _sentences(told: Iterable[str]) -> str:
    return ". ".join(f"{part[:1].upper()}{part[1:]}" for part in told if part)


def _pair(row: tuple[str, str]) -> str:
    return _line([cell(text) for text in row])


def _over(sweep: Sweep) -> str:
    return f"{sweep.scenario} over {sweep.axis}" if sweep.axes else sweep.scenario


def _heading(run: Run, setting: Setting) -> str:
    return ", ".join(part for part in (setting.scenario, setting_name(run, setting)) if part)


def _methods(run: Run) -> list[str]:
    """How each number of the tables is made, in the words of the table of metrics."""
    rounds = (
        "in one fresh process"
        if run.rounds == 1
        else (f"in {run.rounds} fresh processes (rounds), interleaved in random order")
    )
    about = (
        f"Every implementation ran {rounds}, after its answers had been checked against a plain "
        "reference model. A cost is timed in blocks; a round's value is its least block, and the "
        "printed value the lower quartile over rounds, with the range of the rounds. Counts are "
        "exact. The empty loop (null) and the plain arrays (raw-array) go through the same loop; "
        "they are floors, and nothing is subtracted. `blockmark list metrics` says what each "
        "number means."
    )
    views = {sweep.scenario: view_of(sweep) for sweep in sweeps(run)}
    studied = {workload_of(setting) for setting in run.settings if views[setting.scenario]}
    methods = [view.METHOD for view in views.values() if view is not None]
    if None not in views.values():
        about = f"Every implementation ran {rounds}, after its answers had been checked."
    present = {name for each in run.cells for name in each.metrics}
    shown = [*STEP_METRICS, *OPERATIONS]
    lines = ["| metric | made by |", "|:--|:--|"]
    for name, row in METRICS.items():
        if name in present and (name in shown or row.model in studied):
            lines.append(_line([cell(name), cell(row.formula)]))
    parts = [about, *dict.fromkeys(map(cell, methods))]
    if len(lines) > 2:
        parts.append("\n".join(lines))
    return parts + _counter_methods(run, present)


def _counter_methods(run: Run, present: set[str]) -> list[str]:
    """How counters are taken, a row for each and not for each operation."""
    found = {parts[1].name for name in present if (parts := parts_of(name)) is not None}
    if not found:
        return []
    lines = ["| counter | made by |", "|:--|:--|"]
    for counter in COUNTERS:
        if counter.name in found:
            formula = f"{counter.top} / {counter.bottom or 'operations'}".replace("_", " ")
            lines.append(_line([cell(counter.name), cell(f"{formula}: {counter.meaning.lower()}")]))
    return [cell(method_words(run)), "\n".join(lines)]


def _implementations(run: Run) -> str:
    lines = [
        "| name | what it is | profile | ids | reuse |",
        "|:--|:--|:--|:--|:--|",
        *(
            _line(
                [
                    cell(info.name),
                    cell(f"{info.engine}, {info.summary}" if info.engine else info.summary),
                    "control" if info.kind == "control" else cell(info.profile),
                    cell(info.id_type),
                    cell(info.reuse_order),
                ]
            )
            for info in run.implementations
        ),
    ]
    legend = (
        "Profile: what the operations include. R: ref counts, C: prefix cache with an eviction "
        "order, D: deferred free, S: decides for itself what runs. A ratio across profiles "
        "compares different work."
    )
    return "\n".join(lines) + f"\n\n{legend}"


def _missing(run: Run) -> list[str]:
    gaps = [
        *unmeasured_cells(run),
        *unmeasured_metrics(run, PERMILLE, proofs=True),
        *general_gaps(run),
        "time on a GPU and tokens per second: no part of blockmark",
    ]
    return ["\n".join(f"- {cell(gap)}" for gap in gaps)]


def _command(run: Run) -> str:
    """The command in a fence that is longer than any row of backticks inside it."""
    command = " ".join(run.command.split()) or "blockmark run"
    fence = "```"
    while fence in command:
        fence += "`"
    return f"{fence}\n{command}\n{fence}"
