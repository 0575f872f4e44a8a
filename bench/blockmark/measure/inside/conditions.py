"""The conditions of a measured process: its heap's history, its caches, its collector."""

from __future__ import annotations

import gc
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..replay import Evictor

# Objects made and freed to age Python's own heap: enough to leave free cells in
# every size class that tables and ids use.
_AGED_OBJECTS = 20_000
_AGED_MEGABYTES = 12
# Small enough for any first-level cache, many more lines than the loop has in flight.
_PROBE_BYTES = 16384


class ConditionError(RuntimeError):
    """A condition that this machine or build cannot bring about; one line, why."""


def age_heaps(seed: int, *, native: bool) -> list[Any]:
    """Leave both heaps as a long-lived process does: holes everywhere, in any order.

    Returns what must be kept alive, so that the holes stay apart.
    """
    rng = random.Random(seed)
    kept: list[Any] = []
    if native:
        from blockmark_impls import _native

        _native.age_heap(seed, _AGED_MEGABYTES)
    objects: list[Any] = [(i, [i + 1000]) if i % 3 else {i: i} for i in range(_AGED_OBJECTS)]
    rng.shuffle(objects)
    kept.extend(objects[: _AGED_OBJECTS // 3])
    return kept


def set_collector(mode: str) -> None:
    """Python's garbage collector while timing: on, off, or frozen and on."""
    gc.collect()
    if mode == "off":
        gc.disable()
    elif mode == "freeze":
        gc.freeze()


def make_evictor(cache: str, cache_bytes: int, caches: Mapping[str, int]) -> tuple[Evictor, str]:
    """A buffer that empties the named cache, proved to do so, and the proof in words.

    `caches` has the sizes of l2 and l3 in bytes. A small buffer touched before the
    eviction must be answered with the next level's latency after it. Raises
    ConditionError where the core is missing or the proof fails.
    """
    try:
        from blockmark_impls import _native
    except ImportError:
        raise ConditionError(f"cache = {cache} needs the C++ core, which is not built") from None
    level = "l2" if cache == "l2-cold" else "l3"
    size = caches.get(level, 0)
    if not cache_bytes and not size:
        raise ConditionError(f"the size of the {level} cache is unknown; set cache_bytes")
    # Four times the level, but for L2 no more than half of what lies behind it.
    wanted = cache_bytes or 4 * size
    if not cache_bytes and level == "l2" and caches.get("l3"):
        wanted = min(wanted, max(2 * size, caches["l3"] // 2))
    evictor = _native.Evictor(wanted)
    hot = _native.probe_latency_ns(_PROBE_BYTES)
    cold = _native.probe_latency_ns(_PROBE_BYTES, evictor)
    if cold < 1.5 * hot:
        raise ConditionError(
            f"streaming {wanted:,} bytes did not make the cache cold: a load took {cold:.1f} ns "
            f"after it, {hot:.1f} ns before; raise cache_bytes"
        )
    return evictor, f"a load took {cold:.1f} ns after the eviction, {hot:.1f} ns before"
