import numpy as np


class TokenToKVPoolAllocator:
    """Free slots in an array, first in first out."""

    def __init__(self, size: int, dtype, device: str, kvcache, need_sort: bool):
        self._free = np.arange(1, size + 1)

    def available_size(self):
        return len(self._free)

    def alloc(self, need_size):
        if need_size > len(self._free):
            return None
        taken, self._free = self._free[:need_size], self._free[need_size:]
        return taken

    def free(self, free_index):
        self._free = np.concatenate((self._free, free_index))


class PagedTokenToKVPoolAllocator:
    """Free pages in an array, the last return first; every slot of a page is handed out."""

    def __init__(self, size: int, page_size: int, dtype, device: str, kvcache, need_sort: bool):
        self.page_size = page_size
        self.use_triton_kernels = True
        self._pages = np.arange(1, size // page_size + 1)

    def available_size(self):
        return len(self._pages) * self.page_size

    def alloc(self, need_size):
        assert not self.use_triton_kernels
        count = need_size // self.page_size
        if count > len(self._pages):
            return None
        taken, self._pages = self._pages[:count], self._pages[count:]
        return (taken[:, None] * self.page_size + np.arange(self.page_size)).reshape(-1)

    def free(self, free_index):
        raise AssertionError("a request's end frees a segment")

    def free_segment(self, free_index, *, start_pos):
        assert start_pos == 0
        self._pages = np.concatenate((free_index[:: self.page_size] // self.page_size, self._pages))
