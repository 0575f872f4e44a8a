"""Why a counter did not open, and what a reading of one is worth. No system call is made here.

Refusals come before anything else in the kernel: a process that may not count the kernel
gets EACCES for an event that the processor does not even have. So no reason is stated
before the event was asked for in user space alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

PARANOID = "/proc/sys/kernel/perf_event_paranoid"

_UNSUPPORTED = {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENXIO, errno.EINVAL}
_REFUSED = {errno.EACCES, errno.EPERM}
# Up to here every process may count its own user space. Kernels as released know no
# higher level; those of some distributions refuse everything at 3 and above.
_HIGHEST_OPEN_LEVEL = 2
_CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38}
# Below this share of the time on a counter, a scaled count is a guess.
LEAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Rights:
    """What this process may ask of the kernel.

    `level` is that of perf_event_paranoid, None where there is no such file. `privileged`
    says whether the process has a capability that no level binds. `virtual` says whether
    this is a virtual machine, as far as the processor tells.
    """

    level: int | None
    privileged: bool
    virtual: bool = False

    @classmethod
    def parse(cls, paranoid: str, status: str, cpuinfo: str) -> Rights:
        """From the texts of perf_event_paranoid, /proc/self/status and /proc/cpuinfo.

        What a text does not tell, or a file that was not there (an empty text), is taken
        for the cautious answer.
        """
        try:
            level = int(paranoid)
        except ValueError:
            level = None
        held = 0
        flags: list[str] = []
        for name, _, value in (line.partition(":") for line in status.splitlines()):
            if name == "CapEff":
                held = int(value, 16)
        for name, _, value in (line.partition(":") for line in cpuinfo.splitlines()):
            if name.strip() == "flags":
                flags = value.split()
                break
        privileged = any(held >> bit & 1 for bit in _CAPABILITIES.values())
        return cls(level, privileged, "hypervisor" in flags)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of asking for an event: `code` is the last errno, 0 if it opened.

    `kernel_refused` says whether the event was refused as long as the kernel's share was
    asked for too.
    """

    code: int
    kernel_refused: bool


def ask(open_event: Callable[[bool], int]) -> Answer:
    """Ask for an event, and where that is refused for it in user space alone.

    `open_event(exclude_kernel)` tries to open it and returns the errno, 0 for success.
    """
    code = open_event(False)
    if code not in _REFUSED:
        return Answer(code, kernel_refused=False)
    return Answer(open_event(True), kernel_refused=True)


def reason_of(code: int, rights: Rights) -> str:
    """Why an event that was asked for in user space alone did not open, and the mend.

    One line. `code` is the errno, which must not be 0.
    """
    name = errno.errorcode.get(code, str(code))
    if code in _UNSUPPORTED:
        who = "this virtual machine" if rights.virtual else "this processor or its kernel"
        return f"not shown by {who} ({name})"
    if code == errno.ENOSYS:
        return f"no such system call, as in a sandbox such as gVisor ({name})"
    if code not in _REFUSED:
        return f"the kernel answered: {os.strerror(code)} ({name})"
    level = rights.level
    if level is not None and level > _HIGHEST_OPEN_LEVEL and not rights.privileged:
        return (
            f"refused ({name}), as {PARANOID} is {level}; as root: "
            f"sysctl kernel.perf_event_paranoid={_HIGHEST_OPEN_LEVEL}"
        )
    if rights.privileged:
        allowed = "though the process has the capability for it"
    elif level is None:
        allowed = f"and there is no {PARANOID}"
    else:
        allowed = f"though {PARANOID} is {level}, which allows it"
    if code == errno.EPERM:
        return (
            f"refused ({name}) {allowed}: a container's seccomp filter does that; "
            "start the container with --cap-add PERFMON"
        )
    return f"refused ({name}) {allowed}: a security module such as SELinux does that"


def scaled(raw: int, enabled: int, running: int) -> float | None:
    """A count as if the event had been on a counter all the time; None if it never was.

    `enabled` and `running` in ns: how long it was to be counted, and was.
    """
    return raw * enabled / running if running > 0 else None


def running_share(enabled: int, running: int) -> float:
    """The part of the time in which an event really was on a counter, 0 to 1."""
    return min(1.0, running / enabled) if enabled > 0 else 0.0


def value_of(reading: tuple[int, int, int] | None) -> float | str:
    """A reading (raw count, ns enabled, ns running) as a count, or why it is none."""
    if reading is None:
        return "did not open in the measured process"
    raw, enabled, running = reading
    value = scaled(raw, enabled, running)
    share = running_share(enabled, running)
    if value is None:
        return "was never scheduled: others hold the processor's counters"
    if share < LEAST_SHARE:
        return f"was scheduled for {share:.1%} of the time only: others hold the counters"
    return value
