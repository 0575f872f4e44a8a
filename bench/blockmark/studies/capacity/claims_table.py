"""A published comparison beside our numbers: under which assumptions each row comes true.

The comparison is of the third of the documents that docs/claims.md tests: LLaMA-13B on an
A100 of 80 GB, 1,024 tokens in and 256 out, contiguous memory against paging.
"""

from __future__ import annotations

from blockmark.report.facts.numbers import count, percent, significant
from blockmark.report.facts.setting import number
from blockmark.report.tables.model import Column, Entry, Group, Row, Table
from blockmark.runs.model import Run, Setting

from .memory import (
    lengths_for_reserved,
    lengths_for_utilisation,
    paged_requests,
    samples_for_saving,
    tokens_for_paged,
)

_PAGED, _BLOCK = ("paged[block_size=16]", "paged"), 16
_SHARED = ("paged-shared[block_size=16]", "paged-shared")


def claims_table(run: Run, setting: Setting) -> Table | None:
    """The rows, or None where lengths are not of one size and nothing can be solved for."""
    prompt, output = (
        number(setting.params, "prompt_tokens"),
        number(setting.params, "output_tokens"),
    )
    tokens = number(setting.facts, "kv_tokens")
    if prompt is None or output is None or tokens is None or setting.params.get("trace"):
        return None
    p, o, t = int(prompt), int(output), int(tokens)

    def ours(metric: str, *names: str, share: bool = False) -> str:
        for cell in run.cells_of(setting.key):
            value = cell.metric(metric) if cell.impl in names and cell.ok else None
            if value is not None and value.value is not None:
                return percent(value.value) if share else significant(value.value)
        return "-"

    lengths = lengths_for_utilisation(0.4, 0.6, p, o)
    memory = tokens_for_paged(24, p, o, _BLOCK)
    slots = lengths_for_reserved(8, memory.high)
    least = lengths_for_reserved(8, memory.low)
    samples = samples_for_saving(0.3, 0.6, p, o)
    rows = (
        _row(
            "memory in use",
            "40-60 %, then 85-95 %",
            f"{ours('memory_utilisation', 'reserve', share=True)}, then "
            f"{ours('memory_utilisation', *_PAGED, share=True)}",
        ),
        _row(
            "requests at once",
            "8, then 24",
            f"{ours('concurrent_requests_mean', 'reserve')}, then "
            f"{ours('concurrent_requests_mean', *_PAGED)}",
        ),
        _row(
            "lost in holes or in blocks",
            "15-25 %, then below 5 %",
            f"{ours('external_waste_share', 'first-fit', share=True)}, then "
            f"{ours('internal_waste_share', *_PAGED, share=True)}",
        ),
        _row(
            "saved by sharing",
            "30-60 %",
            ours("shared_saving_share", *_SHARED, share=True),
        ),
    )
    notes = (
        f"The published memory in use takes a max_len of {count(lengths.low)} to "
        f"{count(lengths.high)} for the first number, and, paged, with any memory that requests "
        "wait for.",
        f"8 and 24 requests at once take {count(memory.low)} to {count(memory.high)} "
        f"tokens of memory (here {count(t)}, which hold {count(paged_requests(t, p, o, _BLOCK))} "
        f"whole requests) and a max_len of {count(least.low)} to {count(slots.high)}.",
        "15-25 % are what is lost in holes that first fit leaves between requests of different "
        "lengths, of which there are none here; below 5 % as rests of last blocks, where "
        "sequences are much longer than a block.",
        "30-60 % are saved by "
        + (
            "no number of samples of one prompt."
            if samples.is_empty
            else f"{count(samples.low)} to {count(samples.high)} samples of each prompt, all "
            "running at once."
        ),
    )
    columns = (Column("published", "word"), Column("here", "word"))
    return Table(
        "", columns, (Group("", rows),), notes, caption="A published comparison, as it is here"
    )


def _row(name: str, *texts: str) -> Row:
    return Row(name, tuple(Entry(text) for text in texts))
