"""One measured process of a recording: every block of `step_ns`, the least of another cost.

Reads a job on stdin and writes one JSON line, as a worker of a run does, and measures as
one: the same set-up, warm-up, calibration and clock. A worker keeps the least block only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from blockmark.measure.probes.timing import Cursor, calibrate, measure_costs, warm_up
from blockmark.measure.replay import bind
from blockmark.measure.subject_setup import SubjectSetup
from blockmark.workload.program import Program
from blockmark_impls.contract import PoolConfig
from blockmark_impls.registry import resolve

BLOCKS = 50
_STEP_BLOCK_NS, _COST_BLOCK_NS, _WARM_UP_NS = 1_000_000, 500_000, 60_000_000


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """`blocks`: ns per step of each block; `cost`: ns of the other cost, where it is asked for."""
    subject = SubjectSetup(resolve(job["impl"])[0], PoolConfig(**job["config"]), job)
    manager = subject.manager()
    cursor = _bound(manager, job["step"])
    warm_up(cursor, _WARM_UP_NS)
    steps, ns = calibrate(cursor, _STEP_BLOCK_NS)
    if ns > 2 * _STEP_BLOCK_NS:
        raise ValueError(f"{steps} steps, one period, take {ns / 1e6:.1f} ms: no block of 1 ms")
    blocks = [sum(cursor.run(steps)) / steps for _ in range(BLOCKS)]
    found: dict[str, Any] = {"status": "ok", "blocks": blocks}
    if job["cost"]:
        subject.free_all(manager)
        costs = measure_costs(_bound(subject.manager(), job["cost"]), BLOCKS, _COST_BLOCK_NS, 4)
        found["cost"] = costs[1].least
    return found


def _bound(manager: Any, path: str) -> Cursor:
    program = Program.load(Path(path))
    replay = bind(manager, program, "native")
    replay.setup()
    return Cursor(replay, program)


if __name__ == "__main__":
    print(json.dumps(measure(json.load(sys.stdin))))
