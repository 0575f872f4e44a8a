import numpy as np


class LogicalAllocator:
    """Numbers a free stack in an array, with ref counts."""

    def __init__(self, num_cpu_blocks: int, num_gpu_blocks: int, num_gpu_reserved: int = 0):
        self._free = np.arange(num_gpu_blocks)
        self._refs = np.zeros(num_gpu_blocks, dtype=np.int64)

    def allocate(self, num_blocks: int, device: str = "gpu"):
        if num_blocks > len(self._free):
            raise MemoryError("No enough free memory blocks.")
        taken, self._free = self._free[:num_blocks].copy(), self._free[num_blocks:]
        self._refs[taken] = 1
        return taken

    def free(self, blocks):
        np.add.at(self._refs, blocks, -1)
        self._free = np.concatenate((blocks[self._refs[blocks] == 0], self._free))

    def get_num_free_blocks(self):
        return len(self._free)
