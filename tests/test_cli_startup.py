"""Quick commands stay quick: nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"numpy", "rich", "pyperf", "matplotlib", "psutil", "pydantic", "blockmark_impls._native"}


def imported(*words: str, cwd: Path) -> set[str]:
    """Names of all modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "blockmark", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["trace", "--help"],
        ["check", "--help"],
        ["list", "scenarios"],
        ["list", "impls"],
        ["list", "metrics"],
        ["list", "keys"],
    ],
)
def test_no_heavy_import(words: list[str], tmp_path: Path) -> None:
    names = imported(*words, cwd=tmp_path)
    assert "typer" in names
    assert not {n for n in names if n in HEAVY or n.partition(".")[0] in HEAVY - {"numpy"}}
    assert "numpy" not in names


def test_a_measured_process_of_the_core_imports_no_numpy(tmp_path: Path) -> None:
    """What is timed natively is timed in a process that holds little else."""
    code = (
        "import sys, blockmark.measure.inside.worker, blockmark.measure.inside.round\n"
        "from blockmark_impls import _native\n"
        "from blockmark_impls.registry import resolve\n"
        "resolve('flat-stack/cpp')[0].facts\n"
        "print(sorted(set(sys.modules) & {'numpy', 'typer', 'rich', 'pyperf', 'matplotlib',"
        " 'psutil', 'blockmark.report', 'blockmark.verdict'}))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"
