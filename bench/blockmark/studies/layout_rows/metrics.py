"""What the study of rows beside cache lines measures."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "layout-rows"
# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("lines_per_row", "lines",        "count", _MODEL, "count", "lower", "count", "cache lines of 64 bytes from a row's first byte to its last, mean over all rows, from their addresses", "Lines that reading a row touches; 1 for 64 bytes on a line's start, else 2"),
    Metric("slab_bytes",    "table",        "bytes", _MODEL, "bytes", "lower", "count", "rows x 32 ids x bytes of an id", "The whole table, which fits a cache or does not"),
    Metric("entry_read_ns", "entry",        "ns",    _MODEL, "cost",  "lower", "clock", "block time / reads; an id of a random row, each address formed with the last answer", "One id anywhere in the table"),
    Metric("row_read_ns",   "row",          "ns",    _MODEL, "cost",  "lower", "clock", "block time / reads; the sum of a random row's 32 ids, each address formed with the last answer", "A whole row anywhere in the table"),
    Metric("row_load_ns",   "independent",  "ns",    _MODEL, "cost",  "lower", "clock", "block time / reads; a random row's 32 ids loaded into registers, where no address waits for an answer", "A whole row where many are read at once"),
    Metric("row_pack_ns",   "row to int32", "ns",    _MODEL, "cost",  "lower", "clock", "block time / reads; a random row's 32 ids written as int32, each address formed with the last one written", "A whole row widened or narrowed for a kernel"),
)
# fmt: on
