"""A kind of fault each: a small class that is right as it stands, and one that differs from it
in that fault alone. The proof finds the one, says what it is, and passes the other.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from blockmark.measure.process.jobs import Job
from blockmark.measure.proof.prove import prove
from blockmark.testing.proved import Made
from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig, UnknownSequence
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager

CELL = PoolConfig(total_blocks=64, block_size=4, max_seqs=6, max_blocks_per_seq=8, id_bits=32)
# As `prove` takes it; what is not asked for is not played.
JOB = {
    "random_programs": 6,
    "rows": 0,
    "long_use": 0,
    "operations": 0,
    "seed": 1,
    "call_style": "per-op",
    "programs": [],
}


def manager_verdict(make: Any, **job: Any) -> dict[str, Any]:
    """What the proof says of a manager's class."""
    made = Made(make.__name__, make.reuse_order, make, lambda total, bits: None)
    return prove(made, CELL, {**JOB, **job})


def pool_verdict(make: Any, **job: Any) -> dict[str, Any]:
    """What the proof says of a class that is a pool alone."""

    def no_manager(config: PoolConfig) -> None:
        raise AssertionError("it is a pool alone")

    order = getattr(make, "reuse_order", "unspecified")
    made = Made(make.__name__, order, no_manager, lambda total, bits: make(total), pool_alone=True)
    return prove(made, CELL, {**JOB, **job})


def broken(make: type, **more: Any) -> type:
    """The same class with its fault."""
    return type(f"Broken{make.__name__}", (make,), {"broken": True} | more)


class Lists(VectorManager):
    broken: ClassVar[Any] = False


class Arrays(FlatStackNumpyManager):
    broken: ClassVar[Any] = False


# What two managers that are alive at once share.


class Rooms(Lists):
    """One list of the slots left for all managers, which a new one clears."""

    _of_all: ClassVar[list[int]] = []

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        if self.broken:
            self._of_all[:] = self._room
            self._room = self._of_all


class BlockSize(Lists):
    """The block size of the manager that was made last."""

    _last: ClassVar[list[int]] = [0]

    @property
    def _block_size(self) -> int:
        return self._last[0] if self.broken else self._own

    @_block_size.setter
    def _block_size(self, size: int) -> None:
        self._own = self._last[0] = size


# What is handed out, and what is passed.


class OwnTable(Lists):
    """Hands out the table itself, which grows."""

    def block_table(self, seq: int) -> list[int]:
        table = super().block_table(seq)
        return self._tables[seq] if self.broken and not self._first[seq] else table


class OwnCopies(Lists):
    """Returns one list of copies, filled anew by each call."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._made: list[Copy] = []

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        self._made[:] = super().extend(seq, num_tokens)
        return self._made if self.broken else list(self._made)


class RememberedTable(Lists):
    """Hands out a list again for as long as the table is the same; it never changes it."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._told: dict[int, tuple[list[int], list[int]]] = {}

    def block_table(self, seq: int) -> list[int]:
        table = super().block_table(seq)
        if seq not in self._told or self._told[seq][0] != table:
            self._told[seq] = list(table), table
        told = self._told[seq][1]
        return told if self.broken else list(told)


class RememberedQuestion(Arrays):
    """Keeps the arrays that it was asked with, and knows its answer by them."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._asked: tuple[Any, Any] | None = None
        self._answer: Any = None

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        if self.broken and self._asked and self._asked[0] is seqs and self._asked[1] is logicals:
            out[:] = self._answer
            return
        super().lookup_slots(seqs, logicals, out)
        self._asked, self._answer = (seqs, logicals), out.copy()


class ChangedQuestion(Arrays):
    """Works in the array that it was given."""

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        super().lookup_slots(seqs, logicals, out)
        logicals += 1
        if not self.broken:
            logicals -= 1


class LateAnswer(Arrays):
    """Keeps the caller's `out`, and marks in it what has ended."""

    _out: Any = None

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        super().lookup_slots(seqs, logicals, out)
        self._out = out

    def free(self, seq: int) -> None:
        super().free(seq)
        if self.broken and self._out is not None:
            self._out[:] = -1


