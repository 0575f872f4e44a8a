"""Windows of threads made into numbers: only those count in which all of them ran."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blockmark.workload.errors import ConfigError

# Threads beyond these say nothing more about a pool, and much about a scheduler.
MOST_THREADS, MOST_PER_CORE = 64, 8
# Fewer accepted windows prove nothing of a machine that is busy with something else.
LEAST_WINDOWS = 5
# A thread's window as the core tells it: operations, elapsed ns, late ns, longest gap ns,
# voluntary and involuntary switches, CPU ns.
Row = tuple[int, int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Overlap:
    """What accepted windows say; `reason` is why they say nothing, and then no number is there.

    `op_ns` is what an operation takes a thread and `cpu_ns` what of that it is on a processor,
    `ops_per_s` what all threads do together, `voluntary_per_s` how often any goes to sleep,
    `fairness` the slowest thread's operations over the fastest one's.
    """

    share: float
    reason: str = ""
    op_ns: float = 0.0
    op_mean_ns: float = 0.0
    cpu_ns: float = 0.0
    ops_per_s: float = 0.0
    voluntary_per_s: float = 0.0
    fairness: float = 0.0


def overlap_of(accepted: Sequence[bool], threads: Sequence[Sequence[Row]]) -> Overlap:
    """The numbers of all accepted windows; `threads` has a row a window and thread."""
    chosen = [rows for rows, good in zip(threads, accepted, strict=True) if good]
    share = len(chosen) / len(accepted) if accepted else 0.0
    if len(chosen) < LEAST_WINDOWS:
        return Overlap(share, _reason(len(threads[0]) if threads else 0, len(chosen), accepted))
    each = [sum(row[1] for row in rows) / sum(row[0] for row in rows) for rows in chosen]
    cpu = [sum(row[6] for row in rows) / sum(row[0] for row in rows) for rows in chosen]
    seconds = sum(max(row[1] for row in rows) for rows in chosen) / 1e9
    rates = [sum(row[0] / row[1] for row in rows) * 1e9 for rows in chosen]
    shares = [min(row[0] for row in rows) / max(row[0] for row in rows) for rows in chosen]
    return Overlap(
        share,
        op_ns=statistics.median(each),
        op_mean_ns=statistics.fmean(each),
        cpu_ns=statistics.median(cpu),
        ops_per_s=statistics.median(rates),
        voluntary_per_s=sum(row[4] for rows in chosen for row in rows) / seconds,
        fairness=statistics.fmean(shares),
    )


def _reason(threads: int, found: int, accepted: Sequence[bool]) -> str:
    if threads == 1:
        return f"the thread ran undisturbed in {found} of {len(accepted)} windows only"
    if found == 0:
        return f"the threads never ran at once in any of {len(accepted)} windows"
    return (
        f"the threads ran at once in {found} of {len(accepted)} windows only; "
        f"{LEAST_WINDOWS} are needed"
    )


def check_threads(threads: int, cores: int) -> None:
    """Raises ConfigError for more threads than make sense."""
    most = min(MOST_THREADS, MOST_PER_CORE * cores)
    if threads > most:
        raise ConfigError(
            f"threads = {threads:,}: more threads than make sense on {cores} "
            f"{'processor' if cores == 1 else 'processors'}; set threads to {most} or fewer"
        )


def window_plan(op_ns: int, *, quick: bool) -> dict[str, int]:
    """How long windows are and how many are tried, for operations of at least `op_ns`.

    Long enough for twenty operations, else 150 us: a scheduler's slice is some milliseconds,
    so most of such windows see no switch.
    """
    return {
        "window_ns": max(150_000, 20 * op_ns),
        "gap_limit_ns": 60_000 + 3 * op_ns,
        "wanted": 10 if quick else 100,
        "most": 60 if quick else 300,
    }


def overlap_metrics(windows: Any) -> tuple[Overlap, Any]:
    """The windows of the core, and their histogram."""
    return overlap_of(windows.accepted, windows.threads), windows.latency
