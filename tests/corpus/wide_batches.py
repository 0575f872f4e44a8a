"""Batches that are right while they are short, or while nothing in them fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockmark_impls.contract import BlockManagerError, Copy, OutOfBlocks, UnknownSequence
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.vector import VectorManager


class CopiesForThirtyTwo(FlatStackNumpyManager):
    """`append_slots` has place for 32 copies in its answer; it makes those behind them, too."""

    fault = "append_slots"

    def append_slots(self, seqs: Any) -> list[Copy]:
        return super().append_slots(seqs)[:32]


class TwoTokensEach(FlatStackNumpyManager):
    """A sequence that is named three times in a batch gets two tokens."""

    fault = "append_slots"

    def append_slots(self, seqs: Any) -> list[Copy]:
        named: dict[int, int] = {}
        for seq in seqs.tolist():
            named[seq] = named.get(seq, 0) + 1
        left = {seq: min(count, 2) for seq, count in named.items()}
        kept = []
        for seq in seqs.tolist():
            left[seq] -= 1
            if left[seq] >= 0:
                kept.append(seq)
        return super().append_slots(np.array(kept, dtype=np.int32))


class RepeatsWhereTheyMeet(FlatStackNumpyManager):
    """Of a sequence that is named twice, one behind the other, the second is forgotten."""

    fault = "append_slots"

    def append_slots(self, seqs: Any) -> list[Copy]:
        again = np.zeros(len(seqs), np.bool_)
        again[1:] = seqs[1:] == seqs[:-1]
        return super().append_slots(seqs[~again])


class LookupsByEights(FlatStackNumpyManager):
    """`lookup_slots` of more than eight entries leaves out what is no whole eight at the end."""

    fault = "lookup_slots"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        whole = len(seqs) & ~7 if len(seqs) > 8 else len(seqs)
        behind = out[whole:].copy()
        super().lookup_slots(seqs, logicals, out)
        out[whole:] = behind


class SixteenSequencesAtOnce(FlatStackNumpyManager):
    """`lookup_slots` takes entry 16 and those behind it for entries of the first sequence."""

    fault = "lookup_slots"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        super().lookup_slots(seqs, logicals, out)
        for place in range(16, len(seqs)):
            try:
                out[place] = self.lookup(int(seqs[0]), int(logicals[place]))
            except UnknownSequence:
                out[place] = 0


class LookupsGoRound(FlatStackNumpyManager):
    """`lookup_slots` writes entry 32 in place of entry 0, and so on."""

    fault = "lookup_slots"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        found = out.copy()
        super().lookup_slots(seqs, logicals, found)
        for place in range(len(found)):
            out[place % 32] = found[place]


class ChecksSixtyFour(FlatStackNumpyManager):
    """`lookup_slots` asks of 64 entries whether they exist; behind them what does not is 0."""

    fault = "lookup_slots"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        super().lookup_slots(seqs[:64], logicals[:64], out[:64])
        for place in range(64, len(seqs)):
            try:
                out[place] = self.lookup(int(seqs[place]), int(logicals[place]))
            except UnknownSequence:
                out[place] = 0


class _Undoing(VectorManager):
    """A right one: `append_slots` is a loop, undone from the end when a sequence cannot append."""

    def append_slots(self, seqs: Any) -> list[Copy]:
        done: list[tuple[int, bool, Copy | None]] = []
        try:
            for seq in seqs.tolist():
                free = len(self._free)
                made = self.append_slot(seq)
                done.append((seq, len(self._free) < free, made))
        except BlockManagerError:
            self._undo(done)
            raise
        return [made for _, _, made in done if made]

    def _undo(self, done: list[tuple[int, bool, Copy | None]]) -> None:
        for seq, taken, made in reversed(done):
            table = self._tables[seq]
            if taken:
                self._refs[table[-1]] = 0
                self._free.append(table.pop())
            if made:
                table.append(made.src)
                self._refs[made.src] += 1
            elif taken:
                self._room[seq] = -1
            self._room[seq] += 1


class UndoesTheLastFour(_Undoing):
    """A batch that fails takes back its last four appends, and keeps those before them."""

    fault = "append_slots"

    def _undo(self, done: list[tuple[int, bool, Copy | None]]) -> None:
        super()._undo(done[-4:])


class UndoesForward(_Undoing):
    """A batch that fails gives blocks back in the order in which it took them (LIFO declared)."""

    fault = "reuse order"

    def _undo(self, done: list[tuple[int, bool, Copy | None]]) -> None:
        before = len(self._free)
        super()._undo(done)
        self._free[before:] = self._free[before:][::-1]


class UndoesNoCopy(_Undoing):
    """A batch that fails leaves the copies that it made, and takes back the rest."""

    fault = "append_slots"

    def _undo(self, done: list[tuple[int, bool, Copy | None]]) -> None:
        super()._undo([(seq, taken, made) for seq, taken, made in done if not made])


class AllSharersCopy(FlatStackNumpyManager):
    """Where all who share a block append in one batch the last of them copies it, too."""

    fault = "append_slots"

    def _spare_last_sharers(self, copies: Any, last: Any) -> None:
        pass


class CountsBlocksFirst(FlatStackNumpyManager):
    """A batch that needs too many blocks says so also where another error comes first."""

    fault = "wrong error class"

    def append_slots(self, seqs: Any) -> list[Copy]:
        full = {s for s in seqs.tolist() if 0 <= s < self._max_seqs and self._room[s] == 0}
        if len(full) > self._top:
            raise OutOfBlocks(f"{len(full)} blocks wanted, {self._top} free")
        return super().append_slots(seqs)


class KeepsOneBackInBatches(FlatStackNumpyManager):
    """`append_slots` does not take the last free blocks when it needs exactly those."""

    fault = "exhaustion"

    def append_slots(self, seqs: Any) -> list[Copy]:
        rooms = [self._room[s] if 0 <= s < self._max_seqs else -1 for s in seqs.tolist()]
        if len(set(seqs.tolist())) == len(rooms) and 0 < rooms.count(0) == self._top:
            for seq, room in zip(seqs.tolist(), rooms, strict=True):
                if room < 0 or (room == 0 and self._logical(seq) == self._stride):
                    return super().append_slots(seqs)
            raise OutOfBlocks("the last ones are kept")
        return super().append_slots(seqs)
