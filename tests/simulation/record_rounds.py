"""Record rounds of this machine for the simulation of the gate's rule.

    python tests/simulation/record_rounds.py 60

For each native scheme and each cell of `decode` three variants: A0 and A1, which are the
same program, and B5, the same with so many more lookups in a step that it is about 5 %
slower. How many is calibrated first and kept in the file. A round is one fresh process of
each, the three of a cell back to back in random order, the cells in random order too. Every
finished round is on the disk before the next begins, and a recording goes on where it ended.

The file is plain JSON: `cells` has the least block of each round in ns, `blocks` the 50
blocks of `step_ns` that the rules of other tools need.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slower_step import with_extra_lookups

from blockmark.measure.jobs import Job
from blockmark.measure.machine import build_facts, load_average, machine_facts
from blockmark.measure.programs import prepare
from blockmark.report.files import replace_file
from blockmark.runs.estimate import lower_quartile
from blockmark.workload.builtin import find_scenario
from blockmark.workload.program import Program
from blockmark.workload.scenario import Cell, parse_setting

IMPLS = ("hash-map/cpp", "vector/cpp", "flat-stack/cpp")
COST = "alloc_free_interleaved_ns"
SLOWDOWN = 0.05
# The first pass finds what a lookup costs, the second how many make the slowdown.
_CALIBRATION_ROUNDS = (7, 15)
# What a reader needs to judge the recording by; nothing that names the machine.
_MACHINE_FACTS = ("cpu_model", "cores", "architecture", "python")


@dataclass(frozen=True, slots=True)
class Subject:
    """An implementation in a cell, with the programs that its processes replay."""

    cell: Cell
    impl: str
    job: dict[str, Any]  # as `prepare` made it: paths of the load, the models, the condition

    @property
    def name(self) -> str:
        """`decode (block_size 16) vector/cpp`, as a check calls it."""
        return f"decode (block_size {self.cell['block_size']}) {self.impl}"

    def cost_program(self) -> str:
        """The path of the program behind the other cost."""
        for entry in self.job["models"]["alloc_free"]:
            if COST in entry["metrics"].values():
                return str(entry["path"])
        raise ValueError(f"{self.name} has no {COST}")

    def slower(self, extra: int) -> str:
        """The path of the load with `extra` more lookups a step; made when first asked for."""
        load = Path(self.job["load"])
        path = load.with_name(f"load-{extra}.program")
        if not path.exists():
            with_extra_lookups(Program.load(load), extra).save(path)
        return str(path)

    def measure(self, step: str, seed: int, *, cost: bool) -> dict[str, Any]:
        """One fresh process. Raises RuntimeError if it failed."""
        request = {
            "impl": self.impl,
            "call_style": "native",
            "params": self.cell.values,
            "config": asdict(self.cell.pool_config),
            "condition": self.job["condition"],
            "step": step,
            "cost": self.cost_program() if cost else None,
            "seed": seed,
        }
        script = str(Path(__file__).with_name("recorded_process.py"))
        command = [sys.executable, "-P", script]
        answer = Job(request, 120.0, threading.Event(), command=command).result()
        if answer["status"] != "ok":
            raise RuntimeError(f"{self.name}: {answer['reason']}")
        return answer


def calibrate(subject: Subject) -> int:
    """How many more lookups a step make it slower by SLOWDOWN, by measuring.

    Lower quartiles of the least blocks of a few processes, plain and slower ones in turn.
    """
    extra = int(subject.cell["concurrency"]) // 4
    for rounds in _CALIBRATION_ROUNDS:
        plain: list[float] = []
        slow: list[float] = []
        for number in range(rounds):
            for path, values in (
                (subject.job["load"], plain),
                (subject.slower(extra), slow),
            ):
                values.append(min(subject.measure(path, number, cost=False)["blocks"]))
        change = lower_quartile(slow) / lower_quartile(plain) - 1.0
        # A change that is lost in the noise says only that more is needed.
        extra = max(1, round(extra * SLOWDOWN / max(change, SLOWDOWN / 8)))
    return extra


def record_round(recording: dict[str, Any], subjects: list[Subject]) -> None:
    """Measure every variant of every subject once, and add it to the recording."""
    number = recording["rounds"]
    rng = random.Random(recording["seed"] * 1_000_003 + number)
    found: list[tuple[str, str, dict[str, Any]]] = []
    for subject in rng.sample(subjects, len(subjects)):
        for variant in rng.sample(["A0", "A1", "B5"], 3):
            slow = variant == "B5"
            extra = recording["extra_lookups"][subject.name]
            step = subject.slower(extra) if slow else subject.job["load"]
            # The heap is aged by the seed: the same one for what is compared.
            answer = subject.measure(step, number, cost=not slow)
            found.append((subject.name, variant, answer))
    # Only a whole round is one.
    for name, variant, answer in found:
        step_cell = recording["cells"].setdefault(f"{name} step_ns", {})
        step_cell.setdefault(variant, []).append(_short(min(answer["blocks"]), 5))
        blocks = recording["blocks"].setdefault(f"{name} step_ns", {})
        blocks.setdefault(variant, []).append([_short(block, 4) for block in answer["blocks"]])
        if "cost" in answer:
            cost_cell = recording["cells"].setdefault(f"{name} {COST}", {})
            cost_cell.setdefault(variant, []).append(_short(answer["cost"], 5))
    recording["load_average"].append(round(load_average(), 1))
    recording["rounds"] += 1


def _short(value: float, digits: int) -> float:
    """So many digits that count: far below the noise, and a file that can be committed."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _new_recording(seed: int) -> dict[str, Any]:
    machine = machine_facts()
    return {
        "schema": "blockmark.gate-rounds",
        "schema_version": 1,
        "seed": seed,
        "machine": {name: machine[name] for name in _MACHINE_FACTS},
        "compiler": f"{build_facts()['compiler']} {build_facts()['flags']}".strip(),
        "extra_lookups": {},
        "rounds": 0,
        "load_average": [],
        "cells": {},
        "blocks": {},
    }


def main() -> None:
    """Record until the file holds the wanted number of rounds."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rounds", type=int, help="rounds that the file is to hold in the end")
    parser.add_argument("--output", type=Path, default=here / "rounds.json")
    parser.add_argument("--seed", type=int, default=1, help="of a new recording (default: 1)")
    options = parser.parse_args()
    if options.output.exists():
        recording = json.loads(options.output.read_text("utf-8"))
    else:
        recording = _new_recording(options.seed)
    models = dict([parse_setting("models=step,alloc_free")])
    cells = find_scenario("decode").override(models).cells()
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        prepared = prepare(cells, Path(folder))
        subjects = [
            Subject(cell, impl, prepared.jobs[cell.key]) for cell in cells for impl in IMPLS
        ]
        for subject in subjects:
            if subject.name not in recording["extra_lookups"]:
                extra = recording["extra_lookups"][subject.name] = calibrate(subject)
                print(f"{subject.name}: {extra} more lookups a step", file=sys.stderr)
        while recording["rounds"] < options.rounds:
            record_round(recording, subjects)
            text = json.dumps(recording, separators=(",", ":"), sort_keys=True)
            text = text.replace('],"', '],\n"')
            replace_file(options.output, (text + "\n").encode())
            print(f"round {recording['rounds']} of {options.rounds}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # Whole rounds are on the disk; the same command goes on from there.
        sys.exit(130)
