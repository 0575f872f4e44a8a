"""What was timed is asked for its answers: after the clocks have stopped, in the process that
was measured, by the loop that was measured.

A class that is right while it is proved, and wrong where it is timed, is found here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockmark.workload.program import Op

from ..replay import MissingOperationsError, bind
from ..stated import proof_of

if TYPE_CHECKING:
    from blockmark.workload.program import Program
    from blockmark_impls.contract import PoolConfig

    from ..process.task import Timed
    from .setup import SubjectSetup

# Steps of each program's body, as many as hold so many operations; a set-up that takes
# longer than a round's own is not repeated for it.
_OPERATIONS, _SETUP_OPERATIONS, _SETUP_BLOCKS = 3_000, 30_000, 200_000


def wrong_answer(setup: SubjectSetup, programs: Timed) -> str:
    """What the timed loop answers wrongly, or leaves wrong; empty if nothing.

    Of the `programs` those of managers are sampled. Nothing of engines and
    mistakes, whose answers are not the contract's.
    """
    impl = setup.impl
    if impl.kind != "manager" or proof_of(impl) != "contract":
        return ""
    done = set()
    for model, some in programs.items():
        for timed in some if model in impl.models and model != "rate" else ():
            if timed.pool_only or timed.path in done:
                continue
            done.add(timed.path)
            program = timed.load()
            if _is_long(program, setup.config):
                continue
            if reason := _sample(setup, program):
                return f"{model}, after it was timed: {reason}"
    return ""


def _sample(setup: SubjectSetup, program: Program) -> str:
    # What is not measured with is imported when the measuring is over.
    from ..proof.replayed import ReplayChecker
    from ..proof.wrong import WrongAnswer

    try:
        manager = setup.manager_of_load()
        replay = bind(manager, program, setup.call_style)
    except MissingOperationsError:
        return ""  # it was not measured either
    usable = getattr(manager, "usable_blocks", setup.config.total_blocks)
    checker = ReplayChecker(replay, setup.config, program, usable)
    try:
        checker.setup()
        checker.body(0, program.steps_with(_OPERATIONS) - program.setup_steps)
        checker.check_state(manager)
    except WrongAnswer as wrong:
        return str(wrong)
    setup.free_all(manager)
    return ""


def _is_long(program: Program, config: PoolConfig) -> bool:
    operations = blocks = 0
    for step in range(program.setup_steps):
        for code, first, end in program.runs(step):
            operations += end - first
            if code in (Op.ALLOCATE, Op.EXTEND):
                blocks += sum(program.b[first:end]) // config.block_size
    return operations > _SETUP_OPERATIONS or blocks > _SETUP_BLOCKS
