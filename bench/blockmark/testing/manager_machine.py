"""A hypothesis state machine that calls a block manager in every way.

Rules are named and take operands as the contract's operations do, so that the steps of a
failure that hypothesis prints read as the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from blockmark.measure.proof.checker import Checker
from blockmark.measure.proof.wrong import WrongAnswer, said
from blockmark.workload.oracle.calls import Call
from blockmark_impls.contract import PoolConfig, ReuseOrder

from .hypothesis_settings import test_case
from .proved import Made, proof_test

if TYPE_CHECKING:
    import unittest
    from collections.abc import Callable, Iterable

    from hypothesis import settings as Settings  # noqa: N812
    from hypothesis.strategies import SearchStrategy

OPERATIONS = (
    "can_allocate",
    "allocate",
    "append_slot",
    "append_slots",
    "extend",
    "truncate",
    "drop_front",
    "fork",
    "free",
    "lookup",
)
CONFIGS = st.builds(
    PoolConfig,
    total_blocks=st.integers(1, 10),
    block_size=st.integers(1, 4),
    max_seqs=st.integers(2, 5),
    max_blocks_per_seq=st.integers(1, 6),
    id_bits=st.just(32),
)


def _of(choose: Callable[[ManagerMachine], SearchStrategy[Any]]) -> SearchStrategy[Any]:
    return st.runner().flatmap(choose)


def _slots(machine: ManagerMachine) -> SearchStrategy[int]:
    """A sequence: mostly one that is live."""
    anything = st.integers(0, machine.config.max_seqs - 1)
    live = st.sampled_from(sorted(machine.checker.oracle.tables) or [0])
    return st.one_of(live, live, anything)


def _free_slots(machine: ManagerMachine) -> SearchStrategy[int]:
    """A slot for a new sequence: mostly one that is free."""
    every = range(machine.config.max_seqs)
    free = st.sampled_from([s for s in every if s not in machine.checker.oracle.tables] or [0])
    return st.one_of(free, free, st.sampled_from(every))


SLOT = _of(_slots)
FREE_SLOT = _of(_free_slots)
TOKENS = _of(
    lambda machine: st.integers(0, machine.config.block_size * machine.config.max_blocks_per_seq)
)
BLOCKS = _of(lambda machine: st.integers(0, machine.config.max_blocks_per_seq))
POOL_BLOCKS = _of(lambda machine: st.integers(0, machine.config.total_blocks + 1))
FEW_TOKENS = _of(lambda machine: st.integers(0, 3 * machine.config.block_size))
PREFIX = st.one_of(
    st.none(), _of(lambda machine: st.integers(1, machine.config.max_blocks_per_seq))
)
BATCH = st.lists(SLOT, min_size=1, max_size=4)


def _has(method: str) -> Callable[[Any], bool]:
    return lambda machine: method in machine.methods


class ManagerMachine(RuleBasedStateMachine):
    """One manager beside its oracle; subclasses say which."""

    make: ClassVar[Callable[[PoolConfig], Any]]
    configs: ClassVar[SearchStrategy[PoolConfig]]
    wanted: ClassVar[frozenset[str]]
    reuse_order: ClassVar[ReuseOrder | None]

    config: PoolConfig
    checker: Checker
    methods: frozenset[str] = frozenset()

    @initialize(config=_of(lambda machine: machine.configs))
    def start(self, config: PoolConfig) -> None:
        made = type(self).make(config)
        order = self.reuse_order or str(getattr(made, "reuse_order", "unspecified"))
        self.config = config
        self.checker = Checker(made, config, order)
        self.methods = frozenset(name for name in self.wanted if hasattr(made, name))

    @precondition(_has("can_allocate"))
    @rule(num_blocks=POOL_BLOCKS)
    def can_allocate(self, num_blocks: int) -> None:
        self._call("can_allocate", num_blocks)

    @precondition(_has("allocate"))
    @rule(seq=FREE_SLOT, num_tokens=TOKENS)
    def allocate(self, seq: int, num_tokens: int) -> None:
        self._call("allocate", seq, num_tokens)

    @precondition(_has("append_slot"))
    @rule(seq=SLOT)
    def append_slot(self, seq: int) -> None:
        self._call("append_slot", seq)

    @precondition(_has("append_slots"))
    @rule(seqs=BATCH)
    def append_slots(self, seqs: list[int]) -> None:
        self._call("append_slots", tuple(seqs))

    @precondition(_has("extend"))
    @rule(seq=SLOT, num_tokens=FEW_TOKENS)
    def extend(self, seq: int, num_tokens: int) -> None:
        self._call("extend", seq, num_tokens)

    @precondition(_has("truncate"))
    @rule(seq=SLOT, num_tokens=TOKENS)
    def truncate(self, seq: int, num_tokens: int) -> None:
        self._call("truncate", seq, num_tokens)

    @precondition(_has("drop_front"))
    @rule(seq=SLOT, num_blocks=BLOCKS)
    def drop_front(self, seq: int, num_blocks: int) -> None:
        self._call("drop_front", seq, num_blocks)

    @precondition(_has("fork"))
    @rule(parent=SLOT, child=FREE_SLOT, num_blocks=PREFIX)
    def fork(self, parent: int, child: int, num_blocks: int | None) -> None:
        self._call("fork", parent, child, num_blocks)

    @precondition(_has("free"))
    @rule(seq=SLOT)
    def free(self, seq: int) -> None:
        self._call("free", seq)

    @precondition(_has("lookup"))
    @rule(seq=SLOT, logical=BLOCKS)
    def lookup(self, seq: int, logical: int) -> None:
        self._call("lookup", seq, logical)

    def _call(self, method: str, *operands: Any) -> None:
        call = Call(method, operands)
        self._told(f"{call}:", lambda: self.checker.call(call))
        # Not an invariant of the machine: hypothesis would print it between the calls.
        self._told(f"{call}, then", self.checker.compare_all)

    def _told(self, what: str, act: Callable[[], object]) -> None:
        __tracebackhide__ = True
        try:
            act()
        except WrongAnswer as wrong:
            raise AssertionError(f"{what} {said(wrong)}") from None


def manager_machine(
    make: Callable[[PoolConfig], Any],
    config: SearchStrategy[PoolConfig] | None,
    operations: Iterable[str] | None,
    reuse_order: ReuseOrder | None,
    settings: Settings | None,
    effort: str,
) -> type[unittest.TestCase]:
    """The TestCase for one manager; see `blockmark.testing.manager_test`."""
    wanted = frozenset(OPERATIONS if operations is None else operations)
    if unknown := sorted(wanted.difference(OPERATIONS)):
        raise ValueError(f"{unknown[0]} is no operation; there are {', '.join(OPERATIONS)}")
    name = getattr(make, "__name__", "Manager")
    members = {
        "make": staticmethod(make),
        "configs": CONFIGS if config is None else config,
        "wanted": wanted,
        "reuse_order": reuse_order,
    }
    proof = None
    if config is None:
        order = reuse_order or str(getattr(make, "reuse_order", "unspecified"))
        made = Made(name, order, make, lambda total, bits: None)
        proof = proof_test(made, effort, None if operations is None else wanted)
    return test_case(type(name, (ManagerMachine,), members), settings, proof)
