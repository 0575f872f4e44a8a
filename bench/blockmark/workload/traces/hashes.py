"""From the hash ids of a trace to chains of blocks of any size.

A prefix cache may share a block only if everything before it is the same too. Some
traces have ids that say so (Mooncake), some have ids of single blocks (Bailian), and a
file may break its own rule. So ids are chained here, always: the id of a block is a
hash of its own id and the id of the block before. It is Python's hash of two integers,
61 bits of which are of use: among 10 million distinct blocks two are taken for one
with a chance of about 2 in 100,000.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from blockmark.workload.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .request import Request


def block_hashes(request: Request, block_size: int) -> list[int]:
    """An id for each full block of `block_size` tokens of the prompt, in order.

    Equal ids mean an equal whole prefix, between requests of one trace and in one
    process. An id of the trace that stands for several blocks is split (512 tokens are
    32 blocks of 16), several ids are merged into one block where blocks are larger. The
    list is shorter than `prompt_tokens // block_size` where the trace has fewer ids, and
    empty where it has none. Raises ConfigError unless one of the two sizes is a multiple
    of the other.
    """
    if not request.hash_block:
        return []
    split, merged = split_or_merge(request.hash_block, block_size)
    chain = chained(request.hash_ids)
    full = min(request.prompt_tokens // block_size, len(chain) * split // merged)
    if merged > 1:
        return chain[merged - 1 :: merged][:full]
    return [chain[block // split] * split + block % split for block in range(full)]


def split_or_merge(hash_block: int, block_size: int) -> tuple[int, int]:
    """(blocks in one id, ids in one block), one of which is 1. Raises ConfigError."""
    if block_size >= 1:
        if hash_block % block_size == 0:
            return hash_block // block_size, 1
        if block_size % hash_block == 0:
            return 1, block_size // hash_block
    raise ConfigError(
        f"block_size = {block_size} does not go with the trace, whose hash ids stand for "
        f"{hash_block} tokens each; take a divisor or a multiple of {hash_block}"
    )


def chained(ids: Iterable[int]) -> list[int]:
    """One integer for each id, which stands for it and all ids before it."""
    return list(accumulate(ids, _link, initial=0))[1:]


def _link(before: int, own: int) -> int:
    return hash((before, own))
