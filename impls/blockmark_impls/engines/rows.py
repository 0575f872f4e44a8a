"""Every engine that can be driven, and its implementations, in the order of tables.

Nothing is imported here but what says what they are; a distribution is looked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contract import Profile
from ..registry import Implementation, row
from ..sources import CallStyle, Parameter, TargetError
from .source import Engine, EngineSource

if TYPE_CHECKING:
    from ..contract import PoolConfig, ReuseOrder
    from ..sources import Parameters
    from .source import Proof

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
class ListDutiesSource:
    """The rung below an engine's pool: its duties in plain lists and dicts."""

    default_style: CallStyle = "per-op"
    call_styles: tuple[CallStyle, ...] = ("per-op",)
    reuse_order: ReuseOrder = "LIFO"
    models: frozenset[str] = _POOL
    known_parameters: tuple[Parameter, ...] = ()
    unavailable: str | None = None
    missing_operations: tuple[str, ...] = ()
    proof: Proof = "hand-outs"

    def load(self) -> None:
        """Nothing that could be missing."""

    def profile(self, id_bits: int) -> Profile:
        return Profile(prefix_cache=True, id_type="int object")

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        raise TargetError("list-duties is a pool alone; it has no tables")

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters | None = None) -> Any:
        from ..python.list_duties import ListDutiesPool

        return ListDutiesPool(total_blocks)


def _row(name: str, source: EngineSource, words: str) -> tuple[str, Implementation]:
    return row(name, source, f"{words}; {source.includes}")


ROWS = [
    row(
        "list-duties/py",
        ListDutiesSource(),
        "pool alone: an engine's duties (ref counts, prefix cache, eviction) in lists and dicts",
    ),
    _row(
        "vllm-pool/py",
        EngineSource(
            VLLM,
            "vllm_pool:VllmPool",
            "pool",
            "a take sets ref counts",
            Profile(id_type="object"),
            _POOL,
            reuse_order="LIFO",
            proof="hand-outs",
            options={"caching": False},
        ),
        "Python: block pool alone, an object a block in a linked list, caching off",
    ),
    _row(
        "vllm-pool-caching/py",
        EngineSource(
            VLLM,
            "vllm_pool:VllmPool",
            "pool",
            "a take sets ref counts and looks each block up in the prefix cache (none is in it)",
            Profile(prefix_cache=True, id_type="object"),
            _POOL,
            reuse_order="LIFO",
            proof="hand-outs",
            options={"caching": True},
        ),
        "Python: block pool alone, an object a block in a linked list, caching on",
    ),
    _row(
        "vllm-manager/py",
        EngineSource(
            VLLM,
            "vllm_manager:VllmManager",
            "manager",
            "allocate_slots with a request object; tables are lists of block objects",
            Profile(id_type="object"),
            _MANAGER,
            reuse_order="LIFO",
            options={"caching": False},
            missing_operations=("truncate", "drop_front", "fork", "write_block_tables"),
        ),
        "Python: KV cache manager, caching off",
    ),
    _row(
        "vllm-manager-caching/py",
        EngineSource(
            VLLM,
            "vllm_manager:VllmManager",
            "manager",
            "as vllm-manager/py, with the cache's bookkeeping, but without hashes to find",
            Profile(prefix_cache=True, id_type="object"),
            _MANAGER,
            reuse_order="LIFO",
            options={"caching": True},
            missing_operations=("truncate", "drop_front", "fork", "write_block_tables"),
        ),
        "Python: KV cache manager, caching on",
    ),
    _row(
        "vllm-table/py",
        EngineSource(
            VLLM,
            "vllm_table:VllmTable",
            "manager",
            "rows rebuilt from lists (rows=full) or appended to (rows=incremental), then committed",
            Profile(id_type="int32"),
            _PACK,
            reuse_order="LIFO",
            known_parameters=(Parameter("rows", words=("full", "incremental")),),
        ),
        "Python: the worker's block table; lists and free blocks are vector/py's",
    ),
    _row(
        "sglang-token/py",
        EngineSource(
            SGLANG,
            "sglang:SglangToken",
            "pool",
            "no ref counts; a return concatenates the whole free list",
            Profile(ref_counts=False, id_type="int64", id_unit="token"),
            _POOL,
            reuse_order="FIFO",
            proof="hand-outs",
        ),
        "Python: token allocator alone, a torch tensor of free slots",
    ),
    _row(
        "sglang-paged/py",
        EngineSource(
            SGLANG,
            "sglang:SglangPaged",
            "pool",
            "no ref counts; a take makes all 16 slots of each page, a return copies the free list",
            Profile(ref_counts=False, id_type="int64", id_unit="token"),
            _POOL,
            reuse_order="LIFO",
            proof="hand-outs",
        ),
        "Python: paged allocator alone, a torch tensor of free pages",
    ),
    _row(
        "lmdeploy/numpy",
        EngineSource(
            LMDEPLOY,
            "lmdeploy:LmdeployAllocator",
            "pool",
            "a take maps logical to physical blocks, sets ref counts and times of use",
            Profile(id_type="int64"),
            _POOL,
            reuse_order="LIFO",
            proof="hand-outs",
        ),
        "Python: logical allocator alone, NumPy free stacks",
    ),
    _row(
        "tokenspeed/cpp",
        EngineSource(
            TOKENSPEED,
            "tokenspeed:TokenSpeed",
            "manager",
            "a step is a whole scheduler step, tables packed",
            Profile(prefix_cache=True, id_type="int32", schedules=True),
            _STEP,
            proof="invariants",
            default_style="per-step",
            call_styles=("per-step",),
            missing_operations=("append_slot", "extend", "truncate", "drop_front"),
        ),
        "C++ called from Python: decides for itself",
    ),
]
