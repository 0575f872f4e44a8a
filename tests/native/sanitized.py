"""Runs what watches the sanitized core: proofs of every structure, and the tests of the core.

    python tests/native/sanitized.py PYTHON

PYTHON is that of the environment with the sanitized core. AddressSanitizer must be there before
Python starts, so its library is loaded in front of everything. Leaks are not looked for: Python
itself keeps memory to its end.
"""

from __future__ import annotations

import os
import subprocess
import sys

TESTS = ("native_core", "native_replay", "native_pacing", "native_measuring", "native_counters")
TESTS += ("contention_native",)
# A library put in front of the sanitizer's, and what is said of the optimised build.
BUT = "not shim and not build_info"
NAMES = ("hash-map", "open-hash+lru", "vector", "flat-stack", "two-level", "flat+bitmap")
NAMES += ("vector+linked-list",)


def library(name: str) -> str:
    """The path of a library of the compiler."""
    words = ["g++", f"-print-file-name={name}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def prove_all() -> int:
    """Proofs in this process: a worker's limit of address space leaves no room for the shadow.

    0 if every structure is right.
    """
    from blockmark.measure.proof.prove import prove
    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import resolve

    config = PoolConfig(total_blocks=256, block_size=4, max_seqs=8, max_blocks_per_seq=16)
    wrong = 0
    for name in NAMES:
        (impl,) = resolve(f"{name}/cpp")
        job = {"random_programs": 40, "rows": 100, "long_use": 2_000, "operations": 0, "seed": 1}
        found = prove(impl, config, {**job, "programs": [], "call_style": impl.call_style})
        print(name, found["status"], found.get("reason", ""), flush=True)
        wrong += found["status"] != "ok"
    return min(wrong, 1)


def main(python: str) -> int:
    """0 if nothing was found."""
    before = f"{library('libasan.so')} {library('libstdc++.so')}"
    env = os.environ | {
        "LD_PRELOAD": before,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:alloc_dealloc_mismatch=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    tests = [f"tests/test_{name}.py" for name in TESTS]
    for words in (
        [__file__, "--prove"],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", BUT, *tests],
    ):
        if code := subprocess.run([python, *words], env=env).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(prove_all() if sys.argv[1] == "--prove" else main(sys.argv[1]))
