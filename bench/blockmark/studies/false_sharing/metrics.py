"""What the study of false sharing measures."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "false-sharing"
# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("write_ns",            "a write",      "ns",    _MODEL, "cost",  "lower", "clock",   "median over windows in which all threads ran of (time of all threads / writes)", "One write of a thread to a count of its own, while the others write to theirs"),
    Metric("write_alone_ns",      "alone",        "ns",    _MODEL, "cost",  "lower", "clock",   "the same with one thread, in the same process", "One write to the same counts when nobody else writes"),
    Metric("sharing_slowdown",    "times slower", "ratio", _MODEL, "share", "lower", "derived", "write_ns / write_alone_ns", "What the neighbours on the same cache lines cost: 1 is nothing"),
    Metric("write_overlap_share", "overlap",      "share", _MODEL, "proof", None,    "clock",   "as overlap_share", "The proof that the threads ran at the same time"),
    Metric("ping_pong_ns",        "ping-pong",    "ns",    _MODEL, "proof", None,    "clock",   "least of 100 means over 200 round trips of one line between two processors", "What a line's way there and back takes; about 20 ns if both are threads of one core"),
)
# fmt: on
