"""vLLM's block table of the worker: int32 rows on the host, committed to the device.

The host's lists and the free blocks are those of `vector/py`, as an engine's scheduler
keeps them; only the rows are vLLM's. Here the device is the host, so a commit is a copy in
memory. Rebuilt in full, each row is written from its list (`add_row`), as after a
preemption; incremental, only new blocks are (`append_row`), as in a decode step. Either
way the commit copies all the rows that are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import vllm.v1.utils
from vllm.v1.worker.block_table import BlockTable

from ..contract import UnknownSequence
from ..python.vector import VectorManager
from .fitting import call_fitting, must_have

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..contract import Copy, PoolConfig


class VllmTable(VectorManager):
    """Lists of ids, and vLLM's rows made of them. `rows` is `full` or `incremental`."""

    def __init__(self, config: PoolConfig, *, rows: str = "full") -> None:
        super().__init__(config)
        # Pinned memory needs a driver.
        vllm.v1.utils.PIN_MEMORY = False
        known = {
            "block_size": config.block_size,
            "=max_num_reqs": config.max_seqs,
            "=max_num_blocks_per_req": config.max_blocks_per_seq,
            "max_num_batched_tokens": config.max_seqs,
            "pin_memory": False,
            "=device": torch.device("cpu"),
            "kernel_block_size": config.block_size,
            "cp_kv_cache_interleave_size": 1,
        }
        if mode := getattr(vllm.v1.worker.block_table, "SlotMappingMode", None):
            # The slots of tokens are mapped by a kernel of the GPU's.
            known["slot_mapping_mode"] = mode.NONE
        self._rows: Any = call_fitting(BlockTable, known, "vLLM's BlockTable")
        must_have(self._rows, ("add_row", "append_row", "clear_row", "commit_block_table"), "vLLM")
        self._incremental = rows == "incremental"
        self._stale: dict[int, None] = {}
        self._all = np.arange(config.max_seqs, dtype=np.int32)
        self._device: NDArray[np.int32] | None = None

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        self._stale[seq] = None

    def append_slot(self, seq: int) -> Copy | None:
        copy = super().append_slot(seq)
        self._changed(seq, 1 if copy else 0)
        return copy

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        copies = super().extend(seq, num_tokens)
        self._changed(seq, len(copies))
        return copies

    def truncate(self, seq: int, num_tokens: int) -> None:
        super().truncate(seq, num_tokens)
        self._rewrite(seq, self._padded(seq))

    def drop_front(self, seq: int, num_blocks: int) -> None:
        super().drop_front(seq, num_blocks)
        self._rewrite(seq, self._padded(seq))

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._stale[child] = None

    def free(self, seq: int) -> None:
        super().free(seq)
        self._rows.clear_row(seq)
        self._stale.pop(seq, None)

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        count = len(seqs)
        if count and not 0 <= seqs.min() <= seqs.max() < len(self._rows.num_blocks_per_row):
            raise UnknownSequence("a sequence that is no slot")
        if self._incremental:
            for seq in self._stale:
                self._append_new(seq)
            self._stale.clear()
        else:
            for row, seq in enumerate(seqs.tolist()):
                self._rebuild(row, seq)
        in_order = not self._incremental or np.array_equal(seqs, self._all[:count])
        # No engine asks for other rows than the first ones: its rows lie where they are.
        rows = slice(0, count) if in_order else seqs
        held = self._rows.num_blocks_per_row[rows]
        if count and not held.all():
            raise UnknownSequence("a sequence without a table")
        buffer = self._rows.block_table
        if in_order and out.shape[1] == buffer.np.shape[1]:
            # `out` is the device's memory. An engine's is always the same; so is the loop's.
            if self._device is not out:
                buffer.gpu, self._device = torch.from_numpy(out), out
            self._rows.commit_block_table(count)
        else:
            width = out.shape[1]
            if held.max(initial=0) > width:
                raise ValueError(f"a table of {held.max()} blocks is wider than {width} columns")
            least = min(width, buffer.np.shape[1])
            out[:] = 0
            out[:, :least] = buffer.np[rows, :least]
        lengths[:] = held

    def _rebuild(self, row: int, seq: int) -> None:
        ids = self._padded(seq)
        if self._rows.num_blocks_per_row[row] > len(ids):
            self._rows.clear_row(row)
        self._rows.add_row(ids, row)

    def _append_new(self, seq: int) -> None:
        self._rows.append_row(self._padded(seq)[self._rows.num_blocks_per_row[seq] :], seq)

    def _rewrite(self, seq: int, ids: list[int]) -> None:
        """What is no append: off the clock in the models that are served."""
        self._stale.pop(seq, None)
        self._rows.clear_row(seq)
        self._rows.append_row(ids, seq)

    def _changed(self, seq: int, copies: int) -> None:
        if copies:
            self._rewrite(seq, self._padded(seq))
        else:
            self._stale[seq] = None

    def _padded(self, seq: int) -> list[int]:
        """Its ids by logical block; a dropped one is 0."""
        return self._table_of(seq)
