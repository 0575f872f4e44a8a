"""Blocks of appends on two managers in turns, with the bytes that their copies move."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# All blocks together; large payloads get fewer.
_MOST_NS = 2_000_000_000
_LEAST_BLOCKS = 3


@dataclass(slots=True)
class Appended:
    """`least_ns` an append, of the least block; `copies_per_append` exact and the same in
    each block; `most_extra` blocks held during an append beyond those held after it, None
    where nobody could look.
    """

    least_ns: float
    copies_per_append: float
    most_extra: int | None


def measure_appends(
    managers: tuple[Any, ...],
    params: Mapping[str, Any],
    *,
    periods: int,
    arena_bytes: int,
    blocks: int,
) -> list[Appended]:
    """Time `blocks` blocks on each manager, in turns.

    A block is `periods` x block_size tokens for each of `concurrency` sequences, of which
    groups of `sharers` begin as forks of one prompt whose last block is partly filled. All
    are ended and begun again off the clock.
    """
    import numpy as np

    seqs = np.arange(params["concurrency"], dtype=np.int32)
    steps = periods * params["block_size"]
    arena = make_arena(params["payload_bytes"], arena_bytes)
    found: list[Appended | None] = [None] * len(managers)
    started = perf_counter_ns()
    for block in range(blocks):
        if block >= _LEAST_BLOCKS and perf_counter_ns() - started > _MOST_NS:
            break
        for turn in range(len(managers)):
            side = (turn + block) % len(managers)
            begin(managers[side], params)
            ns, copies, extra = append_all(managers[side], seqs, steps, arena)
            for seq in seqs.tolist():
                managers[side].free(seq)
            appends = steps * len(seqs)
            known = found[side]
            if known is None:
                found[side] = Appended(ns / appends, copies / appends, extra)
            elif copies / appends != known.copies_per_append:
                raise RuntimeError("blocks of the same appends made different copies")
            else:
                known.least_ns = min(known.least_ns, ns / appends)
    return [each for each in found if each is not None]


def begin(manager: Any, params: Mapping[str, Any]) -> None:
    """Every sequence at its start: within its first block, evenly over the block's tokens,
    and never at a boundary, so that sharers share what they are going to write.
    """
    block_size, sharers = params["block_size"], params["sharers"]
    for first in range(0, params["concurrency"], sharers):
        manager.allocate(first, 1 + first // sharers % max(1, block_size - 1))
        for child in range(first + 1, first + sharers):
            manager.fork(first, child)


class PythonArena:
    """Slots of `payload` bytes in `size` bytes, walked round and round."""

    def __init__(self, payload: int, size: int) -> None:
        self.payload = payload
        self._memory = memoryview(bytearray(size // payload * payload if payload else 0))
        self._at = 0

    def copy(self) -> None:
        """A slot to the next one."""
        if not self.payload:
            return
        source = self._at
        to = self._after(source)
        self._at = self._after(to)
        self._memory[to : to + self.payload] = self._memory[source : source + self.payload]

    def _after(self, place: int) -> int:
        after = place + self.payload
        return after if after + self.payload <= len(self._memory) else 0


def make_arena(payload: int, size: int) -> tuple[Any, PythonArena]:
    """(the core's, Python's) room to copy in; None for the core's where there is no core."""
    try:
        from blockmark_impls import _native
    except ImportError:
        return None, PythonArena(payload, size)
    # Of the two only the one that is used gets pages; the core's are touched when made.
    return _native.PayloadArena(payload, size), PythonArena(payload, size)


def append_all(
    manager: Any, seqs: Any, steps: int, arenas: tuple[Any, PythonArena]
) -> tuple[int, int, int | None]:
    """(ns, copies, most extra blocks) of `steps` times one token for each sequence.

    In the core for its own managers; else in Python, which can't see blocks held inside a
    call.
    """
    native, arena = arenas
    if type(manager).__module__.endswith("_native"):
        from blockmark_impls import _native

        ns, copies, extra = _native.append_loop(manager, seqs, steps, native)
        return int(ns), int(copies), int(extra)
    append, numbers, copies = manager.append_slot, seqs.tolist(), 0
    started = perf_counter_ns()
    for _ in range(steps):
        for seq in numbers:
            if append(seq) is not None:
                copies += 1
                arena.copy()
    return perf_counter_ns() - started, copies, None
