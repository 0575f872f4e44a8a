"""The shortest list of calls that shows a fault, as one would write them in Python.

Every trial is made on new managers or pools, and must show the same kind of difference after
the same operation: a shorter list that shows another fault is none of this one. A fault that
does not come back on new ones is not shrunk, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from blockmark.workload.oracle.calls import SEQUENCES, Call, program_of, renumbered
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.oracle.moves import apply_to_oracle
from blockmark.workload.oracle.pool_calls import PoolCall
from blockmark_impls.contract import PoolConfig

from ..replay import bind
from .checker import Checker
from .pool_checker import PoolChecker
from .replayed import ReplayChecker
from .shrink import Case, Shrinker, smaller_numbers
from .wrong import WrongAnswer, kind_of, said

# Seconds of CPU time.
SHRINK_S = 10.0
# Calls after each of which a look is cheap, and those with which it is not worth its time.
_FEW, _MANY = 100, 2_000
# Of a list that stays long its ends are shown.
_SHOWN_FIRST, _SHOWN_LAST = 8, 24
MakeManager = Callable[[PoolConfig], Any]
MakePool = Callable[[int], Any]
# Which of the managers, or pools, that are alive at once; and the call.
Step = tuple[int, Call]
PoolStep = tuple[int, PoolCall]
Sizes = tuple[PoolConfig, ...]
PoolSizes = tuple[int, ...]
_NOT_AGAIN = "it did not show again on a new one, so there is no shorter list of calls"
_NAMES = "ab"


class Found(WrongAnswer):
    """A wrong answer with what shows it, for a shorter list of calls."""

    def __init__(
        self, wrong: WrongAnswer, text: str, fault: ManagerFault | ReplayFault | PoolFault
    ):
        super().__init__(text, wrong.brief, wrong.kind)
        self.fault = fault


class ManagerFault:
    """A fault that calls on one manager show, or on two that are alive at once.

    `seeds` are the checkers', and they looked every `look` calls.
    """

    def __init__(
        self,
        make: MakeManager,
        reuse_order: str,
        sizes: Sizes,
        steps: Sequence[Step],
        seeds: Sequence[int] = (0, 0),
        look: int = 1,
    ) -> None:
        self._make = make
        self._reuse_order = reuse_order
        self._first = sizes, steps
        self._seeds = seeds
        self._look = look
        self._kind: tuple[str, str] | None = None

    def shortest(self, seconds: float = SHRINK_S) -> list[str]:
        """The sizes, the calls with their numbers, and behind the last what is wrong."""
        # A program looks less often; the first call that differs is wanted, if looks do not
        # hide it, and a look after each of many calls does not take too long.
        sizes, steps = self._first
        looks = (1, self._look) if len(steps) <= _MANY else (self._look,)
        case = next((made for look in looks if (made := self._with(sizes, steps, look))), None)
        if case is None:
            return [_NOT_AGAIN]
        alone = _alone(case)
        if (made := self._with(*alone, 1 if len(steps) <= _MANY else len(steps))) is not None:
            case, self._first = made, alone
        shrinker = Shrinker(self._attempt, _smaller_steps, _smaller_sizes, _renamings)
        return written(shrinker.shrink(case, seconds))

    def _attempt(self, sizes: Sizes, steps: Sequence[Step]) -> Case[Sizes, Step] | None:
        # Of a long list the last look is enough: most of it has to go first.
        return self._with(sizes, steps, 1 if len(steps) <= _FEW else len(steps))

    def _with(self, sizes: Sizes, steps: Sequence[Step], look: int) -> Case[Sizes, Step] | None:
        if _leaves_slots(self._first[0], sizes, steps):
            return None
        try:
            checkers = [
                Checker(self._make(size), size, self._reuse_order, seed)
                for size, seed in zip(sizes, self._seeds, strict=False)
            ]
        except ValueError:
            return None
        for number, (who, call) in enumerate(steps, 1):
            answered, whose = "", who
            try:
                checkers[who].call(call)
                answered = "then "
                if number % look == 0 or number == len(steps):
                    for whose, checker in enumerate(checkers):  # noqa: B007 - told below
                        checker.look()
            except Exception as error:
                kind = call.method, kind_of(error)
                if self._kind is None:
                    self._kind = kind
                if kind != self._kind:
                    return None
                of = f"of {_NAMES[whose]}: " if whose != who else ""
                return Case(sizes, tuple(steps[:number]), answered + of + said(error))
        return None


class ReplayFault:
    """A fault that only the loop shows which will be timed, not the calls one by one."""

    def __init__(
        self, make: MakeManager, style: str, config: PoolConfig, calls: Sequence[Call]
    ) -> None:
        self._make = make
        self._style = style
        self._first = (config,), [(0, call) for call in calls]
        self._kind: str | None = None

    def shortest(self, seconds: float = SHRINK_S) -> list[str]:
        """As a ManagerFault's, for operations replayed in one go."""
        case = self._attempt(*self._first)
        if case is None:
            return [_NOT_AGAIN]
        shrinker = Shrinker(self._attempt, _smaller_steps, _smaller_sizes, _renamings)
        return [f"replayed in one go ({self._style}):", *written(shrinker.shrink(case, seconds))]

    def _attempt(self, sizes: Sizes, steps: Sequence[Step]) -> Case[Sizes, Step] | None:
        (config,) = sizes
        if _leaves_slots(self._first[0], sizes, steps):
            return None
        try:
            manager = self._make(config)
        except ValueError:
            return None
        usable = getattr(manager, "usable_blocks", config.total_blocks)
        oracle = Oracle(config, usable)
        kept = [step for step in steps if apply_to_oracle(oracle, step[1])]
        if not kept:
            return None
        program = program_of([call for _, call in kept], config.max_blocks_per_seq)
        try:
            checker = ReplayChecker(bind(manager, program, self._style), config, program, usable)
            checker.body(0, program.num_steps)
            checker.check_state(manager)
        except Exception as error:
            if self._kind is None:
                self._kind = kind_of(error)
            if kind_of(error) != self._kind:
                return None
            return Case(sizes, tuple(kept), f"then {said(error)}")
        return None


