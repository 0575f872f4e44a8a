"""The other commands end to end: verify, compare, report, list, doctor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import blockmark, subject, tiny
from run_factory import make_run

SMALL = [
    "--set",
    "total_blocks=256",
    "--set",
    "max_blocks_per_seq=16",
    "--set",
    "concurrency=8",
    "--set",
    "block_size=4",
    "--quick",
]


def saved(folder: Path, name: str = "run.json") -> str:
    path = folder / name
    path.write_text(json.dumps(make_run()))
    return str(path)


def test_verify_passes_every_built_in_implementation(tmp_path: Path) -> None:
    done = blockmark("verify", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) == 9
    assert all(line.startswith("ok ") for line in lines)
    assert not (tmp_path / "results").exists()


def test_verify_passes_every_table_with_every_pool(tmp_path: Path) -> None:
    pairs = [
        f"{t}+{p}"
        for t in ("hash", "open-hash", "vector", "flat", "two-level")
        for p in ("list", "stack", "lru")
    ]
    words = [word for pair in pairs for word in ("--impl", pair)]
    done = blockmark("verify", *SMALL, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("ok ") == 15


@pytest.mark.parametrize(("bits", "blocks"), [(16, 65536), (32, 70000), (64, 70000)])
def test_verify_every_id_width(tmp_path: Path, bits: int, blocks: int) -> None:
    done = blockmark(
        "verify",
        "--impl",
        "flat-stack",
        "--impl",
        "two-level",
        "--set",
        f"id_bits={bits}",
        "--set",
        f"total_blocks={blocks}",
        "--set",
        "block_size=16",
        "--set",
        "concurrency=64",
        "--quick",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("ok ") == 5


def test_verify_names_the_first_operation_that_differs(tmp_path: Path) -> None:
    done = blockmark(
        "verify", *SMALL, "--impl", f"bad={subject('Wrong')}", "--impl", "vector/py", cwd=tmp_path
    )
    assert done.returncode == 4
    bad, *shown, good = done.stdout.splitlines()
    assert bad.startswith("wrong    bad  block_size 4: random program 0 (")
    assert "), call " in bad
    assert good.startswith("ok ")
    # `lookup` answers the first block for all, so also for one that is not there.
    assert shown == [
        "    PoolConfig(total_blocks=1, block_size=1, max_seqs=1, max_blocks_per_seq=1, "
        "id_bits=16)",
        "     1  allocate(0, 1)  <- then lookup(0, 1) returned 0 where the contract says "
        "UnknownSequence",
    ]


def test_compare_implementations_of_one_run(tmp_path: Path) -> None:
    done = blockmark("compare", saved(tmp_path), "--metric", "step_ns", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "step_ns" in done.stdout
    assert "lookup_ordered_ns" not in done.stdout
    other = blockmark(
        "compare",
        saved(tmp_path),
        "--metric",
        "step_ns",
        "--reference",
        "vector/cpp",
        cwd=tmp_path,
    )
    assert "vector/cpp" in other.stdout.splitlines()[0]


def test_compare_a_run_with_itself_finds_no_difference(tmp_path: Path) -> None:
    one, two = saved(tmp_path, "one.json"), saved(tmp_path, "two.json")
    done = blockmark("compare", one, two, "--metric", "step_ns", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if "/cpp" in line or "/py" in line]
    assert len(rows) > 10
    assert not [row for row in rows if row[-1] in ("better", "worse")]


def test_report_needs_no_implementation_and_splices(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- BEGIN: main table -->\n<!-- END: main table -->\nafter\n")
    done = blockmark(
        "report", saved(tmp_path), "--output", "out", "--splice", "README.md", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "flat-stack/cpp" in text
    assert "made by: blockmark report" in text
    report = (tmp_path / "out" / "report.md").read_text()
    pictures = list((tmp_path / "out").glob("*.png"))
    assert pictures
    assert all(f"]({picture.name})" in report for picture in pictures)


def test_splice_without_markers_is_told(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing here\n")
    done = blockmark(
        "report", saved(tmp_path), "--output", "out", "--splice", "README.md", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "BEGIN: main table" in done.stderr
    assert (tmp_path / "README.md").read_text() == "nothing here\n"


@pytest.mark.parametrize(
    ("what", "has"),
    [
        ("impls", "open-hash+lru/cpp"),
        ("scenarios", "decode"),
        ("metrics", "cow_per_copy_ns"),
        ("keys", "concurrency"),
    ],
)
def test_list(tmp_path: Path, what: str, has: str) -> None:
    done = blockmark("list", what, cwd=tmp_path)
    assert done.returncode == 0
    assert has in done.stdout


def test_doctor_ends_with_the_smallest_change(tmp_path: Path) -> None:
    done = blockmark("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(line.startswith(("yes  ", "no   ", "busy ")) for line in lines)
    # A machine with other work is not one without load.
    assert not any(line.startswith("no") and "load average" in line for line in lines)
    assert "smallest change" in lines[-1]
    assert "can't be told from noise" in lines[-1]
    assert not (tmp_path / "results").exists()


def test_call_style_as_a_key_is_unavailable_where_it_cannot_be(tmp_path: Path) -> None:
    blockmark(
        "run",
        tiny(tmp_path),
        "--quick",
        "--impl",
        "vector",
        "--set",
        "call_style=native",
        cwd=tmp_path,
    )
    run = json.loads((tmp_path / "results" / "0001" / "run.json").read_text())
    cells = {cell["impl"]: cell for cell in run["cells"]}
    assert cells["vector/cpp"]["status"] == "ok"
    assert cells["vector/py"]["status"] == "unavailable"
    assert "can't be driven native" in cells["vector/py"]["reason"]


def test_metrics_are_all_explained_in_the_methodology() -> None:
    """No metric of the table is left without a word on how it is taken."""
    from blockmark.runs.metrics import METRICS
    from blockmark.workload.keys import MODELS

    text = (Path(__file__).parents[1] / "METHODOLOGY.md").read_text()
    assert {metric.model for metric in METRICS.values()} >= set(MODELS)
    for model in MODELS:
        assert f"`{model}`" in text
    for name in (
        "busy_share_estimated",
        "heap_allocations_per_step",
        "pool_run_length",
        "step_latency_ns",
        "table_bytes",
        "peak_rss_bytes",
    ):
        assert f"`{name}`" in text
