"""What the study of packed batches measures and models."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "layout-pack"

ROWS = (
    Metric(
        "batch_pack_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "block time / batches",
        "Writing the block tables of one step in this form on the host",
        "clock",
    ),
    Metric(
        "sent_bytes",
        "bytes",
        _MODEL,
        "bytes",
        "lower",
        "bytes of the form, lengths and offsets included",
        "What one step sends to the device",
        "count",
    ),
    Metric(
        "sent_copies",
        "count",
        _MODEL,
        "count",
        "lower",
        "copies that send the form; 0 where nothing changed",
        "How many copies to the device one step starts",
        "count",
    ),
    Metric(
        "transfer_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "sent_copies x copy_call_ns + sent_bytes / copy_bandwidth",
        "A model of the time to send it; nothing was sent",
        "model",
    ),
    Metric(
        "pack_and_transfer_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "batch_pack_ns + transfer_ns",
        "Host and model together: one behind the other, as without double buffers",
        "model",
    ),
)
