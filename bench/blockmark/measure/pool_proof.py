"""The proof of a pool alone: random takes and gives, against the set of blocks in use."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import OutOfBlocks

from .reuse import ReuseOrderChecker
from .verify import WrongAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLS = 200


def prove_pool(make: Callable[[int], Any], order: str, rng: random.Random) -> int:
    """Replay random calls on a pool of a random size. Returns how many there were.

    Blocks must be whole numbers of the pool that nobody else has, as many as were asked
    for; one take too large must raise OutOfBlocks and take nothing. Raises WrongAnswer.
    """
    total = rng.randint(1, 40)
    pool = make(total)
    reuse = ReuseOrderChecker(order, total)
    held: list[int] = []
    for call in range(_CALLS):
        free = total - len(held)
        k = rng.randint(0, min(free, 6))

        def wrong(said: str, call: int = call) -> WrongAnswer:
            return WrongAnswer(f"pool of {total} blocks, call {call}: {said}")

        if rng.random() < 0.1:
            _refuses(pool, free + 1, wrong)
        elif rng.random() < 0.5:
            ids = _taken(pool.take(k), k, wrong)
            for block in ids:
                if not 0 <= block < total:
                    raise wrong(f"take({k}) gave block {block}, which the pool does not have")
                if block in held:
                    raise wrong(f"take({k}) gave block {block}, which is in use")
                held.append(block)
            reuse.taken(ids, wrong)
        else:
            rng.shuffle(held)
            given, held = held[:k], held[k:]
            pool.give(given)
            reuse.given(given)
        if pool.num_free != total - len(held):
            raise wrong(f"num_free is {pool.num_free!r}; it should be {total - len(held)}")
    return _CALLS


def _taken(answer: Any, k: int, wrong: Callable[[str], WrongAnswer]) -> list[int]:
    try:
        ids = [block.__index__() for block in answer]
    except (TypeError, AttributeError):
        raise wrong(f"take({k}) returned {answer!r}, not a list of blocks") from None
    if len(ids) != k:
        raise wrong(f"take({k}) returned {len(ids)} blocks")
    if len(set(ids)) != k:
        raise wrong(f"take({k}) gave a block twice: {ids}")
    return ids


def _refuses(pool: Any, k: int, wrong: Callable[[str], WrongAnswer]) -> None:
    try:
        pool.take(k)
    except OutOfBlocks:
        return
    except Exception as error:
        raise wrong(
            f"take({k}), of more than are free, raised {type(error).__name__}, not OutOfBlocks"
        ) from None
    raise wrong(f"take({k}), of more than are free, raised nothing; it must raise OutOfBlocks")
