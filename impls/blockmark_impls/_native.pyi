"""The native core. The classes of managers and pools are found by manager_class and
pool_class; here they stand as protocols, as one compiled class is like another.

Arrays are C-contiguous buffers of the stated item type; they are never converted, so
another type is a TypeError.
"""

from array import array
from collections.abc import Sequence
from typing import ClassVar, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

from blockmark_impls.contract import Copy, Profile, ReuseOrder

REPLAY_VERSION: int
"""Changes when numbers of an older replay can't be compared with a newer one's."""

allocation_counter_ok: bool
"""Whether this module's operator new and malloc are the counting ones; if not, show no
counts.
"""

callgrind_header: bool
"""Whether valgrind's header was there at build; without it only callgrind is missing."""

knows_python_frames: bool
"""Whether the stack of this interpreter can be sampled by the core."""

class BuildInfo(TypedDict):
    compiler: str
    flags: str
    cxx_standard: int
    build_type: str

def build_info() -> BuildInfo: ...

link_flags: str
"""Options of the linker that a module of a user's own needs too."""

class Program:
    """A program's columns, kept alive and not copied; see blockmark.workload.program.

    Raises ValueError for a column of the wrong type or shape, offsets that fall or do
    not cover everything, unknown codes or phases, set-up steps with a phase, and
    negative sequences, handles, logical blocks or counts to take.
    """

    def __init__(
        self,
        codes: Buffer,
        run_start: Buffer,
        a: Buffer,
        b: Buffer,
        c: Buffer,
        step_runs: Buffer,
        phases: Buffer,
        setup_steps: int,
    ) -> None: ...
    @property
    def num_steps(self) -> int:
        """Steps in all, set-up included."""
    @property
    def setup_steps(self) -> int: ...
    @property
    def num_operations(self) -> int: ...

class Histogram:
    """Log-linear: exact below 128, then 128 bins to each doubling; exact maximum."""

    def __init__(self) -> None: ...
    def record(self, ns: int) -> None: ...
    def counts(self) -> list[tuple[int, int]]:
        """(index, samples) of every bin that has any, in ascending order."""
    @property
    def max_value(self) -> int: ...
    @property
    def samples(self) -> int: ...

class Evictor:
    """A buffer of `bytes` (rounded up to whole lines) that run() streams through."""

    def __init__(self, bytes: int) -> None: ...
    @property
    def bytes(self) -> int: ...
    def run(self) -> None: ...

class Region:
    """What a replay goes in and out of; counting happens inside. Entering twice, or
    leaving twice, is as once.
    """

    def enter(self) -> None: ...
    def leave(self) -> None: ...

class PerfEvents(Region):
    """Counters of the thread that makes this, by perf_event_open: user space alone unless
    `exclude_kernel` is false, never the hypervisor, child threads not included.

    `groups` are lists of (type, config), numbered as in linux/perf_event.h. The first
    event of a list that opens leads a kernel group, and the later ones join it, so that
    all of a list count at the same time or not at all. Raises TypeError for a type
    beyond 32 bits or a config beyond 64. An event that does not open raises nothing.
    """

    def __init__(
        self, groups: Sequence[Sequence[tuple[int, int]]], exclude_kernel: bool = True
    ) -> None: ...
    def errors(self) -> list[list[int]]:
        """The errno of every event, in the shape of `groups`; 0 where it opened."""
    def read(self) -> list[list[tuple[int, int, int] | None]]:
        """(count as the kernel has it, ns enabled, ns running) since the last reset, in the
        shape of `groups`; None where the event did not open. Nothing is scaled. Raises
        OSError if the kernel refuses, ValueError after close().
        """
    def reset(self) -> None:
        """Count and time from 0 again. Raises as read() does."""
    def close(self) -> None:
        """Give the counters back; from here on a region that does nothing."""

class CallgrindRegion(Region):
    """Where callgrind collects; start it with --collect-atstart=no. Does nothing outside
    valgrind. Raises RuntimeError if the core was built without valgrind's header.
    """

    def __init__(self) -> None: ...

