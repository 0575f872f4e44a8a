"""What the study of capacity looks like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockmark.report.facts.numbers import count, exact, percent, significant, with_unit
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import number, setting_name, word
from blockmark.report.facts.sweep import Sweep
from blockmark.report.tables.cells import study_table
from blockmark.report.tables.model import Table
from blockmark.runs.model import Cell, Run, Setting

from .claims_table import claims_table

QUESTION = (
    "How many requests does a memory budget serve at once, by the way in which it is divided, and "
    "where does the rest of the memory go?"
)
METHOD = (
    "A simulation of bookkeeping, exact and the same every time; nothing is timed. In a scheduler "
    "step ended requests leave, every running one grows by a token, and waiting ones start in the "
    "order in which they came, each with its whole prompt; nobody overtakes. A paged request that "
    "finds no block makes the one that started last give way, which is computed again later. "
    "Paging leaves 1 % of the blocks free when a request starts. Means are over steps in which a "
    "request waits (saturated), or in which one runs (timed)."
)
_MEMORY = (
    "memory_utilisation", "reserved_share", "internal_waste_share", "external_waste_share",
    "free_share",
)  # fmt: skip
_REQUESTS = (
    "concurrent_requests_mean", "concurrent_requests_peak", "preemptions_per_1000_requests",
    "recomputed_tokens_share", "shared_saving_share", "requests_not_served",
    "block_table_bytes_mean",
)  # fmt: skip


def load_words(settings: Sequence[Setting]) -> str:
    """The budget, the requests, and every assumption."""
    if len(settings) > 1:
        return f"{len(settings)} settings"
    setting = settings[0]
    facts, params = setting.facts, setting.params
    parts = []
    kv, tokens = number(facts, "kv_bytes"), number(facts, "kv_tokens")
    if kv is not None and tokens is not None:
        parts.append(f"{with_unit(kv, 'bytes')} for KV entries = {count(tokens)} tokens")
    if model := word(params, "model_shape"):
        each = number(facts, "bytes_per_token")
        parts.append(model + ("" if each is None else f" ({count(each)} bytes a token)"))
    if number(facts, "weight_bytes"):
        share = number(params, "gpu_share") or 0.0
        parts.append(
            f"{share * 100:.0f} % of {params.get('gpu_memory')} less weights and "
            f"{params.get('activation_memory')}"
        )
    requests = number(facts, "requests")
    trace = facts.get("trace")
    if requests is not None:
        source = f" of {word(trace, 'file')}" if isinstance(trace, dict) else ""
        parts.append(f"{count(requests)} requests{source}")
    prompt, output = number(facts, "prompt_tokens_mean"), number(facts, "output_tokens_mean")
    if prompt is not None and output is not None:
        parts.append(
            f"{significant(prompt, 4)} tokens in and {significant(output, 3)} out on average"
        )
    for name, words in (("max_len", "max_len"), ("max_new_tokens", "max_new_tokens")):
        if (value := number(params, name)) is not None:
            parts.append(f"{words} {exact(value)}")
    if arrivals := word(params, "arrivals"):
        parts.append(arrivals)
    return ", ".join(parts)


def tables(run: Run, sweep: Sweep) -> list[Table]:
    """Where the memory goes, what it serves, and the published comparison beside it."""
    found = [
        study_table(run, sweep.settings, _MEMORY, caption="Where the memory goes"),
        study_table(run, sweep.settings, _REQUESTS, caption="What it serves"),
    ]
    if len(sweep.settings) == 1 and (table := claims_table(run, sweep.settings[0])) is not None:
        found.append(table)
    return found


def sentences(run: Run, sweep: Sweep) -> list[str]:
    """The best policy of each setting against reserving."""
    said = []
    for setting in sweep.settings:
        cells = {cell.impl: cell for cell in run.cells_of(setting.key)}
        base = _at_once(cells.get("reserve"))
        best = max(cells.values(), key=lambda cell: _at_once(cell) or 0.0, default=None)
        most = _at_once(best)
        if best is None or most is None or not base or best.impl == "reserve":
            continue
        used = best.metric("memory_utilisation")
        text = (
            f"{best.impl} serves {significant(most)} requests at once, {significant(most / base)}x "
            f"as many as reserve ({significant(base)})"
        )
        if used is not None and used.value is not None:
            text += f", with {percent(used.value)} of the memory in use"
        name = setting_name(run, setting)
        said.append(f"{name}: {text}." if name else f"{text}.")
    return said


def draw(run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, Drawn]]:
    """Where the memory goes, setting by setting; and when paging wins by how much."""
    from .charts import draw_gain, draw_memory

    for setting in sweep.settings[:3]:
        name = setting_name(run, setting)
        place = ", ".join(part for part in (setting.scenario, name) if part)
        title = f"Where the memory goes: {place}"
        data = draw_memory(run, setting, title)
        if data is not None:
            yield (
                "-".join(part for part in ("memory", name) if part),
                title,
                "Shares of the memory for KV entries, mean over the steps that count. Behind each "
                "bar the requests served at once, on average.",
                data,
            )
    setting = sweep.settings[0]
    tokens = number(setting.facts, "kv_tokens")
    if tokens is not None:
        title = "Requests at once, paged against reserved"
        yield (
            "gain",
            title,
            f"By arithmetic, for {count(tokens)} tokens of memory and blocks of 16: whole requests "
            "that fit when each has its blocks, over those that fit when each has a slot of the "
            "longest length. The line is where paging serves three times as many. No sharing.",
            draw_gain(int(tokens), setting, title),
        )


def _at_once(cell: Cell | None) -> float | None:
    value = cell.metric("concurrent_requests_mean") if cell is not None and cell.ok else None
    return None if value is None else value.value
