"""What the study of packed batches measures and models."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "layout-pack"
# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("batch_pack_ns",        "pack",            "ns",    _MODEL, "cost",  "lower", "clock", "block time / batches", "Writing the block tables of one step in this form on the host"),
    Metric("sent_bytes",           "sent",            "bytes", _MODEL, "bytes", "lower", "count", "bytes of the form, lengths and offsets included", "What one step sends to the device"),
    Metric("sent_copies",          "copies",          "count", _MODEL, "count", "lower", "count", "copies that send the form; 0 where nothing changed", "How many copies to the device one step starts"),
    Metric("transfer_ns",          "transfer, model", "ns",    _MODEL, "cost",  "lower", "model", "sent_copies x copy_call_ns + sent_bytes / copy_bandwidth", "A model of the time to send it; nothing was sent"),
    Metric("pack_and_transfer_ns", "both, model",     "ns",    _MODEL, "cost",  "lower", "model", "batch_pack_ns + transfer_ns", "Host and model together: one behind the other, as without double buffers"),
)
# fmt: on