class Paced:
    """What a paced loop did. Times are nanoseconds of CLOCK_MONOTONIC; native/pacing.hpp
    says how each is taken.
    """

    @property
    def ticks(self) -> int:
        """Ticks that ran, at most `intended`."""
    @property
    def intended(self) -> int:
        """Ticks whose intended start lies within the duration: ceil(duration / interval)."""
    @property
    def elapsed_ns(self) -> int:
        """From the start to the end of the loop, without `off_clock_ns`."""
    @property
    def off_clock_ns(self) -> int:
        """Time of the untimed steps; the schedule was shifted by it."""
    @property
    def busy1_ns(self) -> int:
        """Time in the steps of phase 1, one reading of the clock each included."""
    @property
    def busy2_ns(self) -> int:
        """Time in the steps of phase 2 of the same ticks; 0 where there are none."""
    @property
    def copy_ns(self) -> int:
        """Time in the copies of `copy_bytes`, one a tick."""
    @property
    def missed(self) -> int:
        """Ticks that ended after the next intended start, and those that never ran."""
    @property
    def thread_cpu_ns(self) -> int:
        """CPU time of the thread (CLOCK_THREAD_CPUTIME_ID) over the loop, waiting, copies
        and `stream` included, untimed steps not.
        """
    @property
    def user_ns(self) -> int:
        """The user part by getrusage; the kernel may split by sampling, so trust the sum."""
    @property
    def kernel_ns(self) -> int: ...
    @property
    def lateness(self) -> Histogram:
        """Of each tick: actual start less intended start."""
    @property
    def latency(self) -> Histogram:
        """Of each tick: end less intended start."""

class Replayable(Protocol):
    """What programs can be replayed on.

    Steps of the body count from 0 and go around its end. Raises ValueError for an
    operation that the target does not serve; an error of the contract names the
    operation's index in the program.
    """

    allocation_counter_ok: ClassVar[bool]
    """As that of the module, for the module that the class was compiled into."""

    @staticmethod
    def heap_allocations() -> int:
        """As that of the module, for the module that the class was compiled into."""
    def replay_setup(self, program: Program) -> None:
        """Replay the set-up steps."""
    def replay(self, program: Program, first_step: int, num_steps: int) -> tuple[int, int]:
        """Nanoseconds of phases 1 and 2. The clock is read where the phase changes."""
    def replay_each(
        self,
        program: Program,
        first_step: int,
        num_steps: int,
        histogram1: Histogram,
        histogram2: Histogram,
    ) -> None:
        """Every timed step alone, into the histogram of its phase."""
    def replay_cold(
        self, program: Program, first_step: int, num_steps: int, evictor: Evictor
    ) -> list[int]:
        """Nanoseconds of each timed step, caches evicted before each, off the clock."""
    def count_allocations(
        self, program: Program, first_step: int, num_steps: int
    ) -> tuple[int, int]:
        """Heap allocations inside the steps of phases 1 and 2."""
    def replay_answers(self, program: Program, first_step: int, num_steps: int) -> array[int]:
        """What the timed loops throw away, off the clock: for every operation that answers its
        index in the program, how many values follow, and the values. One Reader answers a
        run of lookups, as where they are timed.

        CAN_ALLOCATE: 0 or 1. APPEND, EXTEND: source and destination of each copy. LOOKUP,
        LOOKUP_CHAIN: the block. PACK: of each row its length and its max_blocks_per_seq ids,
        -1 where nothing was written; one record for the whole run, at its first index. TAKE:
        the blocks. FIND: the first block, or -1.
        """
    def replay_within(
        self, program: Program, first_step: int, num_steps: int, phase: int, region: Region
    ) -> None:
        """The steps of `phase` inside the region, all others outside. It is entered and left
        only where the phase changes, and it is left when an operation fails. Raises
        ValueError for a phase that is neither 1 nor 2.
        """
    def replay_paced(
        self,
        program: Program,
        first_step: int,
        interval_ns: int,
        duration_ns: int,
        pacing: str,
        stream: Evictor | None = None,
        copy_bytes: int = 0,
    ) -> Paced:
        """One tick every `interval_ns` for `duration_ns`, a tick being the next step of
        phase 1 and the steps of phase 2 that follow it directly. All other steps run off
        the clock. Waits by `pacing`: "sleep", "hybrid" (sleep until 100 us before, then
        spin) or "spin". After each tick `copy_bytes` bytes are copied, if that is not 0,
        and `stream` runs, if it is given. No tick is skipped: a late one starts at once.

        Raises ValueError unless interval_ns >= 1, interval_ns <= duration_ns <= one day,
        copy_bytes >= 0, `pacing` is one of the three and the body has a step of phase 1.
        """

