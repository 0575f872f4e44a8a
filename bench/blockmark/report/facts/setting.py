"""In words: what was run, on what machine, under which conditions, and that it was right.

Facts come out of a run file and may be missing or of any kind; what can't be
said is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from blockmark.report.facts.numbers import count, counted, exact, significant, with_unit
from blockmark.runs.model import Cell, Run, Setting

# Which operations of a step are told, in the order of a step, and how.
_OPERATIONS = (
    ("append", "append", "appends"),
    ("extend", "extend", "extends"),
    ("blocks_taken", "new block", "new blocks"),
    ("allocate", "admitted", "admitted"),
    ("free", "freed", "freed"),
    ("fork", "fork", "forks"),
    ("truncate", "truncated", "truncated"),
    ("drop_front", "front dropped", "fronts dropped"),
    ("swap_out", "swapped out", "swapped out"),
    ("swap_in", "swapped in", "swapped in"),
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
        text = exact(value) if isinstance(value, int | float) else str(value)
        parts.append(f"{name} {text}")
    return ", ".join(parts)


_POOL_MODELS = frozenset({"pool", "free_space"})
# Keys that say how many sequences one request has.
_WIDTHS = ("beam_width", "parallel_samples")


def load_line(*settings: Setting) -> str:
    """The size of the load: `65,536 blocks x 16 tokens, 256 sequences, 74 % used`.

    Of several settings with the range of what differs: `1,024 to 65,536 blocks x 16 tokens`.
    Where free pools alone were measured no sequence ran: `65,536 blocks x 16 tokens, 25 % held`.
    """
    parts = []
    params = [setting.params for setting in settings]
    blocks, size = _range(params, "total_blocks"), _range(params, "block_size")
    if blocks:
        tokens = f" x {size} {'token' if size == '1' else 'tokens'}" if size else ""
        parts.append(f"{blocks} blocks{tokens}")
    if all(_pools_alone(each) for each in params):
        held = [share for each in params if (share := number(each, "pool_occupancy")) is not None]
        return ", ".join([*parts, *([f"{_percent(held)} held"] if held else [])])
    running = _range(params, "concurrency")
    if running:
        # A request of one sequence is called that; beams and samples are several.
        several = [width for name in _WIDTHS if (width := _range(params, name))]
        thing = "request" if several else "sequence"
        parts.append(f"{running} {thing if running == '1' else thing + 's'}")
        parts += [f"{width} sequences each" for width in several]
    facts = [setting.facts for setting in settings]
    used = [share for fact in facts if (share := number(fact, "occupancy_p95")) is not None]
    if used:
        slots = [share for fact in facts if (share := number(fact, "token_occupancy_p95"))]
        parts.append(
            f"{_percent(used)} used{f' ({_percent(slots)} of token slots)' if slots else ''}"
        )
    return ", ".join(parts)


def _pools_alone(params: Mapping[str, Any]) -> bool:
    models = params.get("models")
    return isinstance(models, list | tuple) and bool(models) and _POOL_MODELS.issuperset(models)


def _percent(shares: list[float]) -> str:
    """`74 %`, or `50 to 99 %` where they differ."""
    ends = dict.fromkeys(f"{share * 100:.0f}" for share in (min(shares), max(shares)))
    return f"{' to '.join(ends)} %"


def _range(facts: Iterable[Mapping[str, Any]], name: str) -> str:
    """`256`, or `1 to 256` where the numbers differ; empty without a number."""
    numbers = [value for fact in facts if (value := number(fact, name)) is not None]
    if not numbers:
        return ""
    return " to ".join(dict.fromkeys(count(end) for end in (min(numbers), max(numbers))))


def processor(run: Run) -> str:
    """`AMD EPYC, 2 cores, virtual machine`."""
    parts = [word(run.machine, "cpu_model") or "unknown processor"]
    cores = number(run.machine, "cores")
    if cores is not None:
        parts.append(counted(cores, "core"))
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


def conditions(run: Run, *settings: Setting) -> str:
    """`caches hot, pool burst (ids: mean run 1.4, 134 descriptors a sequence), heap aged`.

    May be empty. Where settings differ, what they hold is told of all: `heap fresh or aged`.
    """
    parts = []
    for name in _CONDITIONS:
        words = dict.fromkeys(
            value for setting in settings if (value := word(setting.params, name)) is not None
        )
        if not words:
            continue
        shown = f"{'caches' if name == 'cache' else name} {' or '.join(words)}"
        if name == "pool" and (order := _id_order(run, settings)):
            shown += f" ({order})"
        parts.append(shown)
    return ", ".join(parts)


def _id_order(run: Run, settings: Iterable[Setting]) -> str:
    """The proof of the pool's order, over all that was measured."""
    cells = [
        cell
        for setting in settings
        for cell in run.cells_of(setting.key)
        if cell.ok and cell.kind == "manager"
    ]
    length = _ends(cells, "pool_run_length")
    descriptors = _ends(cells, "move_descriptors")
    if not descriptors:
        return f"mean run {length}" if length else ""
    told = f"{descriptors} {'descriptor' if descriptors == '1' else 'descriptors'} a sequence"
    return f"ids: mean run {length}, {told}" if length else f"ids: {told}"


