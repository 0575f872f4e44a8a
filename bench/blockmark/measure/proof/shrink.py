"""From a long list of calls that shows a fault to a short one that still does.

Greedy: chunks of calls are left out, from halves down to single ones, then operands and
sizes are made smaller, for as long as anything helps. It knows nothing of what a call is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Size = TypeVar("Size")
Step = TypeVar("Step")


@dataclass(frozen=True)
class Case(Generic[Size, Step]):
    """Calls on something of a size; the last one shows the fault, as `says` says."""

    size: Size
    steps: tuple[Step, ...]
    says: str


class Shrinker(Generic[Size, Step]):
    """`attempt` plays steps on something new: the case that they make, cut behind the step
    that shows the fault, or None if none does. `smaller_steps` and `smaller_sizes` name
    simpler ones, the simplest first; `rewritten` other forms of a whole list.
    """

    def __init__(
        self,
        attempt: Callable[[Size, Sequence[Step]], Case[Size, Step] | None],
        smaller_steps: Callable[[Step], Iterable[Step]],
        smaller_sizes: Callable[[Size], Iterable[Size]],
        rewritten: Callable[[Sequence[Step]], Iterable[list[Step]]] = lambda steps: (),
    ) -> None:
        self._attempt = attempt
        self._smaller_steps = smaller_steps
        self._smaller_sizes = smaller_sizes
        self._rewritten = rewritten
        self._deadline = 0.0

    def shrink(self, case: Case[Size, Step], seconds: float) -> Case[Size, Step]:
        """The shortest case that was found in so much CPU time; every one it passes on the way
        fails.
        """
        self._deadline = time.process_time() + seconds
        while not self._late():
            before = case
            case = self._without_chunks(case)
            case = self._with_smaller_steps(case)
            case = self._with_smaller_size(case)
            if case == before:
                break
        return case

    def _late(self) -> bool:
        return time.process_time() > self._deadline

    def _try(self, size: Size, steps: Sequence[Step]) -> Case[Size, Step] | None:
        return None if self._late() else self._attempt(size, steps)

    def _without_chunks(self, case: Case[Size, Step]) -> Case[Size, Step]:
        chunk = max(1, len(case.steps) // 2)
        while True:
            at = removed = 0
            while at < len(case.steps) and len(case.steps) > 1:
                rest = [*case.steps[:at], *case.steps[at + chunk :]]
                if rest and (found := self._try(case.size, rest)):
                    case, removed = found, removed + 1
                else:
                    at += chunk
            if self._late() or (chunk == 1 and not removed):
                return case
            chunk = max(1, chunk // 2)

    def _with_smaller_steps(self, case: Case[Size, Step]) -> Case[Size, Step]:
        for steps in self._rewritten(case.steps):
            # A form of the same length is no progress unless it is another one.
            if tuple(steps) != case.steps and (found := self._try(case.size, steps)):
                case = found
        at = 0
        while at < len(case.steps):
            for step in self._smaller_steps(case.steps[at]):
                steps = [*case.steps[:at], step, *case.steps[at + 1 :]]
                if found := self._try(case.size, steps):
                    case = found
                    break
            else:
                at += 1
        return case

    def _with_smaller_size(self, case: Case[Size, Step]) -> Case[Size, Step]:
        tried = True
        while tried:
            tried = False
            for size in self._smaller_sizes(case.size):
                if found := self._try(size, case.steps):
                    case, tried = found, True
                    break
        return case


def smaller_numbers(value: int, least: int = 0) -> list[int]:
    """Numbers below `value`, the smallest first: enough to get to any of them in a few steps.

    Of a negative one -1 is the simplest.
    """
    if value < 0:
        return [] if value == -1 else [-1]
    if value <= least:
        return []
    halves, half = [], (value - least) // 2
    while half:
        halves.append(value - half)
        half //= 2
    return list(dict.fromkeys(n for n in (least, least + 1, *halves) if least <= n < value))
