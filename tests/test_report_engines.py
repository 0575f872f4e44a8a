"""The ladder and what an engine could gain, on a run with numbers made by hand."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from blockmark.report.console import print_run
from blockmark.report.findings.engine_gain import engine_gains
from blockmark.report.markdown import render_ladder, render_report
from blockmark.report.tables.ladder import ladder_tables, short_ladder_tables
from blockmark.runs.codec import dump_run, parse_run
from blockmark.runs.model import Run
from cli import blockmark
from run_factory import make_run, scalar

_PARAMS = {"batch": 64, "pool": "burst", "total_blocks": 65_536, "block_size": 16}
# Name, call style, engine, profile, and take and give in ns.
_RUNGS = [
    ("vllm-pool/py", "per-op", "vLLM 0.33.0", "R", 60.0, 90.0),
    ("list-duties/py", "per-op", "", "RC", 20.0, 30.0),
    ("flat-stack/cpp[call_style=per-op]", "per-op", "", "R", 8.0, 7.0),
    ("flat-stack/cpp[call_style=per-step]", "per-step", "", "R", 2.0, 1.0),
    ("flat-stack/cpp", "native", "", "R", 1.0, 0.5),
]


def cell(
    name: str, style: str, metrics: dict[str, float], params: dict[str, Any]
) -> dict[str, Any]:
    return {
        "scenario": "engine-pool",
        "params": params,
        "impl": name,
        "kind": "manager",
        "call_style": style,
        "status": "ok",
        "verified": {"operations": 100, "steps": 1},
        "metrics": {
            metric: scalar([value] * 5) | {"unit": "share" if "share" in metric else "ns"}
            for metric, value in metrics.items()
        },
    }


def content() -> dict[str, Any]:
    run = make_run()
    run["scenarios"] = [{"name": "engine-pool", "title": "T", "analysis": "", "digest": "0"}]
    run["settings"] = [{"scenario": "engine-pool", "params": _PARAMS, "facts": {}}]
    run["implementations"] = [
        {
            "name": name,
            "scheme": name.partition("/")[0],
            "tier": "cpp" if "cpp" in name else "py",
            "kind": "manager",
            "summary": "by hand",
            "profile": profile,
            "id_type": "object",
            "reuse_order": "LIFO",
            **({"engine": engine} if engine else {}),
        }
        for name, _, engine, profile, *_ in _RUNGS
    ]
    run["cells"] = [
        cell(name, style, {"take_ns": take, "give_ns": give}, _PARAMS)
        for name, style, _, _, take, give in _RUNGS
    ]
    return run


def made(change: dict[str, Any] | None = None) -> Run:
    return parse_run(change or content())


def rows(run: Run, number: int = 0) -> dict[str, list[str]]:
    table = ladder_tables(run)[number]
    return {
        row.name: ["n/a" if entry.missing else entry.text for entry in row.entries]
        for row in table.rows
    }


def test_each_rung_has_its_factor_and_what_it_drops() -> None:
    (table,) = ladder_tables(made())
    assert table.corner == "vLLM 0.33.0: caching off, burst pool"
    assert [column.title for column in table.columns] == [
        "n = 64, ns",
        "of the engine",
        "step",
        "dropped",
    ]
    # Take and give together: 150, 50, 15, 3, 1.5 ns.
    found = {name: entries[:3] for name, entries in rows(made()).items()}
    assert found == {
        "vllm-pool/py, called per operation": ["150", "-", "-"],
        "list-duties/py, called per operation": ["50.0", "3.00x", "3.00x"],
        "flat-stack/cpp, called per operation": ["15.0", "10.0x", "3.33x"],
        "flat-stack/cpp, called per step": ["3.00", "50.0x", "5.00x"],
        "flat-stack/cpp, native loop": ["1.50", "100x", "2.00x"],
    }
    assert "block objects" in rows(made())["list-duties/py, called per operation"][3]


def test_a_rung_below_the_empty_loop_marks_every_ratio_that_it_is_in() -> None:
    run = content()
    null = {**run["implementations"][-1], "name": "null/cpp", "scheme": "null", "kind": "control"}
    run["implementations"].append(null)
    floor = cell("null/cpp", "native", {"take_ns": 2.0, "give_ns": 0.1}, _PARAMS)
    run["cells"].append({**floor, "kind": "control", "verified": None})
    (table,) = ladder_tables(made(run))
    marks = {row.name: [entry.mark for entry in row.entries[:3]] for row in table.rows}
    # Taking is below, giving above the loop: the sum and both of its ratios say the graver.
    assert marks["flat-stack/cpp, native loop"] == ["**", "**", "**"]
    assert marks["flat-stack/cpp, called per step"] == ["", "", ""]
    assert table.notes[-1].startswith("** below its floor")


def test_one_round_is_no_evidence_that_another_costs_less() -> None:
    run = content()
    run["cells"] = [
        cell("vllm-pool/py", "per-op", {"step_ns": 1_800_000.0}, _PARAMS),
        cell("flat-stack/cpp", "native", {"step_ns": 1_000.0}, _PARAMS),
    ]
    run["cells"][1]["metrics"]["step_ns"] = scalar([1_000.0])
    parsed = made(run)
    (finding,) = engine_gains(parsed, parsed.settings[0])
    assert "cheapest" not in finding.text


def test_a_rung_that_was_not_measured_leaves_a_gap() -> None:
    run = content()
    del run["cells"][1]
    found = rows(made(run))
    assert found["list-duties/py, called per operation"][:3] == ["n/a", "-", "-"]
    # The factor is to the next rung above that has a number.
    assert found["flat-stack/cpp, called per operation"][:3] == ["15.0", "10.0x", "10.0x"]
    del run["cells"][0]
    assert ladder_tables(made(run)) == []


def test_batches_stand_side_by_side_and_pools_apart() -> None:
    run = content()
    for batch, pool in ((1, "burst"), (64, "fresh")):
        params = {**_PARAMS, "batch": batch, "pool": pool}
        run["settings"].append({"scenario": "engine-pool", "params": params, "facts": {}})
        run["cells"].append(
            cell("vllm-pool/py", "per-op", {"take_ns": 1.0, "give_ns": 1.0}, params)
        )
    tables = ladder_tables(made(run))
    assert [table.corner.rpartition(", ")[2] for table in tables] == ["burst pool", "fresh pool"]
    titles = [column.title for column in tables[0].columns]
    assert titles[0] == "n = 64, ns"
    assert titles[3] == "n = 1, ns"


def test_packing_has_a_ladder_for_a_rebuild_and_one_for_a_step() -> None:
    run = content()
    engine = dict(run["implementations"][0])
    run["implementations"] += [
        {**engine, "name": "vllm-table/py"},
        {**engine, "name": "vllm-table/py[rows=incremental]"},
    ]
    packed = {
        "vllm-table/py": ("per-op", 600_000.0),
        "vllm-table/py[rows=incremental]": ("per-op", 24_000.0),
        "flat-stack/cpp": ("native", 3_000.0),
    }
    run["cells"] = [
        cell(name, style, {"pack_step_ns": cost}, _PARAMS) for name, (style, cost) in packed.items()
    ]
    for setting in run["settings"]:
        assert "batch" in setting["params"]
    rebuild, step = ladder_tables(made(run))
    # The batch of pools is no part of it.
    assert [column.title for column in rebuild.columns][:2] == ["all rows, us", "of the engine"]
    assert rebuild.corner == "vLLM 0.33.0: full rebuild"
    assert [entry.text for entry in rebuild.rows[-1].entries[:2]] == ["3.00", "200x"]
    assert step.corner == "vLLM 0.33.0: one step's new entries"
    assert [entry.text for entry in step.rows[-1].entries[:2]] == ["3.00", "8.00x"]


def test_the_short_ladder_of_a_screen_has_the_same_numbers() -> None:
    (table,) = short_ladder_tables(made())
    assert [column.title for column in table.columns] == ["n = 64, ns", "factor"]
    assert {row.name: [entry.text for entry in row.entries] for row in table.rows} == {
        "vllm-pool/py, per-op": ["150", "-"],
        "list-duties/py, per-op": ["50.0", "3.00x"],
        "flat-stack/cpp, per-op": ["15.0", "10.0x"],
        "flat-stack/cpp, per-step": ["3.00", "50.0x"],
        "flat-stack/cpp, native": ["1.50", "100x"],
    }
    (note,) = table.notes
    assert "(2) block objects, for the same duties in lists and dicts; (3) ref counts" in note
    screen = io.StringIO()
    print_run(made(), stream=screen, width=80)
    assert re.search(r"^flat-stack/cpp, native +1\.50 +100x$", screen.getvalue(), re.MULTILINE)


def test_reports_show_the_ladder_and_a_run_without_engines_does_not() -> None:
    assert "## The ladder: what each part costs" in render_report(made())
    assert "The ladder" not in render_report(parse_run(make_run()))
    text = render_ladder(made())
    assert "no factor here compares equal work" in text
    assert "vLLM 0.33.0, Python" in text
    assert text.rstrip().endswith(".")


def test_a_run_keeps_an_engine_and_does_without() -> None:
    run = made()
    again = dump_run(run)["implementations"]
    assert [each.get("engine") for each in again] == ["vLLM 0.33.0", None, None, None, None]
    assert parse_run(dump_run(run)) == run


def test_what_an_engine_could_gain() -> None:
    run = content()
    shares = {"step_ns": 1_800_000.0, "share_of_1ms_step": 1.8, "share_of_10ms_step": 0.18}
    shares["share_of_30ms_step"] = 0.06
    run["cells"] = [
        cell("vllm-pool/py", "per-op", shares, _PARAMS),
        cell("flat-stack/cpp", "native", {"step_ns": 1_000.0}, _PARAMS),
    ]
    parsed = made(run)
    (finding,) = engine_gains(parsed, parsed.settings[0])
    assert finding.topic == "What an engine could gain"
    assert finding.text == (
        "vllm-pool/py (vLLM 0.33.0) takes 1.80 ms: more than a 1 ms step, 18.0 % of a 10 ms step, "
        "6.00 % of a 30 ms step. No structure can win back more than that, and "
        "flat-stack/cpp, the cheapest one here, still takes 1.00 us; where scheduling overlaps "
        "the GPU, nothing is won."
    )
    assert finding.text in render_report(parsed)
    plain = parse_run(make_run())
    assert engine_gains(plain, plain.settings[0]) == ()


def test_the_ladder_is_spliced_between_its_own_markers(tmp_path: Path) -> None:
    import json

    (tmp_path / "run.json").write_text(json.dumps(content()))
    document = tmp_path / "doc.md"
    document.write_text("a\n\n<!-- BEGIN: ladder -->\n<!-- END: ladder -->\n\nb\n")
    words = ("report", "run.json", "--output", "out", "--splice", "doc.md", "--ladder")
    done = blockmark(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = document.read_text()
    assert text.startswith("a\n\n<!-- BEGIN: ladder -->\n<!-- made by: blockmark report run.json")
    assert "| flat-stack/cpp, native loop | 1.50 (1.50-1.50) | 100x | 2.00x | Python |" in text
    alone = blockmark("report", "run.json", "--ladder", cwd=tmp_path)
    assert alone.returncode == 2
    assert "--ladder goes with --splice" in alone.stderr
