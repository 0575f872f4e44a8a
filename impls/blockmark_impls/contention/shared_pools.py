"""The implementations of the study of contention: schemes of the core, and engines in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..contract import Profile
from ..registry import row
from ..sources import Parameter, StudySource, core, core_missing


@dataclass(frozen=True)
class NativePoolSource(StudySource):
    """A pool of the core that threads share. `scheme` is its name there."""

    scheme: str = ""

    def load(self) -> None:
        core()

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=False, id_type="uint32")

    @property
    def one_thread(self) -> bool:
        """Whether it is safe for a single thread alone."""
        return self.scheme == "none"

    def make(self, total_blocks: int, threads: int, parameters: Mapping[str, Any]) -> Any:
        """A pool with all blocks free. Raises ValueError for bad sizes."""
        return core()._shared_pools[self.scheme](total_blocks, threads, **parameters)


@dataclass(frozen=True)
class EngineSource(StudySource):
    """An engine in Python, named `module:Class` below this package.

    `threads` says that it can be called from threads, `shares` that requests may name a
    prompt. Coroutines can call every one.
    """

    engine: str = ""
    threads: bool = False
    shares: bool = False
    lock_class: str = ""

    def _class(self) -> Any:
        module, _, name = self.engine.partition(":")
        return getattr(import_module(f"{__package__}.{module}"), name)

    def load(self) -> None:
        self._class()

    def profile(self, id_bits: int) -> Profile:
        return Profile(id_type="int object")

    def make(
        self,
        total_blocks: int,
        block_size: int,
        parameters: Mapping[str, Any],
        lock: Callable[[], Any] | None = None,
    ) -> Any:
        """An engine with all blocks free; `lock` makes another lock than its own, if it has one."""
        options: dict[str, Any] = {}
        if parameters.get("await_inside"):
            options["await_inside"] = True
        if lock is not None and self.lock_class == "asyncio":
            options["lock"] = lock
        made = self._class()(total_blocks, block_size, **options)
        if lock is not None and self.lock_class == "threading":
            made.lock = lock()
        return made


_AWAIT_INSIDE = Parameter("await_inside", "", 0, 1)


def _native(scheme: str, summary: str, *parameters: Parameter) -> Any:
    source = NativePoolSource(parameters, unavailable=core_missing(), scheme=scheme)
    return row(f"{scheme}/cpp", source, summary, "shared-pool")


def _engine(name: str, engine: str, summary: str, **options: Any) -> Any:
    source = EngineSource(call_style="per-op", engine=engine, **options)
    return row(f"{name}/py", source, summary, "shared-pool")


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
        known_parameters=(_AWAIT_INSIDE,),
        lock_class="asyncio",
    ),
    _engine(
        "async-lock-prefix",
        "async_lock_prefix:AsyncLockPrefixEngine",
        "the same, with the blocks of a system prompt shared",
        known_parameters=(_AWAIT_INSIDE,),
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
