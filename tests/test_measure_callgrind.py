"""Callgrind's caches, its presence, and what its dumps say. No valgrind is needed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.probes.callgrind import (
    CacheShape,
    Geometry,
    Valgrind,
    callgrind_command,
    callgrind_environment,
    find_valgrind,
    parse_geometry,
    parse_version,
)
from blockmark.measure.probes.callgrind_dumps import (
    SHORT_WARM_UP,
    DumpError,
    counter_metrics,
    events_of,
    parse_dump,
)
from blockmark.measure.process.reading import Reading
from blockmark.workload.errors import ConfigError
from fake_valgrind import DUMP, TOTALS, install


def test_without_a_word_the_caches_are_those_of_a_common_server_core() -> None:
    geometry = parse_geometry([])
    assert geometry == Geometry()
    assert (str(geometry.d1), str(geometry.ll)) == ("32768,8,64", "33554432,16,64")


def test_l1_is_both_first_level_caches() -> None:
    shape = CacheShape(49152, 12, 64)  # 64 sets of 12 ways of 64 bytes
    assert parse_geometry(["l1=49152,12,64"]) == Geometry(i1=shape, d1=shape)
    assert parse_geometry(["d1=49152,12,64"]) == Geometry(d1=shape)
    assert parse_geometry(["i1=49152,12,64", "ll = 1048576, 16, 64"]) == Geometry(
        i1=shape, ll=CacheShape(1048576, 16, 64)
    )


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["l3=32768,8,64"], "the name l1, d1, i1 or ll"),
        (["l1"], "NAME=SIZE,WAYS,LINE"),
        (["l1=32K,8,64"], "three whole numbers"),
        (["l1=32768,8"], "three whole numbers"),
        (["l1=32768,-8,64"], "three whole numbers"),
        (["l1=32768,8,48"], "a line of 48 bytes can't be simulated"),
        (["l1=32768,8,16"], "a power of two from 32 to 1,024"),
        (["l1=32768,0,64"], "at least 1 way"),
        # 96 sets: between 32 KiB and 64 KiB with 8 ways of 64 bytes.
        (["d1=49152,8,64"], "32,768 or 65,536 bytes"),
        (["d1=64,1,64"], "more than one line"),
        (["ll=2147483648,16,64"], "at most 1,073,741,824 bytes"),
        (["ll=16384,16,64"], "the size of ll (16,384 bytes) is below that of d1 (32,768 bytes)"),
        (["d1=67108864,16,64"], "the size of ll (33,554,432 bytes) is below that of d1"),
        (["l1=32768,8,128"], "the line of ll (64 bytes) is below that of d1 (128 bytes)"),
        (["l1=32768,8,64", "d1=16384,8,64"], "d1 is already given by l1=32768,8,64"),
    ],
)
def test_impossible_caches_are_refused_with_the_text(texts: list[str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_geometry(texts)
    message = str(caught.value)
    assert problem in message
    assert "\n" not in message
    assert f"--cache {texts[-1]}" in message


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("valgrind-3.19.0\n", (3, 19, 0)),
        ("valgrind-3.21.0.GIT-lbmacos\n", (3, 21, 0)),
        ("valgrind-3.18.1", (3, 18, 1)),
        ("bash: valgrind: command not found", None),
        ("", None),
    ],
)
def test_versions(text: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


def found(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str, timeout_s: float = 20.0) -> Any:
    monkeypatch.setenv("PATH", install(folder, body)["PATH"])
    return find_valgrind(timeout_s)


def test_no_valgrind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = find_valgrind()
    assert isinstance(reason, str)
    assert reason.startswith("valgrind is not installed; ")
    assert "apt install valgrind" in reason


def test_too_old_a_valgrind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reason = found(monkeypatch, tmp_path, "print('valgrind-3.17.0')")
    assert reason.startswith("valgrind 3.17.0 is too old: before 3.18 ")


def test_a_valgrind_that_crashes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reason = found(monkeypatch, tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert "is ended by signal 11 when asked for its version" in reason
    reason = found(monkeypatch, tmp_path, "print('no tool'); sys.exit(3)")
    assert "ends with code 3 when asked for its version (no tool)" in reason


def test_a_valgrind_that_hangs_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start = time.monotonic()
    # It has a child that holds the pipe, as a wrapper script would.
    reason = found(monkeypatch, tmp_path, "os.fork()\ntime.sleep(600)", timeout_s=0.5)
    assert "does not answer --version within 0.5 s" in reason
    assert time.monotonic() - start < 60


def test_something_else_called_valgrind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reason = found(monkeypatch, tmp_path, "print('hello')")
    assert 'answers --version with "hello"' in reason
    (tmp_path / "valgrind").write_text("not a script")
    assert "can't be started" in str(find_valgrind())


def test_the_command_pins_caches_and_collects_nothing_by_itself() -> None:
    command = callgrind_command(
        Valgrind("/bin/valgrind", "3.19.0"), Geometry(), Path("/t/out"), "some.module", ["--x"]
    )
    for word in (
        "--tool=callgrind",
        "--I1=32768,8,64",
        "--D1=32768,8,64",
        "--LL=33554432,16,64",
        "--collect-atstart=no",
        "--instr-atstart=no",
        "--combine-dumps=no",
        "--callgrind-out-file=/t/out",
        "--x",
    ):
        assert word in command
    assert command[0] == "/bin/valgrind"
    assert command[-2:] == ["-m", "some.module"]


def test_the_environment_holds_only_what_is_needed() -> None:
    made = callgrind_environment(
        {"PATH": "/bin", "VIRTUAL_ENV": "/v", "EDITOR": "vi", "HOME": "/h"}
    )
    assert made == {
        "PATH": "/bin",
        "VIRTUAL_ENV": "/v",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def test_a_dump_ends_at_its_last_number_that_is_not_zero() -> None:
    dump = parse_dump(DUMP.format(label="cell|step|0|1|subject", totals=TOTALS))
    assert dump.label == "cell|step|0|1|subject"
    assert dump.totals == {
        "Ir": 1000,
        "Dr": 400,
        "Dw": 100,
        "I1mr": 1,
        "D1mr": 20,
        "D1mw": 5,
        "ILmr": 1,
        "DLmr": 2,
        "DLmw": 0,
        "Bc": 90,
        "Bcm": 3,
        "Bi": 10,
        "Bim": 0,
    }


def test_our_events_are_sums_of_callgrinds() -> None:
    dump = parse_dump(DUMP.format(label="x", totals=TOTALS))
    assert events_of(dump.totals) == {
        "instructions": 1000,
        "l1d_loads": 400,
        "l1d_misses": 20,
        "l1d_stores": 100,
        "l1d_store_misses": 5,
        "ll_loads": 20,
        "ll_misses": 2,
        "branches": 100,
        "branch_misses": 3,
    }
    # Without the simulation of branches there are none, which is not the same as 0.
    plain = {name: value for name, value in dump.totals.items() if not name.startswith("B")}
    assert "branches" not in events_of(plain)


@pytest.mark.parametrize("totals", ["0", "", "1000", "0 400"])
def test_counts_of_nothing_are_an_error(totals: str) -> None:
    dump = parse_dump(DUMP.format(label="x", totals=totals))
    with pytest.raises(DumpError, match="nothing was collected"):
        events_of(dump.totals)


@pytest.mark.parametrize(
    "text",
    [
        "",
        DUMP.format(label="x", totals=TOTALS).partition("totals:")[0],
        DUMP.format(label="x", totals=TOTALS).rstrip("\n"),
        DUMP.format(label="x", totals="1000 4x0"),
        DUMP.format(label="x", totals=" ".join(["1"] * 14)),
    ],
)
def test_torn_and_strange_dumps_are_errors(text: str) -> None:
    with pytest.raises(DumpError):
        parse_dump(text)


EVENTS = {"instructions": 1000, "l1d_loads": 400, "l1d_misses": 20, "ll_loads": 20, "ll_misses": 2}


def test_counters_of_a_native_loop() -> None:
    found = counter_metrics("lookup_ordered_ns", 50, EVENTS)
    assert {entry.source for entry in found.values()} == {"callgrind"}
    assert {name: entry.value for name, entry in found.items()} == {
        "lookup_ordered_instructions_per_op": 20,
        "lookup_ordered_l1d_loads_per_op": 8,
        "lookup_ordered_l1d_misses_per_op": 0.4,
        "lookup_ordered_l1d_miss_rate": 0.05,
        "lookup_ordered_ll_loads_per_op": 0.4,
        "lookup_ordered_ll_misses_per_op": 0.04,
        "lookup_ordered_ll_miss_rate": 0.1,
    }


def test_the_empty_loop_is_taken_off_and_the_rest_is_named_so() -> None:
    empty = {
        "instructions": 600,
        "l1d_loads": 300,
        "l1d_misses": 10,
        "ll_loads": 10,
        "ll_misses": 2,
    }
    found = counter_metrics("step_ns", 10, EVENTS, baseline=empty)
    assert {entry.source for entry in found.values()} == {"callgrind-net"}
    assert found["step_instructions_per_op"].number == 40
    assert found["step_l1d_misses_per_op"].number == 1
    assert found["step_l1d_miss_rate"].number == pytest.approx(10 / 100)
    assert found["step_ll_misses_per_op"].number == 0  # as many as the empty loop


def test_what_is_below_the_empty_loop_is_no_number() -> None:
    empty = {
        "instructions": 600,
        "l1d_loads": 300,
        "l1d_misses": 21,
        "ll_loads": 21,
        "ll_misses": 0,
    }
    found = counter_metrics("step_ns", 10, EVENTS, baseline=empty)
    assert found["step_l1d_loads_per_op"].number == 10
    for name in ("l1d_misses_per_op", "l1d_miss_rate", "ll_loads_per_op", "ll_miss_rate"):
        assert found[f"step_{name}"] == Reading.missing("not above the empty loop", "callgrind-net")


def test_a_short_warm_up_leaves_the_last_level_out() -> None:
    found = counter_metrics("step_ns", 10, EVENTS, warm=False)
    assert found["step_l1d_misses_per_op"].number == 2
    assert found["step_ll_misses_per_op"].unavailable == SHORT_WARM_UP
    assert found["step_ll_miss_rate"].unavailable == SHORT_WARM_UP
