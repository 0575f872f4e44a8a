"""Whole steps at once: `append_slots` and `lookup_slots` of flat-stack/numpy."""

from __future__ import annotations

import numpy as np
import pytest

from blockmark_impls.contract import Copy, OutOfBlocks, UnknownSequence
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from contract_model import make, private_state


def test_append_slots_copies_within_one_batch() -> None:
    """Blocks in batch order, for boundaries and copies alike; the last holders keep theirs."""
    batch, loop = (make(FlatStackNumpyManager, max_seqs=8, total_blocks=32) for _ in range(2))
    seqs = [3, 0, 6, 1, 4, 2]
    for manager in (batch, loop):
        manager.allocate(0, 6)
        manager.fork(0, 1)
        manager.fork(0, 2)
        manager.allocate(3, 8)  # at a boundary
        manager.allocate(4, 2)
        manager.fork(4, 5)  # not in the batch, so 4 must copy
        manager.allocate(6, 3)
    copies = [made for seq in seqs if (made := loop.append_slot(seq))]
    assert batch.append_slots(np.array(seqs, np.int32)) == copies
    assert copies == [Copy(1, 7), Copy(1, 8), Copy(4, 9)]
    assert private_state(batch) == private_state(loop)


def test_append_slots_stops_at_the_first_that_cannot() -> None:
    manager = make(FlatStackNumpyManager, total_blocks=4)
    for seq in (0, 1, 2):
        manager.allocate(seq, 4)
    before = private_state(manager)
    for seqs, error in (
        ([0, 1], OutOfBlocks),
        ([0, 5, 1], UnknownSequence),
        ([0, 1, 5], OutOfBlocks),
        ([-1], UnknownSequence),
        ([6], UnknownSequence),
        ([0] * 33, OutOfBlocks),  # more than there are slots, one named twice
    ):
        with pytest.raises(error):
            manager.append_slots(np.array(seqs, np.int32))
        assert private_state(manager) == before
    assert manager.append_slots(np.array([0, 0, 0], np.int32)) == []
    assert manager.num_tokens(0) == 7
    assert manager.append_slots(np.zeros(0, np.int32)) == []


def test_lookup_slots_checks_every_pair() -> None:
    manager = make(FlatStackNumpyManager)
    manager.allocate(0, 12)
    manager.allocate(2, 8)
    manager.drop_front(2, 1)
    out = np.full(3, -1, np.int32)
    for seq, logical in ((0, 3), (0, -1), (1, 0), (2, 0), (-1, 0), (6, 0), (0, 8)):
        with pytest.raises(UnknownSequence, match=f"sequence {seq} has no block {logical}"):
            manager.lookup_slots(
                np.array([0, seq, 2], np.int32), np.array([0, logical, 1], np.int32), out
            )
        assert out.tolist() == [-1, -1, -1]
    manager.lookup_slots(np.array([2, 0, 0], np.int32), np.array([1, 2, 0], np.int32), out)
    assert out.tolist() == [4, 2, 0]
