"""The proof of `blockmark verify` as a test: managers of all sizes, used for long, two at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from blockmark.measure.proof.effort import DEFAULT, QUICK, Effort
from blockmark.measure.proof.prove import prove
from blockmark_impls.contract import PoolConfig

EFFORTS: dict[str, Effort] = {"quick": QUICK, "default": DEFAULT}
# The size that is proved besides all others.
_CELL = PoolConfig(total_blocks=256, block_size=4, max_seqs=8, max_blocks_per_seq=16, id_bits=32)


@dataclass(frozen=True)
class Made:
    """What a user's class or function makes, as the proof asks for it."""

    name: str
    reuse_order: str
    make_manager: Callable[[PoolConfig], Any]
    make_pool: Callable[[int, int], Any]
    pool_alone: bool = False
    kind: str = "manager"


def proof_test(made: Made, effort: str, operations: Collection[str] | None = None) -> Any:
    """A test method that fails with the first difference and the calls that show it.

    `operations`: those that are called, all unless given. Raises ValueError for an effort
    that there is not.
    """
    if effort not in EFFORTS:
        raise ValueError(f'effort = "{effort}" is not one of {", ".join(EFFORTS)}')
    request = EFFORTS[effort].request(first=True)

    def test_as_verify(self: Any) -> None:
        __tracebackhide__ = True
        job = {**request, "seed": 1, "call_style": "per-op", "programs": [], "shrink": True}
        if operations is not None:
            job["only"] = sorted(operations)
        found = prove(made, _CELL, job)
        if found["status"] != "ok":
            raise AssertionError("\n".join([found["reason"], *found.get("shown_by", ())]))

    return test_as_verify
