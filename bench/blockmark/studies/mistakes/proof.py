"""Proof of a mistake: it is wrong in the one way that it declares, and in no other.

Its tables, ref counts and answers are compared with the oracle as those of any manager,
but for the declared fault; and the fault itself has to show. A mistake that turns out
right, or wrong in another way, is `wrong`, so that no cost is told of something else.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from blockmark.measure.proof.checker import Checker, Verified, check_state
from blockmark.measure.proof.wrong import WrongAnswer
from blockmark.measure.replay import bind
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.oracle.moves import random_program, small_config
from blockmark.workload.program import Op, Program, ProgramBuilder
from blockmark_impls.contract import Copy, PoolConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from blockmark_impls.mistakes.rows import MistakeFacts
    from blockmark_impls.registry import Implementation

# Small, and full of boundaries: 24 appends of a lone sequence cross six.
_SMALL = PoolConfig(total_blocks=64, block_size=4, max_seqs=8, max_blocks_per_seq=16, id_bits=16)
_APPENDS = 24


def prove_mistake(impl: Implementation, config: PoolConfig, job: dict[str, Any]) -> dict[str, Any]:
    """The result of a worker's proof, as `proof.prove` gives it; the job is the same."""
    done = Verified()
    fault = cast("MistakeFacts", impl.facts).fault
    try:
        for number in range(job["random_programs"]):
            rng = random.Random(f"{job['seed']}/{number}")
            _prove_random(impl, fault, rng, job["call_style"], done)
        for path in job["programs"]:
            program = Program.load(Path(path))
            _prove_load(impl, fault, config, program, job, done)
        _FAULTS[fault](impl)
    except WrongAnswer as wrong:
        return {"status": "wrong", "reason": str(wrong)}
    return {"status": "ok", "operations": done.operations, "steps": done.steps}


class CopyingOracle(Oracle):
    """The contract, but that every write into a partly filled block copies it first."""

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        """More tokens; the last block is copied if it is written, whoever names it."""
        table = self._table(seq)
        if num_tokens < 1 or table.tokens % self.config.block_size == 0:
            return super().extend(seq, num_tokens)
        blocks = self.blocks_for(table.tokens + num_tokens)
        self._check_room(blocks, blocks - len(table.blocks) + 1)
        last = table.blocks[-1]
        assert last is not None
        table.blocks[-1] = new = self._take()
        self._release(last)
        # Of a block of its own nothing is copied again.
        return [Copy(last, new), *super().extend(seq, num_tokens)]


class MistakeChecker(Checker):
    """A manager with a mistake beside an oracle with the same."""

    def __init__(self, manager: Any, config: PoolConfig, reuse_order: str, fault: str) -> None:
        super().__init__(manager, config, reuse_order)
        self._gone: dict[int, int] = {}
        if fault == "copies":
            self.oracle = CopyingOracle(config, self.oracle.usable_blocks)

    def _collect_released(self) -> None:
        # A copy may name a source that nobody holds any more.
        self._gone = {block: self.physical[block] for block in self.oracle.released}
        super()._collect_released()

    def _compare_answer(self, method: str, expected: Any, got: Any) -> None:
        known = self.physical
        self.physical = {**self._gone, **known} if self._gone else known
        try:
            super()._compare_answer(method, expected, got)
        finally:
            self.physical = known


def _prove_random(
    impl: Implementation, fault: str, rng: random.Random, style: str, done: Verified
) -> None:
    config = small_config(rng, 16)
    checker = MistakeChecker(impl.make_manager(config), config, impl.reuse_order, fault)
    program = random_program(config, rng, 160)
    checker.replay(program, range(program.num_steps))
    done.operations += checker.done.operations
    done.steps += checker.done.steps
    # One block is left free, for a copy that the contract does not know.
    program = random_program(
        config, rng, 80, failing=False, usable_blocks=max(1, config.total_blocks - 1)
    )
    if program.num_steps:
        manager = impl.make_manager(config)
        replay = bind(manager, program, style)
        replay.setup()
        replay.run(0, program.body_steps)
        check_state(manager, config, program, range(program.num_steps))


