"""In words: what was run, on what machine, under which conditions, and that it was right.

Facts come out of a run file and may be missing or of any kind; what can't be
said is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockmark.report.numbers import count, significant, with_unit
from blockmark.runs.model import Run, Setting

# Which operations of a step are told, in the order of a step, and how.
_OPERATIONS = (
    ("append", "append", "appends"),
    ("extend", "extend", "extends"),
    ("blocks_taken", "new block", "new blocks"),
    ("allocate", "admitted", "admitted"),
    ("free", "freed", "freed"),
    ("fork", "fork", "forks"),
    ("truncate", "truncated", "truncated"),
    ("lookup", "lookup", "lookups"),
)
_CONDITIONS = ("cache", "pool", "heap", "gc")


def number(facts: Mapping[str, Any], name: str) -> float | None:
    """A fact that is a number, else None."""
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def word(facts: Mapping[str, Any], name: str) -> str | None:
    """A fact that is text with something in it, else None."""
    value = facts.get(name)
    return value if isinstance(value, str) and value else None


def setting_name(run: Run, setting: Setting) -> str:
    """What tells this setting from the others of its scenario: `block_size 16`; may be empty."""
    parts = []
    for name in run.axes(setting.scenario):
        value = setting.params.get(name, "default")
        text = count(value) if isinstance(value, int | float) else str(value)
        parts.append(f"{name} {text}")
    return ", ".join(parts)


def load_line(setting: Setting) -> str:
    """The size of the load: `65,536 blocks x 16 tokens, 256 sequences, 74 % used`."""
    parts = []
    blocks, size = number(setting.params, "total_blocks"), number(setting.params, "block_size")
    if blocks is not None:
        tokens = "" if size is None else f" x {count(size)} {_plural(size, 'token', 'tokens')}"
        parts.append(f"{count(blocks)} blocks{tokens}")
    sequences = number(setting.params, "concurrency")
    if sequences is not None:
        parts.append(f"{count(sequences)} {_plural(sequences, 'sequence', 'sequences')}")
    used = number(setting.facts, "occupancy_p95")
    if used is not None:
        parts.append(f"{used:.0%} used".replace("%", " %"))
    return ", ".join(parts)


def processor(run: Run) -> str:
    """`AMD EPYC, 2 cores, virtual machine`."""
    parts = [word(run.machine, "cpu_model") or "unknown processor"]
    cores = number(run.machine, "cores")
    if cores is not None:
        parts.append(f"{count(cores)} {_plural(cores, 'core', 'cores')}")
    virtual = word(run.machine, "virtual") or "unknown"
    if virtual == "yes":
        parts.append("virtual machine")
    elif virtual not in ("no", "none", "unknown"):
        parts.append(f"virtual machine ({virtual})")
    return ", ".join(parts)


def machine_line(run: Run) -> str:
    """`AMD EPYC, 2 cores, virtual machine (kvm), g++ 12.2.0 -O3`."""
    parts = [processor(run)]
    python = word(run.machine, "python")
    if python is not None:
        parts.append(f"Python {python}")
    parts.append(build_words(run))
    return ", ".join(parts)


def build_words(run: Run) -> str:
    """`g++ 12.2.0 -O3`, or that there was no native core."""
    compiler, flags = word(run.build, "compiler"), word(run.build, "flags")
    if run.build.get("native") is False or compiler is None:
        return "no C++ core"
    levels = dict.fromkeys(flag for flag in (flags or "").split() if flag.startswith("-O"))
    return " ".join([compiler, *levels])


def conditions(run: Run, setting: Setting) -> str:
    """`caches hot, pool burst (mean run 1.4), heap aged, gc off`; may be empty."""
    parts = []
    for name in _CONDITIONS:
        value = word(setting.params, name)
        if value is None:
            continue
        shown = f"{'caches' if name == 'cache' else name} {value}"
        if name == "pool" and (length := _run_length(run, setting)):
            shown += f" (mean run {length})"
        parts.append(shown)
    return ", ".join(parts)


def _run_length(run: Run, setting: Setting) -> str:
    """The proof of the pool's order, over all that was measured: `1.4` or `1.4-1.6`."""
    lengths = [
        proof.value
        for cell in run.cells_of(setting.key)
        if cell.ok and cell.kind == "manager"
        if (proof := cell.metric("pool_run_length")) is not None and proof.value is not None
    ]
    if not lengths:
        return ""
    ends = dict.fromkeys(significant(end, 2) for end in (min(lengths), max(lengths)))
    return "-".join(ends)


