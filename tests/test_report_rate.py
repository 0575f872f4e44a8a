"""Paced loops in tables, sentences and a picture; the numbers are those of `rate_run_factory`."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from blockmark.report.facts.picture import Picture
from blockmark.report.facts.rates import rate_sweeps
from blockmark.report.facts.sweep import sweeps
from blockmark.report.findings.rates import rate_findings
from blockmark.report.plots import draw_pictures
from blockmark.report.plots.rate import curves_of, gaps
from blockmark.report.tables.along import rate_sweep_tables
from blockmark.report.tables.cells import rate_tables
from blockmark.report.tables.layout import layout
from blockmark.report.tables.model import Entry, Row, Table
from blockmark.runs.codec import parse_run
from rate_run_factory import make_rate_run, rate_cell, unavailable
from run_factory import make_run, scalar

NATIVE = ("hash-map/cpp", "flat-stack/cpp", "null/cpp")


def tables(content: dict[str, Any], rate: float = 2_000, **options: bool) -> dict[str, Table]:
    """The tables of the setting with that rate, by the first word of their corners."""
    run = parse_run(content)
    setting = next(each for each in run.settings if each.params["step_rate"] == rate)
    found = rate_tables(run, setting, **options)
    return {table.corner.partition(" at ")[0]: table for table in found}


def text(table: Table, width: int = 80) -> str:
    lines = layout(table, width, str)
    return "\n".join("".join(piece for piece, _ in line) for line in lines)


def sweep_tables(content: dict[str, Any]) -> list[Table]:
    run = parse_run(content)
    [sweep] = sweeps(run)
    return rate_sweep_tables(run, sweep)


def finding(content: dict[str, Any], rate: float) -> str:
    run = parse_run(content)
    setting = next(each for each in run.settings if each.params["step_rate"] == rate)
    [found] = rate_findings(run, setting)
    return f"{found.topic}: {found.text}"


def drawn(content: dict[str, Any]) -> list[Picture]:
    return draw_pictures(parse_run(content))


def row_of(table: Table, name: str) -> Row:
    return next(row for row in table.rows if row.name == name)


def entry_of(table: Table, name: str, title: str) -> Entry:
    position = [column.title for column in table.columns].index(title)
    return row_of(table, name).entries[position]


def test_the_main_table_fits_80_columns_and_says_who_is_saturated() -> None:
    assert text(tables(make_rate_run(), 50_000)["paced"]) == (
        "paced at 50,000/s  busy %   packed %  CPU %  late p99 us     missed  highest/s\n"
        "native loop\n"
        "  flat-stack/cpp     5.35       21.1   99.8        0.156          0    935,000\n"
        "  vector/cpp         7.25       26.9   99.8        0.156          0    690,000\n"
        "  hash-map/cpp      48.0   saturated   99.8        0.156          0    104,000\n"
        "  null/cpp           1.20          -   99.8        0.156          0  4,170,000\n"
        "called from Python, once per operation\n"
        "  vector/py         98.0   saturated   99.8        grows  saturated     19,200\n"
        "  null/py           80.0           -   99.8        0.156          0     62,500\n"
        "called from Python, once per step\n"
        "  flat-stack/cpp    20.5        40.2   99.8        0.156          0    244,000"
    )


def test_the_notes_say_what_the_loop_was_and_what_busy_and_cpu_are() -> None:
    assert tables(make_rate_run())["paced"].notes == (
        "Paced loops of 0.5 s, waiting by spinning; between steps 4 MiB are streamed.",
        "Busy: time inside the steps / wall time of the paced loop.",
        "Packed: the same with every scheduled row packed behind each step.",
        "CPU: what the kernel charges for the whole loop, waiting included; waiting by spinning "
        "makes it all of a core, whatever the steps cost, and what is missing of that went to "
        "other work on the machine.",
        "Late: actual less intended start of a step.",
        "Highest: what short spinning loops held to 99 %, searched to 3 %.",
        # vector/py: (52 + 547) us x 2,000/s is more than a core.
        "Saturated: fewer than 99 % of the intended steps were reached.",
    )
    assert tables(make_rate_run(), 50_000)["paced"].notes[-2:] == (
        "Saturated: fewer than 99 % of the intended steps were reached.",
        "A saturated loop's share says no more than that the loop is full, and its lateness "
        "grows until it ends.",
    )
    native = tables(make_rate_run(impls=NATIVE))["paced"]
    assert not any("aturated" in note for note in native.notes)


@pytest.mark.parametrize(
    ("pacing", "between", "words"),
    [
        ("sleep", "idle", "Paced loops of 0.5 s, waiting asleep; between steps nothing runs."),
        (
            "hybrid",
            "objects",
            "Paced loops of 0.5 s, waiting asleep, the last 100 us by spinning; between steps "
            "Python objects are made and dropped.",
        ),
    ],
)
def test_where_waiting_is_no_spinning_its_own_cost_stands_beside(
    pacing: str, between: str, words: str
) -> None:
    table = tables(make_rate_run(pacing=pacing, between=between))["paced"]
    assert table.notes[0] == words
    titles = [column.title for column in table.columns]
    assert titles[2:4] == ["CPU %", "no-op CPU %"]
    assert "no-op CPU %" not in [
        column.title for column in tables(make_rate_run())["paced"].columns
    ]
    own = {"sleep": "5.20", "hybrid": "7.30"}[pacing]
    assert entry_of(table, "hash-map/cpp", "no-op CPU %").text == own


@pytest.mark.parametrize(
    ("streamed", "words"),
    [
        ((4 * 2**20, 2**20), "between steps 1 MiB to 4 MiB are streamed"),
        ((32_768, 32_768), "between steps 32 KiB are streamed"),
        ((0, 0), "there was no time to stream anything between steps"),
    ],
)
def test_the_bytes_that_were_streamed_are_told_not_those_that_were_asked_for(
    streamed: tuple[int, int], words: str
) -> None:
    content = make_rate_run((2_000,), impls=("flat-stack/cpp", "null/cpp"))
    for cell, size in zip(content["cells"], streamed, strict=True):
        cell["metrics"]["streamed_bytes"] = scalar([float(size)] * 5, "bytes", "count")
    [note, *_] = tables(content)["paced"].notes
    assert note == f"Paced loops of 0.5 s, waiting by spinning; {words}."


def test_the_estimates_stand_beside_what_the_loop_itself_takes() -> None:
    table = tables(make_rate_run(impls=NATIVE))["the loop"]
    assert [column.title for column in table.columns] == [
        "estimated %",
        "by operations %",
        "memcpy %",
        "no-op busy %",
        "no-op CPU %",
        "reached/s",
    ]
    # 610 ns x 2,000/s; 9 ns x 256 x 2,000/s; 2,600 ns x 2,000/s; 24 ns x 2,000/s.
    assert [entry.text for entry in row_of(table, "flat-stack/cpp").entries] == [
        "0.122",
        "0.461",
        "0.520",
        "0.00480",
        "99.8",
        "2,000",
    ]
    assert any(note.startswith("Estimated: step time x rate") for note in table.notes)


def test_psutil_has_a_column_only_where_the_loop_was_long_enough_for_it() -> None:
    content = make_rate_run(impls=NATIVE)
    assert "psutil %" not in [column.title for column in tables(content)["the loop"].columns]
    rate_cell(content, "flat-stack/cpp", 2_000)["metrics"]["psutil_cpu_share"] = scalar(
        [0.997] * 5, "share", "software"
    )
    table = tables(content)["the loop"]
    assert entry_of(table, "flat-stack/cpp", "psutil %").text == "99.7"
    assert entry_of(table, "hash-map/cpp", "psutil %").missing


def test_lateness_and_latency_are_in_one_unit_and_mean_nothing_when_saturated() -> None:
    content = make_rate_run()
    late = rate_cell(content, "flat-stack/cpp", 2_000)["metrics"]["lateness_ns"]
    late["quantiles"]["max"] |= {"value": 2_310_000.0, "low": 1e6, "high": 2_310_000.0}
    late["quantiles"]["p99"] = {"value": None, "unavailable": "needs 1000 samples a round"}
    table = tables(content)["times"]
    assert table.corner == "times at 2,000/s"
    assert entry_of(table, "flat-stack/cpp", "max us").text == "2,310"
    assert entry_of(table, "flat-stack/cpp", "p99 us").missing
    saturated = tables(content, 50_000)["times"]
    assert {entry.text for entry in row_of(saturated, "vector/py").entries} == {"grows"}


def test_the_collector_has_rows_where_python_loops() -> None:
    table = tables(make_rate_run())["collector"]
    assert [row.name for row in table.rows] == ["vector/py", "null/py", "flat-stack/cpp"]
    assert [entry.text for entry in row_of(table, "vector/py").entries] == ["2", "0.125", "412"]
    assert "collector" not in tables(make_rate_run(impls=NATIVE))
    off = make_rate_run(second_axis=("gc", ("off",)))
    assert "collector" not in tables(off)


def test_a_screen_has_the_main_table_and_the_collector() -> None:
    assert list(tables(make_rate_run())) == ["paced", "the loop", "times", "collector"]
    assert list(tables(make_rate_run(), screen=True)) == ["paced", "collector"]


def test_without_paced_loops_there_is_nothing() -> None:
    run = parse_run(make_run())
    [sweep] = sweeps(run)
    assert rate_tables(run, run.settings[0]) == []
    assert rate_findings(run, run.settings[0]) == ()
    assert rate_sweep_tables(run, sweep) == []
    assert rate_sweeps(run, sweep) == []


def test_rates_without_paced_loops_are_no_picture_of_shares() -> None:
    content = make_rate_run(impls=NATIVE)
    for cell in content["cells"]:
        cell["metrics"] = {"step_per_sequence_ns": scalar([2.4] * 5)}
    assert sweep_tables(content) == []
    assert [picture.file for picture in drawn(content)] == ["growth.png"]


def test_what_was_not_measured_or_has_no_step_has_no_row() -> None:
    content = make_rate_run((2_000,), impls=NATIVE)
    rate_cell(content, "null/cpp", 2_000)["metrics"] = {"pack_ns": scalar([3_100.0] * 5)}
    rate_cell(content, "hash-map/cpp", 2_000).update(
        status="failed", reason="killed", metrics={}, verified=None
    )
    assert [row.name for row in tables(content)["paced"].rows] == ["flat-stack/cpp"]


def test_a_value_that_is_unavailable_is_neither_zero_nor_absent() -> None:
    content = make_rate_run((2_000,), impls=NATIVE)
    metrics = rate_cell(content, "flat-stack/cpp", 2_000)["metrics"]
    metrics["busy_share"] = unavailable("share", "clock", "no")
    metrics["achieved_rate"] = unavailable("1/s", "clock", "no")
    table = tables(content)["paced"]
    assert entry_of(table, "flat-stack/cpp", "busy %").missing
    assert entry_of(table, "flat-stack/cpp", "missed").text == "0"


@pytest.mark.parametrize(
    ("reached", "highest", "missed", "busy"),
    [
        # 99 % of 2,000 is 1,980.
        (1_979.0, 1_950.0, "saturated", "0.214"),
        (1_981.0, 1_950.0, "7", "0.214"),
        (1_979.0, None, "saturated", "0.214"),
        (1_979.0, 2_100.0, "7", "0.214~"),
    ],
)
def test_saturated_is_below_99_percent_of_a_rate_that_no_short_loop_held(
    reached: float, highest: float | None, missed: str, busy: str
) -> None:
    content = make_rate_run((500, 2_000), impls=NATIVE)
    metrics = rate_cell(content, "flat-stack/cpp", 2_000)["metrics"]
    metrics["achieved_rate"] = scalar([reached] * 5, "1/s", "clock")
    metrics["missed_deadlines"] = scalar([7.0] * 5, "count", "count")
    metrics["highest_rate"] = (
        unavailable("1/s", "clock", "none was held")
        if highest is None
        else scalar([highest] * 5, "1/s", "clock")
    )
    table = tables(content)["paced"]
    assert entry_of(table, "flat-stack/cpp", "missed").text == missed
    entry = entry_of(table, "flat-stack/cpp", "busy %")
    assert entry.text + entry.mark == busy
    [along] = sweep_tables(content)
    entry = entry_of(along, "flat-stack/cpp", "2,000")
    assert entry.text + entry.mark == (busy if missed == "7" else "saturated")
    for notes in (table.notes, along.notes):
        assert any(note.startswith("~ fell behind") for note in notes) is (busy == "0.214~")


def test_the_finding_leaves_out_what_was_disturbed() -> None:
    content = make_rate_run((2_000,), impls=NATIVE)
    metrics = rate_cell(content, "hash-map/cpp", 2_000)["metrics"]
    metrics["achieved_rate"] = scalar([1_500.0] * 5, "1/s", "clock")
    assert "hash-map" not in finding(content, 2_000)


def test_along_the_rates_there_is_a_column_each_and_the_highest() -> None:
    [table] = sweep_tables(make_rate_run((50_000, 500, 2_000, 10_000)))
    assert text(table) == (
        "busy % at steps/s     500    2,000  10,000     50,000  highest/s\n"
        "native loop\n"
        "  flat-stack/cpp   0.0535   0.214    1.07        5.35    935,000\n"
        "  vector/cpp       0.0725   0.290    1.45        7.25    690,000\n"
        "  hash-map/cpp     0.480    1.92     9.60       48.0     104,000\n"
        "  null/cpp         0.0120   0.0480   0.240       1.20  4,170,000\n"
        "called from Python, once per operation\n"
        "  vector/py        2.60    10.4     52.0    saturated     19,200\n"
        "  null/py          0.800    3.20    16.0        80.0      62,500\n"
        "called from Python, once per step\n"
        "  flat-stack/cpp   0.205    0.820    4.10       20.5     244,000"
    )
    assert table.notes[-1] == "Saturated: fewer than 99 % of the intended steps were reached."


def test_the_highest_rate_of_several_tries_is_their_median() -> None:
    content = make_rate_run((500, 1_000, 2_000), impls=("flat-stack/cpp",))
    for rate, highest in ((500, 9e5), (1_000, 5e5), (2_000, 8e5)):
        metrics = rate_cell(content, "flat-stack/cpp", rate)["metrics"]
        metrics["highest_rate"] = scalar([highest] * 5, "1/s", "clock")
    [table] = sweep_tables(content)
    assert entry_of(table, "flat-stack/cpp", "highest/s").text == "800,000"


def test_a_second_axis_makes_a_table_and_a_picture_each() -> None:
    content = make_rate_run((500, 2_000), impls=NATIVE, second_axis=("pool", ("fresh", "shuffled")))
    found = sweep_tables(content)
    assert [table.groups[0].title for table in found] == [
        "pool fresh, native loop",
        "pool shuffled, native loop",
    ]
    files = [picture.file for picture in drawn(content)]
    assert files[:2] == ["rate-pool-fresh.png", "rate-pool-shuffled.png"]


def test_cells_that_failed_show_their_status_along_the_rates() -> None:
    content = make_rate_run(impls=NATIVE)
    rate_cell(content, "hash-map/cpp", 500).update(
        status="timeout", reason="no answer", metrics={}, verified=None
    )
    rate_cell(content, "hash-map/cpp", 2_000).update(
        status="unavailable", reason="too large", metrics={}, verified=None
    )
    [table] = sweep_tables(content)
    assert entry_of(table, "hash-map/cpp", "500").text == "timeout"
    assert entry_of(table, "hash-map/cpp", "2,000").missing


def test_the_finding_sets_the_paced_share_beside_the_estimate() -> None:
    assert finding(make_rate_run(impls=("flat-stack/cpp", "null/cpp")), 2_000) == (
        "Paced: at 2,000/s a core is busy 0.214 % with flat-stack/cpp (estimated back to back: "
        "0.122 %)."
    )
    assert finding(make_rate_run(), 50_000) == (
        "Paced: at 50,000/s a core is busy 5.35 % with flat-stack/cpp, and 48.0 % with "
        "hash-map/cpp (estimated back to back: 3.05 % to 39.5 %); vector/py (holds 19,200/s) is "
        "saturated."
    )
    assert finding(make_rate_run((1e6,), impls=("hash-map/cpp", "vector/py")), 1e6) == (
        "Paced: at 1,000,000/s hash-map/cpp (holds 104,000/s) and vector/py (holds 19,200/s) are "
        "saturated."
    )


def test_rates_have_one_picture_in_place_of_growth() -> None:
    [picture] = drawn(make_rate_run())
    assert picture.file == "rate.png"
    assert picture.title == "Share of one core against step rate: step-rate"
    assert (picture.setting, picture.scenario) == (None, "step-rate")
    assert picture.data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", picture.data[16:24])
    assert width == 850
    assert 400 <= height <= 900
    assert len(picture.data) > 20_000


def test_two_rates_have_the_picture_and_one_rate_has_none() -> None:
    files = [picture.file for picture in drawn(make_rate_run((500, 2_000), impls=NATIVE))]
    assert files[0] == "rate.png"
    assert "cost-step_rate-500.png" in files
    files = [picture.file for picture in drawn(make_rate_run((2_000,), impls=NATIVE))]
    assert files == ["cost.png"]


def test_the_same_run_gives_the_same_bytes_and_another_value_others() -> None:
    content = make_rate_run(impls=NATIVE)
    first = drawn(content)
    assert drawn(content) == first
    rate_cell(content, "hash-map/cpp", 500)["metrics"]["busy_share"] = scalar(
        [0.002, 0.0025, 0.003, 0.004, 0.009], "share", "clock"
    )
    assert drawn(content)[0].data != first[0].data


def test_saturated_points_are_no_points_of_the_line() -> None:
    run = parse_run(make_rate_run())
    [(_, sweep)] = rate_sweeps(run, *sweeps(run))
    curves = {curve.line.impl: curve for curve in curves_of(run, sweep)}
    # Those that hold least come first, and controls last.
    assert list(curves) == [
        "vector/py",
        "hash-map/cpp",
        "flat-stack/cpp[call_style=per-step]",
        "vector/cpp",
        "flat-stack/cpp",
        "null/py",
        "null/cpp",
    ]
    python = curves["vector/py"]
    assert [rate for rate, _ in python.held] == [500, 2_000, 10_000]
    assert python.saturated == ((50_000, 0.98),)
    assert python.label == "vector/py  holds 19,200/s"
    assert curves["flat-stack/cpp"].saturated == ()


def test_points_of_disturbed_loops_are_drawn_beside_the_line() -> None:
    content = make_rate_run(impls=NATIVE)
    before = drawn(content)[0].data
    metrics = rate_cell(content, "hash-map/cpp", 2_000)["metrics"]
    metrics["achieved_rate"] = scalar([1_500.0] * 5, "1/s", "clock")
    run = parse_run(content)
    [(_, sweep)] = rate_sweeps(run, *sweeps(run))
    curve = curves_of(run, sweep)[0]
    assert [rate for rate, _ in curve.held] == [500, 10_000, 50_000]
    assert curve.disturbed == ((2_000, pytest.approx(0.0192)),)
    assert curve.saturated == ()
    assert gaps(sweep, [curve]) == ""
    assert drawn(content)[0].data != before


def test_the_caption_names_the_points_that_are_missing() -> None:
    content = make_rate_run(impls=NATIVE)
    for rate in (10_000, 50_000):
        rate_cell(content, "hash-map/cpp", rate).update(
            status="timeout", reason="no answer", metrics={}, verified=None
        )
    del rate_cell(content, "null/cpp", 500)["metrics"]["busy_share"]
    run = parse_run(content)
    [(_, sweep)] = rate_sweeps(run, *sweeps(run))
    words = "No hash-map/cpp at 10,000 to 50,000 (timeout); null/cpp at 500 (not measured)."
    assert gaps(sweep, curves_of(run, sweep)) == words
    [picture] = drawn(content)
    assert picture.caption.endswith(words)


def test_zeros_unavailable_values_and_full_loops_everywhere_are_drawn_without_a_warning() -> None:
    content = make_rate_run((1e6, 1e7), impls=("hash-map/cpp", "vector/cpp", "vector/py"))
    for cell in content["cells"]:
        if cell["impl"] == "vector/cpp":
            cell["metrics"]["busy_share"] = scalar([0.0] * 5, "share", "clock")
        cell["metrics"]["highest_rate"] = unavailable("1/s", "clock", "no")
    assert drawn(content)[0].file == "rate.png"
    for cell in content["cells"]:
        cell["metrics"]["busy_share"] = unavailable("share", "clock", "no")
    assert not [picture for picture in drawn(content) if picture.file.startswith("rate")]
