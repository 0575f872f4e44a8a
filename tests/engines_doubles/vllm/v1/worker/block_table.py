from enum import Enum

import numpy as np
import torch

from vllm.v1.utils import CpuGpuBuffer


class SlotMappingMode(Enum):
    TOKEN_TO_KV_SLOT = "token_to_kv_slot"
    NONE = "none"


class BlockTable:
    def __init__(
        self,
        block_size: int,
        max_num_reqs: int,
        max_num_blocks_per_req: int,
        max_num_batched_tokens: int,
        pin_memory: bool,
        device,
        cp_kv_cache_interleave_size: int,
        slot_mapping_mode: SlotMappingMode = SlotMappingMode.TOKEN_TO_KV_SLOT,
    ):
        assert slot_mapping_mode is SlotMappingMode.NONE
        self.block_table = CpuGpuBuffer(
            max_num_reqs, max_num_blocks_per_req, dtype=torch.int32, device=device
        )
        self.num_blocks_per_row = np.zeros(max_num_reqs, dtype=np.int32)

    def append_row(self, block_ids, row_idx):
        start = self.num_blocks_per_row[row_idx]
        self.block_table.np[row_idx, start : start + len(block_ids)] = block_ids
        self.num_blocks_per_row[row_idx] += len(block_ids)

    def add_row(self, block_ids, row_idx):
        self.num_blocks_per_row[row_idx] = 0
        self.append_row(block_ids, row_idx)

    def clear_row(self, row_idx):
        self.block_table.np[row_idx] = 0
        self.num_blocks_per_row[row_idx] = 0

    def commit_block_table(self, num_reqs):
        self.block_table.copy_to_gpu(num_reqs)
