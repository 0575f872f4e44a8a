"""What the native core records, counts and does to the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import repeat
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

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


def test_direct_requests_to_the_c_heap_are_counted() -> None:
    # Ageing takes two blocks for each that stays, all by malloc, and two lists that grow.
    before = native.heap_allocations()
    stay = native.age_heap(1, 1)
    counted = native.heap_allocations() - before
    assert 2 * stay <= counted <= 2 * stay + 100


# Every request of the process, counted below it; glibc alone has the other names.
SHIM = """
#include <stddef.h>
#include <errno.h>
long shim_requests = 0;
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t n) { ++shim_requests; return __libc_malloc(n); }
void *calloc(size_t k, size_t n) { ++shim_requests; return __libc_calloc(k, n); }
void *realloc(void *p, size_t n) { ++shim_requests; return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { ++shim_requests; return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { ++shim_requests; return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
  ++shim_requests;
  *p = __libc_memalign(a, n);
  return *p ? 0 : ENOMEM;
}
"""

# Prints, for each kind of work, what the core counted and what the shim did.
COUNT_BOTH = """
import ctypes, gc
import blockmark_impls._native as native
from native_programs import ALLOCATE, EXTEND, FREE, LOOKUP, program

shim = ctypes.c_long.in_dll(ctypes.CDLL(None), "shim_requests")
sequences = [(seq, 1) for seq in range(8)]
steps = [(0, [(ALLOCATE, sequences)])] + [(1, [(EXTEND, sequences)])] * 31
steps.append((2, [(FREE, sequences), (ALLOCATE, sequences)]))
made = program(steps, 1)
manager = native.manager_class("hash", "list", "array", 32)(512, 1, 8, 40)
manager.replay_setup(made)
manager.count_allocations(made, 0, 64)
gc.disable()
for first, count in ((0, 31), (31, 1), (32, 0), (32, 320)):
    before = shim.value
    phases = manager.count_allocations(made, first, count)
    print(sum(phases), shim.value - before)
before, shim_before = native.heap_allocations(), shim.value
native.age_heap(1, 1)
print(native.heap_allocations() - before, shim.value - shim_before)
"""


def test_a_shim_below_the_process_counts_the_same(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "shim.c").write_text(SHIM)
    library = tmp_path / "shim.so"
    # -fno-builtin: calling malloc in malloc's own file must stay what it says.
    command = [compiler, "-shared", "-fPIC", "-fno-builtin", "-o", str(library), "shim.c"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    tests = str(Path(__file__).parent)
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": tests}
    done = subprocess.run(
        [sys.executable, "-P", "-c", COUNT_BOTH],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "__libc_" in done.stderr:
        pytest.skip("needs glibc")
    assert done.returncode == 0, done.stderr
    counts = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    # 31 steps add a block to 8 sequences: a node each, and now and then more buckets.
    assert 31 * 8 <= counts[0][0] <= 2 * 31 * 8
    assert counts[2] == (0, 0)
    # Ten periods of 32 steps.
    assert counts[3][0] == 10 * (counts[0][0] + counts[1][0])
    for core, shim in counts:
        assert core == shim


def test_build_info_and_a_light_import() -> None:
    info = native.build_info()
    assert info["cxx_standard"] == 20
    assert info["compiler"].split()[0] in ("g++", "clang++")
    assert "-O3" in info["flags"].split()
    assert "-march" not in info["flags"]
    # A measured process must not carry numpy along.
    code = "import sys, blockmark_impls._native; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