def _prove_load(
    impl: Implementation,
    fault: str,
    config: PoolConfig,
    program: Program,
    job: dict[str, Any],
    done: Verified,
) -> None:
    checker = MistakeChecker(impl.make_manager(config), config, impl.reuse_order, fault)
    last = program.steps_with(job["operations"])
    checker.replay(program, range(last), max(1, last // 6))
    checker.compare_all()
    done.operations += checker.done.operations
    done.steps += checker.done.steps
    manager = impl.make_manager(config)
    replay = bind(manager, program, job["call_style"])
    replay.setup()
    replay.run(0, last - program.setup_steps)
    check_state(manager, config, program, range(last))


def lone_copies(manager: Any, appends: int) -> int:
    """Copies that one sequence of one block's tokens makes, all alone, in so many appends."""
    manager.allocate(0, _SMALL.block_size)
    return sum(manager.append_slot(0) is not None for _ in range(appends))


def _shows_copies(impl: Implementation) -> None:
    copies = lone_copies(impl.make_manager(_SMALL), _APPENDS)
    declared = _APPENDS * (_SMALL.block_size - 1) // _SMALL.block_size
    _declared(copies, declared, f"copies of a lone sequence in {_APPENDS} appends")


def _shows_allocations(impl: Implementation) -> None:
    from blockmark_impls import _native

    if not _native.allocation_counter_ok:
        return  # the count would be of another operator new
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, 0, _SMALL.block_size)
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.APPEND, [0] * _APPENDS)
    program = builder.build(units={1: 1.0})
    replay = bind(impl.make_manager(_SMALL), program, "native")
    replay.setup()
    _declared(replay.allocations(0, 1)[0], _APPENDS, f"heap allocations in {_APPENDS} appends")


def _shows_search(impl: Implementation) -> None:
    manager = impl.make_manager(_SMALL)
    manager.allocate(0, 10 * _SMALL.block_size)
    _declared(manager.search_length, 11, "entries looked at beside 10 taken blocks")


def _shows_lost_update(impl: Implementation) -> None:
    del impl
    _declared(lost_updates(), 1, "of two mixed updates of one table lost")


def lost_updates() -> int:
    """How many of two updates of a shared table are lost if their steps are mixed."""
    from blockmark_impls import _native

    table = _native.SharedTable(_SMALL.max_seqs * 64)
    first, second = same_place(table)
    _mix(table, first, second)
    return (table.get(*first) != 100) + (table.get(*second) != 200)


def same_place(table: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two entries of different sequences that an empty shared table puts into one place."""
    places: dict[int, tuple[int, int]] = {}
    for seq in range(512):
        for logical in range(8):
            place = table.find(seq, logical)
            known = places.setdefault(place, (seq, logical))
            if known[0] != seq:
                return known, (seq, logical)
    raise WrongAnswer("no two entries of the shared table have one place")


def _mix(table: Any, first: tuple[int, int], second: tuple[int, int]) -> None:
    """Both find their place before either writes, as two threads without a lock may."""
    place_of_first = table.find(*first)
    place_of_second = table.find(*second)
    table.put(place_of_first, *first, 100)
    table.put(place_of_second, *second, 200)


def _shows_transfers(impl: Implementation) -> None:
    import numpy as np

    manager = impl.make_manager(_SMALL)
    for seq in range(5):
        manager.allocate(seq, 1)
    out = np.zeros((5, _SMALL.max_blocks_per_seq), np.int32)
    manager.write_block_tables(np.arange(5, dtype=np.int32), out, np.zeros(5, np.int32))
    _declared(manager.copies_sent, 5, "copies of 5 packed rows")


def _declared(found: int, declared: int, what: str) -> None:
    if found != declared:
        raise WrongAnswer(f"{found} {what}, where {declared} are declared")


_FAULTS: dict[str, Callable[[Implementation], None]] = {
    "copies": _shows_copies,
    "shared-table": _shows_lost_update,
    "allocations": _shows_allocations,
    "search": _shows_search,
    "transfers": _shows_transfers,
}
