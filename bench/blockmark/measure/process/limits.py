"""Limits of a measured process, which a busy machine must not decide.

Its time is CPU time. The kernel counts it and ends the process at the soft limit
RLIMIT_CPU; a worker that makes progress moves that limit on. The parent watches as well,
for what the kernel does not end: a process that survives SIGXCPU, one that waits without
using the CPU, and the processes that it started.
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

# How often a waiting parent looks whether it should stop. A wait on a pipe, so the
# measured process does not notice.
PATIENCE_S = 0.5
# A process that can run gets a larger share of a core than this at any load: at load 16 on
# two cores it gets some 12 %.
_LEAST_SHARE = 0.005
# Where the parent itself was kept from running, so was the process that it watches.
_LONGEST_LOOK_S = 2 * PATIENCE_S
# The kernel counts whole seconds, and the parent looks twice in one.
_MARGIN_S = 2.0
# A process that survives SIGXCPU gets its limit moved by the kernel, to a second from then
# on; its CPU time is told in ticks, rounded down.
_KERNELS_STEP_S = 1.25

# How many seconds of CPU time this process has without progress; 0 for no limit.
_own_limit_s = 0.0


def limit_cpu_time(seconds: float) -> None:
    """Let the kernel end this process when it has used so much more CPU time."""
    global _own_limit_s
    _own_limit_s = seconds
    extend_limit()


def extend_limit() -> None:
    """Count this process's limit from now on, as it has made progress. Nothing without one.

    One system call: often enough is a few times a second, more often does no harm.
    """
    if not _own_limit_s:
        return
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(time.process_time() + _own_limit_s)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def memory_is_short() -> bool:
    """Whether this process has taken more than half of the memory that it may have.

    Tells a MemoryError of the limit from one that a class raises itself, as for a pool
    without free blocks.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return False
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except MemoryError:
        return True
    except (OSError, ValueError, IndexError):
        return False
    return 2 * pages * resource.getpagesize() > limit


class Watch:
    """Tells a waiting parent when a process is over its limit.

    Not on Linux, wall time is the limit, as the CPU time of another process is unknown.
    """

    def __init__(self, pid: int, seconds: float, cores: int = 1) -> None:
        """`seconds` of CPU time on each of `cores`, or without using any."""
        self._pid = pid
        self._seconds = seconds
        self._cpu_limit_s = seconds * cores
        self._knows_cpu_time = _tells_cpu_time()
        self._soft_limit = resource.getrlimit(resource.RLIMIT_CPU)[0]
        self._last_look = time.monotonic()
        self._watched_s = 0.0
        self._limit_s = self._cpu_limit_s
        # (seconds watched, CPU time then): the first is at least `seconds` ago, if any is.
        self._looks = deque([(0.0, 0.0)])

    @property
    def cpu_time(self) -> str:
        """The limit in words."""
        return f"{self._cpu_limit_s:g} s of CPU time"

    def renew(self) -> None:
        """Count from now on, as the process has made progress."""
        used = _cpu_times(self._pid) if self._knows_cpu_time else None
        total = sum(used) if used else 0.0
        self._last_look = time.monotonic()
        self._limit_s = total + self._cpu_limit_s
        self._looks = deque([(self._watched_s, total)])

    def overdue(self) -> str:
        """The time that it has had in vain, in words; empty while it may go on.

        To be asked every PATIENCE_S while the process is waited for: time between looks
        that are further apart is not held against it.
        """
        now = time.monotonic()
        self._watched_s += min(now - self._last_look, _LONGEST_LOOK_S)
        self._last_look = now
        if not self._knows_cpu_time:
            waited = self._watched_s - self._looks[0][0]
            return f"{self._seconds:g} s" if waited > self._seconds else ""
        times = _cpu_times(self._pid)
        if times is None:
            return ""  # it has ended
        total = sum(times)
        self._follow_soft_limit(times[0], total)
        if total > self._limit_s + _MARGIN_S:
            return self.cpu_time
        return f"{self._seconds:g} s" if self._is_idle(total) else ""

    def _follow_soft_limit(self, own: float, total: float) -> None:
        """Learn from the kernel that the process has moved its limit on."""
        try:
            soft = resource.prlimit(self._pid, resource.RLIMIT_CPU)[0]
        except OSError:
            return
        if soft == self._soft_limit:
            return
        self._soft_limit = soft
        if soft == resource.RLIM_INFINITY or soft > own + _KERNELS_STEP_S:
            self._limit_s = total + self._cpu_limit_s

    def _is_idle(self, total: float) -> bool:
        """Whether it has used next to no CPU time for as long as its limit is."""
        looks, start = self._looks, self._watched_s - self._seconds
        looks.append((self._watched_s, total))
        while looks[1][0] <= start:
            looks.popleft()
        since, before = looks[0]
        return since <= start and total - before < _LEAST_SHARE * (self._watched_s - since)


def _tells_cpu_time() -> bool:
    """Whether the system tells the CPU time of another process and of its children."""
    pid = os.getpid()
    return hasattr(resource, "prlimit") and Path(f"/proc/{pid}/task/{pid}/children").exists()


def _cpu_times(pid: int) -> tuple[float, float] | None:
    """CPU time in seconds of a process, and of all that it started; None if it is gone.

    Of what was started by a process that has ended since, only what that one waited for.
    """
    place = Path(f"/proc/{pid}")
    try:
        # Behind the name, which may hold spaces and brackets.
        fields = (place / "stat").read_text().rpartition(")")[2].split()
        own, ended = (sum(map(int, fields[at : at + 2])) for at in (11, 13))
        below = " ".join((task / "children").read_text() for task in (place / "task").iterdir())
    except OSError:
        return None
    tick = os.sysconf("SC_CLK_TCK")
    children = [_cpu_times(int(child)) or (0.0, 0.0) for child in below.split()]
    return own / tick, ended / tick + sum(sum(each) for each in children)
