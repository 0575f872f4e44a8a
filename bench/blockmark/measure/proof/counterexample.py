"""The shortest list of calls that shows a fault, as one would write them in Python.

Every trial is made on a new manager or pool. A fault that does not come back on a new one
is not shrunk, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from blockmark.workload.oracle.calls import SEQUENCES, Call, renumbered
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.oracle.pool_calls import PoolCall
from blockmark.workload.oracle.tiny import apply_to_oracle
from blockmark.workload.program import METHODS, Op, Program, ProgramBuilder
from blockmark_impls.contract import PoolConfig

from ..replay import bind
from .checker import Checker, WrongAnswer, check_state, said
from .pool_checker import PoolChecker
from .shrink import Case, Shrinker, smaller_numbers

SHRINK_S = 4.0
MakeManager = Callable[[PoolConfig], Any]
MakePool = Callable[[int], Any]
_NOT_AGAIN = "it did not show again on a new one, so there is no shorter list of calls"


class Found(WrongAnswer):
    """A wrong answer with what shows it, for a shorter list of calls."""

    def __init__(self, text: str, brief: str, fault: ManagerFault | ReplayFault | PoolFault):
        super().__init__(text, brief)
        self.fault = fault


class ManagerFault:
    """A fault that calls on a manager show; `reuse_order` as it is declared."""

    def __init__(
        self, make: MakeManager, reuse_order: str, config: PoolConfig, calls: Sequence[Call]
    ) -> None:
        self._make = make
        self._reuse_order = reuse_order
        self._first = config, calls

    def shortest(self, seconds: float = SHRINK_S) -> list[str]:
        """The sizes, the calls with their numbers, and behind the last what is wrong."""
        case = self._attempt(*self._first)
        if case is None:
            return [_NOT_AGAIN]
        shrinker = Shrinker(self._attempt, _smaller_calls, _smaller_configs, _renamings)
        return written(shrinker.shrink(case, seconds))

    def _attempt(self, config: PoolConfig, calls: Sequence[Call]) -> Case[PoolConfig, Call] | None:
        if any(seq >= config.max_seqs for call in calls for seq in call.sequences):
            return None  # no slot of the manager: another question
        try:
            checker = Checker(self._make(config), config, self._reuse_order, thorough=True)
        except ValueError:
            return None
        for number, call in enumerate(calls, 1):
            answered = ""
            try:
                checker.call(call)
                answered = "then "
                # A program compares less often; here the first call that differs is wanted.
                checker.compare_all()
            except MemoryError:
                raise
            except Exception as error:
                return Case(config, tuple(calls[:number]), answered + said(error))
        return None


class ReplayFault:
    """A fault that only the loop shows which will be timed, not the calls one by one."""

    def __init__(
        self, make: MakeManager, style: str, config: PoolConfig, calls: Sequence[Call]
    ) -> None:
        self._make = make
        self._style = style
        self._first = config, calls

    def shortest(self, seconds: float = SHRINK_S) -> list[str]:
        """As a ManagerFault's, for operations replayed in one go."""
        case = self._attempt(*self._first)
        if case is None:
            return [_NOT_AGAIN]
        shrinker = Shrinker(self._attempt, _smaller_calls, _smaller_configs, _renamings)
        return [f"replayed in one go ({self._style}):", *written(shrinker.shrink(case, seconds))]

    def _attempt(self, config: PoolConfig, calls: Sequence[Call]) -> Case[PoolConfig, Call] | None:
        if any(seq >= config.max_seqs for call in calls for seq in call.sequences):
            return None
        try:
            manager = self._make(config)
        except ValueError:
            return None
        oracle = Oracle(config, getattr(manager, "usable_blocks", config.total_blocks))
        kept = [call for call in calls if apply_to_oracle(oracle, call)]
        if not kept:
            return None
        program = _program(kept, config.max_blocks_per_seq)
        try:
            bind(manager, program, self._style).run(0, program.num_steps)
            check_state(manager, config, program, range(program.num_steps))
        except MemoryError:
            raise
        except Exception as error:
            return Case(config, tuple(kept), f"then {said(error)}")
        return None


