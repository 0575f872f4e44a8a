"""Proofs of the conditions, and the system's own books on the measured process."""

from __future__ import annotations

from .row import Metric

# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("pool_run_length",      "neighbours in tables",   "blocks", "condition", "proof", None,    "count",    "blocks in the tables after set-up / runs of consecutive ids among them", "Proof of the `pool` condition: how scattered the ids handed out are; 1 is fully so"),
    Metric("move_descriptors",     "descriptors a sequence", "count",  "condition", "count", "lower", "count",    "runs of consecutive ids in the tables after set-up / tables", "How many copies moving one sequence takes, such as to the host and back: one for each run of neighbouring blocks"),
    Metric("minor_faults",         "minor faults",           "count",  "software",  "count", "lower", "software", "page faults without I/O during the timed blocks, from the kernel's books", "Memory touched for the first time while the clock ran"),
    Metric("voluntary_switches",   "sleeps",                 "count",  "software",  "proof", None,    "software", "voluntary context switches during the timed blocks, from the kernel's books", "Proof of an undisturbed measurement: how often the process itself waited"),
    Metric("involuntary_switches", "displaced",              "count",  "software",  "proof", None,    "software", "involuntary context switches during the timed blocks, from the kernel's books", "Proof of an undisturbed measurement: how often the process lost its core"),
    Metric("cpu_share_of_wall",    "CPU of wall time",       "share",  "software",  "proof", None,    "software", "the process's CPU time / wall time over the timed blocks", "Proof of an undisturbed measurement: 1 if the process had a core to itself"),
    Metric("major_faults",         "major faults",           "count",  "software",  "proof", None,    "software", "page faults that waited for I/O during the timed blocks, from the kernel's books", "Proof of an undisturbed measurement: memory that had to be fetched from a disk"),
    Metric("migrations",           "migrations",             "count",  "software",  "proof", None,    "software", "moves to another processor during the timed blocks, from /proc/self/sched", "Proof of an undisturbed measurement: how often the process had to leave its caches"),
    Metric("task_clock_ns",        "CPU time",               "ns",     "software",  "proof", None,    "software", "CPU time of the process during the timed blocks, from CLOCK_PROCESS_CPUTIME_ID", "How long the measured process really ran"),
)
# fmt: on
