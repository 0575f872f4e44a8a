"""What the study of false sharing measures: counters and ref counts, packed or apart.

Threads write counts, each thread its own. Atomic writes are one locked instruction; others
are a load and a store that stay in memory. `make(parameters, threads, seed, plan)` makes the
windows in which each of `threads` threads writes its counts, and raises ValueError for bad
sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import core, core_missing
from ..entry import Entry, Facts, Parameter, TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..entry import Parameters

_STRIDE = Parameter("stride", "", words=("8", "16", "32", "64", "128"))
_LAYOUT = Parameter("layout", "", words=("range", "interleaved", "shuffled"))
_BYTES = Parameter("bytes", "", words=("1", "2", "4", "64"))
_BLOCKS = Parameter("blocks", "blocks", 2, 1 << 24)


def _counters(atomic: bool) -> Callable[..., Any]:
    def make(parameters: Parameters, threads: int, seed: int, plan: Mapping[str, int]) -> Any:
        return core().counter_windows(atomic, int(parameters.get("stride", 8)), threads, **plan)

    return make


def _ref_counts(atomic: bool) -> Callable[..., Any]:
    def make(parameters: Parameters, threads: int, seed: int, plan: Mapping[str, int]) -> Any:
        total = int(parameters.get("blocks", 4096))
        if total < threads:
            raise TargetError(f"{total} blocks are too few for {threads} threads; raise blocks")
        width = int(parameters.get("bytes", 2))
        layout = str(parameters.get("layout", "interleaved"))
        return core().ref_count_windows(atomic, total, width, layout, seed, threads, **plan)

    return make


def _row(name: str, summary: str, make: Callable[..., Any], *parameters: Parameter) -> Entry:
    return Entry(
        f"{name}/cpp", "counter-layout", summary, Facts(), make,
        parameters=parameters, unavailable=core_missing,
    )  # fmt: skip


_OF_REFS = (_LAYOUT, _BYTES, _BLOCKS)

ROWS = [
    _row(
        "counter",
        "a counter per thread, plain writes, stride bytes apart",
        _counters(atomic=False),
        _STRIDE,
    ),
    _row(
        "atomic-counter",
        "a counter per thread, atomic writes, stride bytes apart",
        _counters(atomic=True),
        _STRIDE,
    ),
    _row(
        "ref-counts",
        "ref counts of a pool, plain writes, each thread its own blocks",
        _ref_counts(atomic=False),
        *_OF_REFS,
    ),
    _row(
        "atomic-ref-counts",
        "ref counts of a pool, atomic writes, each thread its own blocks",
        _ref_counts(atomic=True),
        *_OF_REFS,
    ),
]