# Rows.


class RowsOutside(Lists):
    """Writes a row too many before it finds that a sequence is unknown."""

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        try:
            super().write_block_tables(seqs, out, lengths)
        except UnknownSequence:
            rows = len(out) + self.broken
            np.lib.stride_tricks.as_strided(out, (rows, out.shape[1]), out.strides)[:] = 3
            raise


class RowsOfTheDead(Lists):
    """An empty row for a sequence that is none."""

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        if not self.broken or all(self._tables[max(seq, 0)] for seq in self._slots(seqs)):
            super().write_block_tables(seqs, out, lengths)
            return
        for row, seq in enumerate(seqs.tolist()):
            table = self._tables[seq] if 0 <= seq < self._max_seqs else []
            if len(table) > out.shape[1]:
                raise ValueError("too wide")
            lengths[row] = len(table)
            out[row] = table + [0] * (out.shape[1] - len(table))

    def _slots(self, seqs: Any) -> list[int]:
        return [seq for seq in seqs.tolist() if seq < self._max_seqs]


class WiderRows(Lists):
    """Takes every `out` for one piece of memory."""

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        if not out.flags.c_contiguous and not self.broken:
            raise TypeError("out must be contiguous")
        # A copy, if it is no one piece.
        super().write_block_tables(seqs, out.reshape(-1).reshape(out.shape), lengths)


# Numbers.


class CountsFromOne(Lists):
    """The count of a block that was never taken is 1, until it is."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._refs = [int(self.broken)] * self._total


class BytesOfNothing(Lists):
    """Bytes are the difference from a guess; or nobody counts."""

    def table_bytes(self) -> int:
        return super().table_bytes() - 1_000_000 if self.broken else 0


class BytesOfAsking(Lists):
    """What is held grows when it is asked for; or when a sequence ends."""

    _grown = 0

    def pool_bytes(self) -> int:
        self._grown += self.broken
        return super().pool_bytes() + self._grown

    def free(self, seq: int) -> None:
        super().free(seq)
        self._grown += 1


# Orders.


class Backwards(Lists):
    """`free` gives blocks back from the last one on; nothing is declared."""

    reuse_order = "unspecified"

    def free(self, seq: int) -> None:
        self._tables[seq][self._first[seq] :] = super().block_table(seq)[::-1]
        super().free(seq)


class Queue(list[int]):
    """The first in the list is the next one to be taken."""

    def pop(self, index: Any = 0) -> int:
        return super().pop(index)


class Fifo(Lists):
    reuse_order = "FIFO"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free = Queue(range(self._total))

    def _take(self, count: int) -> list[int]:
        if count > len(self._free):
            raise OutOfBlocks
        taken = [self._free.pop() for _ in range(count)]
        for block in taken:
            self._refs[block] = 1
        return taken

    def free(self, seq: int) -> None:
        if self.broken:
            self._tables[seq][self._first[seq] :] = super().block_table(seq)[::-1]
        super().free(seq)


# Sizes.


class Batches(Arrays):
    """Looks up 64 pairs at a time. Faults: it returns four copies of a batch, whatever it made;
    the last lookups, of fewer, are as many as the others.
    """

    def append_slots(self, seqs: Any) -> list[Copy]:
        made = super().append_slots(seqs)
        return made[:4] if self.broken == "copies" else made

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        for start in range(0, len(out), 64):
            count = min(64, len(out) - start)
            first = len(out) - 64 if self.broken == "lookups" and start else start
            some = slice(first, first + count)
            super().lookup_slots(seqs[some], logicals[some], out[start : start + count])


class Crowds(Lists):
    """From the 257th live sequence on, a byte says which one is meant."""

    _live = 0

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        self._live += 1

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._live += 1

    def free(self, seq: int) -> None:
        super().free(seq)
        self._live -= 1

    def lookup(self, seq: int, logical: int) -> int:
        block = super().lookup(seq, logical)
        if self.broken and self._live > 256 and self._tables[seq % 256]:
            return self._tables[seq % 256][0]
        return block


class Readers(Lists):
    """Counts readers in 16 bits; or in 32."""

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        for block in self._tables[child][self._first[child] :]:
            self._refs[block] &= 0xFFFF if self.broken else 0xFFFF_FFFF


# Long use.


class Ages(Lists):
    """Writes down the last hundred sequences that have ended. Faults: after 100,000 operations
    two blocks of a table change places; about every thousandth truncate loses the blocks that it
    gives back; all that have ended are written down.
    """

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._operations = self._truncates = 0
        self._ended: Any = [] if self.broken == "diary" else deque(maxlen=100)

    def append_slot(self, seq: int) -> Copy | None:
        self._operations += 1
        return super().append_slot(seq)

    def lookup(self, seq: int, logical: int) -> int:
        self._operations += 1
        block = super().lookup(seq, logical)
        late = self.broken == "operations" and self._operations > 100_000
        two = late and logical < 2 and len(self._tables[seq]) > 1 and not self._first[seq]
        return super().lookup(seq, 1 - logical) if two else block

    def truncate(self, seq: int, num_tokens: int) -> None:
        free = len(self._free)
        super().truncate(seq, num_tokens)
        self._truncates += 1
        # A prime: a loop comes to another of its truncates each time.
        if self.broken == "truncates" and self._truncates % 997 == 0:
            del self._free[free:]

    def free(self, seq: int) -> None:
        super().free(seq)
        self._ended.append((seq, len(self._free)))


# Pools.


class CallersList(ListPool):
    """Takes the caller's list for its own where it has none left."""

    broken: ClassVar[bool] = False
    reuse_order = "LIFO"

    def give(self, ids: Sequence[int]) -> None:
        if self._free or not self.broken:
            super().give(ids)
        else:
            self._free = ids  # type: ignore[assignment]


