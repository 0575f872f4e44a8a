"""What machine and build a number comes from: facts, and what it can't measure.

pyperf's own collector supplies most facts (it runs once, in the parent); cache sizes
and virtualisation come from /sys and /proc, where each may be absent.
"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

from .kernel_line import as_list, set_aside

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SUFFIX = {"K": 1024, "M": 1024**2, "G": 1024**3}


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _parse_size(text: str) -> int:
    """`32K` -> 32768; 0 for what is no size."""
    number, suffix = text[:-1], text[-1:]
    if suffix.isdigit():
        number, suffix = text, ""
    return int(number) * _SUFFIX.get(suffix, 1) if number.isdigit() else 0


def cache_sizes(folder: Path = _CACHES) -> dict[str, int]:
    """`l1d`, `l2`, `l3` -> bytes, as far as the kernel tells."""
    sizes = {}
    for index in sorted(folder.glob("index*")):
        level, kind = _read(index / "level"), _read(index / "type")
        if size := _parse_size(_read(index / "size")):
            if level == "1" and kind == "Data":
                sizes["l1d"] = size
            elif level in ("2", "3") and kind in ("Unified", "Data"):
                sizes[f"l{level}"] = size
    return sizes


def _cpu_facts() -> dict[str, str]:
    wanted = {
        "model name": "cpu_model",
        "vendor_id": "cpu_vendor",
        "cpu family": "cpu_family",
        "model": "cpu_model_number",
        "stepping": "cpu_stepping",
    }
    facts: dict[str, str] = {}
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        name, _, value = line.partition(":")
        if name.strip() in wanted:
            facts.setdefault(wanted[name.strip()], value.strip())
        if name.strip() == "flags" and "hypervisor" in value.split():
            facts.setdefault("virtual", "yes")
    facts.setdefault("virtual", "no" if facts else "unknown")
    facts.setdefault("cpu_model", platform.processor() or platform.machine() or "unknown")
    return facts


def machine_facts() -> dict[str, Any]:
    """Flat facts for a run file: numbers and text only, every one optional but a few."""
    import psutil

    facts: dict[str, Any] = dict(_cpu_facts())
    facts |= {f"{name}_bytes": size for name, size in cache_sizes().items()}
    facts |= {
        "architecture": platform.machine(),
        "cores": usable_cores(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "system": platform.system(),
        "python": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "load_before": load_average(),
    }
    from importlib.metadata import PackageNotFoundError, version

    for package in ("numpy", "pyperf"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    for name, value in (_set_aside_facts() | _pyperf_facts()).items():
        facts.setdefault(name, value)
    return facts


def _set_aside_facts() -> dict[str, str]:
    """Processors that the scheduler or its clock leaves alone, by the kernel's own word."""
    line = _read(Path("/proc/cmdline"))
    named = {
        name: as_list(set_aside(line, name, os.cpu_count() or 1))
        for name in ("isolcpus", "nohz_full")
    }
    return {name: numbers for name, numbers in named.items() if numbers}


def _pyperf_facts() -> dict[str, Any]:
    """The facts that pyperf collects about this machine and interpreter."""
    import pyperf

    try:
        metadata = pyperf.Run([1.0], collect_metadata=True).get_metadata()
    except (ValueError, LookupError, OSError):
        # It reads the kernel's texts as they were; with `isolcpus=managed_irq,2` it ends here.
        return {}
    wanted = ("aslr", "cpu_freq", "cpu_config", "python_compiler", "timer", "cpu_affinity")
    return {name: metadata[name] for name in wanted if name in metadata}


def load_average() -> float:
    """The system's load over the last minute."""
    return round(os.getloadavg()[0], 2)


class OtherWork:
    """What else used the processors since this was made.

    The load average can't tell: it is of the minute before as well, in which the run was
    perhaps built, and the run itself is part of it.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._used = _used_by_others_s()

    def facts(self) -> dict[str, Any]:
        """`other_cores`: processors in use on average by what this process has not started,
        other virtual machines among it; `all_cores` of the machine. `load_after`, as ever.
        """
        wall = max(time.monotonic() - self._began, 1e-3)
        others = max(0.0, _used_by_others_s() - self._used) / wall
        return {
            "load_after": load_average(),
            "other_cores": round(others, 2),
            "all_cores": os.cpu_count() or 1,
        }


def _used_by_others_s() -> float:
    """Seconds of the processors that went to others; of children those that have ended."""
    import psutil

    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # What guests use is in the user's time as well.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - idle - guests - sum(os.times()[:4]))


def usable_cores() -> int:
    """Processors that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def build_facts() -> dict[str, Any]:
    """How the native core was built, or why there is none."""
    try:
        from blockmark_impls import _native
    except ImportError:
        from blockmark_impls.registry import NATIVE_MISSING

        return {"native": False, "reason": NATIVE_MISSING}
    return {"native": True, "replay_version": _native.REPLAY_VERSION, **_native.build_info()}


def memory_limit() -> int:
    """Address space for one measured process: half of the machine's memory, in bytes."""
    import psutil

    return int(psutil.virtual_memory().total // 2)
