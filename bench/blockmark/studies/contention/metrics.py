"""What threads and coroutines that share a pool cost each other."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "contention"
# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("pair_ns",                     "pair",      "ns",     _MODEL, "cost",         "lower",  "clock",    "median over windows in which all threads ran of (time of all threads / pairs), think time included; where threads exceed processors, of the whole stretch", "Taking a batch and giving it back, as one thread sees it while the others do the same"),
    Metric("pairs_per_s",                 "pairs",     "1/s",    _MODEL, "rate",         "higher", "clock",    "median over windows in which all threads ran of the sum of the threads' rates; where threads exceed processors and for coroutines, pairs / wall time", "Batches taken and given back in a second by all together; at a request rate, those served"),
    Metric("take_latency_ns",             "take, all", "ns",     _MODEL, "distribution", "lower",  "clock",    "every take, or every eighth where a pair is short, over one long stretch; at a request rate from the intended start; of coroutines from call to answer", "How long a caller waits for its blocks, with every disturbance of the machine in it; below 30 ns it is the clock"),
    Metric("take_latency_undisturbed_ns", "take",      "ns",     _MODEL, "distribution", "lower",  "clock",    "as take_latency_ns, over the windows in which all threads ran", "How long a caller waits because of the other threads alone"),
    Metric("cpu_ns_per_pair",             "CPU/pair",  "ns",     _MODEL, "cost",         "lower",  "clock",    "median over windows in which all threads ran of (CPU time of all threads / pairs), think time and spinning included; of Python the process's, the least of several blocks", "What a pair costs the machine, whoever waits for whom"),
    Metric("cpu_share_at_rate",           "of a core", "share",  _MODEL, "share",        "lower",  "clock",    "time inside take and give / elapsed time at the request rate, four looks at the clock a request included", "The share of one core that the pool takes at a stated request rate"),
    Metric("fairness",                    "fairness",  "share",  _MODEL, "share",        "higher", "clock",    "mean over windows of pairs of the slowest thread / pairs of the fastest", "Whether all threads get on alike: 1 if they do, 0 if one of them gets nothing"),
    Metric("waited_share",                "waited",    "share",  _MODEL, "share",        "lower",  "count",    "acquisitions that found the lock taken / acquisitions, counted in a pass of its own", "How often the lock was contended at all"),
    Metric("refused_share",               "refused",   "share",  _MODEL, "share",        "lower",  "count",    "takes that found too few free blocks / takes", "How often the pool, or what of it is in reach, was too small"),
    Metric("stranded_blocks",             "stranded",  "blocks", _MODEL, "count",        "lower",  "count",    "free blocks that one thread alone can take, when all threads have stopped", "Memory that a scheme keeps from the other threads"),
    Metric("voluntary_switches_per_s",    "sleeps",    "1/s",    _MODEL, "share",        "lower",  "software", "context switches of threads that waited / elapsed time, over windows in which all threads ran; at a request rate, of Python and of threads beyond the processors, of the stretch", "How often the kernel was asked to put a thread to sleep"),
    Metric("involuntary_switches_per_s",  "displaced", "1/s",    _MODEL, "proof",        None,     "software", "context switches of threads that something else displaced / elapsed time of the stretch", "How disturbed the machine was, and how threads beyond its processors take turns"),
    Metric("kernel_share",                "kernel",    "share",  _MODEL, "share",        "lower",  "software", "kernel time / CPU time of the threads over the stretch, in ticks of the kernel", "The share of the CPU's time that goes to the kernel's queue"),
    Metric("on_cpu_share",                "on CPU",    "share",  _MODEL, "proof",        None,     "clock",    "CPU time of all threads / their elapsed time, over the stretch", "How much of the stretch the threads really ran; the rest they waited or were displaced"),
    Metric("overlap_share",               "overlap",   "share",  _MODEL, "proof",        None,     "clock",    "windows with a common start, no involuntary switch and no gap above the limit in any thread / windows tried", "The proof that the threads ran at the same time"),
)
# fmt: on
