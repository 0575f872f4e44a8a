"""What the native core records, counts and does to the machine."""

from __future__ import annotations

import subprocess
import sys
from itertools import repeat

import pytest

native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")


def test_histogram_bins() -> None:
    # Below 128 a bin for every value. From 128 on, e = floor(log2 v) - 7 and the index is
    # (e + 1) * 128 + v // 2**e - 128: 255 -> 255, 256 -> 256 (e = 1), 511 -> 383,
    # 512 -> 384 (e = 2), 1000 -> 384 + 1000 // 4 - 128, 10**9 (e = 22) -> 2944 + 238 - 128.
    expected = {0: 0, 127: 127, 128: 128, 255: 255, 256: 256, 257: 256, 511: 383, 512: 384}
    expected |= {1000: 506, 10**9: 3054}
    for value, index in expected.items():
        histogram = native.Histogram()
        histogram.record(value)
        assert histogram.counts() == [(index, 1)]
        assert histogram.max_value == value
    histogram = native.Histogram()
    for value in (256, 257, 5):
        histogram.record(value)
    assert histogram.counts() == [(5, 1), (256, 2)]
    assert (histogram.max_value, histogram.samples) == (257, 3)
    with pytest.raises(ValueError, match="negative"):
        histogram.record(-1)


def test_python_allocations_are_counted_and_no_longer() -> None:
    def counted(number: int) -> int:
        native.python_allocations_start()
        kept = [bytes(200) for _ in repeat(None, number)]
        requests: int = native.python_allocations_stop()
        assert len(kept) == number
        return requests

    few, many = counted(10), counted(1010)
    # An object each, and the list that grows.
    assert 1000 <= many - few <= 1100
    with pytest.raises(ValueError, match="not being counted"):
        native.python_allocations_stop()
    native.python_allocations_start()
    with pytest.raises(ValueError, match="already"):
        native.python_allocations_start()
    native.python_allocations_stop()


def test_an_evicted_buffer_answers_later() -> None:
    evictor = native.Evictor(16 << 20)
    assert evictor.bytes == 16 << 20
    warm = min(native.probe_latency_ns(16 << 10) for _ in range(5))
    evicted = min(native.probe_latency_ns(16 << 10, evictor) for _ in range(5))
    assert evicted > 1.5 * warm > 0
    for wrong in (0, -5):
        with pytest.raises(ValueError, match="at least 1"):
            native.Evictor(wrong)
    with pytest.raises(ValueError, match="256 bytes"):
        native.probe_latency_ns(100)


def test_ageing_leaves_blocks_behind() -> None:
    # A block that stays and a hole take between 80 and 640 bytes together.
    assert 1_000 < native.age_heap(1, 1) < 20_000
    assert native.age_heap(1, 1) == native.age_heap(1, 1)
    for megabytes in (0, -1, 10**6):
        with pytest.raises(ValueError, match="megabytes"):
            native.age_heap(1, megabytes)


def test_build_info_and_a_light_import() -> None:
    info = native.build_info()
    assert info["cxx_standard"] == 20
    assert info["compiler"].split()[0] in ("g++", "clang++")
    assert "-O3" in info["flags"].split()
    assert "-march" not in info["flags"]
    # A measured process must not carry numpy along.
    code = "import sys, blockmark_impls._native; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
