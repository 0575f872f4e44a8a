"""What threads and coroutines that share a pool, or a cache line, cost each other."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "contention"

ROWS = (
    Metric(
        "pair_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "median over windows in which all threads ran of (time of all threads / pairs), think "
        "time included; where threads exceed processors, of the whole stretch",
        "Taking a batch and giving it back, as one thread sees it while the others do the same",
        "clock",
    ),
    Metric(
        "pairs_per_s",
        "1/s",
        _MODEL,
        "rate",
        "higher",
        "median over windows in which all threads ran of the sum of the threads' rates; where "
        "threads exceed processors and for coroutines, pairs / wall time",
        "Batches taken and given back in a second by all together; at a request rate, those served",
        "clock",
    ),
    Metric(
        "take_latency_ns",
        "ns",
        _MODEL,
        "distribution",
        "lower",
        "every take, or every eighth where a pair is short, over one long stretch; at a request "
        "rate from the intended start; of coroutines from call to answer",
        "How long a caller waits for its blocks, with every disturbance of the machine in it; "
        "below 30 ns it is the clock",
        "clock",
    ),
    Metric(
        "take_latency_undisturbed_ns",
        "ns",
        _MODEL,
        "distribution",
        "lower",
        "as take_latency_ns, over the windows in which all threads ran",
        "How long a caller waits because of the other threads alone",
        "clock",
    ),
    Metric(
        "cpu_ns_per_pair",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "median over windows in which all threads ran of (CPU time of all threads / pairs), think "
        "time and spinning included; of Python the process's, the least of several blocks",
        "What a pair costs the machine, whoever waits for whom",
        "clock",
    ),
    Metric(
        "cpu_share_at_rate",
        "share",
        _MODEL,
        "share",
        "lower",
        "time inside take and give / elapsed time at the request rate, four looks at the clock "
        "a request included",
        "The share of one core that the pool takes at a stated request rate",
        "clock",
    ),
    Metric(
        "fairness",
        "share",
        _MODEL,
        "share",
        "higher",
        "mean over windows of pairs of the slowest thread / pairs of the fastest",
        "Whether all threads get on alike: 1 if they do, 0 if one of them gets nothing",
        "clock",
    ),
    Metric(
        "waited_share",
        "share",
        _MODEL,
        "share",
        "lower",
        "acquisitions that found the lock taken / acquisitions, counted in a pass of its own",
        "How often the lock was contended at all",
        "count",
    ),
    Metric(
        "refused_share",
        "share",
        _MODEL,
        "share",
        "lower",
        "takes that found too few free blocks / takes",
        "How often the pool, or what of it is in reach, was too small",
        "count",
    ),
    Metric(
        "stranded_blocks",
        "blocks",
        _MODEL,
        "count",
        "lower",
        "free blocks that one thread alone can take, when all threads have stopped",
        "Memory that a scheme keeps from the other threads",
        "count",
    ),
    Metric(
        "voluntary_switches_per_s",
        "1/s",
        _MODEL,
        "share",
        "lower",
        "context switches of threads that waited / elapsed time, over windows in which all threads "
        "ran; at a request rate, of Python and of threads beyond the processors, of the stretch",
        "How often the kernel was asked to put a thread to sleep",
        "software",
    ),
    Metric(
        "involuntary_switches_per_s",
        "1/s",
        _MODEL,
        "proof",
        None,
        "context switches of threads that something else displaced / elapsed time of the stretch",
        "How disturbed the machine was, and how threads beyond its processors take turns",
        "software",
    ),
    Metric(
        "kernel_share",
        "share",
        _MODEL,
        "share",
        "lower",
        "kernel time / CPU time of the threads over the stretch, in ticks of the kernel",
        "The share of the CPU's time that goes to the kernel's queue",
        "software",
    ),
    Metric(
        "on_cpu_share",
        "share",
        _MODEL,
        "proof",
        None,
        "CPU time of all threads / their elapsed time, over the stretch",
        "How much of the stretch the threads really ran; the rest they waited or were displaced",
        "clock",
    ),
    Metric(
        "overlap_share",
        "share",
        _MODEL,
        "proof",
        None,
        "windows with a common start, no involuntary switch and no gap above the limit in any "
        "thread / windows tried",
        "The proof that the threads ran at the same time",
        "clock",
    ),
)
