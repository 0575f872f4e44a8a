class Block:
    """One block, as callers see it."""

    def __init__(self, block_id):
        self.block_id = block_id
        self.ref_cnt = 0
        self.is_null = False


class BlockPool:
    def __init__(
        self,
        num_gpu_blocks: int,
        enable_caching: bool,
        hash_block_size: int,
        enable_kv_cache_events: bool = False,
        metrics_collector=None,
    ):
        assert enable_kv_cache_events is False
        self.num_gpu_blocks = num_gpu_blocks
        self.blocks = [Block(number) for number in range(num_gpu_blocks)]
        self.blocks[0].is_null = True
        self._free = self.blocks[1:]

    def get_num_free_blocks(self):
        return len(self._free)

    def get_new_blocks(self, num_blocks):
        if num_blocks > len(self._free):
            raise ValueError(f"Cannot get {num_blocks} free blocks from the pool")
        taken, self._free = self._free[:num_blocks], self._free[num_blocks:]
        for block in taken:
            block.ref_cnt = 1
        return taken

    def free_blocks(self, ordered_blocks):
        back = []
        for block in ordered_blocks:
            block.ref_cnt -= 1
            if block.ref_cnt == 0:
                back.append(block)
        self._free = back + self._free
