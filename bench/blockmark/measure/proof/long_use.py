"""A manager that is used for long: what shows only then, and what it has kept by then."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.calls import Call, program_of
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.oracle.moves import Moves, apply_to_oracle
from blockmark_impls.contract import PoolConfig

from .checker import Checker
from .heap import held
from .wrong import WrongAnswer, located

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from blockmark.workload.program import Program

    from ..replay import Replay

LONG_USE = PoolConfig(total_blocks=420, block_size=4, max_seqs=24, max_blocks_per_seq=40)
_LOOP_CALLS = 400
# A loop of some 400 calls, until each operation was done some 70,000 times, in CHUNKS; a slow
# manager is left off when it has used so much CPU time.
_LOOPS, _CHUNKS, _LEAST_CHUNKS, _MOST_CPU_S = 3_000, 12, 4, 10.0
DAY_S = 86_400.0
# What a sequence that was freed leaves behind: less than this is no rule.
_MOST_HELD = (("objects", 0.25), ("bytes", 8.0))


def loop_program(
    config: PoolConfig, usable_blocks: int, left_out: Collection[str], rng: random.Random
) -> Program:
    """Calls of every kind that succeed, and end as they began: with all blocks free."""
    oracle = Oracle(config, usable_blocks)
    moves = Moves(oracle, rng, left_out=left_out, slots_beyond=False)
    served = [call for call in moves.calls(_LOOP_CALLS) if apply_to_oracle(oracle, call)]
    served += [Call("free", (seq,)) for seq in oracle.tables]
    return program_of(served, config.max_blocks_per_seq)


def play_for_long(replay: Replay, manager: Any, config: PoolConfig, program: Program) -> None:
    """Loop over `program`, and look at what is held afterwards.

    Raises WrongAnswer where something is left, or what is held grows with every sequence
    that has ended.
    """
    sequences = sum(code in (1, 6) for code in program.codes)
    started = time.process_time()
    readings = [held()]
    while len(readings) <= _CHUNKS:
        try:
            replay.run(0, program.num_steps * (_LOOPS // _CHUNKS))
            Checker(manager, config, "unspecified").compare_all()
        except Exception as error:
            raise located(error, "", f"after {(len(readings)) * _LOOPS // _CHUNKS} loops") from None
        readings.append(held())
        if len(readings) > _LEAST_CHUNKS and time.process_time() - started > _MOST_CPU_S:
            break
    check_held(readings, sequences * (_LOOPS // _CHUNKS), "sequence that has ended")


def check_held(readings: Sequence[tuple[int, int]], ended: int, what: str) -> None:
    """That what is held (see `heap.held`) does not grow from reading to reading, between which
    so many things of a kind came and went. Raises WrongAnswer.
    """
    # Half of the readings bring it to where it stays.
    late = readings[len(readings) // 2 :]
    for place, (held_, most) in enumerate(_MOST_HELD):
        grown = [after[place] - before[place] for before, after in pairwise(late)]
        if grown and min(grown) > most * ended:
            more = min(grown) / ended
            raise WrongAnswer(f"{more:.1f} {held_} more are held for each {what}", kind="memory")
