"""What every replay offers, and what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..probes.pace import Pace, Paced

    # Does a run of one operation; its last answer, or that of the whole batch.
    Executor = Callable[[Any, Any, Any], Any]
    Call = tuple[Executor, Any, Any, Any]


class MissingOperationsError(RuntimeError):
    """A program has operations that the implementation has no method for."""


class Recorder(Protocol):
    """Where single step times go: the histogram of either tier."""

    def record(self, value: int, /) -> None:
        """Count one time in ns."""


class Evictor(Protocol):
    """Empties a cache, outside the clock."""

    def run(self) -> None:
        """Stream the buffer."""


class Region(Protocol):
    """What a replay goes in and out of: counters that count only inside."""

    def enter(self) -> None:
        """Begin to count."""

    def leave(self) -> None:
        """Stop counting."""


class Replay(Protocol):
    """A Program bound to a manager; steps are counted from the body's first, cyclic."""

    @property
    def counts_allocations(self) -> bool:
        """Whether `allocations` sees every request; not where another operator new serves."""

    def setup(self) -> None:
        """Run the set-up steps, off the clock."""

    def run(self, first: int, steps: int) -> tuple[int, int]:
        """Replay steps; (ns in phase 1, ns in phase 2)."""

    def answers(self, first: int, steps: int) -> Sequence[int]:
        """Replay steps off the clock; what their operations answered.

        For each that answers: its index in the program, how many numbers, and the numbers:
        1 or 0, source and target of each copy, a block, or of each packed row its length and
        columns; of a batch all in one, under its first operation.
        """

    def run_each(self, first: int, steps: int, one: Any, two: Any) -> None:
        """Replay steps, each timed one alone, into a histogram per phase."""

    def run_cold(self, first: int, steps: int, evictor: Evictor) -> list[int]:
        """Replay steps; ns of each timed one, with the cache emptied before it."""

    def allocations(self, first: int, steps: int) -> tuple[int, int]:
        """Heap allocations inside timed steps, by phase."""

    def run_within(self, first: int, steps: int, phase: int, region: Any) -> None:
        """Replay steps, those of one phase inside the region, the others outside it."""

    def run_paced(self, first: int, pace: Pace) -> Paced:
        """Replay steps at a rate, for a time; see probes/pacing.py."""