class PoolFault:
    """A fault that calls on a pool alone show."""

    def __init__(
        self, make: MakePool, reuse_order: str, total_blocks: int, calls: Sequence[PoolCall]
    ) -> None:
        self._make = make
        self._reuse_order = reuse_order
        self._first = total_blocks, calls

    def shortest(self, seconds: float = SHRINK_S) -> list[str]:
        """The pool's size, the calls with the ids that it handed out, and what is wrong."""
        case = self._attempt(*self._first)
        if case is None:
            return [_NOT_AGAIN]
        shrinker = Shrinker(
            self._attempt, _smaller_pool_calls, lambda n: smaller_numbers(n, 1), _with_drains
        )
        case = shrinker.shrink(case, seconds)
        checker = self._play(case.size, case.steps)
        lines = [f"Pool(total_blocks={case.size})"]
        return lines + _numbered(checker[0].written, case.says)

    def _attempt(self, total_blocks: int, calls: Sequence[PoolCall]) -> Case[int, PoolCall] | None:
        try:
            checker, says = self._play(total_blocks, calls)
        except ValueError:
            return None
        if says is None:
            return None
        return Case(total_blocks, tuple(calls[: checker.operations + 1]), says)

    def _play(self, total_blocks: int, calls: Sequence[PoolCall]) -> tuple[PoolChecker, str | None]:
        checker = PoolChecker(self._make(total_blocks), total_blocks, self._reuse_order)
        try:
            checker.play(calls)
        except WrongAnswer as wrong:
            return checker, str(wrong)
        return checker, None


def written(case: Case[PoolConfig, Call]) -> list[str]:
    """A case on a manager, a call a line."""
    sizes = (
        f"{f.name}={getattr(case.size, f.name)}" for f in fields(case.size) if f.name in _SIZES
    )
    return [f"PoolConfig({', '.join(sizes)})", *_numbered(map(str, case.steps), case.says)]


_SIZES = ("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq", "id_bits")


def _numbered(calls: Iterator[str] | Sequence[str], says: str) -> list[str]:
    texts = list(calls)
    lines = [f"{number:>2}  {text}" for number, text in enumerate(texts, 1)]
    return [*lines[:-1], f"{lines[-1]}  <- {says}"] if lines else [says]


def _smaller_calls(call: Call) -> Iterator[Call]:
    if call.method == "fork" and call.operands[2] is not None:
        yield Call("fork", (*call.operands[:2], None))
    for place, operand in enumerate(call.operands):
        if isinstance(operand, tuple) or operand is None:
            continue
        is_sequence = place in SEQUENCES.get(call.method, ())
        least = 1 if call.method in ("allocate", "fork") and not is_sequence else 0
        for number in smaller_numbers(operand, least):
            yield Call(call.method, (*call.operands[:place], number, *call.operands[place + 1 :]))
    yield from _smaller_batches(call)


def _smaller_batches(call: Call) -> Iterator[Call]:
    columns = [operand for operand in call.operands if isinstance(operand, tuple)]
    if not columns or call.method == "write_block_tables":
        return
    for left_out in range(len(columns[0])):
        rest = tuple(column[:left_out] + column[left_out + 1 :] for column in columns)
        if rest[0]:
            yield Call(call.method, rest)


def _smaller_configs(config: PoolConfig) -> Iterator[PoolConfig]:
    for name in ("max_seqs", "max_blocks_per_seq", "total_blocks", "block_size"):
        for number in smaller_numbers(getattr(config, name), 1):
            yield replace(config, **{name: number})


def _renamings(calls: Sequence[Call]) -> Iterator[list[Call]]:
    yield renumbered(calls)


def _smaller_pool_calls(call: PoolCall) -> Iterator[PoolCall]:
    if len(call.numbers) > 1:
        for left_out in range(len(call.numbers)):
            yield replace(call, numbers=call.numbers[:left_out] + call.numbers[left_out + 1 :])
    for place, value in enumerate(call.numbers):
        for number in smaller_numbers(value):
            numbers = (*call.numbers[:place], number, *call.numbers[place + 1 :])
            yield replace(call, numbers=numbers)
    if call.method == "drain":
        yield PoolCall("take", (1,))


def _with_drains(calls: Sequence[PoolCall]) -> Iterator[list[PoolCall]]:
    """Takes of all that is free: they stay that when the pool gets smaller."""
    for at, call in enumerate(calls):
        if call.method == "take":
            yield [*calls[:at], PoolCall("drain"), *calls[at + 1 :]]


_CODES = {name: code for code, name in METHODS.items() if code is not Op.LOOKUP_CHAIN}


def _program(calls: Sequence[Call], width: int) -> Program:
    """A Program of these calls, each a step of its own; batches as runs."""
    builder = ProgramBuilder()
    for call in calls:
        builder.step(phase=1)
        if call.method == "append_slots":
            builder.run(Op.APPEND, call.operands[0])
        elif call.method == "lookup_slots":
            builder.run(Op.LOOKUP, *call.operands)
        else:
            a, b, c = (*(operand or 0 for operand in call.operands), 0, 0)[:3]
            builder.run(_CODES[call.method], a, b, c)
    return builder.build(units={1: 1.0}, width=width)
