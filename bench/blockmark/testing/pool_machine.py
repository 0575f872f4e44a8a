"""A hypothesis state machine for a free pool; its steps read as the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from blockmark.measure.proof.pool_checker import PoolChecker
from blockmark.measure.proof.wrong import WrongAnswer

from .hypothesis_settings import test_case
from .proved import Made, proof_test

if TYPE_CHECKING:
    import unittest
    from collections.abc import Callable

    from hypothesis import settings as Settings  # noqa: N812
    from hypothesis.strategies import SearchStrategy

    from blockmark_impls.contract import ReuseOrder


def _of(choose: Callable[[PoolMachine], SearchStrategy[Any]]) -> SearchStrategy[Any]:
    return st.runner().flatmap(choose)


OUT = _of(
    lambda machine: st.lists(
        st.sampled_from(sorted(machine.checker.out)), min_size=1, max_size=8, unique=True
    )
)
ANY_BLOCK = _of(lambda machine: st.integers(0, machine.checker.total_blocks - 1))
ANY_NUMBER = _of(lambda machine: st.integers(0, machine.checker.total_blocks + 1))
SOME = _of(lambda machine: st.integers(1, machine.checker.total_blocks))


def _has(method: str) -> Callable[[Any], bool]:
    return lambda machine: hasattr(machine.checker.pool, method)


class PoolMachine(RuleBasedStateMachine):
    """One pool, and which of its blocks are out; subclasses say which pool."""

    make: ClassVar[Callable[[int], Any]]
    totals: ClassVar[SearchStrategy[int]]
    reuse_order: ClassVar[ReuseOrder | None]

    checker: PoolChecker

    @initialize(total_blocks=_of(lambda machine: machine.totals))
    def start(self, total_blocks: int) -> None:
        made = type(self).make(total_blocks)
        order = self.reuse_order or str(getattr(made, "reuse_order", "unspecified"))
        self.checker = PoolChecker(made, total_blocks, order)
        self._told("start", self.checker.begin)

    @rule(k=ANY_NUMBER)
    def take(self, k: int) -> None:
        self._told(f"take({k})", lambda: self.checker.take(k))

    @precondition(lambda machine: machine.checker.out)
    @rule(ids=OUT)
    def give(self, ids: list[int]) -> None:
        self._told(f"give({ids})", lambda: self.checker.give(ids))

    @precondition(_has("remove"))
    @rule(block=ANY_BLOCK)
    def remove(self, block: int) -> None:
        self._told(f"remove({block})", lambda: self.checker.remove(block))

    @precondition(_has("find_contiguous"))
    @rule(k=SOME)
    def find_contiguous(self, k: int) -> None:
        self._told(f"find_contiguous({k})", lambda: self.checker.find_contiguous(k))

    @precondition(_has("plan_compaction"))
    @rule(blocks=ANY_NUMBER)
    def plan_compaction(self, blocks: int) -> None:
        self._told(f"plan_compaction({blocks})", lambda: self.checker.plan_compaction(blocks))

    def _told(self, what: str, act: Callable[[], None]) -> None:
        __tracebackhide__ = True
        try:
            act()
        except WrongAnswer as wrong:
            raise AssertionError(f"{what}: {wrong}") from None


def pool_machine(
    make: Callable[[int], Any],
    total_blocks: SearchStrategy[int] | None,
    reuse_order: ReuseOrder | None,
    settings: Settings | None,
    effort: str,
) -> type[unittest.TestCase]:
    """The TestCase for one pool; see `blockmark.testing.pool_test`."""
    members = {
        "make": staticmethod(make),
        "totals": st.integers(1, 12) if total_blocks is None else total_blocks,
        "reuse_order": reuse_order,
    }
    name = getattr(make, "__name__", "Pool")
    proof = None
    if total_blocks is None:
        order = reuse_order or str(getattr(make, "reuse_order", "unspecified"))
        made = Made(name, order, lambda config: None, lambda n, bits: make(n), pool_alone=True)
        proof = proof_test(made, effort)
    return test_case(type(name, (PoolMachine,), members), settings, proof)