def effort(run: Run) -> str:
    """`5 rounds, 48 s`, with what limits the run's use."""
    text = f"{count(run.rounds)} {_plural(run.rounds, 'round', 'rounds')}"
    text += f", {_seconds(run.duration_s)}"
    if not run.complete:
        text += ", interrupted"
    return text


def verification(run: Run, setting: Setting) -> str:
    """How much was proved right: `7 of 7 verified on 51,204 operations`."""
    candidates = [
        cell
        for cell in run.cells_of(setting.key)
        if cell.kind == "manager" and cell.status != "unavailable"
    ]
    if not candidates:
        return "nothing to verify"
    proved = [cell.verified for cell in candidates if cell.verified is not None]
    text = f"{len(proved)} of {len(candidates)} verified"
    if proved:
        operations = {proof.operations for proof in proved}
        least = "" if len(operations) == 1 else "at least "
        text += f" on {least}{count(min(operations))} operations"
    return text


def step_words(setting: Setting) -> str:
    """What a step does: `256 appends, 16 new blocks, 0.25 admitted, ...`; may be empty."""
    operations = setting.facts.get("operations_per_step")
    if not isinstance(operations, Mapping):
        return ""
    # Blocks are no calls, so they may stand beside the calls as a fact of their own.
    if "blocks_taken_per_step" in setting.facts:
        operations = {**operations, "blocks_taken": setting.facts["blocks_taken_per_step"]}
    parts = []
    for name, one, many in _OPERATIONS:
        times = number(operations, name)
        if times:
            parts.append(f"{_amount(times)} {_plural(times, one, many)}")
    text = ", ".join(parts)
    each = number(setting.facts, "operations_per_sequence_step")
    if text and each is not None:
        text += f" ({_amount(each)} operations a sequence)"
    return text


def machine_facts(run: Run) -> list[tuple[str, str]]:
    """The machine as (what, value) pairs for a table of a report."""
    facts = run.machine
    caches = [
        f"{label} {with_unit(size, 'bytes')}"
        for label, name in (("L1D", "l1d_bytes"), ("L2", "l2_bytes"), ("L3", "l3_bytes"))
        if (size := number(facts, name)) is not None
    ]
    memory = number(facts, "memory_bytes")
    before, after = number(facts, "load_before"), number(facts, "load_after")
    flags = word(run.build, "flags")
    reason = word(run.build, "reason")
    core = build_words(run)
    if flags is not None and run.build.get("native") is not False:
        core = f"{word(run.build, 'compiler') or 'unknown compiler'}, {flags}"
    elif reason is not None:
        core = f"none: {reason}"
    versions = [
        f"{label} {version}"
        for label, name in (("Python", "python"), ("numpy", "numpy"))
        if (version := word(facts, name)) is not None
    ]
    pairs = [
        ("Processor", processor(run)),
        ("Caches", ", ".join(caches)),
        ("Memory", "" if memory is None else with_unit(memory, "bytes")),
        ("Kernel", word(facts, "kernel") or ""),
        ("C++ core", core),
        ("Versions", ", ".join([f"blockmark {run.blockmark_version}", *versions])),
        (
            "Load average",
            ""
            if before is None or after is None
            else f"{significant(before)} before, {significant(after)} after",
        ),
    ]
    return [(name, text) for name, text in pairs if text]


def _amount(value: float) -> str:
    """A number that the program fixes, so zeros behind it would pretend a measurement."""
    return count(value) if value == int(value) else f"{value:.3g}"


def _plural(value: float, one: str, many: str) -> str:
    return one if value == 1 else many


def _seconds(duration: float) -> str:
    if duration < 120:
        return f"{significant(duration, 2)} s"
    minutes, seconds = divmod(round(duration), 60)
    return f"{minutes} min {seconds} s"
