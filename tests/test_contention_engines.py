"""The locked engine in Python: its algorithm, its known faults, and who waits at its lock."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from blockmark.measure.study import StudyTask
from blockmark.studies.contention.engine_faults import check_engine, check_prompt, faults_of
from blockmark.studies.contention.engine_load import Load, run_coroutines, run_threads
from blockmark.studies.contention.engine_round import waited_share
from blockmark_impls.contention.async_lock import AsyncLockEngine
from blockmark_impls.contention.async_lock_prefix import AsyncLockPrefixEngine
from blockmark_impls.contention.counted_lock import CountedAsyncLock, CountedThreadLock
from blockmark_impls.contention.dict_tables import KNOWN_FAULTS, DictTables
from blockmark_impls.contention.no_lock import NoLockEngine
from blockmark_impls.contention.thread_lock import ThreadLockEngine
from blockmark_impls.registry import resolve

ENGINES = [AsyncLockEngine, AsyncLockPrefixEngine, ThreadLockEngine, NoLockEngine]


def test_blocks_come_from_the_end_of_the_list_and_go_back_to_it() -> None:
    async def run() -> None:
        engine = AsyncLockEngine(10, 16)
        assert await engine.allocate(1, 33) == [9, 8, 7]  # 33 tokens in blocks of 16
        assert await engine.allocate(2, 16) == [6]
        assert await engine.allocate(3, 7 * 16) is None  # six are free
        assert 3 not in engine.tables
        await engine.release(1)
        assert engine.free == [0, 1, 2, 3, 4, 5, 9, 8, 7]
        assert await engine.allocate(4, 1) == [7]
        assert engine.ref_counts[7] == 1
        assert engine.ref_counts[9] == 0

    asyncio.run(run())


def test_a_live_request_id_leaks_the_blocks_of_the_first() -> None:
    tables = DictTables(10, 16)
    tables.take(1, 5 * 16)
    tables.take(1, 5 * 16)
    tables.give(1)
    tables.give(1)
    assert len(tables.free) == 5  # the other five are lost


def test_no_length_and_less_are_served_with_nothing() -> None:
    tables = DictTables(4, 16)
    assert tables.take(1, 0) == []
    assert tables.take(2, -100) == []
    assert list(tables.tables) == [1, 2]


def test_a_release_of_nobody_is_silent() -> None:
    DictTables(4, 16).give(99)


def test_nothing_grows_a_live_request() -> None:
    assert not {"append_slot", "extend", "grow"} & set(dir(AsyncLockEngine))


def test_prompts_share_their_full_blocks_and_stay() -> None:
    async def run() -> None:
        engine = AsyncLockPrefixEngine(10, 16)
        first = await engine.allocate(1, 64, prompt=7, prompt_tokens=40)
        second = await engine.allocate(2, 64, prompt=7, prompt_tokens=40)
        other = await engine.allocate(3, 32, prompt=8, prompt_tokens=40)
        assert first == [9, 8, 7, 6]
        assert second == [9, 8, 5, 4]  # two full blocks of 40 tokens; the third is half full
        assert other == [3, 2]
        assert [engine.ref_counts[block] for block in (9, 8, 7, 5)] == [3, 3, 1, 1]
        assert engine.hits == 1
        for request in (1, 2, 3):
            await engine.release(request)
        # Both prompts' blocks are kept: 9 and 8, and 3 and 2 (full blocks of 32 tokens).
        assert sorted(engine.free) == [0, 1, 4, 5, 6, 7]

    asyncio.run(run())


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_engines_are_right_and_show_exactly_the_faults_that_they_name(engine: Any) -> None:
    wrong, operations = check_engine(engine, coroutines=6, rounds=40, seed=3)
    assert (wrong, operations > 240) == ("", True)
    assert faults_of(engine) == list(engine.known_faults)


def test_a_prompt_that_is_not_shared_is_found() -> None:
    class Unshared(AsyncLockPrefixEngine):
        def take_shared(
            self, request: int, num_tokens: int, prompt: int, prompt_tokens: int
        ) -> list[int] | None:
            return self.take(request, num_tokens)

    assert check_prompt(AsyncLockPrefixEngine) == ""
    assert "not what is shared" in check_prompt(Unshared)


def test_a_block_that_is_kept_back_or_handed_out_twice_is_found() -> None:
    class Losing(NoLockEngine):
        def give(self, request: int) -> None:
            super().give(request)
            if len(self.free) > 1:
                self.free.pop(0)

    class Doubling(NoLockEngine):
        def take(self, request: int, num_tokens: int) -> list[int] | None:
            blocks = super().take(request, num_tokens)
            if blocks:
                self.free.append(blocks[0])
            return blocks

    assert "lost" in check_engine(Losing, coroutines=4, rounds=30, seed=1)[0]
    assert "twice" in check_engine(Doubling, coroutines=4, rounds=30, seed=1)[0]


class Mended(NoLockEngine):
    """Refuses an unknown release, so that a fault of its list does not show."""

    def give(self, request: int) -> None:
        self.tables[request]
        super().give(request)


class Broken(NoLockEngine):
    """Has a fault that its list does not name."""

    known_faults = KNOWN_FAULTS[1:]


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (Mended, "known fault unknown-release-silent does not show"),
        (Broken, "not among its known ones: duplicate-request-leaks"),
    ],
)
def test_proving_holds_the_list_of_faults(
    monkeypatch: pytest.MonkeyPatch, engine: Any, reason: str
) -> None:
    from blockmark.studies.contention import measure as contention
    from blockmark_impls.contention import shared_pools

    impl = resolve("no-lock/py")[0]
    task = StudyTask({"coroutines": 4, "threads": 1, "request_rate": 0.0})
    assert contention.prove(impl, task)["status"] == "ok"
    monkeypatch.setattr(shared_pools, "member", lambda path: engine)
    answer = contention.prove(impl, task)
    assert answer["status"] == "wrong"
    assert reason in answer["reason"]


@pytest.mark.parametrize("coroutines", [8, 64])
@pytest.mark.parametrize("name", ["async-lock", "async-lock-prefix"])
def test_only_an_await_inside_makes_anybody_wait(name: str, coroutines: int) -> None:
    params = {"total_blocks": 512, "block_size": 16, "coroutines": coroutines, "threads": 1}
    load = Load(coroutines, 32, 16 if name.endswith("prefix") else 0)
    shares = []
    for inside in (0, 1):
        impl = resolve(f"{name}/py[await_inside={inside}]")[0]
        shares.append(waited_share(impl, params, load, each=20))
    assert shares[0] == 0.0
    assert shares[1] is not None
    assert shares[1] > 0.9


def test_one_coroutine_never_waits_even_with_an_await_inside() -> None:
    impl = resolve("async-lock/py[await_inside=1]")[0]
    params = {"total_blocks": 64, "block_size": 16, "coroutines": 1, "threads": 1}
    assert waited_share(impl, params, Load(1, 16), each=20) == 0.0


def test_the_counting_lock_is_a_lock_and_counts() -> None:
    async def run() -> None:
        lock = CountedAsyncLock()
        inside = 0

        async def enter() -> None:
            nonlocal inside
            async with lock:
                inside += 1
                assert inside == 1
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(enter() for _ in range(5)))
        assert (lock.acquired, lock.waited) == (5, 4)
        # Somebody who gives up waiting must leave the lock to others.
        await lock.acquire()
        waiting = asyncio.ensure_future(lock.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        lock.release()
        await asyncio.wait_for(lock.acquire(), 5)

    asyncio.run(run())
    lock = CountedThreadLock()
    with lock:
        other = threading.Thread(target=lambda: lock.__enter__())
        other.start()
        while lock._lock.acquire(blocking=False):
            lock._lock.release()
        other.join(0.05)
        assert other.is_alive()
    other.join(5)
    assert (lock.acquired, lock.waited) == (2, 1)


def test_pairs_and_refusals_are_counted_and_all_blocks_come_back() -> None:
    # Eight requests of two blocks at once in a pool of ten: five fit.
    engine = NoLockEngine(10, 16)
    tally = run_coroutines(engine, Load(8, 32), 3)
    assert tally.pairs + tally.refused == 24
    assert tally.refused > 0
    assert sorted(engine.free) == list(range(10))
    slow = run_threads(NoLockEngine(8, 16), Load(1, 16, think_ns=200_000), 10)
    assert slow.wall_ns >= 10 * 200_000
    locked = ThreadLockEngine(64, 16)
    total = run_threads(locked, Load(4, 32), 200)
    assert (total.pairs, total.refused) == (800, 0)
    assert sorted(locked.free) == list(range(64))


def test_without_a_lock_threads_break_check_then_take() -> None:
    """The interleaving is laid out: a list that lets the other thread in before it gives."""
    engine = NoLockEngine(1, 16)
    answers: list[list[int] | None] = []

    class Yielding(list[int]):
        def pop(self, *_: Any) -> int:
            engine.free = list(self)
            answers.append(engine.allocate_now(2, 16))
            return 0

    engine.free = Yielding([0])
    answers.append(engine.allocate_now(1, 16))
    assert answers == [[0], [0]]  # one block, two owners
