"""Every engine that can be driven, and its implementations, in the order of tables.

Nothing is imported here but what says what they are; a distribution is looked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contract import Profile, ReuseOrder
from ..entry import CallStyle, Entry, Facts, Parameter, Proof, member
from .engine import Engine

if TYPE_CHECKING:
    from ..contract import PoolConfig
    from ..entry import Parameters

VLLM = Engine(
    "vLLM",
    "vllm",
    "vllm",
    tried=("0.33.0",),
    install="pip install vllm==0.33.0",
    needs=("torch",),
)
SGLANG = Engine(
    "SGLang",
    "sglang",
    "sglang",
    tried=("0.5.23",),
    install="pip install sglang==0.5.23",
    needs=("torch",),
)
LMDEPLOY = Engine(
    "LMDeploy",
    "lmdeploy",
    "lmdeploy",
    tried=("0.18.0",),
    install="pip install lmdeploy==0.18.0",
    needs=("torch",),
)
TOKENSPEED = Engine(
    "TokenSpeed",
    "tokenspeed-scheduler",
    "tokenspeed_scheduler",
    tried=("0.1.42",),
    install="pip install 'blockmark[engines]'",
)
ENGINES = (VLLM, SGLANG, LMDEPLOY, TOKENSPEED)

_POOL = frozenset({"pool"})
_STEP = frozenset({"step"})
_PACK = frozenset({"pack", "pack_step"})
# A manager without forks and windows: what it lacks is said where it is asked for.
_MANAGER = frozenset({"alloc_free", "step", "lookup"})


@dataclass(frozen=True)
class EngineFacts(Facts):
    """`engine` is whose own code it is."""

    engine: Engine | None = None


def _pool(
    name: str,
    engine: Engine,
    adapter: str,
    profile: Profile,
    words: str,
    includes: str,
    *,
    order: ReuseOrder = "LIFO",
    **options: bool,
) -> Entry:
    """`Class(total_blocks, **options)`. `includes` says what a hand-out does besides."""

    def make_pool(parameters: Parameters, total_blocks: int, id_bits: int) -> Any:
        return engine.adapter(adapter)(total_blocks, **options)

    return Entry(
        name,
        "manager",
        f"{words}; {includes}",
        EngineFacts(_POOL, ("per-op",), order, profile, (), "hand-outs", engine),
        None,
        make_pool,
        "per-op",
        unavailable=lambda: engine.unavailable,
    )


def _manager(
    name: str,
    engine: Engine,
    adapter: str,
    profile: Profile,
    words: str,
    includes: str,
    *,
    models: frozenset[str] = _MANAGER,
    missing: tuple[str, ...] = (),
    order: ReuseOrder = "LIFO",
    proof: Proof = "contract",
    call_style: CallStyle = "per-op",
    takes: tuple[Parameter, ...] = (),
    **options: bool,
) -> Entry:
    """`Class(config, **options)`, and what it `takes` in brackets. `includes` as for a pool."""

    def make(parameters: Parameters, config: PoolConfig) -> Any:
        own = {key: value for key, value in parameters.items() if key != "call_style"}
        return engine.adapter(adapter)(config, **options, **own)

    return Entry(
        name,
        "manager",
        f"{words}; {includes}",
        EngineFacts(models, (call_style,), order, profile, missing, proof, engine),
        make,
        None,
        call_style,
        takes,
        lambda: engine.unavailable,
    )


_WITHOUT = ("truncate", "drop_front", "fork", "write_block_tables")
_SLOTS = Profile(ref_counts=False, id_type="int64", id_unit="token")

ROWS = (
    Entry(
        "list-duties/py",
        "manager",
        "pool alone: an engine's duties (ref counts, prefix cache, eviction) in lists and dicts",
        # The rung below an engine's pool.
        Facts(
            _POOL,
            ("per-op",),
            "LIFO",
            Profile(prefix_cache=True, id_type="int object"),
            proof="hand-outs",
        ),
        None,
        lambda parameters, total_blocks, id_bits: member("python.list_duties:ListDutiesPool")(
            total_blocks
        ),
        "per-op",
    ),
    _pool(
        "vllm-pool/py",
        VLLM,
        "vllm_pool:VllmPool",
        Profile(id_type="object"),
        "Python: block pool alone, an object a block in a linked list, caching off",
        "a take sets ref counts",
        caching=False,
    ),
    _pool(
        "vllm-pool-caching/py",
        VLLM,
        "vllm_pool:VllmPool",
        Profile(prefix_cache=True, id_type="object"),
        "Python: block pool alone, an object a block in a linked list, caching on",
        "a take sets ref counts and looks each block up in the prefix cache (none is in it)",
        caching=True,
    ),
    _manager(
        "vllm-manager/py",
        VLLM,
        "vllm_manager:VllmManager",
        Profile(id_type="object"),
        "Python: KV cache manager, caching off",
        "allocate_slots with a request object; tables are lists of block objects",
        missing=_WITHOUT,
        caching=False,
    ),
    _manager(
        "vllm-manager-caching/py",
        VLLM,
        "vllm_manager:VllmManager",
        Profile(prefix_cache=True, id_type="object"),
        "Python: KV cache manager, caching on",
        "as vllm-manager/py, with the cache's bookkeeping, but without hashes to find",
        missing=_WITHOUT,
        caching=True,
    ),
    _manager(
        "vllm-table/py",
        VLLM,
        "vllm_table:VllmTable",
        Profile(id_type="int32"),
        "Python: the worker's block table; lists and free blocks are vector/py's",
        "rows rebuilt from lists (rows=full) or appended to (rows=incremental), then committed",
        models=_PACK,
        takes=(Parameter("rows", words=("full", "incremental")),),
    ),
    _pool(
        "sglang-token/py",
        SGLANG,
        "sglang:SglangToken",
        _SLOTS,
        "Python: token allocator alone, a torch tensor of free slots",
        "no ref counts; a return concatenates the whole free list",
        order="FIFO",
    ),
    _pool(
        "sglang-paged/py",
        SGLANG,
        "sglang:SglangPaged",
        _SLOTS,
        "Python: paged allocator alone, a torch tensor of free pages",
        "no ref counts; a take makes all 16 slots of each page, a return copies the free list",
    ),
    _pool(
        "lmdeploy/numpy",
        LMDEPLOY,
        "lmdeploy:LmdeployAllocator",
        Profile(id_type="int64"),
        "Python: logical allocator alone, NumPy free stacks",
        "a take maps logical to physical blocks, sets ref counts and times of use",
    ),
    _manager(
        "tokenspeed/cpp",
        TOKENSPEED,
        "tokenspeed:TokenSpeed",
        Profile(prefix_cache=True, id_type="int32", schedules=True),
        "C++ called from Python: decides for itself",
        "a step is a whole scheduler step, tables packed",
        models=_STEP,
        missing=("append_slot", "extend", "truncate", "drop_front"),
        order="unspecified",
        proof="invariants",
        call_style="per-step",
    ),
)
