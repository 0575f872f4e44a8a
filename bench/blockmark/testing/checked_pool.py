"""A free pool that is watched while it is used."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from blockmark_impls.contract import OutOfBlocks

from .violation import ContractViolation, Fault


class CheckedPool:
    """`pool` with every call checked: the pool's part, and the caller's.

    What the pool has besides `take`, `give`, `remove` and `num_free` is passed on as it is.
    Every method raises ContractViolation; what the pool raises comes through.
    """

    def __init__(self, pool: Any, total_blocks: int) -> None:
        self._pool = pool
        self._total = total_blocks
        self._usable = getattr(pool, "usable_blocks", total_blocks)
        self._out: set[int] = set()
        self._check_free("a new pool")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return int(self._pool.num_free)

    def take(self, k: int) -> Sequence[int]:
        """Take `k` blocks. Raises OutOfBlocks."""
        call, free = f"take({k})", self._usable - len(self._out)
        try:
            answer: Sequence[int] = self._pool.take(k)
        except Exception as error:
            if self._pool.num_free != free:
                text = f"{type(error).__name__} left {self._pool.num_free} blocks free, not {free}"
                raise ContractViolation("error changed state", call, text) from error
            if isinstance(error, OutOfBlocks) and k <= free:
                text = f"OutOfBlocks where {free} blocks are free"
                raise ContractViolation("exhaustion", call, text) from error
            raise
        ids = [index(block) for block in answer]
        if len(ids) != k:
            raise ContractViolation("exhaustion", call, f"returned {len(ids)} blocks")
        for block in ids:
            self._check_inside(block, call)
            if block in self._out:
                raise ContractViolation("block live twice", call, f"block {block} is out already")
            self._out.add(block)
        self._check_free(call)
        return answer

    def give(self, ids: Sequence[int]) -> None:
        """Give blocks back. One that is not out is the caller's fault, found before the call."""
        blocks = [index(block) for block in ids]
        call = f"give({blocks})"
        out = set(self._out)
        for block in blocks:
            self._check_inside(block, call)
            if block not in out:
                raise ContractViolation("double free", call, f"block {block} is not out")
            out.remove(block)
        self._pool.give(ids)
        self._out = out
        self._check_free(call)

    def remove(self, block: int) -> None:
        """Take one free block out of the middle. Of one that is out it is a use after free."""
        call = f"remove({block})"
        self._check_inside(block, call)
        if block in self._out:
            raise ContractViolation("use after free", call, f"block {block} is not free")
        self._pool.remove(block)
        self._out.add(block)
        self._check_free(call)

    def check_empty(self) -> None:
        """That every block has come back: for the end of a test."""
        if self._out:
            out = ", ".join(map(str, sorted(self._out)[:8]))
            text = f"{len(self._out)} blocks were not given back: {out}"
            raise ContractViolation("leak", "check_empty()", text)
        self._check_free("check_empty()")

    def _check_inside(self, block: int, call: str) -> None:
        if not 0 <= block < self._total:
            text = f"block {block} is none of the {self._total}"
            raise ContractViolation("id outside the pool", call, text)

    def _check_free(self, call: str) -> None:
        free, wanted = self._pool.num_free, self._usable - len(self._out)
        if free != wanted:
            fault: Fault = "leak" if free < wanted else "double free"
            raise ContractViolation(fault, call, f"{free} blocks are free; it should be {wanted}")
