"""A pool alone: the free blocks in a deque, the oldest first."""

from collections import deque

from blockmark_impls.contract import OutOfBlocks


class Pool:
    reuse_order = "FIFO"

    def __init__(self, total_blocks):
        self.blocks = deque(range(total_blocks))

    @property
    def num_free(self):
        return len(self.blocks)

    def take(self, k):
        if k > len(self.blocks):
            raise OutOfBlocks(k)
        return [self.blocks.popleft() for _ in range(k)]

    def give(self, ids):
        self.blocks.extend(ids)
