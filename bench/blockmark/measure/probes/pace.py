"""A schedule of steps, and what a loop that kept to it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Between(Protocol):
    """What the rest of an engine does after each tick, off its clock."""

    def run(self) -> None:
        """Do it once."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A schedule. `pacing` is sleep, hybrid or spin; `between` runs after each tick.

    `copy_bytes` are copied after each tick, if not 0: by the native loop alone.
    """

    interval_ns: int
    duration_ns: int
    pacing: str = "spin"
    between: Between | None = None
    copy_bytes: int = 0


class Paced(Protocol):
    """What a loop did; times in ns, as in the core's `_native.Paced`.

    `intended` ticks had their start within the duration, `ticks` ran. `missed` ended after
    the next intended start or never ran. `elapsed_ns`, `thread_cpu_ns`, `user_ns` and
    `kernel_ns` are of the whole loop without `off_clock_ns`.
    """

    @property
    def ticks(self) -> int: ...
    @property
    def intended(self) -> int: ...
    @property
    def elapsed_ns(self) -> int: ...
    @property
    def off_clock_ns(self) -> int: ...
    @property
    def busy1_ns(self) -> int: ...
    @property
    def busy2_ns(self) -> int: ...
    @property
    def copy_ns(self) -> int: ...
    @property
    def missed(self) -> int: ...
    @property
    def thread_cpu_ns(self) -> int: ...
    @property
    def user_ns(self) -> int: ...
    @property
    def kernel_ns(self) -> int: ...
    @property
    def lateness(self) -> Any: ...
    @property
    def latency(self) -> Any: ...
