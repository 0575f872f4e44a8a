"""The studies of mistakes and layouts as a user runs them: screen, report, bad input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from blockmark.workload.builtin import find_scenario
from cli import blockmark

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

PAYLOAD = """
workload = "mistakes"
total_blocks = 256
max_blocks_per_seq = 16
concurrency = 8
block_size = 4
implementations = ["copy-by-number/cpp", "copy-by-number/py"]
[matrix]
payload_bytes = [0, 64, 1024]
"""
ROWS = """
workload = "layout-rows"
implementations = ["row-16", "row-32"]
[matrix]
table_rows = [32, 64]
line_offset = [0, 2]
"""
PACK = """
workload = "layout-pack"
concurrency = 8
max_blocks_per_seq = 16
row_blocks = 8
implementations = ["ragged", "one-per-sequence"]
"""


def write(folder: Path, **texts: str) -> list[str]:
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.toml"
        path.write_text(text)
        paths.append(str(path))
    return paths


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("studies")
    files = write(folder, payload=PAYLOAD, rows=ROWS, pack=PACK)
    ended = blockmark("run", *files, "--rounds", "1", "--report", "report", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return folder, " ".join(ended.stdout.split())  # wherever lines were broken


def cells(folder: Path) -> list[dict[str, Any]]:
    (path,) = (folder / "results").glob("*/run.json")
    found: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return found


def test_the_screen_says_what_a_mistake_costs(done: tuple[Path, str]) -> None:
    _, screen = done
    assert "payload 0 to 1,024 bytes" in screen
    assert "6 of 6 verified" in screen
    assert "copy-by-number/cpp: an append costs" in screen
    assert "by the model" in screen


def test_of_one_round_the_screen_names_no_factor_of_rows_and_forms(
    done: tuple[Path, str],
) -> None:
    _, screen = done
    assert "row-16/cpp" in screen
    assert "one-per-sequence/cpp" in screen
    assert "in two lines costs" not in screen
    assert "is least by the model" not in screen
    assert "ids of 4 bytes do not start 2 bytes behind a line's" in screen


def test_modelled_values_say_so_in_the_run(done: tuple[Path, str]) -> None:
    sources = {
        name: value["source"] for cell in cells(done[0]) for name, value in cell["metrics"].items()
    }
    for name in ("gpu_step_factor", "transfer_ns", "pack_and_transfer_ns"):
        assert sources[name] == "model"
    for name in ("copies_per_append", "lines_per_row", "sent_bytes", "sent_copies"):
        assert sources[name] == "count"
    for name in ("wrong_ns", "row_read_ns", "batch_pack_ns"):
        assert sources[name] == "clock"


def test_a_mistake_is_of_a_kind_of_its_own(done: tuple[Path, str]) -> None:
    kinds = {cell["impl"]: cell["kind"] for cell in cells(done[0])}
    assert kinds["copy-by-number/py"] == "mistake"
    assert kinds["ragged/cpp"] == "layout"


def test_the_report_has_tables_and_pictures(done: tuple[Path, str]) -> None:
    folder = done[0] / "report"
    text = (folder / "report.md").read_text()
    for picture in ("mistake-factor", "layout-rows", "layout-pack"):
        (path,) = folder.glob(f"{picture}*.png")
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.name in text
    assert "nothing ran on a GPU" in text
    # A fifteenth of blocks of 16 would be 0.938; of four tokens three copy.
    assert "0.750" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "payload_bytes=-1"], "payload_bytes = -1 is out of range"),
        (["--set", "sharers=3"], "is no multiple of sharers = 3"),
        (["--set", "total_blocks=100000"], "16-bit ids of a mistake"),
        (["--set", "id_bits=32"], "id_bits has no effect"),
        (
            ["--impl", "flat-stack/cpp"],
            "flat-stack/cpp is a manager, but mistakes measures a mistake",
        ),
        (["--impl", "copy-by-numbers"], 'did you mean "copy-by-number'),
    ],
)
def test_bad_input_ends_in_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    ended = blockmark("run", "mistakes", *words, cwd=tmp_path)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.strip().splitlines()) <= 2


def test_a_mistake_replays_a_program_and_leads_nothing(tmp_path: Path) -> None:
    (file,) = write(
        tmp_path,
        small=(
            "total_blocks = 256\nmax_blocks_per_seq = 16\nconcurrency = 8\nblock_size = 4\n"
            'models = ["step"]\nheap = "fresh"'
        ),
    )
    names = ["vector/cpp", "flat-stack/cpp", "allocating-append/cpp"]
    chosen = [word for name in names for word in ("--impl", name)]
    ended = blockmark("run", file, *chosen, "--rounds", "1", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    (structure,) = (line for line in ended.stdout.splitlines() if line.startswith("Structure:"))
    assert "allocating" not in structure
    found = {cell["impl"]: cell for cell in cells(tmp_path)}
    assert found["allocating-append/cpp"]["metrics"]["heap_allocations_per_step"]["value"] == 8


@pytest.mark.parametrize(
    "name", ["mistakes", "mistake-payload", "layout-rows", "layout-width", "layout-pack"]
)
def test_built_in_scenarios_make_cells(name: str) -> None:
    scenario = find_scenario(name)
    assert scenario.analysis
    assert scenario.cells()[0].study in ("mistakes", "layout-rows", "layout-pack")