class Ring:
    """Free blocks in a ring, which is used again when it is full."""

    broken: ClassVar[bool] = False
    reuse_order = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        self._total = total_blocks
        self._ring = np.arange(total_blocks, dtype=np.int32)
        self._head, self.num_free = 0, total_blocks

    def take(self, k: int) -> Any:
        if k > self.num_free:
            raise OutOfBlocks
        start, end = self._head, self._head + k
        at = np.arange(start, end) % self._total
        self._head, self.num_free = end % self._total, self.num_free - k
        return self._ring[start:end] if self.broken and end <= self._total else self._ring[at]

    def give(self, ids: Sequence[int]) -> None:
        tail = self._head + self.num_free
        self._ring[np.arange(tail, tail + len(ids)) % self._total] = ids
        self.num_free += len(ids)


class OneRing(Ring):
    """All pools put their blocks in one ring."""

    _of_all: ClassVar[Any] = np.zeros(1 << 17, np.int32)

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        if self.broken:
            self._of_all[:total_blocks] = self._ring
            self._ring = self._of_all[:total_blocks]

    def take(self, k: int) -> Any:
        return super().take(k).copy()


class Tombstones:
    """What is removed stays in the queue, with a mark that it is to be passed over."""

    broken: ClassVar[bool] = False
    reuse_order = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        self._queue = deque(range(total_blocks))
        self._free = set(self._queue)
        self._marks: Counter[int] = Counter()

    @property
    def num_free(self) -> int:
        return len(self._free)

    def take(self, k: int) -> list[int]:
        if k > len(self._free):
            raise OutOfBlocks
        taken: list[int] = []
        while len(taken) < k:
            block = self._queue.popleft()
            if self._marks[block]:
                self._marks[block] -= 1
                continue
            taken.append(block)
            self._free.discard(block)
        return taken

    def give(self, ids: Sequence[int]) -> None:
        self._queue.extend(ids)
        self._free.update(ids)
        if self.broken:
            # The mark goes, and the place that it stood for is still there.
            for block in ids:
                self._marks[block] = 0

    def remove(self, block: int) -> None:
        if block not in self._free:
            raise ValueError(block)
        self._free.discard(block)
        self._marks[block] += 1


