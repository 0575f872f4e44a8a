"""How an engine's pool and scheduler are proved, on right and wrong ones made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from blockmark.measure.proof.engines import NotTheLoad, check_pool, check_steps
from blockmark.measure.proof.wrong import WrongAnswer
from blockmark.workload.build import build_load
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.contract import OutOfBlocks, UnknownSequence
from blockmark_impls.python.list_duties import ListDutiesPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SMALL = parse_scenario(
    'models = ["step"]\ntotal_blocks = 64\nblock_size = 4\nmax_blocks_per_seq = 8\n'
    "concurrency = 6\n",
    "small",
    "small",
).cells()[0]


@dataclass(frozen=True)
class Token:
    """A block as an engine hands it out."""

    number: int


class TokenPool:
    """A right pool whose hand-outs are objects; each wrong one below changes a thing."""

    def __init__(self, total_blocks: int) -> None:
        self.blocks = [Token(number) for number in range(total_blocks)]
        self.free = list(self.blocks)

    @property
    def num_free(self) -> int:
        return len(self.free)

    def take(self, k: int) -> list[Token] | None:
        if k > len(self.free):
            return None
        taken, self.free = self.free[:k], self.free[k:]
        return taken

    def give(self, blocks: Iterable[Token]) -> None:
        self.free.extend(blocks)

    def ids_of(self, handout: list[Token]) -> list[int]:
        return [block.number for block in handout]

    def handout_of(self, ids: list[int]) -> list[Token]:
        return [self.blocks[number] for number in ids]


class Short(TokenPool):
    def take(self, k: int) -> list[Token] | None:
        taken = super().take(k)
        return taken[:-1] if taken and len(taken) > 3 else taken


class Twice(TokenPool):
    def give(self, blocks: Iterable[Token]) -> None:
        given = list(blocks)
        lost = min(len(given), len(self.free))
        self.free = given[:lost] + given + self.free[lost:]


class Outside(TokenPool):
    def ids_of(self, handout: list[Token]) -> list[int]:
        return [block.number + 1 for block in handout]


class Leak(TokenPool):
    def give(self, blocks: Iterable[Token]) -> None:
        super().give(list(blocks)[1:])


class Eager(TokenPool):
    def take(self, k: int) -> list[Token] | None:
        return super().take(min(k, len(self.free)))


class Stingy(TokenPool):
    def take(self, k: int) -> list[Token] | None:
        return super().take(k) if k < len(self.free) else None


@pytest.mark.parametrize(("make", "order"), [(TokenPool, "FIFO"), (ListDutiesPool, "LIFO")])
def test_a_right_pool_passes(make: Callable[[int], Any], order: str) -> None:
    assert sum(check_pool(make(32), 32, str(seed), order) for seed in range(5)) == 2000


@pytest.mark.parametrize(("make", "order"), [(TokenPool, "LIFO"), (ListDutiesPool, "FIFO")])
def test_another_order_than_declared_is_caught(make: Callable[[int], Any], order: str) -> None:
    with pytest.raises(WrongAnswer, match=f"{order} declared"):
        check_pool(make(32), 32, "1", order)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Short, r"gave \d+ blocks$"),
        (Twice, "is out already"),
        (Outside, "no block of a pool of 32"),
        (Leak, "blocks are free; it should be"),
        (Eager, "blocks where .* are free"),
        (Stingy, "gave nothing where"),
    ],
)
def test_a_wrong_pool_is_caught(make: Callable[[int], Any], said: str) -> None:
    with pytest.raises(WrongAnswer, match=said):
        check_pool(make(32), 32, "1")


@dataclass
class Scheduler:
    """A right scheduler of the plainest kind: it takes blocks as tokens come."""

    total: int
    size: int
    tables: dict[int, list[int]] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)
    free_blocks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free_blocks = list(range(self.total))

    @property
    def num_free_blocks(self) -> int:
        return len(self.free_blocks)

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks <= len(self.free_blocks)

    def allocate(self, seq: int, num_tokens: int) -> None:
        self.tables[seq], self.tokens[seq] = [], num_tokens - 1

    def free(self, seq: int) -> None:
        if seq not in self.tables:
            raise UnknownSequence(str(seq))
        self.free_blocks += self.tables.pop(seq)
        del self.tokens[seq]

    def append_slots(self, seqs: Any) -> None:
        for seq in self.tables:
            self.tokens[seq] += 1
            while len(self.tables[seq]) * self.size < self.tokens[seq]:
                self.tables[seq].append(self.free_blocks.pop())

    def append_slot(self, seq: int) -> None:
        raise AssertionError("a step is called for all")

    def lookup(self, seq: int, logical: int) -> int:
        raise AssertionError("a step is called for all")

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        out[:] = 0

    def block_table(self, seq: int) -> list[int]:
        return self.tables[seq]

    def scheduled(self, seq: int) -> bool:
        return bool(self.tables.get(seq))


class Sharing(Scheduler):
    def append_slots(self, seqs: Any) -> None:
        super().append_slots(seqs)
        first, *others = self.tables.values()
        for table in others:
            table[0] = first[0]


class Behind(Scheduler):
    def block_table(self, seq: int) -> list[int]:
        return self.tables[seq][:-2]


class Losing(Scheduler):
    def free(self, seq: int) -> None:
        self.tables[seq].pop()
        super().free(seq)


class Waiting(Scheduler):
    def scheduled(self, seq: int) -> bool:
        return seq != 3


def steps(scheduler: Scheduler) -> int:
    return check_steps(scheduler, SMALL.pool_config, build_load(SMALL).program, 100_000)


def test_a_right_scheduler_passes_a_whole_load() -> None:
    program = build_load(SMALL).program
    # Every operation of the body was gone through, and those of the set-up.
    assert steps(Scheduler(64, 4)) == program.num_operations


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (Sharing, WrongAnswer, "is in the tables of"),
        (Behind, WrongAnswer, "blocks for . tokens|blocks for .. tokens"),
        (Losing, WrongAnswer, "blocks are free"),
        (Waiting, NotTheLoad, "left 1 of 6 sequences out of step"),
    ],
)
def test_a_wrong_scheduler_is_caught(
    make: Callable[[int, int], Scheduler], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        steps(make(64, 4))


def test_list_duties_keep_a_prefix_until_it_is_the_oldest() -> None:
    """By hand: 4 blocks; hashed ones wait in the order of their return, and are evicted last."""
    pool = ListDutiesPool(4)
    a, b = pool.take(2)
    pool.keep(a, "A")
    pool.keep(b, "B")
    pool.give([b])
    pool.give([a])
    assert (pool.find("A"), pool.find("B"), pool.num_free) == (a, b, 4)
    plain = pool.take(2)
    assert set(plain).isdisjoint({a, b})
    pool.touch([a])  # a hit takes it out of the middle
    assert pool.num_free == 1
    assert pool.take(1) == [b]
    assert (pool.find("A"), pool.find("B")) == (a, None)
    with pytest.raises(OutOfBlocks):
        pool.take(1)
    # Held twice, it is free when both are gone.
    pool.touch([a])
    pool.give([a])
    assert pool.num_free == 0
    pool.give([a])
    assert pool.num_free == 1
    assert pool.find("A") == a


def test_tokenspeed_runs_the_load_for_real() -> None:
    pytest.importorskip("tokenspeed_scheduler")
    from blockmark_impls.registry import resolve

    manager = resolve("tokenspeed/cpp")[0].make_manager(SMALL.pool_config)
    assert manager.num_free_blocks == 64
    program = build_load(SMALL).program
    done = check_steps(manager, SMALL.pool_config, program, 2_000)
    assert done == program.num_operations
    manager.allocate(0, 9)
    manager.append_slots(np.array([0]))
    assert len(manager.block_table(0)) == 3
    out = np.zeros(2, dtype=np.int32)
    manager.lookup_slots(np.array([0, 0]), np.array([0, 2]), out)
    assert out.tolist() == [manager.block_table(0)[0], manager.block_table(0)[2]]
    manager.free(0)
    with pytest.raises(UnknownSequence):
        manager.block_table(0)
