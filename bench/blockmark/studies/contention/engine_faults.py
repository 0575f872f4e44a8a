"""Known faults of a Python engine, each shown on a fresh one.

An engine is right if it has the faults that its class names in `known_faults` and no other:
a fault that is not there any more would make the list wrong, and one that is not listed the
engine.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

_BLOCKS, _SIZE = 64, 16


async def _duplicate(engine: Any) -> bool:
    await engine.allocate(1, 3 * _SIZE)
    await engine.allocate(1, 2 * _SIZE)
    await engine.release(1)
    with suppress(Exception):  # one that refuses an unknown release may leak all the same
        await engine.release(1)
    return len(engine.free) < _BLOCKS


async def _empty(engine: Any) -> bool:
    answers = [await engine.allocate(1, 0), await engine.allocate(2, -5 * _SIZE)]
    return answers == [[], []] and 1 in engine.tables


async def _unknown(engine: Any) -> bool:
    await engine.release(77)
    return True


async def _no_growth(engine: Any) -> bool:
    return not any(hasattr(engine, name) for name in ("extend", "append_slot", "grow"))


async def _prompts_stay(engine: Any) -> bool:
    if not hasattr(engine, "take_shared"):
        return False
    await engine.allocate(1, 4 * _SIZE, 9, 3 * _SIZE)
    await engine.release(1)
    # Nobody runs any more, and yet not all of the pool can be had.
    return await engine.allocate(2, _BLOCKS * _SIZE) is None


_PROBES: dict[str, Callable[[Any], Awaitable[bool]]] = {
    "duplicate-request-leaks": _duplicate,
    "empty-length-accepted": _empty,
    "unknown-release-silent": _unknown,
    "no-growth": _no_growth,
    "prompts-never-dropped": _prompts_stay,
}


def faults_of(make: Callable[[int, int], Any]) -> list[str]:
    """The names of all faults that engines of `make(total_blocks, block_size)` show.

    An engine that refuses what a probe asks for does not have that fault.
    """

    async def probe() -> list[str]:
        found = []
        for name, shows in _PROBES.items():
            with suppress(Exception):
                if await shows(make(_BLOCKS, _SIZE)):
                    found.append(name)
        return found

    return asyncio.run(probe())


def check_engine(
    make: Callable[[int, int], Any], *, coroutines: int, rounds: int, seed: int
) -> tuple[str, int]:
    """Random requests of several coroutines: no block held twice, none lost, the pool's order.

    Returns what is wrong first, or nothing, and the number of operations.
    """
    engine = make(_BLOCKS, _SIZE)
    holds: dict[int, int] = {}
    problems: list[str] = []
    operations = 0

    async def worker(request: int) -> None:
        nonlocal operations
        random_ = random.Random(f"{seed}/{request}")
        for _ in range(rounds):
            wanted = random_.randint(1, 2 * _BLOCKS // coroutines + 1)
            blocks = await engine.allocate(request, wanted * _SIZE - random_.randrange(_SIZE))
            operations += 1
            if blocks is None:
                await asyncio.sleep(0)
                continue
            if len(blocks) != wanted:
                problems.append(f"{wanted} blocks were asked for, {len(blocks)} came")
            problems.extend(
                f"block {block} was handed out twice"
                for block in blocks
                if holds.setdefault(block, request) != request
            )
            for _ in range(random_.randrange(3)):
                await asyncio.sleep(0)
            for block in blocks:
                holds.pop(block, None)
            await engine.release(request)
            operations += 1

    async def everybody() -> None:
        await asyncio.gather(*(worker(number) for number in range(coroutines)))

    asyncio.run(everybody())
    if not problems and sorted(engine.free) != list(range(_BLOCKS)):
        problems.append(f"{_BLOCKS - len(set(engine.free))} blocks were lost")
    return (problems[0] if problems else ""), operations


def check_prompt(make: Callable[[int, int], Any]) -> str:
    """Whether two requests of one prompt share its full blocks; what is wrong, or nothing."""

    async def run() -> str:
        engine = make(_BLOCKS, _SIZE)
        # A prompt of two and a half blocks: the half one can't be shared.
        first = await engine.allocate(1, 4 * _SIZE, 5, 2 * _SIZE + _SIZE // 2)
        second = await engine.allocate(2, 3 * _SIZE, 5, 2 * _SIZE + _SIZE // 2)
        if first[:2] != second[:2] or set(first[2:]) & set(second[2:]):
            return f"the prompt's two full blocks are not what is shared: {first}, {second}"
        if [engine.ref_counts[block] for block in second] != [3, 3, 1]:
            return "a shared block does not count its two requests and the prompt"
        await engine.release(1)
        await engine.release(2)
        if len(engine.free) != _BLOCKS - 2:
            return f"{len(engine.free)} blocks are free after both requests, not {_BLOCKS - 2}"
        return ""

    return asyncio.run(run())
