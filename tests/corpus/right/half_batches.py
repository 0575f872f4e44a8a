"""Managers that have one of the two operations on whole steps, and not the other."""

from __future__ import annotations

from typing import Any

from blockmark_impls.contract import BlockManagerError, Copy
from blockmark_impls.python.vector import VectorManager


class OnlyAppendSlots(VectorManager):
    """Whole steps are appended; if one sequence cannot, all is put back as it was copied before."""

    right = "append_slots without lookup_slots"

    def append_slots(self, seqs: Any) -> list[Copy]:
        named = [seq for seq in seqs.tolist() if 0 <= seq < self._max_seqs]
        tables = {seq: (self._tables[seq].copy(), self._room[seq]) for seq in named}
        free, refs = self._free.copy(), self._refs.copy()
        try:
            made = [self.append_slot(seq) for seq in seqs.tolist()]
        except BlockManagerError:
            for seq, (table, room) in tables.items():
                self._tables[seq], self._room[seq] = table, room
            self._free, self._refs = free, refs
            raise
        return [copy for copy in made if copy is not None]


class OnlyLookupSlots(VectorManager):
    """Whole steps are looked up, one entry after the other."""

    right = "lookup_slots without append_slots"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        pairs = zip(seqs.tolist(), logicals.tolist(), strict=True)
        found = [self.lookup(seq, logical) for seq, logical in pairs]
        if len(out) != len(found):
            raise ValueError(f"out has {len(out)} places for {len(found)} blocks")
        out[:] = found


class BothInTurn(OnlyAppendSlots, OnlyLookupSlots):
    """Both are there, and are loops."""

    right = "whole steps that are single calls"
