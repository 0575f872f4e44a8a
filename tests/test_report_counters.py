"""Counters in tables and sentences: one source a table, always named, and no false zero."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from blockmark.report.console import print_run
from blockmark.report.facts.counter_source import source_words
from blockmark.report.findings.answers import answers
from blockmark.report.findings.gaps import general_gaps, unmeasured_metrics
from blockmark.report.markdown import render_main_table, render_report
from blockmark.report.tables.counters import (
    counter_tables,
    operation_counter_tables,
    step_counter_tables,
)
from blockmark.report.tables.model import Entry, Row, Table
from blockmark.runs.codec import parse_run
from blockmark.runs.metrics import METRICS
from cli import blockmark
from counter_run_factory import COUNTED, SIMULATED, add_counters, lose_counter, set_counter
from golden_text import assert_golden
from run_factory import find_cell, make_run
from swept_run_factory import make_swept_run

IMPLS = (
    "flat-stack/cpp",
    "vector/cpp",
    "hash-map/cpp",
    "null/cpp",
    "raw-array/cpp",
    "flat-stack/cpp[call_style=per-op]",
    "vector/py",
    "null/py",
)
GEOMETRY = "callgrind 3.19.0; L1D 32 KiB, 8 ways; last level 32 MiB, 16 ways"


def simulated(**options: Any) -> dict[str, Any]:
    return add_counters(make_run(impls=IMPLS), SIMULATED, **options)


def counted() -> dict[str, Any]:
    return add_counters(make_run(impls=IMPLS), COUNTED)


def screen(content: dict[str, Any], width: int, **options: Any) -> str:
    stream = io.StringIO()
    print_run(parse_run(content), stream=stream, width=width, **{"detail": True, **options})
    return stream.getvalue()


def step_tables(content: dict[str, Any], *, full: bool = False) -> list[Table]:
    run = parse_run(content)
    return step_counter_tables(run, run.settings[0], full=full)


def operation_tables(content: dict[str, Any]) -> list[Table]:
    run = parse_run(content)
    return operation_counter_tables(run, run.settings[0])


def row_of(table: Table, name: str) -> Row:
    return next(row for row in table.rows if row.name == name)


def entry_of(table: Table, name: str, title: str) -> Entry:
    position = [column.title for column in table.columns].index(title)
    return row_of(table, name).entries[position]


@pytest.mark.parametrize("width", [80, 60])
def test_the_screen_of_a_run_with_simulated_counters(width: int) -> None:
    content = add_counters(
        make_run(impls=("flat-stack/cpp", "hash-map/cpp", "vector/py", "null/py"))
    )
    text = screen(content, width)
    assert max(map(len, text.splitlines())) <= width
    assert_golden(f"console_counters_{width}.txt", text)


def test_the_report_of_a_run_with_simulated_counters() -> None:
    content = add_counters(
        make_run(impls=("flat-stack/cpp", "hash-map/cpp", "vector/py", "null/py"))
    )
    content["settings"] = content["settings"][:1]
    content["cells"] = [c for c in content["cells"] if c["params"]["block_size"] == 16]
    assert_golden("report_counters.md", render_report(parse_run(content)))


def test_the_source_is_told_in_words_with_its_caches() -> None:
    run = parse_run(simulated())
    assert source_words(run, "callgrind") == f"simulated ({GEOMETRY})"
    assert source_words(run, "callgrind-net") == f"simulated ({GEOMETRY}), above the empty loop"
    assert source_words(run, "pmu") == "counted by the processor"


@pytest.mark.parametrize(
    ("d1", "words"),
    [
        ("49152,12,64", "L1D 48 KiB, 12 ways"),
        ("32768,8,128", "L1D 32 KiB, 8 ways of 128 B"),
        ("1572864,16,64", "L1D 1.5 MiB, 16 ways"),
        # A run file may hold anything.
        ("large", "L1D large"),
        ("²,8,64", "L1D ²,8,64"),
    ],
)
def test_the_shape_of_a_cache(d1: str, words: str) -> None:
    run = parse_run(add_counters(make_run(), {"source": "callgrind", "d1": d1, "valgrind": 3}))
    assert source_words(run, "callgrind") == f"simulated (callgrind; {words})"


def test_a_step_has_a_table_for_each_source_and_never_two_in_one() -> None:
    plain, net = step_tables(simulated())
    assert plain.caption == f"Counters of a step: simulated ({GEOMETRY})."
    assert net.caption == f"Counters of a step: simulated ({GEOMETRY}), above the empty loop."
    assert [(group.title, [row.name for row in group.rows]) for group in plain.groups] == [
        ("native loop", ["flat-stack/cpp", "vector/cpp", "hash-map/cpp", "null/cpp"]),
        ("called from Python, once per operation: the empty loop", ["null/py"]),
    ]
    assert [(group.title, [row.name for row in group.rows]) for group in net.groups] == [
        ("called from Python, once per operation", ["flat-stack/cpp", "vector/py"]),
    ]


def test_the_numbers_of_a_step_by_hand() -> None:
    table = step_tables(simulated())[0]
    titles = ["instructions", "loads", "L1D misses", "L1D rate", "LL misses", "br. misses"]
    assert [column.title for column in table.columns] == titles
    # 9.31 / 1,612 = 0.5775 %; 391.2 / 5,640 = 6.936 %; a branch miss in 2,000 instructions.
    flat = [entry_of(table, "flat-stack/cpp", title).text for title in titles]
    assert flat == ["5,120", "1,610", "9.31", "0.578 %", "0", "2.56"]
    assert entry_of(table, "hash-map/cpp", "L1D rate").text == "6.94 %"


def test_a_processor_counts_cycles_too_and_nothing_is_taken_off() -> None:
    content = counted()
    for cell in content["cells"]:
        for metric in [name for name in cell["metrics"] if "_ll_" in name]:
            del cell["metrics"][metric]
    set_counter(find_cell(content, "vector/cpp"), "step_l2_misses_per_op", 3.25, "pmu")
    [table] = step_tables(content)
    assert table.caption == "Counters of a step: counted by the processor."
    assert [column.title for column in table.columns] == [
        "instructions",
        "cycles",
        "IPC",
        "loads",
        "L1D misses",
        "L1D rate",
        "L2 misses",
        "br. misses",
    ]
    assert entry_of(table, "vector/cpp", "IPC").text == "2.50"
    assert entry_of(table, "vector/cpp", "L2 misses").text == "3.25"
    assert entry_of(table, "flat-stack/cpp", "L2 misses") == Entry()
    # Rounds of 1 + 0, 1, 2, 3, 4 % of 6,210 instructions.
    assert entry_of(table, "vector/cpp", "instructions").interval == "6,210-6,460"
    assert [group.title for group in table.groups] == [
        "native loop",
        "called from Python, once per operation",
    ]
    assert "Counted in user space only." in table.notes
    assert "Where Python loops, the interpreter's own counts are in." in table.notes


def test_a_small_count_is_no_zero_and_a_zero_is_one() -> None:
    native = operation_tables(simulated())[0]
    assert entry_of(native, "lookup, in order", "flat-stack/cpp").text == "0.0314"
    assert entry_of(native, "can_allocate", "flat-stack/cpp").text == "0"
    assert entry_of(native, "fork, per block", "null/cpp") == Entry()


def test_misses_by_operation_have_a_table_for_each_way_of_calling() -> None:
    native, net = operation_tables(simulated())
    assert (native.corner, net.corner) == ("native loop", "called from Python")
    assert native.caption == f"L1D misses per operation: simulated ({GEOMETRY})."
    assert net.caption.endswith(", above the empty loop.")
    assert [column.title for column in native.columns] == [
        "flat-stack/cpp",
        "vector/cpp",
        "hash-map/cpp",
        "null/cpp",
        "raw-array/cpp",
    ]
    # The empty loop is what was taken off; its own counts are in the report.
    assert [column.title for column in net.columns] == [
        "flat-stack/cpp[call_style=per-op]",
        "vector/py",
    ]


def test_what_has_no_empty_loop_has_a_table_of_its_own_source() -> None:
    content = simulated()
    # The empty loop packs nothing, so nothing can be taken off.
    set_counter(find_cell(content, "vector/py"), "pack_l1d_misses_per_op", 88.0, "callgrind")
    _, plain, net = operation_tables(content)
    assert [column.title for column in plain.columns] == ["vector/py"]
    assert [(row.name, row.entries[0].text) for row in plain.rows] == [("pack", "88.0")]
    assert entry_of(net, "pack", "vector/py") == Entry()


def test_the_report_has_the_miss_rate_and_the_loads_beside_the_misses() -> None:
    run = parse_run(simulated())
    tables = counter_tables(run, run.settings[0])
    misses = next(t for t in tables if t.caption.startswith("L1D misses") and "native" in t.corner)
    # 1.125 of 8.01 loads are 14.04 %, 0.0667 of 1.01 are 6.604 %.
    assert entry_of(misses, "lookup, in order", "hash-map/cpp") == Entry("1.12", "14.0 % of 8.01")
    assert entry_of(misses, "lookup, in order", "vector/cpp") == Entry("0.0667", "6.60 % of 1.01")
    text = render_report(run)
    assert "| lookup, in order | 0.0314 (3.14 % of 1.00) | 0.0667 (6.60 % of 1.01) |" in text
    assert "with -O3 -falign-functions=64 -falign-loops=32. Other flags change" in text
    # No operation misses the last level, which takes a sentence and no rows of zeros.
    assert "LL misses (native loop): none in any operation." in text
    assert not [table for table in tables if table.caption.startswith("LL misses")]


def test_the_report_tells_of_each_counter_once_and_where_it_is_from() -> None:
    text = render_report(parse_run(simulated()))
    assert f"| Counters | simulated ({GEOMETRY}) |" in text.splitlines()
    taken = text[text.index("## How the numbers were taken") :]
    assert taken.count("l1d_misses_per_op") == 1
    assert "runs under valgrind" in taken
    assert text.count("### Counters") == 2
    plain = render_report(parse_run(make_run()))
    assert "### Counters" not in plain
    assert "| Counters |" not in plain
    assert "scaled by the time" in render_report(parse_run(counted()))


def test_the_main_table_is_the_same_with_counters() -> None:
    run = parse_run(make_run(impls=IMPLS))
    assert render_main_table(parse_run(simulated())) == render_main_table(run)


def test_a_run_without_counters_has_no_tables_of_them() -> None:
    run = parse_run(make_run())
    assert counter_tables(run, run.settings[0]) == []
    assert step_tables(make_run()) == []
    assert operation_tables(make_run()) == []


def test_the_counters_of_the_first_setting_are_in_the_detail() -> None:
    content = simulated()
    text = screen(content, 80)
    assert text.count("Counters of a step:") == 2
    assert text.count("L1D misses per operation:") == 2
    assert text.index("Counters of a step:") < text.index("lookup chain, in order")
    second = text[text.index("decode, block_size 1:") :]
    assert "Counters of a step" not in second
    short = screen(content, 80, detail=False)
    assert "blockmark show RUN --detail" in short
    assert "Counters of a step:" not in short
    assert "L1D misses per operation" not in short


@pytest.mark.parametrize("facts", [SIMULATED, COUNTED])
def test_every_number_of_80_columns_is_there_at_40(facts: dict[str, Any]) -> None:
    content = add_counters(make_run(), facts)
    numbers = re.compile(r"(?<![\w.])\d[\d,.]*\d(?:-\d[\d,.]*\d)?(?![\w.])")
    wide = set(numbers.findall(screen(content, 80)))
    assert len(wide) > 200
    assert wide <= set(numbers.findall(screen(content, 40)))


def test_who_misses_least_by_hand() -> None:
    # 0.0667 / 0.0314 = 2.124, 1.125 / 0.0314 = 35.83; 0.32 / 0.098 = 3.265, 4.64 / 0.098 = 47.35.
    run = parse_run(simulated())
    found = {finding.topic: finding.text for finding in answers(run)[run.settings[0].key]}
    assert found["Misses"] == (
        "a lookup in order makes 0.0314 L1D load misses with flat-stack, 0.0667 with vector "
        "(2.12x), 1.12 with hash-map (35.8x); a block taken and given back in mixed turns makes "
        "0.0980 with flat-stack, 0.320 with vector (3.27x), 4.64 with hash-map (47.3x) (native "
        "loop, simulated)."
    )


def misses(content: dict[str, Any]) -> list[str]:
    run = parse_run(content)
    return [f.text for f in answers(run)[run.settings[0].key] if f.topic == "Misses"]


def test_misses_are_compared_within_one_profile_and_one_source() -> None:
    only = simulated(impls=("flat-stack/cpp", "null/cpp", "vector/py"))
    assert misses(only) == []
    python = add_counters(make_run(), impls=("flat-stack/py", "vector/py", "null/py"))
    [text] = misses(python)
    assert text.endswith("(called per operation, simulated, above the empty loop).")
    across = add_counters(make_run(), impls=("open-hash+lru/cpp", "vector/cpp"))
    assert misses(across) == []


def test_no_factor_to_none_at_all() -> None:
    content = simulated(impls=("flat-stack/cpp", "vector/cpp"))
    for name, value in (("flat-stack/cpp", 0.0), ("vector/cpp", 0.25)):
        cell = find_cell(content, name)
        set_counter(cell, "lookup_ordered_l1d_misses_per_op", value, "callgrind")
        lose_counter(cell, "alloc_free_interleaved_l1d_misses_per_op", "not counted")
    assert misses(content) == [
        "a lookup in order makes 0 L1D load misses with flat-stack, 0.250 with vector "
        "(native loop, simulated)."
    ]


def test_an_implementation_that_the_simulation_lost_says_why_in_its_row() -> None:
    content = simulated()
    cell = find_cell(content, "vector/cpp")
    counters = [name for name in cell["metrics"] if re.search("_per_op$|_miss_rate$", name)]
    for name in counters:
        del cell["metrics"][name]
    reason = "valgrind ended with signal 4 (SIGILL)"
    for operation in ("step", "lookup_ordered", "append"):
        lose_counter(cell, f"{operation}_l1d_misses_per_op", reason)
    table = step_tables(content)[0]
    assert row_of(table, "vector/cpp").message == f"unavailable: {reason}"
    native = operation_tables(content)[0]
    assert entry_of(native, "append a token", "vector/cpp").missing
    assert unmeasured_metrics(parse_run(content)) == [f"all counters of vector/cpp: {reason}"]


def test_what_is_lost_for_one_reason_is_one_line() -> None:
    content = counted()
    for cell in content["cells"]:
        for metric in [name for name in cell["metrics"] if "_ll_" in name]:
            lose_counter(cell, metric, "the processor does not count it")
    for name in ("flat-stack/cpp", "vector/cpp"):
        lose_counter(find_cell(content, name), "append_ipc", "no cycles were counted")
    names = "flat-stack/cpp, vector/cpp, hash-map/cpp, null/cpp and 4 more"
    assert unmeasured_metrics(parse_run(content)) == [
        f"ll_loads_per_op, ll_misses_per_op, ll_miss_rate of {names}: "
        "the processor does not count it",
        "ipc (append) of flat-stack/cpp, vector/cpp: no cycles were counted",
    ]
    text = screen(content, 80)
    assert text.count("does not count it") == 1
    assert "n/a" in text


def test_a_run_says_why_it_has_no_counters() -> None:
    def told(facts: dict[str, Any]) -> list[str]:
        return general_gaps(parse_run(make_run(counters=facts)))

    what = "cache misses and instructions"
    assert told({}) == [f"{what}: not asked for, try --counters auto"]
    assert told({"asked": "software", "source": "software"}) == told({})
    why = "no performance counters in this virtual machine"
    facts = {"asked": "auto", "source": "software", "why_not_pmu": why}
    assert told(facts) == [f"{what}: {why}, try --counters callgrind"]
    assert told(facts | {"why_not_callgrind": "valgrind is not installed"}) == [
        f"{what}: {why}, not simulated either: valgrind is not installed"
    ]


def test_that_the_real_counters_are_absent_is_said_once_and_only_if_they_were_asked_for() -> None:
    text = " ".join(screen(simulated(), 80).split())
    why = (
        "hardware counters: this virtual machine shows no performance counters, so those above are"
    )
    assert text.count(why) == 1
    asked = add_counters(make_run(impls=IMPLS), SIMULATED | {"asked": "callgrind"})
    assert "hardware counters" not in screen(asked, 80)
    assert general_gaps(parse_run(counted())) == []


def test_facts_about_counters_of_any_kind_are_no_traceback() -> None:
    for facts in ({"source": 7, "asked": None, "why_not_pmu": True}, {"source": "callgrind"}):
        content = simulated()
        content["counters"] = facts
        assert "Counters of a step: simulated (callgrind" in screen(content, 80)
        render_report(parse_run(content))


def test_many_settings_have_their_counters_in_the_report() -> None:
    content = make_swept_run(impls=("flat-stack/cpp", "vector/cpp", "null/cpp"))
    add_counters(content)
    assert render_report(parse_run(content)).count("### Counters") == len(content["settings"])
    assert "Counters of a step" not in screen(content, 80)


def test_the_list_of_metrics_has_each_counter_once(tmp_path: Path) -> None:
    done = blockmark("list", "metrics", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert sum("l1d_misses_per_op" in line for line in lines) == 1
    [line] = [line for line in lines if line.startswith("OPERATION_l1d_miss_rate")]
    assert line.split()[1:] == ["share", "counters", "l1d_misses", "/", "l1d_loads"]
    operations = lines[-1].removeprefix("OPERATION is one of ").split(", ")
    assert {"lookup_ordered", "alloc_free_interleaved", "step", "pack_changed"} <= set(operations)
    assert "step_latency" not in operations
    # Written out for each operation, counters are most of the table.
    assert len(lines) < len(METRICS) / 2
