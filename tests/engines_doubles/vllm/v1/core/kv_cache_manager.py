from vllm.v1.core.block_pool import BlockPool


class KVCacheManager:
    def __init__(
        self,
        kv_cache_config,
        max_model_len: int,
        scheduler_block_size: int,
        hash_block_size: int,
        max_in_flight_tokens=None,
        enable_caching: bool = True,
        log_stats: bool = False,
    ):
        self.block_pool = BlockPool(kv_cache_config.num_blocks, enable_caching, hash_block_size)
        self._size = kv_cache_config.kv_cache_groups[0].kv_cache_spec.block_size
        self._blocks = {}

    def allocate_slots(
        self,
        request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks=None,
        num_lookahead_tokens: int = 0,
    ):
        held = self._blocks.get(request.request_id, [])
        tokens = request.num_computed_tokens + num_new_computed_tokens + num_new_tokens
        more = -(-(tokens + num_lookahead_tokens) // self._size) - len(held)
        if more > self.block_pool.get_num_free_blocks():
            return None
        new = self.block_pool.get_new_blocks(max(0, more))
        self._blocks[request.request_id] = held + new
        return new

    def free(self, request):
        self.block_pool.free_blocks(reversed(self._blocks.pop(request.request_id)))

    def get_block_ids(self, request_id):
        return ([block.block_id for block in self._blocks[request_id]],)

    def new_step_starts(self):
        """A scheduler step begins."""