def _ends(cells: Iterable[Cell], metric: str) -> str:
    """The least and the greatest value of a metric: `1.4` or `1.4-1.6`; empty without one."""
    values = [
        found.value
        for cell in cells
        if (found := cell.metric(metric)) is not None and found.value is not None
    ]
    if not values:
        return ""
    digits = 2 if max(values) < 100 else 3
    return "-".join(dict.fromkeys(significant(end, digits) for end in (min(values), max(values))))


def effort(run: Run) -> str:
    """`5 rounds, 48 s`, with what limits the run's use."""
    text = counted(run.rounds, "round")
    text += f", {_seconds(run.duration_s)}"
    if not run.complete:
        text += ", interrupted"
    return text


def verification(run: Run, *settings: Setting) -> str:
    """How much was proved right: `7 of 7 verified on 51,204 operations`."""
    candidates = [
        cell
        for setting in settings
        for cell in run.cells_of(setting.key)
        if cell.kind != "control"
        # One that a run was interrupted before its first round has no number, and a proof.
        and (cell.status != "unavailable" or cell.verified is not None)
    ]
    if not candidates:
        return "nothing to verify" if run.complete else "nothing was verified yet"
    proved = [cell.verified for cell in candidates if cell.verified is not None]
    text = f"{len(proved)} of {len(candidates)} verified"
    if proved:
        operations = {proof.operations for proof in proved}
        least = "" if len(operations) == 1 else "at least "
        text += f" on {least}{count(min(operations))} operations"
    return text


def step_words(setting: Setting) -> str:
    """What a step does: `256 appends, 16 new blocks, 0.25 admitted, ...`; may be empty.

    Empty too where free pools alone were measured: no step was replayed.
    """
    operations = setting.facts.get("operations_per_step")
    if not isinstance(operations, Mapping) or _pools_alone(setting.params):
        return ""
    # Blocks are no calls, so they may stand beside the calls as a fact of their own; and where
    # a prefix cache makes calls of its own, so do the requests that came and went.
    for name, fact in (
        ("blocks_taken", "blocks_taken_per_step"),
        ("allocate", "admitted_per_step"),
        ("free", "ended_per_step"),
    ):
        if fact in setting.facts:
            operations = {**operations, name: setting.facts[fact]}
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
    # Above a thousand a fraction says nothing, and an exponent would hide the size.
    if value == int(value) or abs(value) >= 1000:
        return count(round(value))
    return f"{value:.3g}"


def _plural(value: float, one: str, many: str) -> str:
    return one if value == 1 else many


def _seconds(duration: float) -> str:
    if duration < 120:
        return f"{significant(duration, 2)} s"
    minutes, seconds = divmod(round(duration), 60)
    return f"{minutes} min {seconds} s"
