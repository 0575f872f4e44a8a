"""Damaged inputs are read, or refused in one line that names the file, in little time.

A part of tests/robustness/fuzz_inputs.py; what it found once stands below, by kind.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent / "robustness"))

from fuzz_inputs import fuzz, fuzz_commands

from blockmark.cli.errors import one_message
from blockmark.measure.proof.kept import check_writable
from blockmark.recorder import Recorder
from blockmark.runs.errors import RunFileError
from blockmark.runs.store import load_run
from blockmark.toml_text import TomlError, parse_toml
from blockmark.workload.errors import ConfigError
from blockmark.workload.keys import KEYS
from blockmark.workload.oracle.written import WrittenError, read_calls
from blockmark.workload.program import ProgramError
from blockmark.workload.recording import load_recording
from blockmark.workload.scenario import parse_scenario, parse_setting
from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.vector import VectorManager
from run_factory import make_run


def test_a_sample_of_damaged_inputs() -> None:
    assert list(fuzz(360, seed=11)) == []


def test_a_sample_through_the_command_line() -> None:
    assert list(fuzz_commands(18, seed=11)) == []


@given(st.text(max_size=3000))
def test_a_message_is_one_line_of_at_most_500_letters(text: str) -> None:
    line = one_message(text)
    assert len(line) <= 500
    assert line.isprintable()


@given(st.text(alphabet="abc", min_size=501, max_size=2000))
def test_a_cut_message_keeps_its_beginning_and_its_end(text: str) -> None:
    line = one_message(text)
    assert line.startswith(text[:200])
    assert line.endswith(text[-200:])


@pytest.mark.parametrize("depth", [20, 1_000, 100_000])
@pytest.mark.parametrize("opening", ["[", "{a=", "[[", "a."])
def test_toml_of_any_depth(depth: int, opening: str) -> None:
    with pytest.raises(TomlError) as refused:
        parse_toml("a = " + opening * depth if opening != "a." else "a." * depth + "b = 1")
    assert "\n" not in str(refused.value)


HUGE = st.sampled_from(
    ["inf", "-inf", "nan", "1e400", "9" * 400, "9" * 5000, "-" + "9" * 30, "0x1" + "f" * 600]
)


@given(st.sampled_from([key for key, row in KEYS.items() if row.low is not None]), HUGE)
@settings(max_examples=200)
def test_no_key_takes_a_number_without_bounds(key: str, number: str) -> None:
    for text in (f"{key} = {number}", f"[matrix]\n{key} = [{number}]"):
        with pytest.raises(ConfigError):
            parse_scenario(text, "x", "x.toml")
    with pytest.raises(ConfigError):
        parse_setting(f"{key}={number}")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    config = PoolConfig(32, 4, 4, 8)
    recorder = Recorder(VectorManager(config), config)
    for seq in range(3):
        recorder.step()
        recorder.manager.allocate(seq, 6)
    path = tmp_path_factory.mktemp("recording") / "x.program"
    recorder.save(path)
    load_recording(path)
    return path.read_bytes()


NUMBERS = st.one_of(
    st.sampled_from(
        [float("inf"), float("nan"), 10**400, -1, 2**31, 2**63, 1e300, 0.5, None, "1", True]
    ),
    st.integers(max_value=-1),
    st.integers(min_value=2**31),
)


@given(
    st.sampled_from(["setup_steps", "period", "width", "probe", "units", "config", "columns"]),
    st.sampled_from(["total_blocks", "block_size", "max_seqs", "max_blocks_per_seq", "id_bits"]),
    NUMBERS,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_no_number_of_a_program_is_without_bounds(
    tmp_path: Path, recording: bytes, name: str, size: str, number: Any
) -> None:
    first = recording.index(b"\n") + 9
    length = int(recording[first - 8 : first - 1])
    header = json.loads(recording[first : first + length])
    if name == "config":
        header["config"][size] = number
    elif name == "units":
        header["units"]["1"] = -abs(number) if isinstance(number, float) else number
    elif name == "columns":
        header["columns"]["a"][0] = number
    else:
        header[name] = number
    text = json.dumps(header).encode().ljust(length) + b"\n"
    path = tmp_path / "x.program"
    path.write_bytes(
        recording[: first - 8] + b"%07d\n" % len(text) + text + recording[first + length :]
    )
    if name == "units" and isinstance(number, int) and 0 < number < 1 << 62:
        return  # a period may have so many
    with pytest.raises(ProgramError, match=r"x\.program"):
        load_recording(path)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("id_bits", 33, "id_bits = 33"),
        ("block_size", 0, "block_size = 0 is not between 1 and 65536"),
        ("total_blocks", 2**31, "total_blocks must be a whole number"),
        ("host_blocks", -1, "host_blocks must be a whole number"),
        ("max_blocks_per_seq", 2**30, "is not between 1 and 4194304"),
    ],
)
def test_a_size_out_of_range_says_which(
    tmp_path: Path, recording: bytes, name: str, value: int, says: str
) -> None:
    first = recording.index(b"\n") + 9
    length = int(recording[first - 8 : first - 1])
    header = json.loads(recording[first : first + length])
    header["config"][name] = value
    text = json.dumps(header).encode().ljust(length) + b"\n"
    path = tmp_path / "x.program"
    path.write_bytes(
        recording[: first - 8] + b"%07d\n" % len(text) + text + recording[first + length :]
    )
    with pytest.raises(ProgramError, match=r"x\.program") as refused:
        load_recording(path)
    assert says in str(refused.value)


def _changed(path: Path, change: Any) -> Path:
    run = make_run()
    change(run, next(cell for cell in run["cells"] if cell["status"] == "ok"))
    path.write_text(json.dumps(run))
    return path


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda run, cell: run["scenarios"][0].update(title="a" * 40_000), "has 40,000 letters"),
        (lambda run, cell: run["machine"].update(x="a" * 2_000_000), "at most 1,000,000"),
        (lambda run, cell: run["machine"].update(x=1e300), "machine.x: 1e+300 is out of range"),
        (lambda run, cell: run["machine"].update(x=10**400), "machine.x"),
        (lambda run, cell: run["settings"][0]["facts"].update(y=1e-300), "is out of range"),
        (
            lambda run, cell: next(iter(cell["metrics"].values())).update(
                rounds=4000, values=[1.0] * 4000
            ),
            "has 4,000 numbers; at most 1,000",
        ),
    ],
)
def test_a_run_holds_nothing_that_a_report_could_not_draw(
    tmp_path: Path, change: Any, says: str
) -> None:
    with pytest.raises(RunFileError) as refused:
        load_run(_changed(tmp_path / "run.json", change))
    assert says in str(refused.value)
    assert len(str(refused.value)) < 500


@given(st.sampled_from(["0x", "0b", "0o", ""]), st.integers(41, 20_000), st.booleans())
def test_a_number_of_any_length_in_a_kept_program_is_refused_in_our_words(
    base: str, digits: int, negative: bool
) -> None:
    sizes = "total_blocks=8 block_size=2 max_seqs=4 max_blocks_per_seq=4 id_bits=16"
    number = f"{'-' if negative else ''}{base}{'1' * digits}"
    with pytest.raises(WrittenError) as refused:
        read_calls(f"# blockmark calls 1\n{sizes}\nallocate(0, {number})\n", "a.calls")
    assert "a number has more digits than any operand" in str(refused.value)
    assert "set_int_max_str_digits" not in str(refused.value)


def test_a_folder_that_cannot_be_written_is_found_before_the_proof(tmp_path: Path) -> None:
    place = tmp_path / "file" / "kept"
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="kept"):
        check_writable(place)
    check_writable(tmp_path / "new" / "kept")
    assert list((tmp_path / "new" / "kept").iterdir()) == []
