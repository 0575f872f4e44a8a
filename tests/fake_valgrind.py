"""A `valgrind` for tests: a script on PATH that does what it is told."""

from __future__ import annotations

import sys
from pathlib import Path

# A dump as callgrind 3.19 writes it, made shorter. The totals end with the last number
# that is not 0, and the summary of a process that began uninstrumented says 0.
DUMP = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 1
cmd:  python -P -m blockmark.measure.inside.simulated
part: 1

desc: I1 cache: 32768 B, 64 B, 8-way associative
desc: D1 cache: 32768 B, 64 B, 8-way associative
desc: LL cache: 33554432 B, 64 B, 16-way associative

desc: Timerange: Basic block 0 - 86
desc: Trigger: Client Request: {label}

positions: line
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
summary: 0

fl=(1) replay.hpp
fn=(1) loop
83 1000 400 100 1 20 5 1 2 0 90 3 10 1

totals: {totals}
"""
# Twelve numbers of thirteen: no indirect branch was predicted wrongly.
TOTALS = "1000 400 100 1 20 5 1 2 0 90 3 10"


def install(folder: Path, body: str) -> dict[str, str]:
    """Put a valgrind with the Python code `body` into `folder`; the environment that finds it.

    In `body`, `words` are its arguments.
    """
    folder.mkdir(exist_ok=True)
    script = folder / "valgrind"
    script.write_text(
        f"#!{sys.executable}\nimport os, signal, sys, time\nwords = sys.argv[1:]\n{body}"
    )
    script.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}