class Manager(Replayable, Protocol):
    """A compiled manager: the operations of contract.BlockManager and BatchOperations."""

    reuse_order: ClassVar[ReuseOrder]
    profile: ClassVar[Profile]

    @property
    def usable_blocks(self) -> int: ...
    @property
    def num_free_blocks(self) -> int: ...
    def can_allocate(self, num_blocks: int) -> bool: ...
    def allocate(self, seq: int, num_tokens: int) -> None: ...
    def append_slot(self, seq: int) -> Copy | None: ...
    def extend(self, seq: int, num_tokens: int) -> list[Copy]: ...
    def truncate(self, seq: int, num_tokens: int) -> None: ...
    def drop_front(self, seq: int, num_blocks: int) -> None: ...
    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None: ...
    def free(self, seq: int) -> None: ...
    def lookup(self, seq: int, logical: int) -> int: ...
    def ref_count(self, block: int) -> int:
        """Raises ValueError for a block that the pool does not have."""
    def num_tokens(self, seq: int) -> int: ...
    def block_table(self, seq: int) -> list[int]: ...
    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        """Rows before the one that fails are written."""
    def append_slots(self, seqs: NDArray[np.int32]) -> list[Copy]: ...
    def lookup_slots(
        self, seqs: NDArray[np.int32], logicals: NDArray[np.int32], out: NDArray[np.int32]
    ) -> None: ...
    def table_bytes(self) -> int: ...
    def pool_bytes(self) -> int: ...

class ManagerClass(Protocol):
    """Raises ValueError for sizes that are not positive, are absurdly large, or name more
    blocks than the ids can number; MemoryError. `row_pad` counts ids between two rows of
    a flat table (which has a property of that name); None lets the table choose.
    """

    reuse_order: ClassVar[ReuseOrder]
    profile: ClassVar[Profile]

    def __call__(
        self,
        total_blocks: int,
        block_size: int,
        max_seqs: int,
        max_blocks_per_seq: int,
        *,
        row_pad: int | None = None,
    ) -> Manager: ...

class Pool(Replayable, Protocol):
    """A free pool alone; serves programs of TAKE, GIVE, FIND and COMPACT, and of REMOVE if
    it has `remove`.
    """

    reuse_order: ClassVar[ReuseOrder]

    @property
    def num_free(self) -> int: ...
    def take(self, k: int) -> list[int]: ...
    def give(self, ids: Sequence[int]) -> None:
        """Raises ValueError for unknown ids, and for more than were taken."""
    def pool_bytes(self) -> int: ...
    def find_contiguous(self, k: int) -> int | None:
        """See contract.FreeSpace; a pool that keeps a list is marked in a bitmap first. Raises
        ValueError if `k` < 1.
        """
    def plan_compaction(self, blocks: int) -> list[Copy]:
        """See contract.FreeSpace. Raises OutOfBlocks, and ValueError if `blocks` is negative."""

class RemovingPool(Pool, Protocol):
    """The pools "lru", "linked-list", "linked-list-64" and "bitmap"."""

    def remove(self, id: int) -> None:
        """Take one block out of the middle, in O(1). Raises ValueError if it is not free."""

class PoolClass(Protocol):
    reuse_order: ClassVar[ReuseOrder]

    def __call__(self, total_blocks: int) -> Pool: ...

class RawArrayControl(Replayable, Protocol):
    """Floors on plain memory; native/controls/raw_array.hpp says what each one is."""

    @property
    def num_free_blocks(self) -> int: ...
    @property
    def row_pad(self) -> int: ...
    def table_bytes(self) -> int: ...
    def pool_bytes(self) -> int: ...

null_manager_class: ManagerClass
"""Answers everything with nothing, never fails; serves every operation code."""

