"""Layouts of block tables: rows beside cache lines, and the forms of a packed batch."""

from __future__ import annotations

from .row import Metric

_ROWS, _PACK = "layout-rows", "layout-pack"

ROWS = (
    Metric(
        "lines_per_row",
        "count",
        _ROWS,
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
        _ROWS,
        "bytes",
        "lower",
        "rows x 32 ids x bytes of an id",
        "The whole table, which fits a cache or does not",
        "count",
    ),
    Metric(
        "entry_read_ns",
        "ns",
        _ROWS,
        "cost",
        "lower",
        "block time / reads; an id of a random row, each address formed with the last answer",
        "One id anywhere in the table",
        "clock",
    ),
    Metric(
        "row_read_ns",
        "ns",
        _ROWS,
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
        _ROWS,
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
        _ROWS,
        "cost",
        "lower",
        "block time / reads; a random row's 32 ids written as int32, each address formed with "
        "the last one written",
        "A whole row widened or narrowed for a kernel",
        "clock",
    ),
    Metric(
        "batch_pack_ns",
        "ns",
        _PACK,
        "cost",
        "lower",
        "block time / batches",
        "Writing the block tables of one step in this form on the host",
        "clock",
    ),
    Metric(
        "sent_bytes",
        "bytes",
        _PACK,
        "bytes",
        "lower",
        "bytes of the form, lengths and offsets included",
        "What one step sends to the device",
        "count",
    ),
    Metric(
        "sent_copies",
        "count",
        _PACK,
        "count",
        "lower",
        "copies that send the form; 0 where nothing changed",
        "How many copies to the device one step starts",
        "count",
    ),
    Metric(
        "transfer_ns",
        "ns",
        _PACK,
        "cost",
        "lower",
        "sent_copies x copy_call_ns + sent_bytes / copy_bandwidth",
        "A model of the time to send it; nothing was sent",
        "model",
    ),
    Metric(
        "pack_and_transfer_ns",
        "ns",
        _PACK,
        "cost",
        "lower",
        "batch_pack_ns + transfer_ns",
        "Host and model together: one behind the other, as without double buffers",
        "model",
    ),
)
