"""What the study of false sharing measures: counters and ref counts, packed or apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..registry import row
from ..sources import Parameter, StudySource, TargetError, core, core_missing

_STRIDE = Parameter("stride", "", words=("8", "16", "32", "64", "128"))
_LAYOUT = Parameter("layout", "", words=("range", "interleaved", "shuffled"))
_BYTES = Parameter("bytes", "", words=("1", "2", "4", "64"))
_BLOCKS = Parameter("blocks", "blocks", 2, 1 << 24)


@dataclass(frozen=True)
class CounterSource(StudySource):
    """Counts that threads write, each thread its own. `atomic` writes are one locked
    instruction; others are a load and a store that stay in memory.
    """

    atomic: bool = False
    ref_counts: bool = False

    def load(self) -> None:
        core()

    def windows(
        self, threads: int, parameters: Mapping[str, Any], seed: int, plan: Mapping[str, int]
    ) -> Any:
        """Windows in which each of `threads` threads writes its counts.

        Raises TargetError without the core, ValueError for bad sizes.
        """
        if not self.ref_counts:
            stride = int(parameters.get("stride", 8))
            return core().counter_windows(self.atomic, stride, threads, **plan)
        total = int(parameters.get("blocks", 4096))
        if total < threads:
            raise TargetError(f"{total} blocks are too few for {threads} threads; raise blocks")
        return core().ref_count_windows(
            self.atomic,
            total,
            int(parameters.get("bytes", 2)),
            str(parameters.get("layout", "interleaved")),
            seed,
            threads,
            **plan,
        )


def _row(name: str, summary: str, parameters: tuple[Parameter, ...], **options: Any) -> Any:
    source = CounterSource(parameters, unavailable=core_missing(), **options)
    return row(f"{name}/cpp", source, summary, "counter-layout")


_OF_REFS = (_LAYOUT, _BYTES, _BLOCKS)

ROWS = [
    _row("counter", "a counter per thread, plain writes, stride bytes apart", (_STRIDE,)),
    _row(
        "atomic-counter",
        "a counter per thread, atomic writes, stride bytes apart",
        (_STRIDE,),
        atomic=True,
    ),
    _row(
        "ref-counts",
        "ref counts of a pool, plain writes, each thread its own blocks",
        _OF_REFS,
        ref_counts=True,
    ),
    _row(
        "atomic-ref-counts",
        "ref counts of a pool, atomic writes, each thread its own blocks",
        _OF_REFS,
        ref_counts=True,
        atomic=True,
    ),
]
