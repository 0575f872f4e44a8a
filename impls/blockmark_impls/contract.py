"""What a block manager is: the operations, their errors, and what it declares.

The terms are the field's: a *sequence* (a small integer slot) owns a *block
table* from logical to *physical blocks*; a physical block holds the KV entries
of `block_size` tokens; a *ref count* says how many tables name it.

Rules that every implementation keeps, and that the oracle checks:

* After each error the state is as it was before the call.
* Where a call breaks several rules, the sequence comes first (of `fork` the parent, then the
  child), then the value of the argument, then the length of the table, then the pool.
* A slot outside 0 .. `max_seqs` - 1 is a ValueError where a sequence starts (`allocate`, the
  child of `fork`), and an UnknownSequence everywhere else.
* Copy-on-write is triggered by a ref count above one on the block that is about
  to be written, never by a block's number; only a last, partly filled block is
  ever written.
* `free` and `drop_front` give blocks back in logical order, `truncate` from the last one
  forward. A reuse order that is declared as LIFO or FIFO holds block by block.
* Lists and arrays belong to the caller: one that was handed out does not change later, one
  that was passed is neither kept nor changed (but for `out` and `lengths`).
* Two managers, or pools, that are alive at once share nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# Goes up when what an operation must do changes, so that its cost before and after are
# not those of the same work. A check of two revisions compares nothing where it differs.
CONTRACT_VERSION = 1


class BlockManagerError(Exception):
    """Base of the four errors that the contract knows."""


class OutOfBlocks(BlockManagerError):  # noqa: N818 - the contract's own word
    """The pool has fewer free blocks than the operation needs."""


class SequenceTooLong(BlockManagerError):  # noqa: N818
    """The sequence would need more than `max_blocks_per_seq` logical blocks."""


class UnknownSequence(BlockManagerError):  # noqa: N818
    """The sequence does not exist, or the looked-up block is not in its table."""


class SequenceExists(BlockManagerError):  # noqa: N818
    """`allocate` or `fork` named a sequence that is already live."""


@dataclass(frozen=True, slots=True)
class PoolConfig:
    """The size of one manager.

    `block_size` is in tokens. `max_seqs` counts every slot, also those that hold
    a cached prefix. `id_bits` is the width of a stored block id, for structures
    that have a choice; 16 bits number 65,536 blocks, so no value is left over as
    a sentinel. `host_blocks` is the swap space.
    """

    total_blocks: int
    block_size: int
    max_seqs: int
    max_blocks_per_seq: int
    id_bits: int = 16
    host_blocks: int = 0


class Copy(NamedTuple):
    """A copy-on-write: the contents of block `src` must move to block `dst`."""

    src: int
    dst: int


# "next-fit": the free block that follows the last one handed out, by number and around the
# end. "lowest": the free block of the lowest number.
ReuseOrder = Literal["LIFO", "FIFO", "lowest", "next-fit", "unspecified"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What an implementation's operations include.

    Costs are compared within one profile; a ratio across profiles says so.

    `ref_counts`: blocks can be shared (R). `prefix_cache`: free blocks keep their
    contents and an eviction order (C). `id_type`: how a block id is stored.
    `id_unit`: what an id numbers. `deferred_free`: blocks come back later. `schedules`:
    an operation decides what runs, too (S).
    """

    ref_counts: bool = True
    prefix_cache: bool = False
    id_type: str = "int32"
    id_unit: Literal["block", "token"] = "block"
    deferred_free: bool = False
    schedules: bool = False

    @property
    def letters(self) -> str:
        """The short form that tables print, such as `R` or `RC`; `-` if nothing."""
        flags = (
            ("R", self.ref_counts),
            ("C", self.prefix_cache),
            ("D", self.deferred_free),
            ("S", self.schedules),
        )
        return "".join(letter for letter, on in flags if on) or "-"


@runtime_checkable
class BlockPool(Protocol):
    """The free pool alone. Made by `Pool(total_blocks)`."""

    def take(self, k: int) -> Sequence[int]:
        """Take `k` free blocks. Raises OutOfBlocks and takes none if there are fewer."""

    def give(self, ids: Sequence[int]) -> None:
        """Give blocks back, in the order named.

        Blocks that are not out are the caller's fault, which a pool need not find. One that
        does declares `refuses_double_give = True`: it raises ValueError, and takes back none,
        also where a block is named twice in one call.
        """

    @property
    def num_free(self) -> int:
        """The number of free blocks."""


