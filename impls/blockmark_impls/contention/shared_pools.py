"""The implementations of the study of contention: schemes of the core, and engines in Python.

Of the core, `make(parameters, total_blocks, threads)` makes a pool with all blocks free, and
raises ValueError for bad sizes. In Python, `make(parameters, total_blocks, block_size, lock)`
makes an engine with all blocks free; `lock` makes another lock than its own, if it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contract import Profile
from ..core import core, core_missing
from ..entry import Entry, Facts, Parameter, member

if TYPE_CHECKING:
    from ..entry import Parameters


@dataclass(frozen=True)
class PythonEngineFacts(Facts):
    """Of an engine in Python: `threads` says that it can be called from threads, `shares` that
    requests may name a prompt. Coroutines can call every one.
    """

    threads: bool = False
    shares: bool = False
    lock_class: str = ""


def _native(scheme: str, summary: str, *parameters: Parameter) -> Entry:
    def make(parameters: Parameters, total_blocks: int, threads: int) -> Any:
        return core()._shared_pools[scheme](total_blocks, threads, **parameters)

    return Entry(
        f"{scheme}/cpp",
        "shared-pool",
        summary,
        Facts(profile=Profile(ref_counts=False, id_type="uint32")),
        make,
        parameters=parameters,
        unavailable=core_missing,
    )


def _engine(name: str, engine: str, summary: str, *parameters: Parameter, **facts: Any) -> Entry:
    """An engine in Python, the class `module:Class` beside this file."""
    known = PythonEngineFacts(
        call_styles=("per-op",), profile=Profile(id_type="int object"), **facts
    )

    def make(
        parameters: Parameters,
        total_blocks: int,
        block_size: int,
        lock: Callable[[], Any] | None = None,
    ) -> Any:
        options: dict[str, Any] = {}
        if parameters.get("await_inside"):
            options["await_inside"] = True
        if lock is not None and known.lock_class == "asyncio":
            options["lock"] = lock
        made = member(f"contention.{engine}")(total_blocks, block_size, **options)
        if lock is not None and known.lock_class == "threading":
            made.lock = lock()
        return made

    return Entry(f"{name}/py", "shared-pool", summary, known, make, None, "per-op", parameters)


_AWAIT_INSIDE = Parameter("await_inside", "", 0, 1)

ROWS = [
    _native("none", "a stack without a lock, for one thread: the floor"),
    _native("mutex", "a stack behind std::mutex"),
    _native("spin", "a stack behind a spin lock (test and test-and-set)"),
    _native("adaptive", "a stack behind compare-and-swap, 100 spins, then the kernel's queue"),
    _native("treiber", "a lock-free stack with a tag against ABA, a batch in one exchange"),
    _native(
        "magazines",
        "a magazine of free ids per thread over a stack behind std::mutex",
        Parameter("magazine", "blocks", 1, 1 << 20),
    ),
    _engine(
        "async-lock",
        "async_lock:AsyncLockEngine",
        "dict tables behind an asyncio.Lock, None when the pool is short",
        _AWAIT_INSIDE,
        lock_class="asyncio",
    ),
    _engine(
        "async-lock-prefix",
        "async_lock_prefix:AsyncLockPrefixEngine",
        "the same, with the blocks of a system prompt shared",
        _AWAIT_INSIDE,
        shares=True,
        lock_class="asyncio",
    ),
    _engine(
        "thread-lock",
        "thread_lock:ThreadLockEngine",
        "dict tables behind a threading.Lock, for threads and coroutines",
        threads=True,
        lock_class="threading",
    ),
    _engine(
        "no-lock",
        "no_lock:NoLockEngine",
        "dict tables without a lock, for coroutines or one thread: the floor in Python",
        threads=True,
    ),
]
