"""`blockmark profile` as a user runs it, with the tools that this machine has."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from pathlib import Path

import pytest

from blockmark.measure.probes.callgrind import Valgrind, find_valgrind
from blockmark.measure.profiling.perf_tool import Perf, find_perf
from cli import blockmark, subject, tiny


@functools.cache
def has_callgrind() -> bool:
    return isinstance(find_valgrind(), Valgrind)


@functools.cache
def has_perf() -> bool:
    return isinstance(find_perf(), Perf)


def rows(text: str, title: str) -> list[str]:
    """The rows of one of the two tables, with what is folded joined to its row."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.endswith(f"  {title}"))
    found: list[str] = []
    for line in lines[start + 1 :]:
        if not line.strip():
            break
        if line[:6].strip():
            found.append(line)
        else:
            found[-1] += " " + line.strip()
    return found


def check_files(run: subprocess.CompletedProcess[str], folder: Path, *names: str) -> None:
    for name in ("profile.speedscope.json", *names):
        assert (folder / name).stat().st_size > 0
        assert name in run.stdout
    content = json.loads((folder / "profile.speedscope.json").read_text())
    profile = content["profiles"][0]
    assert sum(profile["weights"]) == profile["endValue"] > 0


def test_native_by_callgrind(tmp_path: Path) -> None:
    if not has_callgrind():
        pytest.skip("needs valgrind and a core built with its header")
    run = blockmark("profile", "vector/cpp", tiny(tmp_path), cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert re.search(r"loop|append|lookup", rows(run.stdout, "function")[0])
    assert "simulated, not measured" in " ".join(run.stdout.split())
    assert max(map(len, run.stdout.splitlines())) <= 80
    folder = tmp_path / "results" / "profiles" / "tiny-vector-cpp"
    check_files(run, folder, "callgrind.out")
    again = blockmark("profile", "vector/cpp", tiny(tmp_path), cwd=tmp_path)
    instructions = [re.search(r"([\d,]+) instructions", each.stdout) for each in (run, again)]
    assert instructions[0]
    assert instructions[1]
    assert instructions[0][1] == instructions[1][1]


@pytest.mark.alone
def test_native_by_perf(tmp_path: Path) -> None:
    if not has_perf():
        pytest.skip("needs perf that may sample")
    # perf takes ten times as long to read its samples as to take them.
    words = ["profile", "vector/cpp", tiny(tmp_path), "--by", "perf", "--seconds", "1"]
    words += ["--output", "out"]
    run = blockmark(*words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    check_files(run, tmp_path / "out", "perf.data", "perf.txt.gz")
    content = json.loads((tmp_path / "out" / "profile.speedscope.json").read_text())
    names = [frame["name"] for frame in content["shared"]["frames"]]
    profile = content["profiles"][0]
    stacks = [
        (" ".join(names[i] for i in sample), weight)
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True)
    ]
    inside = sum(weight for stack, weight in stacks if "run_step" in stack)
    appends = sum(weight for stack, weight in stacks if "append" in stack)
    assert inside > 0.8 * profile["endValue"]
    assert appends > 0.1 * profile["endValue"]
    assert all(stack.startswith("Replay<") for stack, _ in stacks)


@pytest.mark.alone
def test_a_python_loop_by_the_sampler(tmp_path: Path) -> None:
    words = ["profile", "vector/py", tiny(tmp_path), "--seconds", "1", "--output", "out"]
    run = blockmark(*words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    hot = rows(run.stdout, "line")[0]
    assert "python/vector.py:" in hot or "replay/executors.py:" in hot
    assert any("VectorManager.append_slot" in row for row in rows(run.stdout, "function"))
    assert "pthread_sigmask" not in run.stdout
    check_files(run, tmp_path / "out", "stacks.txt")
    for line in (tmp_path / "out" / "stacks.txt").read_text().splitlines():
        assert line.startswith("PythonReplay.run_within (")
        assert line.rpartition(" ")[2].isdigit()


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["vector", "decode"], 2, "vector names several implementations"),
        (["vector/py", "decode", "--by", "gprof"], 2, "--by gprof: there are auto"),
        (["vector/cpp", "decode", "--by", "python"], 2, "vector/cpp loops in C++"),
        (["vector/py", "decode", "--model", "lookups"], 2, 'did you mean "lookup"'),
        (["vector/py", "decode", "--model", "rate"], 2, "unknown model"),
        (["vector/py", "decode", "--cache", "l1=32768,8,64"], 2, "only callgrind simulates"),
        (["vector/py", "decode", "--set", "cache=l2-cold"], 2, "--set cache=hot"),
        (["nobody/py", "decode"], 2, "unknown implementation"),
        (["vector/py", "nothing"], 2, "unknown scenario"),
        (["raw-array/cpp", "decode"], 3, "does not serve the model step"),
        (["vector/py", "decode", "--output", "/proc/none"], 2, "name another folder"),
    ],
)
def test_what_can_not_be_profiled(
    words: list[str], code: int, problem: str, tmp_path: Path
) -> None:
    run = blockmark("profile", *words, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (code, "")
    assert problem in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "code", "problem"),
    [
        ("Wrong", 4, "is wrong: "),
        ("Crashes", 3, "crashed with SIGSEGV"),
        ("Hangs", 3, "no answer within 5 s"),
        ("Raises", 3, "is failed: "),
    ],
)
def test_a_misbehaving_implementation(name: str, code: int, problem: str, tmp_path: Path) -> None:
    words = ["profile", subject(name), tiny(tmp_path), "--timeout", "5"]
    run = blockmark(*words, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (code, "")
    assert problem in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_without_tools_the_message_says_how_to_get_either(tmp_path: Path) -> None:
    run = blockmark("profile", "vector/cpp", tiny(tmp_path), cwd=tmp_path, env={"PATH": "/nowhere"})
    assert run.returncode == 2
    assert "apt install valgrind" in run.stderr
    assert "linux-perf" in run.stderr
