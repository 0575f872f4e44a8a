"""Blocks of one size, taken one at a time as a request grows."""

from __future__ import annotations

from dataclasses import dataclass

from .contract import Request, Segment, Usage


@dataclass(slots=True)
class _Held:
    held: int
    since: int
    phase: int  # the step, modulo the block size, in which it takes a block
    shared: tuple[tuple[str, int], ...]  # (key, blocks) of pieces that others may have too


class Paged:
    """A request holds ceil(tokens / block_size) blocks.

    One that starts leaves `watermark` of the blocks free, so that those that run can grow
    for a while; alone it may have all. With `sharing`, full blocks of a prompt that a running
    request has too are shared with it. A block that is shared in part, or whose prompt has
    ended, is never shared: nothing is cached for later.
    """

    def __init__(
        self, tokens: int, block_size: int, *, sharing: bool, watermark: float = 0.01
    ) -> None:
        self.tokens = tokens
        self._size = block_size
        self._sharing = sharing
        self._total = tokens // block_size
        self._free = self._total
        self._kept_free = int(watermark * self._total)
        self._running: dict[int, _Held] = {}
        # Requests that take a block in steps of that phase.
        self._takers = [0] * block_size
        self._refs: dict[str, int] = {}
        self._saved = 0
        # Live tokens in step t are base + t * running, shared ones counted for each.
        self._base = 0

    def fits(self, request: Request) -> bool:
        """Whether all of its blocks are there."""
        return self._blocks(request.final) <= self._total

    def start(self, number: int, request: Request, held: int, now: int) -> bool:
        """Take the blocks of `held` tokens that no running request has."""
        pieces = self._pieces(request.segments, held) if self._sharing else ()
        found = sum(blocks for key, blocks in pieces if key in self._refs)
        needed = self._blocks(held) - found
        if needed + (self._kept_free if self._running else 0) > self._free:
            return False
        self._free -= needed
        self._saved += found
        for key, _ in pieces:
            self._refs[key] = self._refs.get(key, 0) + 1
        # In step now + k it has held + k tokens, and needs a block for the last if all
        # before it fill whole blocks.
        phase = (now + 1 - held) % self._size
        self._takers[phase] += 1
        self._running[number] = _Held(held, now, phase, pieces)
        self._base += held - now
        return True

    def end(self, number: int, now: int) -> None:
        """Ref counts fall by one; what nobody else has is free."""
        gone = self._running.pop(number)
        blocks = self._blocks(gone.held + now - 1 - gone.since)
        for key, piece in gone.shared:
            self._refs[key] -= 1
            if self._refs[key]:
                blocks -= piece
                self._saved -= piece
            else:
                del self._refs[key]
        self._free += blocks
        self._takers[gone.phase] -= 1
        self._base -= gone.held - gone.since

    def grow(self, now: int) -> bool:
        """A block for each request at a boundary."""
        needed = self._takers[now % self._size]
        if needed > self._free:
            return False
        self._free -= needed
        return True

    def usage(self, now: int, head: Request | None) -> Usage:
        """See the contract. Any free block is as good as any other, so none is external."""
        live = self._base + now * len(self._running) - self._saved * self._size
        used = (self._total - self._free) * self._size
        return Usage(live, 0, used - live, 0, self.tokens - used)

    @property
    def table_entries(self) -> int:
        """An entry for each block of each request."""
        return self._total - self._free + self._saved

    @property
    def blocks_saved(self) -> tuple[int, int]:
        """See the contract."""
        return self._saved, self.table_entries

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self._size)

    def _pieces(self, segments: tuple[Segment, ...], held: int) -> tuple[tuple[str, int], ...]:
        """Whole blocks by the segment in which they end."""
        pieces, end, before = [], 0, 0
        for segment in segments:
            end += segment.tokens
            if end > held:
                break
            whole = end // self._size
            if whole > before:
                pieces.append((segment.key, whole - before))
            before = whole
        return tuple(pieces)