class NextButOne:
    """Oldest first, but one."""

    broken: ClassVar[bool] = False
    reuse_order = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        self._free = list(range(total_blocks))

    @property
    def num_free(self) -> int:
        return len(self._free)

    def take(self, k: int) -> list[int]:
        if k > len(self._free):
            raise OutOfBlocks
        if self.broken and len(self._free) > 1:
            self._free[:2] = self._free[1::-1]
        taken = self._free[:k]
        del self._free[:k]
        return taken

    def give(self, ids: Sequence[int]) -> None:
        self._free += ids


class Refuses:
    """Refuses what is not out; or of that, not what one call names twice."""

    broken: ClassVar[bool] = False
    reuse_order = "FIFO"
    refuses_double_give = True

    def __init__(self, total_blocks: int) -> None:
        self._free = list(range(total_blocks))
        self._out: set[int] = set()

    @property
    def num_free(self) -> int:
        return len(self._free)

    def take(self, k: int) -> list[int]:
        if k > len(self._free):
            raise OutOfBlocks
        taken = self._free[:k]
        del self._free[:k]
        self._out.update(taken)
        return taken

    def give(self, ids: Sequence[int]) -> None:
        twice = len(set(ids)) < len(ids) and not self.broken
        if twice or not self._out.issuperset(ids):
            raise ValueError("not all of these are out")
        self._free += ids
        self._out.difference_update(ids)


@dataclass(frozen=True)
class Kind:
    """A right class, the words for its broken sister's fault, and what is played to find it."""

    right: Any
    says: str
    job: dict[str, Any] = field(default_factory=dict)
    # What the broken one declares besides its fault, or which of its faults it has.
    declares: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.right.__name__, *self.declares.values()])


PER_STEP = {"call_style": "per-step"}
SIZES = {"random_programs": 1, "rows": 12}
LONG = {"random_programs": 1, "long_use": 1_600}
MANAGERS = [
    Kind(Rooms, r"beside another\)"),
    Kind(BlockSize, r"beside another\)"),
    Kind(OwnTable, r"what block_table\(\d\) returned has changed since: it is \[.*\], and was \["),
    Kind(OwnCopies, r"what extend\(.*\) returned has changed since: it is"),
    Kind(RememberedTable, r"block_table\(\d+\) (is|returned .*) \[-77"),
    Kind(RememberedQuestion, r"it should be", PER_STEP),
    Kind(ChangedQuestion, "changed an array that it was given", PER_STEP),
    Kind(
        LateAnswer,
        "the array that lookup_slots wrote into was written into again by a later call",
        PER_STEP,
    ),
    Kind(RowsOutside, r"write_block_tables of sequence -?\d+ into rows of \d+ wrote outside them"),
    Kind(RowsOfTheDead, "raised nothing where the contract says UnknownSequence"),
    Kind(WiderRows, r"write_block_tables wrote \[-7.*\] with length"),
    Kind(CountsFromOne, r"ref_count\(\d+\) is 1, not 0"),
    Kind(BytesOfNothing, r"table_bytes\(\) is -\d+, no number of bytes"),
    Kind(BytesOfAsking, r"pool_bytes\(\) is \d+, and \d+ when it is asked again"),
    Kind(
        Backwards,
        r"were freed last and not taken \(LIFO declared\)",
        declares={"reuse_order": "LIFO"},
    ),
    Kind(Fifo, r"were freed first and not taken \(FIFO declared\)"),
    Kind(Batches, "it should name the copies", {**PER_STEP, **SIZES}, {"broken": "copies"}),
    Kind(Batches, "lookup_slots.*it should be", {**PER_STEP, **SIZES}, {"broken": "lookups"}),
    Kind(Crowds, r"size \d+ .*lookup\(\d+, \d+\) is \d+, not \d+", SIZES),
    Kind(Readers, r"65,600 forks .* ref_count\(0\) is \d, not 6553\d", {**SIZES, "rows": 1}),
    Kind(Ages, "^use after long use .*lookup", LONG, {"broken": "operations"}),
    Kind(
        Ages,
        r"a loop for long.*after \d+ loops.*blocks are free; it should be",
        LONG,
        {"broken": "truncates"},
    ),
    Kind(
        Ages,
        r"1\.\d objects more are held for each sequence that has ended",
        LONG,
        {"broken": "diary"},
    ),
]
POOLS = [
    Kind(CallersList, r"-77 is no block of a pool of \d+"),
    Kind(Ring, r"what take\(\d+\) returned, \[.*\], is \[.*\] now"),
    Kind(OneRing, r"beside another\)"),
    Kind(Tombstones, r"is out already|FIFO declared"),
    Kind(NextButOne, r"FIFO declared"),
    Kind(Refuses, r"give\(\[(\d+), \1\]\): returned None; it should raise ValueError"),
]