def manager_class(table: str, pool: str, refs: str = "array", id_bits: int = 32) -> ManagerClass:
    """One of those in native/structures.txt; one that has no choice stores int32 whatever
    `id_bits` says. Raises ValueError for what was not compiled.
    """

def combinations() -> list[tuple[str, str, str, int, ReuseOrder]]:
    """(table, pool, refs, id_bits, reuse_order) of every manager that was compiled."""

def pool_class(pool: str, id_bits: int = 32) -> PoolClass:
    """As manager_class, for the pools in that list."""

def RawArray(  # noqa: N802 - stands for a class whose id width is chosen here
    total_blocks: int,
    block_size: int,
    max_seqs: int,
    max_blocks_per_seq: int,
    id_bits: int,
    *,
    row_pad: int | None = None,
) -> RawArrayControl: ...

class SharedTable:
    """The table of the mistake shared-table alone, so that its two steps can be mixed: `find`
    the place of an entry or an empty one for it, `put` the entry there.

    `put` raises ValueError for a place that there is not, and where the table is half full.
    """

    def __init__(self, max_seqs: int) -> None: ...
    def find(self, seq: int, logical: int) -> int: ...
    def put(self, place: int, seq: int, logical: int, block: int) -> None: ...
    def get(self, seq: int, logical: int) -> int | None: ...

class PayloadArena:
    """Memory in slots of `payload` bytes (0: nothing is copied), walked round and round.

    Raises ValueError unless two slots fit `bytes`.
    """

    def __init__(self, payload: int, bytes: int) -> None: ...
    @property
    def bytes(self) -> int: ...

def append_loop(
    manager: Manager, seqs: NDArray[np.int32], steps: int, arena: PayloadArena
) -> tuple[int, int, int]:
    """(ns, copies, most blocks held during a copy beyond those held after it) of `steps` times
    one token for each sequence. Each copy moves a payload. For flat + stack with 16-bit ids
    and for the mistake CopyByNumber alone; raises what append_slot does.
    """

class _RowSlab:
    """Rows of 32 ids side by side, the first `offset` bytes behind a cache line's start.

    Raises ValueError for rows outside of 1 to 2^24, and for an offset that is not below 64 or
    no multiple of the id's bytes. The times are ns of `count` reads of random rows, each
    address formed with the last answer.
    """

    row_ids: ClassVar[int]
    def __init__(self, rows: int, offset: int) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def address(self, row: int) -> int: ...
    def lines_of(self, row: int) -> int:
        """Cache lines that the row lies in, by its address."""
    def lines_of_all(self) -> int:
        """Their sum over all rows."""
    def time_entries(self, count: int, seed: int) -> int: ...
    def time_rows(self, count: int, seed: int) -> int: ...
    def time_packing(self, count: int, seed: int) -> int: ...
    def row(self, row: int) -> list[int]: ...
    def packed_row(self, row: int) -> list[int]:
        """The row as it was written to int32."""

class RowSlab16(_RowSlab): ...
class RowSlab32(_RowSlab): ...
class RowSlab64(_RowSlab): ...

class PackBatch:
    """A batch of block tables, uint16 [B, W], to be written in one of six forms; what each
    writes stands in native/layouts/packing.hpp.

    Raises ValueError for lengths outside of 1 to W and changed rows that are none of the
    batch, or twice.
    """

    def __init__(
        self, table: NDArray[np.uint16], lengths: NDArray[np.int32], changed: NDArray[np.int32]
    ) -> None: ...
    def write(self, form: str) -> tuple[int, int]:
        """(bytes, copies) that send it. Raises ValueError for an unknown form."""
    def timed(self, form: str, batches: int) -> int:
        """ns of writing it so many times."""
    def read(self, out: NDArray[np.int32]) -> None:
        """The first words of the buffer that was written last."""

def probe_latency_ns(bytes: int, evictor: Evictor | None = None) -> float:
    """Nanoseconds of one dependent load from a buffer of `bytes` (256 or more), touched
    before `evictor` ran. Every line is loaded once, in random order.
    """

def age_heap(seed: int, megabytes: int) -> int:
    """Fill the C heap with the holes of a long life. Returns how many blocks stay."""

