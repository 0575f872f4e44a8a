"""Memory: what the structure says it holds, the process's peak, the order of ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")


def peak_rss_bytes(status: Path = _STATUS) -> int | None:
    """The most memory that this process has had resident, interpreter included.

    The kernel's high-water mark of this address space; None where it is not told.
    getrusage's maximum is no use: a process inherits its parent's across fork and exec.
    """
    try:
        lines = status.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    return None


def contiguity(tables: list[list[int]]) -> tuple[float, float]:
    """(mean length of runs of consecutive ids, mean number of runs in a table).

    A run ends with its table; a length of 1 is fully scattered. The first is the proof
    of the condition `pool`; the second is the number of copy descriptors that moving a
    sequence takes, for which engines pay. Raises ValueError if there is no block.
    """
    blocks = runs = 0
    for table in tables:
        blocks += len(table)
        runs += sum(1 for i, block in enumerate(table) if i == 0 or block != table[i - 1] + 1)
    if not runs:
        raise ValueError("no block was handed out")
    return blocks / runs, runs / sum(1 for table in tables if table)


def structure_bytes(manager: Any) -> dict[str, float | str]:
    """Metric name -> bytes, or the reason why there is no number."""
    found: dict[str, float | str] = {}
    for name in ("table_bytes", "pool_bytes"):
        if hasattr(manager, name):
            found[name] = float(getattr(manager, name)())
        else:
            found[name] = f"the implementation has no {name}()"
    return found
