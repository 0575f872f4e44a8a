"""The tables, as data: which columns or rows each has, and what stands below them.

A title is the metric's label unless a table says the rest. `build.py` makes tables of these.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockmark.report.facts.floors import floor_mark
from blockmark.report.facts.growth import (
    BURST,
    CHAIN,
    COMPACT,
    FIND,
    GIVE,
    MIXED,
    PACK_ROW,
    REMOVE,
    STEP,
    TABLES,
    TAKE,
)
from blockmark.report.facts.ranges import TITLE
from blockmark.report.facts.rates import HELD, SATURATED, is_disturbed, is_saturated
from blockmark.report.tables.build import Shown
from blockmark.runs.model import Cell, Run

# What a step costs: a row a cell.
# -------------------------------


def _floor(run: Run, cell: Cell, metric: str) -> str:
    return floor_mark(cell, metric, run.cells_of(cell.key.setting), run.implementation_by_name)


# Kinds that are no candidates: their profile is not what a reader has to know of them.
_BESIDE = ("control", "mistake")


def _profile(run: Run, cell: Cell, _: str) -> str:
    info = run.implementation_by_name.get(cell.impl)
    return cell.kind if cell.kind in _BESIDE else "" if info is None else info.profile


STEP_COLUMNS = (
    Shown("step_ns", ranged=TITLE, mark=_floor),
    Shown("step_latency_ns.p99", title="p99", like="step_ns"),
    Shown("pack_ns", mark=_floor),
    Shown("heap_allocations_per_step", bare=True),
    Shown("busy_share_estimated", bare=True),
    Shown("", title="profile", word=_profile),
)
BRIEF_COLUMNS = (
    Shown("step_ns", title="a step,", ranged=TITLE, mark=_floor),
    Shown("busy_share_estimated", bare=True),
)
STEP_METRICS = tuple(column.address.partition(".")[0] for column in STEP_COLUMNS if column.address)

# What single operations cost: a row an operation, a column a cell.
# -----------------------------------------------------------------

OPERATIONS = (
    "lookup_ordered_ns", "lookup_shuffled_ns", "lookup_chain_ordered_ns",
    "lookup_chain_shuffled_ns", "alloc_free_burst_ns", "alloc_free_interleaved_ns",
    "can_allocate_ns", "append_ns", "take_ns", "give_ns", "take_run_length", "remove_ns",
    "find_contiguous_ns", "contiguous_found", "longest_free_run", "compact_ns", "compact_moves",
    "fork_per_block_ns", "cow_per_copy_ns", "pack_ns", "pack_changed_ns", "pack_step_ns",
    "table_bytes", "pool_bytes", "move_descriptors",
)  # fmt: skip

# The paced loop: a row a cell.
# -----------------------------


def _grows(_: Run, cell: Cell, metric: str) -> str:
    """A time means nothing in a saturated loop: there it is as long as the loop is."""
    return "grows" if cell.metric(metric) is not None and is_saturated(cell) else ""


def _full(_: Run, cell: Cell, metric: str) -> str:
    """What a saturated packed loop took is no share at the rate; the run has the word alone."""
    value = cell.metric(metric)
    packed = value is not None and (value.unavailable or "").startswith(SATURATED)
    return SATURATED if packed else ""


def _missed(_: Run, cell: Cell, __: str) -> str:
    return SATURATED if is_saturated(cell) else ""


def disturbed(_: Run, cell: Cell, __: str) -> str:
    """The mark of a loop that something else held up."""
    return "~" if is_disturbed(cell) else ""


BUSY = "Busy: time inside the steps / wall time of the paced loop."
HIGHEST = "Highest: what short spinning loops held to 99 %, searched to 3 %."
SATURATION = f"Saturated: fewer than {100 * HELD:.0f} % of the intended steps were reached."
FULL = (
    "A saturated loop's share says no more than that the loop is full, and its lateness grows "
    "until it ends."
)
_PACKED = "Packed: the same with every scheduled row packed behind each step."
_CPU = "CPU: what the kernel charges for the whole loop, waiting included"
_SPINNING = (
    f"{_CPU}; waiting by spinning makes it all of a core, whatever the steps cost, and what is "
    "missing of that went to other work on the machine."
)
_ASLEEP = f"{_CPU}; no-op: the same loop with empty steps, which is the pacing's own cost."
_LATE = "Late: actual less intended start of a step."
_DONE = "Done: end of a step less its intended start, which is what a caller waits."
_ESTIMATED = (
    "Estimated: step time x rate, from steps back to back in caches that nothing else uses, "
    "which flatters every structure."
)
_BY_OPERATIONS = (
    "By operations: the arithmetic of a published comparison, one lookup and one block taken "
    "and given back for every sequence and step, each as a single operation."
)
_MEMCPY = "Memcpy: the packed bytes copied in the same loop, which packing is judged against."
_NO_OP = (
    "No-op: the same loop with empty steps; busy is what reading the clock adds, CPU what "
    "waiting takes."
)
_SPLIT = "The kernel splits user and kernel time by ticks, which is coarse; trust their sum."
_COLLECTOR = "Python's cyclic collector while the loop of steps ran, inside steps and between."

_SHARES = (
    Shown("busy_share", unit="%", note=BUSY, mark=disturbed),
    Shown("busy_share_with_pack", unit="%", note=_PACKED, word=_full),
)
_KEPT_UP = (
    Shown("lateness_ns.p99", unit="us", note=_LATE, word=_grows),
    Shown("missed_deadlines", bare=True, word=_missed),
    Shown("highest_rate", note=HIGHEST),
)
PACED_SPINNING = (*_SHARES, Shown("thread_cpu_share", unit="%", note=_SPINNING), *_KEPT_UP)
PACED_ASLEEP = (
    *_SHARES,
    Shown("thread_cpu_share", unit="%", note=_ASLEEP),
    Shown("noop_cpu_share", unit="%"),
    *_KEPT_UP,
)
LOOP = (
    Shown("busy_share_estimated", unit="%", note=_ESTIMATED),
    Shown("busy_share_by_operations", unit="%", note=_BY_OPERATIONS),
    Shown("copy_share", unit="%", note=_MEMCPY),
    Shown("noop_busy_share", unit="%", note=_NO_OP),
    Shown("noop_cpu_share", unit="%"),
    Shown("user_cpu_share", unit="%", note=_SPLIT),
    Shown("kernel_cpu_share", unit="%"),
    Shown("psutil_cpu_share", unit="%"),
    Shown("achieved_rate"),
)
# One unit throughout: lateness goes from tens of nanoseconds to milliseconds, and tables of
# several rates and ways to wait are read against each other.
TIMES = tuple(
    Shown(f"{metric}.{quantile}", unit="us", note=note, word=_grows)
    for metric, note in (("lateness_ns", _LATE), ("paced_latency_ns", _DONE))
    for quantile in ("p50", "p99", "max")
)
COLLECTOR = (
    Shown("gc_collections", bare=True, note=_COLLECTOR),
    Shown("gc_pause_share", unit="%"),
    Shown("gc_longest_pause_ns", unit="us"),
)

# Counters of a step: a row a cell; a screen has those of `COUNTED_SHORT`.
# ------------------------------------------------------------------------

COUNTED = (
    "instructions_per_op", "cycles_per_op", "ipc", "l1d_loads_per_op", "l1d_misses_per_op",
    "l1d_miss_rate", "l2_loads_per_op", "l2_misses_per_op", "l2_miss_rate", "ll_loads_per_op",
    "ll_misses_per_op", "ll_miss_rate", "l1d_stores_per_op", "l1d_store_misses_per_op",
    "branches_per_op", "branch_misses_per_op",
)  # fmt: skip
COUNTED_SHORT = (
    "instructions_per_op", "cycles_per_op", "ipc", "l1d_loads_per_op", "l1d_misses_per_op",
    "l1d_miss_rate", "l2_misses_per_op", "ll_misses_per_op", "branch_misses_per_op",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Detail:
    """A table by operation: the counter, and what stands in parentheses behind it.

    The parentheses hold `rate of base`, or `word rate` where there is no base.
    """

    counter: str
    rate: str
    base: str
    word: str


MISSES = Detail("l1d_misses_per_op", "l1d_miss_rate", "l1d_loads_per_op", "loads")
DETAILS = (
    MISSES,
    Detail("l2_misses_per_op", "l2_miss_rate", "l2_loads_per_op", "references"),
    Detail("ll_misses_per_op", "ll_miss_rate", "ll_loads_per_op", "loads"),
    Detail("instructions_per_op", "ipc", "", "a cycle"),
)
COUNTED_WORDS = "LL: last level; br. misses: branches whose way or target was predicted wrongly."

# Costs along the settings of a scenario: a table a quantity.
# -----------------------------------------------------------

GROWTH = (STEP, CHAIN, BURST, MIXED, PACK_ROW, TAKE, GIVE, REMOVE, FIND, COMPACT, TABLES)
GROWTH_SHORT = (STEP, CHAIN, BURST, MIXED, TABLES)
