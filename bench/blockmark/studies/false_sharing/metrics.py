"""What the study of false sharing measures."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "false-sharing"

ROWS = (
    Metric(
        "write_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "median over windows in which all threads ran of (time of all threads / writes)",
        "One write of a thread to a count of its own, while the others write to theirs",
        "clock",
    ),
    Metric(
        "write_alone_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "the same with one thread, in the same process",
        "One write to the same counts when nobody else writes",
        "clock",
    ),
    Metric(
        "sharing_slowdown",
        "ratio",
        _MODEL,
        "share",
        "lower",
        "write_ns / write_alone_ns",
        "What the neighbours on the same cache lines cost: 1 is nothing",
        "derived",
    ),
    Metric(
        "write_overlap_share",
        "share",
        _MODEL,
        "proof",
        None,
        "as overlap_share",
        "The proof that the threads ran at the same time",
        "clock",
    ),
    Metric(
        "ping_pong_ns",
        "ns",
        _MODEL,
        "proof",
        None,
        "least of 100 means over 200 round trips of one line between two processors",
        "What a line's way there and back takes; about 20 ns if both are threads of one core",
        "clock",
    ),
)