def check(found: dict[str, Any], kind: Kind) -> None:
    """A verdict on the broken class."""
    assert found["status"] == "wrong", found
    assert re.search(kind.says, found["reason"]), found["reason"]
    assert "\n" not in found["reason"]


@pytest.mark.parametrize("kind", MANAGERS, ids=str)
def test_a_manager_with_one_fault_is_told_it(kind: Kind) -> None:
    check(manager_verdict(broken(kind.right, **kind.declares), **kind.job), kind)


@pytest.mark.parametrize("kind", {kind.right: kind for kind in MANAGERS}.values(), ids=str)
def test_a_manager_without_the_fault_passes(kind: Kind) -> None:
    found = manager_verdict(kind.right, **kind.job)
    assert found["status"] == "ok", found["reason"]


@pytest.mark.parametrize("kind", POOLS, ids=str)
def test_a_pool_with_one_fault_is_told_it(kind: Kind) -> None:
    check(pool_verdict(broken(kind.right), **kind.job), kind)


@pytest.mark.parametrize("kind", POOLS, ids=str)
def test_a_pool_without_the_fault_passes(kind: Kind) -> None:
    found = pool_verdict(kind.right, **{**kind.job, "rows": 12})
    assert found["status"] == "ok", found["reason"]


# Python's clocks are moved on in the worker's process, and in no other.
MINUTE = """
import time
from blockmark_impls.python.vector import VectorManager

class Tidies(VectorManager):
    # After a minute it tidies up.
    broken = False

    def __init__(self, config):
        super().__init__(config)
        self._made = time.monotonic()

    def lookup(self, seq, logical):
        block = super().lookup(seq, logical)
        if time.monotonic() - self._made > 60:
            return block ^ 1 if self.broken else block
        return block

class Forgets(Tidies):
    broken = True
"""


def in_a_worker(target: str, **job: Any) -> dict[str, Any]:
    request = {"kind": "verify", "impl": target, "config": asdict(CELL), **JOB, **job}
    return Job(request, 60.0, threading.Event()).result()


def test_what_shows_after_a_minute_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "minute.py"
    file.write_text(MINUTE)
    found = in_a_worker(f"{file}:Forgets", **LONG)
    assert found["status"] == "wrong", found
    assert found["reason"].startswith("use after long use (420 blocks of 4")
    assert in_a_worker(f"{file}:Tidies", **LONG)["status"] == "ok"
    # Nothing but the clock that is moved on shows it: at once it is right.
    assert in_a_worker(f"{file}:Forgets")["status"] == "ok"
