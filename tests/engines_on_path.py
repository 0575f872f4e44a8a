"""Running blockmark, or code, with the doubles of engines on the path of a child process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DOUBLES = Path(__file__).parent / "engines_doubles"


def run_code(code: str, doubles: Path = DOUBLES) -> str:
    """What a piece of Python prints, where the doubles are installed."""
    done = _run(["-c", code], Path.cwd(), doubles)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blockmark(
    folder: Path, *words: str, doubles: Path = DOUBLES
) -> subprocess.CompletedProcess[str]:
    """A command, run in `folder`."""
    return _run(["-m", "blockmark", *words], folder, doubles)


def _run(words: list[str], folder: Path, doubles: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", *words],
        env={**os.environ, "PYTHONPATH": str(doubles)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
