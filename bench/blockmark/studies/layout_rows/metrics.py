"""What the study of rows beside cache lines measures."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "layout-rows"

ROWS = (
    Metric(
        "lines_per_row",
        "count",
        _MODEL,
        "count",
        "lower",
        "cache lines of 64 bytes from a row's first byte to its last, mean over all rows, "
        "from their addresses",
        "Lines that reading a row touches; 1 for 64 bytes on a line's start, else 2",
        "count",
    ),
    Metric(
        "slab_bytes",
        "bytes",
        _MODEL,
        "bytes",
        "lower",
        "rows x 32 ids x bytes of an id",
        "The whole table, which fits a cache or does not",
        "count",
    ),
    Metric(
        "entry_read_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "block time / reads; an id of a random row, each address formed with the last answer",
        "One id anywhere in the table",
        "clock",
    ),
    Metric(
        "row_read_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "block time / reads; the sum of a random row's 32 ids, each address formed with the "
        "last answer",
        "A whole row anywhere in the table",
        "clock",
    ),
    Metric(
        "row_load_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "block time / reads; a random row's 32 ids loaded into registers, where no address waits "
        "for an answer",
        "A whole row where many are read at once",
        "clock",
    ),
    Metric(
        "row_pack_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "block time / reads; a random row's 32 ids written as int32, each address formed with "
        "the last one written",
        "A whole row widened or narrowed for a kernel",
        "clock",
    ),
)
