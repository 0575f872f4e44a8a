"""vLLM's manager: `KVCacheManager.allocate_slots` and `free`, with request objects.

A call checks what the request needs in every group of layers, takes blocks from the pool
and appends them to the request's list. Block 0 is the manager's own, so ids are told from
1 on, and are counted here from 0. A request's blocks are given back last one first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from vllm.sampling_params import SamplingParams
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.request import Request

from ..contract import OutOfBlocks, SequenceExists, SequenceTooLong, UnknownSequence
from .fitting import call_fitting, must_have

if TYPE_CHECKING:
    from ..contract import PoolConfig

_HEADS, _HEAD_SIZE = 1, 8


class VllmManager:
    """Sequences are requests of one group of layers with full attention."""

    def __init__(self, config: PoolConfig, *, caching: bool) -> None:
        self._config = config
        self._tokens: dict[int, int] = {}
        self._requests: dict[int, Any] = {}
        self._started = 0
        self._sampling = SamplingParams(max_tokens=1)
        self._manager = _manager(config, caching)
        must_have(self._manager, ("allocate_slots", "free", "get_block_ids", "block_pool"), "vLLM")
        self._allocate_slots = self._manager.allocate_slots
        # The lists that `get_block_ids` copies whole; an engine reads the one entry it needs.
        coordinator = getattr(self._manager, "coordinator", None)
        of_groups = getattr(coordinator, "single_type_managers", ())
        self._blocks = getattr(of_groups[0], "req_to_blocks", None) if of_groups else None

    @property
    def num_free_blocks(self) -> int:
        return int(self._manager.block_pool.get_num_free_blocks())

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks <= self.num_free_blocks

    def allocate(self, seq: int, num_tokens: int) -> None:
        if seq in self._requests:
            raise SequenceExists(f"sequence {seq}")
        if num_tokens < 1:
            raise ValueError("num_tokens must be at least 1")
        self._check_length(num_tokens)
        self._started += 1
        request = call_fitting(
            Request,
            {
                "=request_id": str(self._started),
                "=prompt_token_ids": [self._started] * num_tokens,
                "=sampling_params": self._sampling,
                "pooling_params": None,
                "eos_token_id": None,
            },
            "vLLM's Request",
        )
        if self._allocate_slots(request, num_tokens) is None:
            raise OutOfBlocks(f"{num_tokens} tokens, {self.num_free_blocks} blocks are free")
        request.num_computed_tokens = num_tokens
        self._requests[seq] = request
        self._tokens[seq] = num_tokens

    def append_slot(self, seq: int) -> None:
        self._grow(seq, 1)

    def extend(self, seq: int, num_tokens: int) -> list[Any]:
        if seq not in self._requests:
            raise UnknownSequence(f"sequence {seq}")
        if num_tokens < 0:
            raise ValueError("num_tokens must not be negative")
        if num_tokens:
            self._grow(seq, num_tokens)
        return []

    def free(self, seq: int) -> None:
        request = self._requests.pop(seq, None)
        if request is None:
            raise UnknownSequence(f"sequence {seq}")
        self._manager.free(request)
        del self._tokens[seq]

    def lookup(self, seq: int, logical: int) -> int:
        request = self._requests.get(seq)
        if request is None:
            raise UnknownSequence(f"sequence {seq}")
        if self._blocks is not None:
            blocks = self._blocks[request.request_id]
            if 0 <= logical < len(blocks):
                return int(blocks[logical].block_id) - 1
        else:
            table = self._manager.get_block_ids(request.request_id)[0]
            if 0 <= logical < len(table):
                return int(table[logical]) - 1
        raise UnknownSequence(f"sequence {seq} has no block {logical}")

    def num_tokens(self, seq: int) -> int:
        return self._tokens[seq]

    def block_table(self, seq: int) -> list[int]:
        request = self._requests.get(seq)
        if request is None:
            raise UnknownSequence(f"sequence {seq}")
        ids = self._manager.get_block_ids(request.request_id)[0]
        return [block - 1 for block in ids]

    def _grow(self, seq: int, num_tokens: int) -> None:
        request = self._requests.get(seq)
        if request is None:
            raise UnknownSequence(f"sequence {seq}")
        tokens = self._tokens[seq] + num_tokens
        self._check_length(tokens)
        # What the scheduler does when a step's output is in: the token is known, then
        # room for it is asked for.
        if self._allocate_slots(request, num_tokens) is None:
            raise OutOfBlocks(f"{num_tokens} tokens, {self.num_free_blocks} blocks are free")
        request.num_computed_tokens = tokens
        self._tokens[seq] = tokens

    def _check_length(self, tokens: int) -> None:
        blocks = -(-tokens // self._config.block_size)
        if blocks > self._config.max_blocks_per_seq:
            raise SequenceTooLong(f"{blocks} blocks")


def _manager(config: PoolConfig, caching: bool) -> Any:
    layers = call_fitting(
        FullAttentionSpec,
        {
            "=block_size": config.block_size,
            "num_kv_heads": _HEADS,
            "head_size": _HEAD_SIZE,
            "dtype": torch.float16,
            "use_mla": False,
        },
        "vLLM's FullAttentionSpec",
    )
    groups = call_fitting(
        KVCacheGroupSpec,
        {"=layer_names": ["layer"], "=kv_cache_spec": layers},
        "vLLM's KVCacheGroupSpec",
    )
    cache = call_fitting(
        KVCacheConfig,
        {
            # One more, as the first is its own.
            "=num_blocks": config.total_blocks + 1,
            "kv_cache_tensors": [],
            "=kv_cache_groups": [groups],
        },
        "vLLM's KVCacheConfig",
    )
    known = {
        "=kv_cache_config": cache,
        "max_model_len": config.max_blocks_per_seq * config.block_size,
        "=enable_caching": caching,
        "scheduler_block_size": config.block_size,
        "hash_block_size": config.block_size,
        "log_stats": False,
    }
    return call_fitting(KVCacheManager, known, "vLLM's KVCacheManager")
