"""Sliding windows: fronts that are dropped, and what stays behind them."""

from __future__ import annotations

from blockmark_impls.python.vector import VectorManager


class DropShifts(VectorManager):
    """`drop_front` moves the logical indices of what stays."""

    fault = "drop_front"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        super().drop_front(seq, num_blocks)
        del self._tables[seq][: self._first[seq]]
        self._first[seq] = 0


class DropsTheLast(VectorManager):
    """`drop_front` of the whole table keeps the last block and raises nothing."""

    fault = "drop_front"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        super().drop_front(seq, min(num_blocks, len(self._table_of(seq)) - 1))


class DropsOneTooFew(VectorManager):
    """`drop_front` of n blocks drops n - 1."""

    fault = "drop_front"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        keep = num_blocks - 1 if 1 < num_blocks < len(self._table_of(seq)) else num_blocks
        super().drop_front(seq, keep)


class DropsForAll(VectorManager):
    """`drop_front` gives shared blocks back although others hold them."""

    fault = "drop_front"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        if 0 < num_blocks < len(self._table_of(seq)):
            for block in self._tables[seq][self._first[seq] : num_blocks]:
                self._refs[block] = 1
        super().drop_front(seq, num_blocks)


class TruncatesIntoDropped(VectorManager):
    """`truncate` into the dropped front raises nothing."""

    fault = "truncate"

    def truncate(self, seq: int, num_tokens: int) -> None:
        first = self._first[seq]
        if self._tables[seq] and 0 < num_tokens <= first * self._block_size:
            return
        super().truncate(seq, num_tokens)
