"""The whole proof of one implementation: corners, random programs, the load, every replay."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.calls import calls_of
from blockmark.workload.oracle.corners import corners
from blockmark.workload.oracle.tiny import random_config, random_program
from blockmark.workload.program import Program
from blockmark_impls.contract import missing_operations

from ..missing import name_missing
from ..replay import MissingOperationsError, bind
from .checker import Checker, Verified, WrongAnswer, check_state, lacking
from .counterexample import Found, ManagerFault, ReplayFault
from .pools import program_numbers, prove_pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import Implementation

    from ..replay import Replay

# A manager that lacks these can't be driven at all.
_NEEDED = ("allocate", "append_slot", "free", "block_table", "num_free_blocks")
_CALLS, _REPLAYED_CALLS, _BEFORE_CORNERS = 160, 80, 16


def prove(impl: Implementation, config: PoolConfig, job: dict[str, Any]) -> dict[str, Any]:
    """Verify an implementation; the result is `ok`, `wrong` or `unavailable`.

    The job names `random_programs` (how many, from number `first_program` on; with the
    first ones go the corners), `programs` and `pool_programs` (paths of loads) and
    `operations` (how many of each load to compare, in whole steps). With `shrink`, a `wrong`
    result has `shown_by`: the shortest list of calls that shows it, a line each; with
    `brief`, its reason is the call and the difference alone.
    """
    if impl.kind == "control":
        return {"status": "ok", "operations": 0, "steps": 0}
    if impl.kind == "mistake":
        from .mistakes import prove_mistake

        return prove_mistake(impl, config, job)
    if (own := getattr(impl.source, "proof", "contract")) != "contract":
        from .engines import prove_engine

        return prove_engine(impl, own, config, job)
    done = Verified()
    try:
        if not impl.pool_alone:
            manager = impl.make_manager(config)
            if missing := missing_operations(manager, _NEEDED):
                return {
                    "status": "unavailable",
                    "reason": f"{impl.name} lacks {name_missing(manager, missing)}, "
                    "which every model needs",
                }
            _prove_manager(impl, config, job, done)
        if lacks := prove_pool(impl, config, job, done):
            return {"status": "unavailable", "reason": lacks}
    except WrongAnswer as wrong:
        answer: dict[str, Any] = {"status": "wrong", "reason": str(wrong)}
        if job.get("brief"):
            answer["reason"] = wrong.brief
        if job.get("shrink") and isinstance(wrong, Found):
            answer["shown_by"] = wrong.fault.shortest()
        return answer
    return {"status": "ok", "operations": done.operations, "steps": done.steps}


def _prove_manager(
    impl: Implementation, config: PoolConfig, job: dict[str, Any], done: Verified
) -> None:
    style = job["call_style"]
    numbers = program_numbers(job)
    # What tiny programs find is shown by fewer calls; what only a corner finds need not wait
    # for all of them.
    for some in (numbers[:_BEFORE_CORNERS], numbers[_BEFORE_CORNERS:]):
        for number in some:
            rng = random.Random(f"{job['seed']}/{number}")
            _prove_random(impl, style, random_config(rng, config.id_bits), rng, number, done)
        if 0 in some:
            _prove_corners(impl, config, done)
    for path in job["programs"]:
        _prove_load(impl, style, config, Program.load(Path(path)), job["operations"], done)


def _prove_random(
    impl: Implementation,
    style: str,
    config: PoolConfig,
    rng: random.Random,
    number: int,
    done: Verified,
) -> None:
    """A small program one by one; then one that succeeds, by the replay that is timed."""
    checker = Checker(impl.make_manager(config), config, impl.reuse_order, thorough=True)
    left_out = lacking(checker.manager)
    usable = checker.usable_blocks
    program = random_program(config, rng, _CALLS, left_out=left_out, usable_blocks=usable)
    _play(impl, checker, program, f"random program {number}", 1)
    done.add(checker.done)
    program = random_program(
        config, rng, _REPLAYED_CALLS, left_out=left_out, failing=False, usable_blocks=usable
    )
    if program.num_steps:
        _prove_replay(
            impl, style, config, program, program.num_steps, f"replay of random program {number}"
        )


def _prove_corners(impl: Implementation, cell: PoolConfig, done: Verified) -> None:
    manager = impl.make_manager(cell)
    reserved = cell.total_blocks - getattr(manager, "usable_blocks", cell.total_blocks)
    for corner in corners(cell.id_bits, lacking(manager), reserved):
        try:
            made = impl.make_manager(corner.config)
        except ValueError:
            continue  # more than it can number, and it says so
        checker = Checker(made, corner.config, impl.reuse_order, thorough=True)
        _play(impl, checker, corner.program, corner.name, corner.compare_every)
        done.add(checker.done)


def _play(impl: Implementation, checker: Checker, program: Program, what: str, every: int) -> None:
    """A whole program call by call; a difference comes with the calls that led to it."""
    try:
        _replay(checker, program, range(program.num_steps), what, every)
    except WrongAnswer as wrong:
        calls = _calls(program, checker.batches)
        fault = ManagerFault(impl.make_manager, impl.reuse_order, checker.config, calls)
        raise Found(str(wrong), wrong.brief, fault) from None


def _calls(program: Program, batches: Sequence[str]) -> list[Any]:
    return [
        call for step in range(program.num_steps) for _, call in calls_of(program, step, batches)
    ]


def _prove_load(
    impl: Implementation,
    style: str,
    config: PoolConfig,
    program: Program,
    operations: int,
    done: Verified,
) -> None:
    try:
        bind(impl.make_manager(config), program, style)
    except MissingOperationsError:
        return  # the models that need them will say so
    checker = Checker(impl.make_manager(config), config, impl.reuse_order)
    last = steps_with(program, operations)
    # All tables are compared some times on the way, and at the end.
    _replay(checker, program, range(last), "the load", max(1, last // 6))
    try:
        checker.compare_all()
    except WrongAnswer as wrong:
        raise WrongAnswer(f"the load, after step {last - 1}: {wrong}") from None
    done.add(checker.done)
    _prove_replay(impl, style, config, program, last, "replay of the load")


def steps_with(program: Program, operations: int) -> int:
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
        raise WrongAnswer(f"{what} ({size}), {wrong}", wrong.brief) from None


def _prove_replay(
    impl: Implementation, style: str, config: PoolConfig, program: Program, last: int, what: str
) -> None:
    """The loop that will be timed must leave the same state as the calls one by one."""
    manager = impl.make_manager(config)
    replay = bind(manager, program, style)
    try:
        _run(replay, last - program.setup_steps)
        check_state(manager, config, program, range(last))
    except WrongAnswer as wrong:
        text = f"{what} ({style}), after step {last - 1}: {wrong}"
        if program.setup_steps:
            raise WrongAnswer(text) from None  # a load: too long to be shrunk
        fault = ReplayFault(impl.make_manager, style, config, _calls(program, ()))
        raise Found(text, f"replayed in one go: {wrong}", fault) from None


def _run(replay: Replay, steps: int) -> None:
    """Every operation of these programs succeeds; one that raises is a wrong answer."""
    try:
        replay.setup()
        replay.run(0, steps)
    except MemoryError:
        raise
    except Exception as error:
        raise WrongAnswer(f"raised {error!r}") from None
