"""Keys of the workloads whose Programs every manager replays."""

from __future__ import annotations

from .key import Key

DEFAULT_MODELS = ("step", "pack", "lookup", "alloc_free", "fork", "pool")
# Measured only where they are asked for: a paced loop takes real seconds, the free blocks by
# number are a question about pools, and rows that grow one about engines' tables.
MODELS = (*DEFAULT_MODELS, "pack_step", "free_space", "rate")
REPLAYED = (
    "decode",
    "beam",
    "parallel-sampling",
    "speculative",
    "sliding-window",
    "serving",
    "recorded",
)
MAX_BLOCKS = 2**31 - 1
_MAX_TOKENS = 1 << 31
_STEADY = tuple(name for name in REPLAYED if name not in ("serving", "recorded"))
_SERVING = ("serving",)
_RATE = ("rate",)
_POOL = ("pool", "free_space")
_FREE_SPACE = ("free_space",)

# fmt: off
ROWS = (
    Key("models",                 DEFAULT_MODELS, "which costs are measured", choices=MODELS, many=True),
    Key("total_blocks",           65536,          "physical blocks in the pool", "blocks", 2, MAX_BLOCKS),
    Key("block_size",             16,             "tokens in a block", "tokens", 1, 65536),
    Key("max_blocks_per_seq",     256,            "columns of a block table", "blocks", 1, 1 << 22),
    Key("id_bits",                16,             "bits of a stored block id", "bits", choices=(16, 32, 64)),
    Key("concurrency",            256,            "running requests", "requests", 1, 1 << 20),
    Key("step_rate",              2000,           "scheduler iterations a second", "1/s", 1e-3, 1e7, fraction=True),
    Key("occupancy",              0.75,           "share of the pool in use", low=0.01, high=1.0, fraction=True, workloads=_STEADY),
    Key("prompt_tokens",          None,           "tokens that a request starts with", "tokens", 1, _MAX_TOKENS, spread=True),
    Key("output_tokens",          None,           "tokens that a request generates", "tokens", 1, _MAX_TOKENS, spread=True),
    Key("beam_width",             4,              "beams of a request", "beams", 1, 64, workloads=("beam",)),
    Key("beam_survival",          "mixed",        "which beams live on: few die, one takes over, or both in turn", choices=("steady", "dominant", "mixed"), workloads=("beam",)),
    Key("parallel_samples",       4,              "continuations of one prompt", "samples", 1, 64, workloads=("parallel-sampling",)),
    Key("lookahead_tokens",       4,              "tokens drafted ahead of each step", "tokens", 1, 64, workloads=("speculative",)),
    Key("acceptance_rate",        0.7,            "chance that a drafted token is accepted, if those before it were", low=0.0, high=1.0, fraction=True, workloads=("speculative",)),
    Key("window_tokens",          1024,           "tokens that attention looks back on", "tokens", 1, _MAX_TOKENS, workloads=("sliding-window",)),
    Key("model_shape",            "llama-3-8b",   "model whose blocks are copied: a name, or LAYERSxKV_HEADSxHEAD_SIZExBYTES", text=True, workloads=("beam", "parallel-sampling", "serving")),
    Key("requests",               1000,           "requests that arrive", "", 1, 1 << 24, workloads=_SERVING),
    Key("arrival_rate",           20.0,           "requests that arrive in a second", "1/s", 1e-6, 1e9, fraction=True, workloads=_SERVING),
    Key("arrival_cv",             1.0,            "coefficient of variation of the gaps; 1 is a Poisson process", low=0.0, high=100.0, fraction=True, workloads=_SERVING),
    Key("priority_levels",        1,              "classes of requests", "", 1, 64, workloads=_SERVING),
    Key("step_token_budget",      2048,           "tokens scheduled in a step, at most", "tokens", 1, _MAX_TOKENS, workloads=_SERVING),
    Key("prefill_chunk",          512,            "tokens of one prompt in a step, at most", "tokens", 1, _MAX_TOKENS, workloads=_SERVING),
    Key("queue_limit",            1 << 20,        "waiting requests, at most; further ones are rejected", "requests", 1, 1 << 24, workloads=_SERVING),
    Key("preemption",             "recompute",    "what happens to a request whose blocks are taken away", choices=("recompute", "swap"), workloads=_SERVING),
    Key("host_blocks",            0,              "blocks of the swap space", "blocks", 0, 1 << 31, workloads=_SERVING),
    Key("prefix_cache",           "off",          "whether finished prompts stay for others to share", choices=("on", "off"), workloads=_SERVING),
    Key("shared_prefix_tokens",   0,              "tokens of a system prompt", "tokens", 0, _MAX_TOKENS, workloads=_SERVING),
    Key("shared_prefix_fraction", 1.0,            "share of requests that begin with it", low=0.0, high=1.0, fraction=True, workloads=_SERVING),
    Key("program",                "",             "file of a recorded program", text=True, workloads=("recorded",)),
    Key("trace",                  "",             "file of a serving trace; empty: made up", text=True, workloads=_SERVING),
    Key("trace_format",           "auto",         "format of the trace", choices=("auto", "azure", "burstgpt", "mooncake", "bailian", "vidur", "lengths"), workloads=_SERVING),
    Key("trace_speedup",          1.0,            "how much faster requests arrive than in the trace", low=1e-6, high=1e9, fraction=True, workloads=_SERVING),
    Key("trace_limit",            0,              "requests taken from the trace, at most; 0 = all", "requests", 0, 1 << 31, workloads=_SERVING),
    Key("trace_window",           "",             "part of the trace, START:END in seconds; empty: all of it", text=True, workloads=_SERVING),
    Key("heap",                   "aged",         "history of the C and Python heaps", choices=("fresh", "aged")),
    Key("pool",                   "shuffled",     "order of the free ids", choices=("fresh", "burst", "shuffled")),
    Key("cache",                  "hot",          "what the caches hold", choices=("hot", "l2-cold", "llc-cold")),
    Key("cache_bytes",            0,              "bytes streamed to make a cache cold; 0 = chosen from the machine", "bytes", 0, 1 << 34),
    Key("gc",                     "off",          "Python's collector while timing", choices=("on", "off", "freeze")),
    Key("call_style",             "auto",         "who loops: the native core, or Python once per operation or step", choices=("auto", "native", "per-op", "per-step")),
    Key("pacing",                 "spin",         "how a paced loop waits: asleep, reading the clock, or asleep until just before", choices=("sleep", "hybrid", "spin"), models=_RATE),
    Key("rate_seconds",           0.5,            "length of a paced loop; a round has about three", "s", 0.05, 3600, fraction=True, models=_RATE),
    Key("between",                "idle",         "what the rest of the engine does between paced steps", choices=("idle", "stream", "objects"), models=_RATE),
    Key("between_bytes",          1 << 22,        "bytes streamed where between = stream; at most what a quarter of the interval allows", "bytes", 64, 1 << 34, models=_RATE),
    Key("batch",                  8,              "blocks a call of the model pool", "blocks", 1, 1 << 20),
    # Left out of cells that do not set it, so that those of older runs keep their names.
    Key("pool_occupancy",         None,           "share of a pool alone that others hold; half of it where this is not set", low=0.0, high=1.0, fraction=True, models=_POOL),
    Key("contiguous",             16,             "free blocks side by side that are looked for", "blocks", 1, MAX_BLOCKS, models=_FREE_SPACE),
    Key("compact_share",          1.0,            "share of the free blocks that a compaction gathers at the top of the pool", low=0.0, high=1.0, fraction=True, models=_FREE_SPACE),
    Key("seed",                   1,              "seed of every random choice", "", 0, 2**32 - 1),
)
# fmt: on
