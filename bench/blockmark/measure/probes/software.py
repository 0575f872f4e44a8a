"""What the operating system counts of this process without any privilege.

From getrusage and /proc: an unprivileged perf counter for context switches or migrations
opens and reads 0, which would be reported as a count.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns, process_time_ns

_SCHED = Path("/proc/self/sched")


@dataclass(frozen=True, slots=True)
class SoftwareCounts:
    """A reading; the difference of two is what happened between them.

    `migrations` is None where the kernel does not tell.
    """

    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int
    migrations: int | None
    cpu_ns: int
    wall_ns: int

    @classmethod
    def now(cls) -> SoftwareCounts:
        """Read them."""
        migrations = migrations_in(_text_of(_SCHED))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return cls(
            usage.ru_minflt,
            usage.ru_majflt,
            usage.ru_nvcsw,
            usage.ru_nivcsw,
            migrations,
            process_time_ns(),
            perf_counter_ns(),
        )

    def since(self, before: SoftwareCounts) -> dict[str, float | str]:
        """Metric name -> what happened since `before`, or the reason why it is not known."""
        wall, cpu = self.wall_ns - before.wall_ns, self.cpu_ns - before.cpu_ns
        migrations: float | str = "this kernel keeps no /proc/self/sched"
        if self.migrations is not None and before.migrations is not None:
            migrations = self.migrations - before.migrations
        return {
            "minor_faults": self.minor_faults - before.minor_faults,
            "major_faults": self.major_faults - before.major_faults,
            "voluntary_switches": self.voluntary_switches - before.voluntary_switches,
            "involuntary_switches": self.involuntary_switches - before.involuntary_switches,
            "migrations": migrations,
            "task_clock_ns": cpu,
            "cpu_share_of_wall": cpu / wall if wall else 0.0,
        }


def migrations_in(sched: str) -> int | None:
    """Moves to another processor in the text of /proc/PID/sched; None if it has no such line.

    >>> migrations_in("se.nr_migrations    :         3")
    3
    """
    for line in sched.splitlines():
        name, _, value = line.partition(":")
        if name.strip().removeprefix("se.") == "nr_migrations" and value.strip().isdigit():
            return int(value)
    return None


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
