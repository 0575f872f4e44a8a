"""NumPy behind the few names of torch that the adapters use."""

import numpy as np

int64, int32, float16 = np.int64, np.int32, np.float16


def set_num_threads(count):
    """There is one."""


def device(name):
    return name


def tensor(values, dtype):
    return np.array(values, dtype=dtype)


def from_numpy(array):
    return array
