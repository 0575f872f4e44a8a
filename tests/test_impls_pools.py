"""The Python pools alone: order, exhaustion, and what a caller may do with the ids."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark_impls.contract import BlockPool, OutOfBlocks, missing_operations
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool


@pytest.mark.parametrize("pool_class", [ListPool, StackPool, NumpyStackPool])
def test_pool_is_last_in_first_out(pool_class: Any) -> None:
    pool = pool_class(6)
    assert missing_operations(pool, [n for n in vars(BlockPool) if n[0] != "_"]) == []
    first = pool.take(3)
    assert list(first) == [0, 1, 2]
    second = pool.take(1)
    pool.give(first)
    pool.give(second)
    assert pool.num_free == 6
    assert list(pool.take(6)) == [3, 2, 1, 0, 4, 5]
    assert list(first) == [0, 1, 2]  # what was handed out is the caller's own
    assert list(pool.take(0)) == []
    with pytest.raises(OutOfBlocks):
        pool.take(1)
    pool.give([5, 0])
    with pytest.raises(OutOfBlocks):
        pool.take(3)
    with pytest.raises(ValueError, match="cannot take -1"):
        pool.take(-1)
    assert pool.num_free == 2
    assert pool.pool_bytes() > 0
    with pytest.raises(ValueError, match="total_blocks = 0"):
        pool_class(0)


@pytest.mark.parametrize("pool_class", [StackPool, NumpyStackPool])
def test_a_preallocated_pool_never_grows(pool_class: Any) -> None:
    pool = pool_class(3)
    pool.take(1)
    with pytest.raises(ValueError, match="2 blocks given back, 1 are out"):
        pool.give([0, 1])
    assert pool.num_free == 2
    assert list(pool.take(2)) == [1, 2]


def test_numpy_pool_id_widths() -> None:
    pool = NumpyStackPool(65_536, id_bits=16)
    pool.give(pool.take(65_536))
    assert int(pool.take(1)[0]) + 1 == 65_536  # no wrap in the caller's arithmetic
    assert pool.pool_bytes() == 2 * 65_536
    with pytest.raises(ValueError, match="uint16"):
        NumpyStackPool(65_537, id_bits=16)
