"""An implementation made ready for a cell's programs: its heap, its pool's order, its tables.

A timed round and a simulation set up alike, so that what one counts is what the other
timed.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.program import Program
from blockmark_impls.contract import missing_operations

from ..process.limits import extend_limit
from ..replay import MissingOperationsError, bind
from .conditions import age_heaps

if TYPE_CHECKING:
    from blockmark_impls.registry import Implementation

    from ..process.task import CellTask


# Enough to bring the ids of a pool into order.
_PLAIN = ("allocate", "append_slot", "free")


class SubjectSetup:
    """One implementation in one cell."""

    def __init__(self, impl: Implementation, task: CellTask) -> None:
        self.impl = impl
        self.config = task.config
        self.params = task.params
        self.call_style = task.call_style
        self.condition = Program.load(Path(task.condition))
        # Why the pool is in no other order than that of a new manager, where it should be.
        self.not_conditioned = ""
        self._manager: Any = None
        self._ages = task.seed, impl.tier == "cpp" or core_is_built()
        self._kept: list[Any] = []  # what makes the heap old

    def manager(self) -> Any:
        """A manager whose free ids are in the cell's order.

        Conditioned once a process: what a model leaves behind stays scrambled. A fresh
        pool is a new manager each time, since any use would end its freshness; so is a
        control, which has no tables to be emptied. `not_conditioned` says why the pool
        is a new one's where it should not be.
        """
        control = self.impl.kind == "control"
        fresh = self.params["pool"] == "fresh"
        if self._manager is None or control or fresh:
            manager = self.impl.make_manager(self.config)
            # Made when the process was young, as in an engine; the tables come later.
            if self.params["heap"] == "aged" and (not self._kept or (fresh and not control)):
                seed, native = self._ages
                self._kept += age_heaps(seed, native=native)
            # Where an engine decides for itself, no one can ask it for an order of ids.
            ours = not control and not self.impl.profile_for(self.config).schedules
            if self.condition.num_operations and ours:
                self._condition(manager)
            self._manager = manager
        return self._manager

    def manager_of_load(self) -> Any:
        """The same manager, as the cell's load asks it: an engine whose manager lacks
        `can_allocate` looks at `num_free_blocks`.
        """
        return as_the_load_asks(self.manager())

    def _condition(self, manager: Any) -> None:
        try:
            bind(manager, self.condition, self.call_style).setup()
        except MissingOperationsError as missing:
            self._condition_plainly(manager, str(missing))

    def _condition_plainly(self, manager: Any, lack: str) -> None:
        """Without `extend` and `truncate`, if the manager has what else it takes."""
        from blockmark.workload.models import plain_condition
        from blockmark.workload.scenario import Cell

        if missing_operations(manager, _PLAIN):
            self.not_conditioned = self._fresh(lack)
            return
        try:
            pieces = plain_condition(Cell("", tuple(self.params.items())))
        except ValueError as too_much:
            self.not_conditioned = self._fresh(f"{lack}, without which it takes {too_much}")
            return
        for piece in pieces:
            bind(manager, piece, self.call_style).setup()
            extend_limit()

    def _fresh(self, why: str) -> str:
        return f"the pool was as new, and not pool = {self.params['pool']}: {why}"

    def pool(self) -> Any | None:
        """A new pool of the cell's size, or None if the implementation has none of its own."""
        return self.impl.make_pool(self.config.total_blocks, self.config.id_bits)

    def free_all(self, manager: Any) -> None:
        """Leave the manager empty for the next model, at whatever step the body stopped."""
        if self.impl.kind == "control":
            return
        for seq in range(self.config.max_seqs):
            if is_live(manager, seq):
                manager.free(seq)


def as_the_load_asks(manager: Any) -> Any:
    """`manager`, or a face of it that answers `can_allocate` from `num_free_blocks`."""
    return manager if hasattr(manager, "can_allocate") else _WithCanAllocate(manager)


class _WithCanAllocate:
    """A manager with one operation more; a replay looks its methods up once, so calls of the
    others cost nothing more.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def __dir__(self) -> list[str]:
        return dir(self._manager)

    def can_allocate(self, num_blocks: int) -> bool:
        return bool(num_blocks <= self._manager.num_free_blocks)


def is_live(manager: Any, seq: int) -> bool:
    """Whether a sequence has a table."""
    from blockmark_impls.contract import UnknownSequence

    try:
        manager.block_table(seq)
    except UnknownSequence:
        return False
    return True


def core_is_built() -> bool:
    """Whether there is a C++ core; it is not loaded."""
    return find_spec("blockmark_impls._native") is not None
