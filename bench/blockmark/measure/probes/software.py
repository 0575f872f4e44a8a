"""What the operating system counts of this process without any privilege.

From getrusage: an unprivileged perf counter for context switches opens and reads 0,
which would be reported as a count.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from time import perf_counter_ns


@dataclass(frozen=True, slots=True)
class SoftwareCounts:
    """A reading; the difference of two is what happened between them."""

    minor_faults: int
    voluntary_switches: int
    involuntary_switches: int
    cpu_ns: int
    wall_ns: int

    @classmethod
    def now(cls) -> SoftwareCounts:
        """Read them."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return cls(
            usage.ru_minflt,
            usage.ru_nvcsw,
            usage.ru_nivcsw,
            round((usage.ru_utime + usage.ru_stime) * 1e9),
            perf_counter_ns(),
        )

    def since(self, before: SoftwareCounts) -> dict[str, float]:
        """Metric name -> what happened since `before`."""
        wall = self.wall_ns - before.wall_ns
        return {
            "minor_faults": self.minor_faults - before.minor_faults,
            "voluntary_switches": self.voluntary_switches - before.voluntary_switches,
            "involuntary_switches": self.involuntary_switches - before.involuntary_switches,
            "cpu_share_of_wall": (self.cpu_ns - before.cpu_ns) / wall if wall else 0.0,
        }