def heap_allocations() -> int:
    """Requests to the heap made by this thread inside this module: operator new, malloc,
    calloc, realloc, aligned_alloc, posix_memalign, memalign, strdup, each once; never falls.
    What a library allocates on the module's behalf (an exception, say) is not seen.
    """

def python_allocations_start() -> None:
    """Count the interpreter's requests to the object and mem domains from here on.

    Raises ValueError if they are being counted already.
    """

def python_allocations_stop() -> int:
    """Stop, and return the requests since the start. Raises ValueError if not started."""

def stack_samples_start(fd: int) -> None:
    """From here on a SIGALRM that meets this thread writes its Python stack to `fd`, in the
    words of faulthandler. Raises ValueError if started already, and unless
    `knows_python_frames`.
    """

def stack_samples_stop() -> int:
    """Put the signal handlers back; returns the samples of which nothing could be written.
    Raises ValueError if not started.
    """

def pace_nothing(
    interval_ns: int, duration_ns: int, pacing: str, stream: Evictor | None = None
) -> Paced:
    """The loop of replay_paced around a tick that does nothing: what pacing itself costs.
    Raises ValueError as it does.
    """

def running_on_valgrind() -> bool:
    """False also where the core was built without valgrind's header."""

def callgrind_start_instrumentation() -> None:
    """Start before the warm-up: the simulated caches are cold from here on. Does nothing
    outside valgrind. This and the two below raise RuntimeError without valgrind's header.
    """

def callgrind_stop_instrumentation() -> None: ...
def callgrind_dump(label: str) -> None:
    """Write what was collected to a file of its own, named by `label` in its "Trigger" line,
    and count from 0 again.
    """

def count_loop(iterations: int) -> int:
    """A loop of at least `iterations` instructions and exactly as many loads of 8 bytes from
    a table that holds 0 to 255, which it goes through again and again. Returns their sum.
    For finding out whether a counter counts. Raises ValueError if `iterations` is negative.
    """

class Windows:
    """Windows in which threads did the same; native/contention/windows.hpp says which count."""

    @property
    def accepted(self) -> list[bool]:
        """Whether all threads ran throughout, a window each."""
    @property
    def threads(self) -> list[list[tuple[int, int, int, int, int, int, int]]]:
        """By window and thread: operations, elapsed ns, ns late at the start, longest gap
        in ns, voluntary and involuntary switches, CPU ns.
        """
    @property
    def latency(self) -> Histogram:
        """Single operations of the accepted windows."""

class ThreadTotal:
    """One thread over a stretch. Switches and the split of its CPU time are the kernel's."""

    @property
    def pairs(self) -> int: ...
    @property
    def refused(self) -> int:
        """Takes that found too few blocks."""
    @property
    def elapsed_ns(self) -> int: ...
    @property
    def in_pool_ns(self) -> int:
        """Inside take and give; of a paced stretch alone."""
    @property
    def voluntary(self) -> int: ...
    @property
    def involuntary(self) -> int: ...
    @property
    def user_ns(self) -> int: ...
    @property
    def kernel_ns(self) -> int: ...
    @property
    def cpu_ns(self) -> int: ...

class Stretch:
    """All threads over one stretch, with every disturbance in it."""

    @property
    def threads(self) -> list[ThreadTotal]: ...
    @property
    def latency(self) -> Histogram: ...

def counter_windows(
    atomic: bool,
    stride: int,
    threads: int,
    window_ns: int,
    gap_limit_ns: int,
    wanted: int,
    most: int,
) -> Windows:
    """A 64-bit counter a thread, `stride` bytes apart. Raises ValueError for a bad size, and
    if a write was lost.
    """

def ref_count_windows(
    atomic: bool,
    total_blocks: int,
    bytes: int,
    layout: str,
    seed: int,
    threads: int,
    window_ns: int,
    gap_limit_ns: int,
    wanted: int,
    most: int,
) -> Windows:
    """Each thread walks the ref counts of its own blocks. Raises as `counter_windows`."""

def ping_pong_ns() -> float:
    """A line's way between two processors and back, in ns; negative with one processor."""