class FreeSpace(Protocol):
    """What a pool may know of its free blocks by number; each operation may be missing.

    None of them but `remove` changes the pool.
    """

    def remove(self, id: int) -> None:
        """Take the free block `id`, as a hit in a prefix cache does. Raises ValueError if it
        is not free.
        """

    def find_contiguous(self, k: int) -> int | None:
        """The lowest block from which on `k` >= 1 blocks are free; None if there is none."""

    def plan_compaction(self, blocks: int) -> list[Copy]:
        """The moves that would free the `blocks` highest blocks of the pool.

        Two fingers: each used block among them, from the top down, goes to the lowest free
        block that no earlier move took. Raises OutOfBlocks if fewer are free.
        """


class BlockManager(Protocol):
    """Tables, pool and ref counts. Made by `Manager(config)`."""

    reuse_order: ClassVar[ReuseOrder]
    profile: ClassVar[Profile]

    @property
    def usable_blocks(self) -> int:
        """Blocks that can be handed out; less than `total_blocks` where one is reserved."""

    def can_allocate(self, num_blocks: int) -> bool:
        """Whether that many blocks are free now."""

    def allocate(self, seq: int, num_tokens: int) -> None:
        """Start `seq` with ceil(num_tokens / block_size) blocks of ref count 1.

        Raises SequenceExists, SequenceTooLong, OutOfBlocks, and ValueError if
        `num_tokens` < 1.
        """

    def append_slot(self, seq: int) -> Copy | None:
        """Make room for one more token.

        Takes a block at a block boundary. Where the last block is partly filled
        and shared, takes a new block for it and returns the copy to make. Raises
        UnknownSequence, SequenceTooLong, OutOfBlocks.
        """

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        """Make room for `num_tokens` >= 0 more tokens: `append_slot` in general."""

    def truncate(self, seq: int, num_tokens: int) -> None:
        """Shorten `seq` to `num_tokens` and give back the blocks behind it.

        Blocks go back from the last one forward. Raises UnknownSequence, and
        ValueError unless 1 <= num_tokens <= current, and the blocks that stay
        include one that was not dropped.
        """

    def drop_front(self, seq: int, num_blocks: int) -> None:
        """Give back the first `num_blocks` logical blocks, counted from block 0.

        Logical indices stay. Blocks already dropped are not dropped again. Raises
        UnknownSequence, and ValueError if `num_blocks` is negative or would drop the
        last block.
        """

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        """Let `child` share the table of `parent`, or its first `num_blocks` full blocks.

        Every shared block's ref count rises by one; dropped blocks stay dropped in
        the child. A prefix's length in tokens is num_blocks * block_size. Raises
        UnknownSequence, SequenceExists, and ValueError if `num_blocks` is not
        between 1 and the number of full blocks, or only dropped ones are named.
        """

    def free(self, seq: int) -> None:
        """End `seq`: ref counts fall by one, and blocks at zero go back in logical order."""

    def lookup(self, seq: int, logical: int) -> int:
        """The physical block. Raises UnknownSequence also for a block not in the table."""

    def ref_count(self, block: int) -> int:
        """How many tables name `block`; 0 if it is free."""

    @property
    def num_free_blocks(self) -> int:
        """The number of free blocks."""

    def num_tokens(self, seq: int) -> int:
        """The length of `seq` in tokens, dropped ones included."""

    def block_table(self, seq: int) -> list[int]:
        """Physical blocks in logical order, without the dropped ones."""

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        """Write the tables of `seqs` as rows of `out`, what a kernel reads.

        `out` has shape [len(seqs), width]; `lengths` [len(seqs)] takes the number of
        logical blocks of each. Dropped blocks and tails are zero. Raises ValueError
        if a table is wider than `out`, UnknownSequence; then rows may be written, but
        nothing outside `out` and `lengths`. Rows that are part of wider ones are written
        as they lie, or refused with TypeError or ValueError.
        """

    def table_bytes(self) -> int:
        """Bytes that the block tables hold now, spare capacity included; 0 if nobody counts."""

    def pool_bytes(self) -> int:
        """Bytes that the free pool and the ref counts hold now; 0 if nobody counts."""


class BatchOperations(Protocol):
    """Whole steps at once, for structures that work on arrays.

    An implementation may leave them out; a replay then makes the single calls.
    """

    def append_slots(self, seqs: NDArray[np.int32]) -> list[Copy]:
        """`append_slot` for each of `seqs`, in order, all or nothing."""

    def lookup_slots(
        self, seqs: NDArray[np.int32], logicals: NDArray[np.int32], out: NDArray[np.int32]
    ) -> None:
        """`lookup` for each pair, into `out`."""


def missing_operations(candidate: Any, operations: Sequence[str]) -> list[str]:
    """Those of `operations` that `candidate` (a class or an object) lacks."""
    return [name for name in operations if not hasattr(candidate, name)]
