"""Load on an engine in Python: coroutines of one loop, or threads, that allocate and release.

CPU time is the process's, not the wall's: on a shared machine the same loop reads three
times as long by the wall. Times are the least of several blocks, counts come from a pass of
their own with locks that count.
"""

from __future__ import annotations

import asyncio
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Load:
    """`workers` coroutines or threads; a request has `tokens` tokens, of which the first
    `prompt_tokens` are a prompt that all share (0 where the engine shares none). A thread is
    busy for `think_ns` while it holds its blocks.
    """

    workers: int
    tokens: int
    prompt_tokens: int = 0
    think_ns: int = 0


@dataclass(slots=True)
class Tally:
    """What one pass did: pairs of allocate and release, and requests refused."""

    pairs: int = 0
    refused: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    user_ns: int = 0
    kernel_ns: int = 0
    voluntary: int = 0
    involuntary: int = 0


def run_coroutines(engine: Any, load: Load, each: int, latency: Any = None) -> Tally:
    """Each coroutine makes `each` requests, one after the other, and holds each across one
    turn of the loop, so that all are live at once. `latency` takes the time of each allocate.
    """
    tally = Tally()
    prompt = (1, load.prompt_tokens) if load.prompt_tokens else ()

    async def worker(request: int) -> None:
        for _ in range(each):
            if latency is None:
                blocks = await engine.allocate(request, load.tokens, *prompt)
            else:
                start = time.perf_counter_ns()
                blocks = await engine.allocate(request, load.tokens, *prompt)
                latency.record(time.perf_counter_ns() - start)
            await asyncio.sleep(0)
            if blocks is None:
                tally.refused += 1
                continue
            await engine.release(request)
            tally.pairs += 1

    async def everybody() -> None:
        workers = [asyncio.ensure_future(worker(number)) for number in range(load.workers)]
        await asyncio.gather(*workers)

    with _Books(tally):
        asyncio.run(everybody())
    return tally


def run_threads(engine: Any, load: Load, each: int, latencies: list[Any] | None = None) -> Tally:
    """The same with threads; `latencies` has a histogram a thread."""
    tallies = [Tally() for _ in range(load.workers)]
    total = Tally()
    gate = threading.Barrier(load.workers + 1)

    def worker(request: int) -> None:
        mine = tallies[request]
        latency = latencies[request] if latencies else None
        gate.wait()
        for _ in range(each):
            if latency is None:
                blocks = engine.allocate_now(request, load.tokens)
            else:
                start = time.perf_counter_ns()
                blocks = engine.allocate_now(request, load.tokens)
                latency.record(time.perf_counter_ns() - start)
            if blocks is None:
                mine.refused += 1
                continue
            if load.think_ns:
                until = time.perf_counter_ns() + load.think_ns
                while time.perf_counter_ns() < until:
                    pass
            engine.release_now(request)
            mine.pairs += 1

    threads = [threading.Thread(target=worker, args=(n,)) for n in range(load.workers)]
    for thread in threads:
        thread.start()
    with _Books(total):
        gate.wait()
        for thread in threads:
            thread.join()
    total.pairs = sum(one.pairs for one in tallies)
    total.refused = sum(one.refused for one in tallies)
    return total


def run_paced(engine: Any, load: Load, rate: float, seconds: float, latency: Any) -> Tally:
    """`rate` requests a second by the clock, whichever coroutine comes first: a loop that
    reads the clock between them. `cpu_ns` is the time inside the engine.
    """
    tally = Tally()
    prompt = (1, load.prompt_tokens) if load.prompt_tokens else ()

    async def drive() -> None:
        start = time.perf_counter_ns()
        for number in range(max(1, int(rate * seconds))):
            intended = start + int(number * 1e9 / rate)
            while (began := time.perf_counter_ns()) < intended:
                pass
            blocks = await engine.allocate(number, load.tokens, *prompt)
            done = time.perf_counter_ns()
            latency.record(done - intended)
            if blocks is not None:
                await engine.release(number)
                tally.pairs += 1
            else:
                tally.refused += 1
            tally.cpu_ns += time.perf_counter_ns() - began
        tally.wall_ns = time.perf_counter_ns() - start

    asyncio.run(drive())
    return tally


def pairs_each(workers: int, wanted: int) -> int:
    """Requests of each worker, so that all together make about `wanted`; two at least."""
    return max(2, wanted // workers)


class _Books:
    """CPU, wall time and switches of the process while it is entered."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def __enter__(self) -> None:
        self._usage = resource.getrusage(resource.RUSAGE_SELF)
        self._cpu, self._wall = time.process_time_ns(), time.perf_counter_ns()

    def __exit__(self, *_: object) -> None:
        tally = self._tally
        tally.wall_ns = time.perf_counter_ns() - self._wall
        tally.cpu_ns = time.process_time_ns() - self._cpu
        usage = resource.getrusage(resource.RUSAGE_SELF)
        tally.user_ns = int((usage.ru_utime - self._usage.ru_utime) * 1e9)
        tally.kernel_ns = int((usage.ru_stime - self._usage.ru_stime) * 1e9)
        tally.voluntary = usage.ru_nvcsw - self._usage.ru_nvcsw
        tally.involuntary = usage.ru_nivcsw - self._usage.ru_nivcsw


def repeat(blocks: int, one: Callable[[], Tally]) -> list[Tally]:
    """Several blocks of the same, without those in which nothing was served."""
    return [tally for tally in (one() for _ in range(blocks)) if tally.pairs]