class PoolFault:
    """A fault that calls on one pool alone show, or on two that are alive at once."""

    def __init__(
        self, make: MakePool, reuse_order: str, sizes: PoolSizes, steps: Sequence[PoolStep]
    ) -> None:
        self._make = make
        self._reuse_order = reuse_order
        self._first = sizes, steps
        self._kind: tuple[str, str] | None = None

    def shortest(self, seconds: float = SHRINK_S) -> list[str]:
        """The pools' sizes, the calls with the ids that were handed out, and what is wrong."""
        case = self._attempt(*self._first)
        if case is None:
            return [_NOT_AGAIN]
        case = self._attempt(*_alone(case)) or case
        shrinker = Shrinker(self._attempt, _smaller_pool_steps, _smaller_pool_sizes, _with_drains)
        case = shrinker.shrink(case, seconds)
        _, lines, says = self._play(case.size, case.steps)
        made = [f"Pool(total_blocks={size})" for size in case.size]
        return [*_named(made), *_numbered(lines, says or case.says)]

    def _attempt(
        self, sizes: PoolSizes, steps: Sequence[PoolStep]
    ) -> Case[PoolSizes, PoolStep] | None:
        try:
            done, _, says = self._play(sizes, steps)
        except ValueError:
            return None
        return None if says is None else Case(sizes, tuple(steps[: done + 1]), says)

    def _play(
        self, sizes: PoolSizes, steps: Sequence[PoolStep]
    ) -> tuple[int, list[str], str | None]:
        """How many steps were done, the calls as written, and the difference if it is ours."""
        checkers = [PoolChecker(self._make(size), size, self._reuse_order) for size in sizes]
        lines: list[str] = []
        prefix = [f"{_NAMES[who]}." if len(sizes) > 1 else "" for who in range(len(sizes))]
        for number, (who, call) in enumerate(steps):
            checker = checkers[who]
            try:
                if number == 0:
                    for each in checkers:
                        each.begin()
                checker.make(call)
            except WrongAnswer as wrong:
                lines += [prefix[who] + text for text in checker.written]
                kind = call.method, wrong.kind
                if self._kind is None:
                    self._kind = kind
                return number, lines, str(wrong) if kind == self._kind else None
            lines += [prefix[who] + text for text in checker.written]
            checker.written.clear()
        return len(steps), lines, None


