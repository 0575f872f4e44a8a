"""The command as a user runs it: a real process, in a folder of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SUBJECTS = Path(__file__).parent / "subjects" / "misbehaving.py"

# So small that a round takes a fraction of a second.
TINY = """
title = "Tiny"
total_blocks = 256
max_blocks_per_seq = 16
concurrency = 8
heap = "fresh"
implementations = ["vector/py"]
models = ["step"]
block_size = 4
"""


def command(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "blockmark", *words]


def blockmark(
    *words: str, cwd: Path, env: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run `blockmark WORDS`; output is text, and nothing is a terminal."""
    return subprocess.run(
        command(*words),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        **more,
    )


def tiny(folder: Path, extra: str = "") -> str:
    """The path of a tiny scenario in `folder`."""
    path = folder / "tiny.toml"
    path.write_text(TINY + extra)
    return str(path)


def subject(name: str) -> str:
    """The target of a class in subjects/misbehaving.py."""
    return f"{SUBJECTS}:{name}"
