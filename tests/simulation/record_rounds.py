"""Record rounds of this machine for the simulation of the gate's rule.

    python tests/simulation/record_rounds.py 60

For each native scheme and each cell of `decode` four variants: A0, A1 and A2, which are the
same program, and B5, the same with so many more lookups in a step that it is about 5 %
slower. How many is calibrated first and kept in the file. A round is two matches of each, as
a check plays them: two fresh processes that take turns, A0 against A1 and A2 against B5, the
matches in random order. Every finished round is on the disk before the next begins, and a
recording goes on where it ended.

The file is plain JSON: `cells` has the least block of each round in ns; `shifts` for each
match of a round the logarithm of the change that its turns found; `blocks` the blocks of
`step_ns` that the rules of other tools need.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recording import EQUAL, SCHEMA_VERSION, SLOWER
from slower_step import with_extra_lookups

from blockmark.measure.machine import build_facts, load_average, machine_facts
from blockmark.measure.process.jobs import Job
from blockmark.measure.process.task import Timed
from blockmark.measure.run.plan import Pair
from blockmark.measure.run.programs import Prepared, prepare
from blockmark.measure.sides.turns import Alternated, alternate, turns_job
from blockmark.measure.subject import Subject
from blockmark.report.files import replace_file
from blockmark.workload.builtin import find_scenario
from blockmark.workload.program import Program
from blockmark.workload.scenario import parse_setting
from blockmark_impls.registry import resolve

IMPLS = ("hash-map/cpp", "vector/cpp", "flat-stack/cpp")
STEP, COST = "step_ns", "alloc_free_interleaved_ns"
SLOWDOWN = 0.05
# Matches of a pass, and the change, in SLOWDOWNs, that the next one aims at.
_CALIBRATION = ((4, 2.0), (8, 1.0), (14, 1.0))
_TIMEOUT_S = 60.0
# What a reader needs to judge the recording by; nothing that names the machine.
_MACHINE_FACTS = ("cpu_model", "cores", "architecture", "python")


@dataclass(frozen=True, slots=True)
class Contestant:
    """An implementation in a cell, with the programs that its processes replay."""

    pair: Pair
    prepared: Prepared

    @property
    def name(self) -> str:
        """`decode (block_size 16) vector/cpp`, as a check calls it."""
        return f"decode (block_size {self.pair.cell['block_size']}) {self.pair.subject.name}"

    def programs(self, *, cost: bool) -> Timed:
        """The step, and with `cost` the other gated cost: as a check asks for them."""
        models = self.prepared.programs[self.pair.cell.key].models
        found = {"step": models["step"]}
        if cost:
            found["alloc_free"] = [one for one in models["alloc_free"] if COST in one.names]
        return found

    def slower(self, extra: int) -> Timed:
        """The step with `extra` more lookups; made when first asked for."""
        load = Path(self.prepared.programs[self.pair.cell.key].load)
        path = load.with_name(f"load-{extra}.program")
        if not path.exists():
            with_extra_lookups(Program.load(load), extra).save(path)
        return {"step": [replace(one, path=str(path)) for one in self.programs(cost=False)["step"]]}

    def play(
        self,
        before: Timed,
        after: Timed,
        seed: int,
        draw: random.Random,
    ) -> Alternated:
        """A match of two fresh processes. Raises RuntimeError if one failed."""
        stop = threading.Event()
        players: dict[int, Job] = {}
        try:
            # Whose process is the older one is drawn too.
            for side in draw.sample((0, 1), 2):
                # The heap is aged by the seed: the same one for what is compared.
                job = turns_job(self.pair, self.prepared, (before, after)[side], seed)
                players[side] = Job(job, _TIMEOUT_S, stop, talks=True)
        except BaseException:
            for player in players.values():
                player.kill()
            raise
        found = alternate((players[0], players[1]), draw)
        if found.broken or STEP not in found.metrics:
            raise RuntimeError(f"{self.name}: {found.answers} {found.unavailable}")
        return found


def calibrate(contestant: Contestant, draw: random.Random) -> int:
    """How many more lookups a step make it slower by SLOWDOWN, by measuring in turns.

    First with far more of them, as a change that is lost in the noise would say nothing;
    then in proportion, step by step nearer to the change itself, so that a first lookup
    that costs more than those after it does no harm.
    """
    extra = 2 * int(contestant.pair.cell["concurrency"])
    for rounds, aim in _CALIBRATION:
        plain, slow = contestant.programs(cost=False), contestant.slower(extra)
        shifts = [
            contestant.play(plain, slow, number, draw).metrics[STEP].shift
            for number in range(rounds)
        ]
        change = max(SLOWDOWN / 4, math.expm1(statistics.median(shifts)))
        extra = max(1, round(extra * aim * SLOWDOWN / change))
    return extra


def record_round(recording: dict[str, Any], contestants: list[Contestant]) -> None:
    """Play both matches of every contestant once, and add them to the recording."""
    number = recording["rounds"]
    draw = random.Random(recording["seed"] * 1_000_003 + number)
    found: list[tuple[Contestant, str, Alternated]] = []
    for contestant in draw.sample(contestants, len(contestants)):
        for match in draw.sample((EQUAL, SLOWER), 2):
            if match == EQUAL:
                before = after = contestant.programs(cost=True)
            else:
                before = contestant.programs(cost=False)
                after = contestant.slower(recording["extra_lookups"][contestant.name])
            found.append((contestant, match, contestant.play(before, after, number, draw)))
    # Only a whole round is one.
    for contestant, match, played in found:
        new, old = match.split("/")
        for metric in (STEP, COST) if match == EQUAL else (STEP,):
            name, compared = f"{contestant.name} {metric}", played.metrics[metric]
            _add(recording["cells"], name, old, _short(compared.before, 5))
            _add(recording["cells"], name, new, _short(compared.after, 5))
            _add(recording["shifts"], name, match, _short(compared.shift, 4))
            if metric == STEP:
                blocks = [
                    [_short(block, 4) for pair in compared.pairs for block in pair[side]]
                    for side in (0, 1)
                ]
                if match == EQUAL:
                    _add(recording["blocks"], name, old, blocks[0])
                _add(recording["blocks"], name, new, blocks[1])
    recording["load_average"].append(round(load_average(), 1))
    recording["rounds"] += 1


def _add(part: dict[str, Any], name: str, kind: str, value: object) -> None:
    part.setdefault(name, {}).setdefault(kind, []).append(value)


def _short(value: float, digits: int) -> float:
    """So many digits that count: far below the noise, and a file that can be committed."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _new_recording(seed: int) -> dict[str, Any]:
    machine = machine_facts()
    return {
        "schema": "blockmark.gate-rounds",
        "schema_version": SCHEMA_VERSION,
        "seed": seed,
        "machine": {name: machine[name] for name in _MACHINE_FACTS},
        "compiler": f"{build_facts()['compiler']} {build_facts()['flags']}".strip(),
        "extra_lookups": {},
        "rounds": 0,
        "load_average": [],
        "cells": {},
        "shifts": {},
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
    recording = _new_recording(options.seed)
    if options.output.exists():
        recording = json.loads(options.output.read_text("utf-8"))
        if recording["schema_version"] != SCHEMA_VERSION:
            sys.exit(f"{options.output} was recorded in another form; delete it first")
    models = dict([parse_setting("models=step,alloc_free")])
    cells = find_scenario("decode").override(models).cells()
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        prepared = prepare(cells, Path(folder))
        contestants = [
            Contestant(Pair(cell, Subject.of(resolve(impl)[0], cell)), prepared)
            for cell in cells
            for impl in IMPLS
        ]
        draw = random.Random(recording["seed"])
        for contestant in contestants:
            if contestant.name not in recording["extra_lookups"]:
                extra = calibrate(contestant, draw)
                recording["extra_lookups"][contestant.name] = extra
                print(f"{contestant.name}: {extra} more lookups a step", file=sys.stderr)
        while recording["rounds"] < options.rounds:
            record_round(recording, contestants)
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
