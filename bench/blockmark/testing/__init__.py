"""The proof for a test suite of one's own.

Property tests of a manager or a pool, held against the oracle (they need hypothesis, the
extra `blockmark[testing]`):

    from blockmark.testing import manager_test
    from my_engine import Manager
    TestManager = manager_test(Manager)

And wrappers for one that is in use, which watch every call and raise ContractViolation:

    manager = CheckedManager(Manager(config), config)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .checked_manager import CheckedManager
from .checked_pool import CheckedPool
from .violation import ContractViolation

if TYPE_CHECKING:
    import unittest
    from collections.abc import Callable, Iterable

    from hypothesis import settings as Settings  # noqa: N812 - a class, whatever its name
    from hypothesis.strategies import SearchStrategy

    from blockmark_impls.contract import PoolConfig, ReuseOrder

__all__ = ["CheckedManager", "CheckedPool", "ContractViolation", "manager_test", "pool_test"]


def manager_test(
    make: Callable[[PoolConfig], Any],
    *,
    config: SearchStrategy[PoolConfig] | None = None,
    operations: Iterable[str] | None = None,
    reuse_order: ReuseOrder | None = None,
    settings: Settings | None = None,
    effort: str = "default",
) -> type[unittest.TestCase]:
    """A TestCase that calls a manager in every way and holds it against the oracle.

    It has two tests: `test_calls`, hypothesis's search among tiny managers, and
    `test_as_verify`, what `blockmark verify` proves by default (`effort` "quick": what a
    quick run proves before it measures). `make`: the class, or a function from a PoolConfig
    to a manager. `config`: the sizes to try, and then no others, so that there is the first
    test alone. `operations`: the methods to call; every one that the manager has unless
    given. `reuse_order`: what `make` declares unless given. `settings`: hypothesis's. A
    failure shrinks to a short list of calls. Raises ImportError without hypothesis,
    ValueError for an operation or an effort that there is not.
    """
    _need_hypothesis()
    from .manager_machine import manager_machine

    return manager_machine(make, config, operations, reuse_order, settings, effort)


def pool_test(
    make: Callable[[int], Any],
    *,
    total_blocks: SearchStrategy[int] | None = None,
    reuse_order: ReuseOrder | None = None,
    settings: Settings | None = None,
    effort: str = "default",
) -> type[unittest.TestCase]:
    """As `manager_test`, for a free pool, which `make` makes of a number of blocks."""
    _need_hypothesis()
    from .pool_machine import pool_machine

    return pool_machine(make, total_blocks, reuse_order, settings, effort)


def _need_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401 - the wrappers work without it
    except ImportError:
        raise ImportError(
            "manager_test and pool_test need hypothesis: pip install 'blockmark[testing]'"
        ) from None
