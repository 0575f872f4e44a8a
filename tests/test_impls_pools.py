"""The pools alone: order, exhaustion, and what they say of their free blocks by number.

Every pool, in both tiers, is driven beside a plain set of free ids; what hand arithmetic or
a search through the set says must come out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from blockmark_impls.contract import BlockPool, FreeSpace, OutOfBlocks, missing_operations
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool
from blockmark_impls.registry import TargetError, builtin_names, more_names, pair_names, resolve
from blockmark_impls.structures import POOLS, TABLES

PYTHON = ["list/py", "stack/py", "linked-list/py", "bitmap/py"]
NATIVE = [
    "list/cpp", "stack/cpp", "lru/cpp", "linked-list/cpp", "linked-list/cpp[node_bytes=64]",
    "bitmap/cpp",
]  # fmt: skip
ALONE = [*PYTHON, *NATIVE]
REMOVING = [name for name in ALONE if "list/" not in name or name.startswith("linked")]
REMOVING = [name for name in REMOVING if not name.startswith("stack")]
# Around the ends of one, two and three levels of words of 64 bits.
SIZES = [1, 2, 63, 64, 65, 127, 200, 4_096, 4_097]


def make(name: str, total_blocks: int, id_bits: int = 16) -> Any:
    if "/cpp" in name:
        pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")
    (found,) = resolve(name)
    return found.make_pool(total_blocks, id_bits)


def only_free(name: str, total: int, free: set[int]) -> Any:
    """A pool of which exactly these blocks are free."""
    pool = make(name, total)
    taken = list(pool.take(total))
    assert sorted(taken) == list(range(total))
    pool.give([block for block in taken if block in free])
    assert pool.num_free == len(free)
    return pool


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
    refusals(pool, pool_class)


@pytest.mark.parametrize(
    ("pool_class", "order"),
    [(LinkedListPool, [4, 5, 0, 1, 2, 3]), (BitmapPool, [4, 5, 0, 1, 2, 3])],
)
def test_pool_goes_on_where_it_stopped(pool_class: Any, order: list[int]) -> None:
    pool = pool_class(6)
    assert missing_operations(pool, [n for n in vars(BlockPool) if n[0] != "_"]) == []
    assert missing_operations(pool, [n for n in vars(FreeSpace) if n[0] != "_"]) == []
    first = pool.take(3)
    assert (first, pool.take(1)) == ([0, 1, 2], [3])
    pool.give(first)
    pool.give([3])
    assert pool.take(6) == order
    refusals(pool, pool_class)


def refusals(pool: Any, pool_class: Any) -> None:
    """What an empty pool of 6 blocks refuses, and that a refusal changes nothing."""
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


def next_lifo(order: list[int], last: int) -> int:
    return len(order) - 1


def next_fifo(order: list[int], last: int) -> int:
    return 0


def next_fit(order: list[int], last: int) -> int:
    """The lowest free block behind the last one taken, else the lowest of all."""
    return order.index(min(order, key=lambda block: (block <= last, block)))


ORDERS: dict[str, Callable[[list[int], int], int]] = {
    "LIFO": next_lifo,
    "FIFO": next_fifo,
    "next-fit": next_fit,
}


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("total", SIZES)
def test_every_block_that_is_handed_out_is_the_one_that_the_order_says(
    name: str, total: int
) -> None:
    """A list of the free ids, oldest first, says which block must come; batches as well."""
    rng = random.Random(total)
    pool = make(name, total)
    (found,) = resolve(name)
    free = list(range(total))
    if found.reuse_order == "LIFO":
        free.reverse()
    last, out = -1, list[list[int]]()
    for _ in range(120 if total < 1_000 else 25):
        if out and rng.random() < 0.5:
            given = out.pop(rng.randrange(len(out)))
            rng.shuffle(given)
            pool.give(given)
            free += given
        elif "remove" in dir(pool) and free and rng.random() < 0.2:
            block = rng.choice(free)
            pool.remove(block)
            free.remove(block)
            out.append([block])
        else:
            k = rng.choice((1, 1, 2, 7, 64, 65, 130, total))
            if k > len(free):
                with pytest.raises(OutOfBlocks):
                    pool.take(k)
                continue
            expected = []
            for _ in range(k):
                last = free.pop(ORDERS[found.reuse_order](free, last))
                expected.append(last)
            assert list(pool.take(k)) == expected
            out.append(expected)
        assert pool.num_free == len(free)


@pytest.mark.parametrize("name", REMOVING)
def test_remove_takes_a_block_out_of_the_middle(name: str) -> None:
    pool = make(name, 200)
    for block in (64, 0, 199, 63, 100):
        pool.remove(block)
    assert pool.num_free == 195
    for block in (64, 200, -1):
        with pytest.raises(ValueError, match=f"{block}"):
            pool.remove(block)
    assert pool.num_free == 195
    assert sorted(pool.take(195)) == sorted(set(range(200)) - {64, 0, 199, 63, 100})
    with pytest.raises(ValueError, match="block 5 is not free"):
        pool.remove(5)
    pool.give([64])
    pool.remove(64)
    assert pool.num_free == 0


@pytest.mark.parametrize("name", ["list/cpp", "stack/cpp", "list/py", "stack/py"])
def test_a_stack_cannot_remove(name: str) -> None:
    assert missing_operations(make(name, 4), ["remove"]) == ["remove"]


@pytest.mark.parametrize("name", ALONE)
def test_the_lowest_run_of_a_state_made_by_hand(name: str) -> None:
    # 3; 62-65 over the end of a word; 70-71; 126-193, a word and more; 198-199, the last two.
    free = {3, *range(62, 66), 70, 71, *range(126, 194), 198, 199}
    pool = only_free(name, 200, free)
    wanted = {1: 3, 2: 62, 3: 62, 4: 62, 5: 126, 64: 126, 65: 126, 68: 126, 69: None, 300: None}
    assert {k: pool.find_contiguous(k) for k in wanted} == wanted
    for k in (0, -1):
        with pytest.raises(ValueError, match=r"k must be at least 1|a run of"):
            pool.find_contiguous(k)
    assert pool.num_free == len(free)
    empty = only_free(name, 130, set())
    assert empty.find_contiguous(1) is None


@pytest.mark.parametrize("name", ALONE)
def test_the_moves_of_a_compaction_by_hand(name: str) -> None:
    # Ten blocks; used are 1 3 4 7 8. Of the five at the top, 5 6 9 are free.
    pool = only_free(name, 10, {0, 2, 5, 6, 9})
    assert [tuple(move) for move in pool.plan_compaction(5)] == [(8, 0), (7, 2)]
    assert [tuple(move) for move in pool.plan_compaction(2)] == [(8, 0)]
    assert [tuple(move) for move in pool.plan_compaction(1)] == []
    assert pool.plan_compaction(0) == []
    with pytest.raises(OutOfBlocks):
        pool.plan_compaction(6)
    with pytest.raises(ValueError, match=r"negative|-1 blocks"):
        pool.plan_compaction(-1)
    assert pool.num_free == 5
    assert sorted(pool.take(5)) == [0, 2, 5, 6, 9]


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("total", [64, 65, 300, 4_097])
def test_runs_and_moves_of_any_state(name: str, total: int) -> None:
    """Against a search through the set, over densities at which both are found and not."""
    rng = random.Random(total)
    for share in (0.02, 0.3, 0.8, 0.97):
        free = {block for block in range(total) if rng.random() < share}
        pool = only_free(name, total, free)
        for k in (1, 2, 5, 31, 64, 70):
            starts = (b for b in sorted(free) if free.issuperset(range(b, b + k)))
            assert pool.find_contiguous(k) == next(starts, None)
        for top in {0, len(free) // 3, len(free)}:
            above = [b for b in range(total - 1, total - top - 1, -1) if b not in free]
            plan = [tuple(move) for move in pool.plan_compaction(top)]
            assert plan == list(zip(above, sorted(free), strict=False))
            assert all(dst < total - top for _, dst in plan)


@pytest.mark.parametrize("name", NATIVE)
def test_all_ids_of_16_bits_can_be_had(name: str) -> None:
    pool = make(name, 65_536)
    assert sorted(pool.take(65_536)) == list(range(65_536))
    pool.give([65_535])
    assert pool.take(1) == [65_535]
    if name in ("list/cpp", "stack/cpp", "bitmap/cpp"):
        with pytest.raises(ValueError, match=r"65,?537.*uint16"):
            make(name, 65_537)
    wide = make(name, 70_000, 32)
    assert max(wide.take(70_000)) == 69_999


def test_bytes_say_what_a_pool_holds() -> None:
    assert make("bitmap/cpp", 65_536).pool_bytes() == 8 * (1_024 + 16 + 1)
    assert make("linked-list/cpp", 1_000).pool_bytes() == 8 * 1_001
    assert make("linked-list/cpp[node_bytes=64]", 1_000).pool_bytes() == 64 * 1_001


def test_pools_have_names_of_their_own_outside_the_default_set() -> None:
    assert set(more_names()) >= {name for name in ALONE if "[" not in name}
    assert not set(ALONE) & set(builtin_names())
    for name in ALONE:
        (found,) = resolve(name)
        assert (found.name, found.kind, found.pool_alone) == (name, "manager", True)
        assert found.models == {"pool", "free_space"}
    assert [each.name for each in resolve("bitmap")] == ["bitmap/py", "bitmap/cpp"]
    (wide,) = resolve("linked-list[node_bytes=64]")
    assert wide.name == "linked-list/cpp[node_bytes=64]"


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("bitmpa/cpp", 'did you mean "bitmap/cpp"'),
        ("bitmap/rust", "bitmap has no tier rust; it has py, cpp"),
        ("linked-list/cpp[node_bytes=16]", 'linked-list/cpp: unknown node_bytes "16"'),
        ("hash+bitmap", "the pool bitmap is compiled with other tables; use vector+bitmap"),
        ("bitmap/py[node_bytes=8]", "bitmap/py has no parameter node_bytes"),
    ],
)
def test_a_wrong_name_is_told_the_mend(target: str, says: str) -> None:
    with pytest.raises(TargetError) as caught:
        resolve(target)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pool_alone_makes_no_manager() -> None:
    from blockmark_impls.contract import PoolConfig

    (found,) = resolve("bitmap/py")
    with pytest.raises(TargetError, match="bitmap/py is a pool alone; it has no tables"):
        found.make_manager(PoolConfig(4, 4, 4, 4))


def test_the_core_compiles_the_pairs_that_are_listed() -> None:
    native = pytest.importorskip("blockmark_impls._native")
    rows = native.combinations()
    assert {f"{table}+{pool}/cpp" for table, pool, *_ in rows} == set(pair_names())
    for table, pool, _, bits, order in rows:
        assert POOLS[pool].reuse_order == order
        assert bits == 32 or TABLES[table]