def _alone(case: Case[Any, Any]) -> tuple[Any, list[Any]]:
    """Of two that are alive at once the one that the last call is made on, by itself."""
    who = case.steps[-1][0]
    return (case.size[who],), [(0, call) for each, call in case.steps if each == who]


def _leaves_slots(before: Sizes, sizes: Sizes, steps: Sequence[Step]) -> bool:
    """Whether a sequence that was a slot is none of a smaller manager: another question."""
    return any(
        sizes[who].max_seqs <= seq < before[who].max_seqs
        for who, call in steps
        for seq in call.sequences
    )


def written(case: Case[Sizes, Step]) -> list[str]:
    """A case on managers, a call a line."""
    made = []
    for size in case.size:
        sizes = (f"{f.name}={getattr(size, f.name)}" for f in fields(size) if f.name in _SIZES)
        made.append(f"PoolConfig({', '.join(sizes)})")
    several = len(case.size) > 1
    calls = [f"{_NAMES[who]}.{call}" if several else str(call) for who, call in case.steps]
    return [*_named(made), *_numbered(calls, case.says)]


_SIZES = ("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq", "id_bits")


def _named(made: Sequence[str]) -> list[str]:
    return (
        list(made) if len(made) == 1 else [f"{n}: {m}" for n, m in zip(_NAMES, made, strict=True)]
    )


def _numbered(calls: Sequence[str], says: str) -> list[str]:
    lines = [f"{number:>2}  {text}" for number, text in enumerate(calls, 1)]
    if not lines:
        return [says]
    lines[-1] += f"  <- {says}"
    between = len(lines) - _SHOWN_FIRST - _SHOWN_LAST
    if between > 1:
        lines[_SHOWN_FIRST:-_SHOWN_LAST] = [f"    ... {between:,} calls"]
    return lines


def _smaller_steps(step: Step) -> Iterator[Step]:
    who, call = step
    for smaller in _smaller_calls(call):
        yield who, smaller


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
    if not columns:
        return
    for left_out in range(len(columns[0])):
        rest = tuple(column[:left_out] + column[left_out + 1 :] for column in columns)
        if rest[0]:
            yield Call(call.method, rest)


def _smaller_sizes(sizes: Sizes) -> Iterator[Sizes]:
    for place, config in enumerate(sizes):
        for name in ("max_seqs", "max_blocks_per_seq", "total_blocks", "block_size"):
            for number in smaller_numbers(getattr(config, name), 1):
                smaller = replace(config, **{name: number})
                yield (*sizes[:place], smaller, *sizes[place + 1 :])


def _renamings(steps: Sequence[Step]) -> Iterator[list[Step]]:
    renamed = {
        who: iter(renumbered(call for each, call in steps if each == who))
        for who in {who for who, _ in steps}
    }
    yield [(who, next(renamed[who])) for who, _ in steps]


def _smaller_pool_steps(step: PoolStep) -> Iterator[PoolStep]:
    who, call = step
    if len(call.numbers) > 1 and call.method == "give":
        for left_out in range(len(call.numbers)):
            rest = call.numbers[:left_out] + call.numbers[left_out + 1 :]
            yield who, replace(call, numbers=rest)
    least = 1 if call.method == "find_contiguous" else 0
    for place, value in enumerate(call.numbers):
        for number in smaller_numbers(value, least):
            numbers = (*call.numbers[:place], number, *call.numbers[place + 1 :])
            yield who, replace(call, numbers=numbers)
    if call.method == "drain":
        yield who, PoolCall("take", (1,))


def _smaller_pool_sizes(sizes: PoolSizes) -> Iterator[PoolSizes]:
    for place, size in enumerate(sizes):
        for number in smaller_numbers(size, 1):
            yield (*sizes[:place], number, *sizes[place + 1 :])


def _with_drains(steps: Sequence[PoolStep]) -> Iterator[list[PoolStep]]:
    """Takes of all that is free: they stay that when the pool gets smaller."""
    for at, (who, call) in enumerate(steps):
        if call.method == "take":
            yield [*steps[:at], (who, PoolCall("drain")), *steps[at + 1 :]]
