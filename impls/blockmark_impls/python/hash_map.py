"""hash-map: a dict per sequence, as early prototypes have it.

Everything is a dict: the table of each sequence (logical block -> physical block),
the sequences, their lengths, and the ref counts, which hold every block from the
start. Free blocks are a growing list.
"""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, ClassVar

from ..contract import (
    Copy,
    OutOfBlocks,
    Profile,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)
from .manager import INT_BYTES, ListManager
from .rows import write_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract import PoolConfig

# Int objects up to 256 exist once and cost nothing more.
_CACHED_INTS = 257


class HashMapManager(ListManager):
    """Block manager over dicts. See `contract.BlockManager` for every operation."""

    profile: ClassVar[Profile] = Profile(id_type="int object")

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config, "int object")
        self._tables: dict[int, dict[int, int]] = {}
        # Beside the tables: logical blocks with the dropped ones.
        self._blocks: dict[int, int] = {}
        self._room: dict[int, int] = {}
        self._refs: dict[int, int] = dict.fromkeys(range(self._total), 0)

    def lookup(self, seq: int, logical: int) -> int:
        try:
            return self._tables[seq][logical]
        except KeyError:
            raise UnknownSequence(f"sequence {seq} has no block {logical}") from None

    def append_slot(self, seq: int) -> Copy | None:
        room = self._room
        try:
            left = room[seq]
        except KeyError:
            raise UnknownSequence(f"sequence {seq} does not exist") from None
        if left:
            table = self._tables[seq]
            last = self._blocks[seq] - 1
            src = table[last]
            refs = self._refs
            if refs[src] == 1:
                room[seq] = left - 1
                return None
            if not self._free:
                raise OutOfBlocks("no free block for a copy")
            dst = self._free.pop()
            refs[src] -= 1
            refs[dst] = 1
            table[last] = dst
            room[seq] = left - 1
            return Copy(src, dst)
        logical = self._blocks[seq]
        if logical == self._max_blocks:
            raise SequenceTooLong(f"sequence {seq} is at {logical} blocks, the most there can be")
        if not self._free:
            raise OutOfBlocks("no free block")
        block = self._free.pop()
        self._refs[block] = 1
        self._tables[seq][logical] = block
        self._blocks[seq] = logical + 1
        room[seq] = self._block_size - 1
        return None

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        if num_tokens < 1:
            raise ValueError(f"num_tokens = {num_tokens} must be at least 1")
        count = -(-num_tokens // self._block_size)
        if count > self._max_blocks:
            raise SequenceTooLong(f"{count} blocks are more than {self._max_blocks}")
        taken = self._take(count)
        self._tables[seq] = dict(enumerate(taken))
        self._blocks[seq] = count
        self._room[seq] = count * self._block_size - num_tokens

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        left = self._room_of(seq)
        if num_tokens < 0:
            raise ValueError(f"num_tokens = {num_tokens} must not be negative")
        if num_tokens == 0:
            return []
        table, logical, refs = self._tables[seq], self._blocks[seq], self._refs
        count = -(-(num_tokens - left) // self._block_size) if num_tokens > left else 0
        if logical + count > self._max_blocks:
            raise SequenceTooLong(f"{logical + count} blocks are more than {self._max_blocks}")
        src = table[logical - 1]
        shared = left > 0 and refs[src] > 1
        taken = self._take(count + shared)
        copies = []
        if shared:
            dst = table[logical - 1] = taken.pop(0)
            refs[src] -= 1
            copies.append(Copy(src, dst))
        table.update(enumerate(taken, logical))
        self._blocks[seq] = logical + count
        self._room[seq] = left + count * self._block_size - num_tokens
        return copies

    def truncate(self, seq: int, num_tokens: int) -> None:
        table, logical = self._tables_of(seq), self._blocks[seq]
        keep = -(-num_tokens // self._block_size)
        if not 1 <= num_tokens <= logical * self._block_size - self._room[seq]:
            raise ValueError(f"num_tokens = {num_tokens} must be between 1 and the length")
        if keep <= logical - len(table):
            raise ValueError(f"{num_tokens} tokens lie in blocks that were dropped")
        self._give([table.pop(last) for last in range(logical - 1, keep - 1, -1)])
        self._blocks[seq] = keep
        self._room[seq] = keep * self._block_size - num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        table, logical = self._tables_of(seq), self._blocks[seq]
        if not 0 <= num_blocks < logical:
            raise ValueError(f"num_blocks = {num_blocks} must leave the last of {logical} blocks")
        self._give([table.pop(i) for i in range(logical - len(table), num_blocks)])

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        table, logical, left = self._tables_of(parent), self._blocks[parent], self._room[parent]
        self._check_new(child)
        if num_blocks is None:
            shared = table.copy()
        else:
            first, full = logical - len(table), logical - (left > 0)
            if not first < num_blocks <= full:
                raise ValueError(f"num_blocks = {num_blocks} must be a prefix of full, kept blocks")
            shared = {i: table[i] for i in range(first, num_blocks)}
            logical, left = num_blocks, 0
        refs = self._refs
        for block in shared.values():
            refs[block] += 1
        self._tables[child], self._blocks[child], self._room[child] = shared, logical, left

    def free(self, seq: int) -> None:
        try:
            table = self._tables.pop(seq)
        except KeyError:
            raise UnknownSequence(f"sequence {seq} does not exist") from None
        del self._blocks[seq], self._room[seq]
        self._give(table.values())

    def ref_count(self, block: int) -> int:
        if block not in self._refs:
            raise ValueError(f"block {block} is not in the pool")
        return self._refs[block]

    def block_table(self, seq: int) -> list[int]:
        # A dict keeps the order of insertion, and blocks only ever come at the end.
        return list(self._tables_of(seq).values())

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        rows = []
        for seq in seqs.tolist():
            table = self._tables_of(seq)
            rows.append((self._blocks[seq] - len(table), table.values()))
        write_rows(rows, out, lengths)

    def table_bytes(self) -> int:
        """Dicts, the int objects of the ids in them, and of logical blocks above 256.

        The dicts beside the tables are counted too.
        """
        keys = sum(max(0, n - _CACHED_INTS) for n in self._blocks.values())
        ids = self._total - len(self._free)
        beside = (self._tables, self._blocks, self._room)
        dicts = sum(map(getsizeof, (*beside, *self._tables.values())))
        return dicts + (keys + ids) * INT_BYTES

    def pool_bytes(self) -> int:
        """The list and its int objects; the dict of ref counts and its keys."""
        objects = (len(self._free) + self._total) * INT_BYTES
        return getsizeof(self._free) + getsizeof(self._refs) + objects

    def _logical(self, seq: int) -> int:
        return self._blocks[seq]

    def _check_new(self, seq: int) -> None:
        if not 0 <= seq < self._max_seqs:
            raise ValueError(f"sequence {seq} is not a slot: there are {self._max_seqs}")
        if seq in self._tables:
            raise SequenceExists(f"sequence {seq} exists already")

    def _tables_of(self, seq: int) -> dict[int, int]:
        if seq not in self._tables:
            raise UnknownSequence(f"sequence {seq} does not exist")
        return self._tables[seq]

    def _room_of(self, seq: int) -> int:
        if seq not in self._room:
            raise UnknownSequence(f"sequence {seq} does not exist")
        return self._room[seq]
