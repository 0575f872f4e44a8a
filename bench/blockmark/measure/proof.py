"""The whole proof of one implementation: random programs, the load, every replay."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.program import Program
from blockmark.workload.random_ops import random_config, random_program
from blockmark_impls.contract import missing_operations

from .replay import bind
from .verify import Checker, Verified, WrongAnswer, check_state, lacking

if TYPE_CHECKING:
    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import Implementation

# A manager that lacks these can't be driven at all.
_NEEDED = ("allocate", "append_slot", "free", "block_table", "num_free_blocks")


def prove(impl: Implementation, config: PoolConfig, job: dict[str, Any]) -> dict[str, Any]:
    """Verify an implementation; the result is `ok`, `wrong` or `unavailable`.

    The job names `random_programs` (how many), `programs` (paths of loads) and
    `operations` (how many of each load to compare, in whole steps).
    """
    if impl.kind == "control":
        return {"status": "ok", "operations": 0, "steps": 0}
    if (own := getattr(impl.source, "proof", "contract")) != "contract":
        from .engine_proof import prove_engine

        return prove_engine(impl, own, config, job)
    done = Verified()
    style = job["call_style"]
    try:
        manager = impl.make_manager(config)
        if missing := missing_operations(manager, _NEEDED):
            return {
                "status": "unavailable",
                "reason": f"{impl.name} lacks {', '.join(missing)}, which every model needs",
            }
        for number in range(job["random_programs"]):
            rng = random.Random(f"{job['seed']}/{number}")
            _prove_random(impl, style, config, rng, number, done)
        for path in job["programs"]:
            _prove_program(impl, style, config, Program.load(Path(path)), job["operations"], done)
    except WrongAnswer as wrong:
        return {"status": "wrong", "reason": str(wrong)}
    return {"status": "ok", "operations": done.operations, "steps": done.steps}


def _prove_random(
    impl: Implementation,
    style: str,
    cell: PoolConfig,
    rng: random.Random,
    number: int,
    done: Verified,
) -> None:
    """A small program one by one; then one that succeeds, by the replay that is timed."""
    config = random_config(rng, cell.id_bits)
    checker = Checker(impl.make_manager(config), config, impl.reuse_order)
    left_out = lacking(checker.manager)
    usable = checker.oracle.usable_blocks
    program = random_program(config, rng, 160, left_out=left_out, usable_blocks=usable)
    _replay(checker, program, range(program.num_steps), f"random program {number}", 1)
    done.operations += checker.done.operations
    done.steps += checker.done.steps
    program = random_program(
        config, rng, 80, left_out=left_out, failing=False, usable_blocks=usable
    )
    if program.num_steps:
        _prove_replay(
            impl, style, config, program, program.num_steps, f"replay of random program {number}"
        )


def _prove_program(
    impl: Implementation,
    style: str,
    config: PoolConfig,
    program: Program,
    operations: int,
    done: Verified,
) -> None:
    checker = Checker(impl.make_manager(config), config, impl.reuse_order)
    last = _steps_with(program, operations)
    # All tables are compared some times on the way, and at the end.
    _replay(checker, program, range(last), "the load", max(1, last // 6))
    try:
        checker.compare_all()
    except WrongAnswer as wrong:
        raise WrongAnswer(f"the load, after step {last - 1}: {wrong}") from None
    done.operations += checker.done.operations
    done.steps += checker.done.steps
    _prove_replay(impl, style, config, program, last, "replay of the load")


def _steps_with(program: Program, operations: int) -> int:
    """Steps from the first on, set-up included, with at least so many body operations."""
    step = program.setup_steps
    first = program.run_start[program.step_runs[step]]
    while step < program.num_steps:
        step += 1
        if program.run_start[program.step_runs[step]] - first >= operations:
            break
    return step


def _replay(checker: Checker, program: Program, steps: range, what: str, every: int) -> None:
    try:
        checker.replay(program, steps, every)
    except WrongAnswer as wrong:
        config = checker.config
        size = (
            f"{config.total_blocks} blocks of {config.block_size}, {config.max_seqs} sequences "
            f"of at most {config.max_blocks_per_seq} blocks"
        )
        raise WrongAnswer(f"{what} ({size}), {wrong}") from None


def _prove_replay(
    impl: Implementation, style: str, config: PoolConfig, program: Program, last: int, what: str
) -> None:
    """The loop that will be timed must leave the same state as the calls one by one."""
    manager = impl.make_manager(config)
    replay = bind(manager, program, style)
    replay.setup()
    replay.run(0, last - program.setup_steps)
    try:
        check_state(manager, config, program, range(last))
    except WrongAnswer as wrong:
        raise WrongAnswer(f"{what} ({style}), after step {last - 1}: {wrong}") from None
