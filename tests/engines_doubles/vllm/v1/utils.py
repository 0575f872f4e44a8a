import numpy as np

PIN_MEMORY = True


class CpuGpuBuffer:
    def __init__(self, *size, dtype, device, pin_memory=True):
        self.np = self.cpu = np.zeros(size, dtype=dtype)
        self.gpu = np.zeros(size, dtype=dtype)

    def copy_to_gpu(self, n):
        # As the real one: it asks for pinned memory, which needs a driver.
        if PIN_MEMORY:
            raise RuntimeError("no accelerator")
        self.gpu[:n] = self.cpu[:n]
