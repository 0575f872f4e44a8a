"""Pools that threads share: no block twice, none lost, and windows that prove overlap."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from blockmark_impls.contract import OutOfBlocks

native: Any = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "impls" / "blockmark_impls" / "native"
PROGRAM = ROOT / "tests" / "native" / "stress_shared_pools.cpp"
SHARED = [name for name in native._shared_pools if name != "none"]
PLAN = {"window_ns": 100_000, "gap_limit_ns": 60_000, "wanted": 5, "most": 40}


def pool(name: str, total: int, threads: int, **more: int) -> Any:
    return native._shared_pools[name](total, threads, **more)


def build(target: Path, *flags: str) -> Path:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    sources = [PROGRAM, SOURCES / "contention" / "crew.cpp", SOURCES / "contract.cpp"]
    words = [compiler, "-std=c++20", "-O1", "-g", "-pthread", *flags, f"-I{SOURCES}"]
    done = subprocess.run([*words, *sources, "-o", target], capture_output=True, text=True)
    if done.returncode != 0 and "-fsanitize=thread" in flags:
        trial = target.with_suffix(".cpp")
        trial.write_text("int main() {}\n")
        if subprocess.run([*words, trial, "-o", target], capture_output=True).returncode != 0:
            pytest.skip("the compiler has no ThreadSanitizer")
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("stress") / "plain")


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = build(tmp_path_factory.mktemp("stress") / "sanitized", "-fsanitize=thread")
    first = run(program, "aba-tagged")
    if "FATAL: ThreadSanitizer" in first.stderr:
        pytest.skip(f"ThreadSanitizer does not start here: {first.stderr.splitlines()[0]}")
    return program


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=120)


def test_no_scheme_hands_a_block_out_twice_or_loses_one(plain: Path) -> None:
    done = run(plain, "all", "4", "20000")
    assert (done.stdout.strip(), done.returncode) == ("ok", 0)


def test_no_scheme_has_a_data_race(sanitized: Path) -> None:
    done = run(sanitized, "all", "4", "2000")
    assert (done.stdout.strip(), done.returncode, done.stderr) == ("ok", 0, "")


def test_the_sanitizer_sees_the_race_of_a_pool_without_a_lock(sanitized: Path) -> None:
    done = run(sanitized, "race")
    assert done.returncode != 0
    assert "data race" in done.stderr


def test_the_same_interleaving_breaks_the_stack_without_a_tag_alone(plain: Path) -> None:
    # Laid out step by step: luck would find it in some runs only.
    assert run(plain, "aba-untagged").stdout.strip() == "block 1 was handed out twice"
    assert run(plain, "aba-tagged").stdout.strip() == "ok"


def test_the_check_sees_a_lost_check_then_act(plain: Path) -> None:
    done = run(plain, "lost-check")
    assert (done.stdout.strip(), done.returncode) == ("block 0 was handed out twice", 1)


@pytest.mark.parametrize("name", ["none", *SHARED])
def test_take_and_give_against_a_set(name: str) -> None:
    made, free = pool(name, 40, 1), set(range(40))
    held: list[list[int]] = []
    generator = random.Random(name)
    for _ in range(600):
        k = generator.randint(0, 15)
        if k > len(free):
            with pytest.raises(OutOfBlocks):
                made.take(0, k)
        else:
            ids = made.take(0, k)
            assert len(set(ids)) == k
            assert set(ids) <= free
            free -= set(ids)
            held.append(ids)
        if held and generator.random() < 0.5:
            ids = held.pop(generator.randrange(len(held)))
            made.give(0, ids)
            free |= set(ids)
        assert sorted(made.free_ids()) == sorted(free)


@pytest.mark.parametrize("thread", ["0", "1"])
def test_a_thread_that_throws_ends_the_windows_of_all(plain: Path, thread: str) -> None:
    done = run(plain, "throwing", thread)
    assert (done.stdout.strip(), done.returncode) == ("thrown", 1)


@pytest.mark.parametrize("name", ["none", *SHARED])
@pytest.mark.parametrize("given", [[0], [1, 2], [3, 3]])
def test_only_what_was_taken_can_be_given(name: str, given: list[int]) -> None:
    made = pool(name, 4, 1)
    taken = made.take(0, 1)
    made.give(0, taken)
    with pytest.raises(ValueError, match=f"block {given[0]} is not taken"):
        made.give(0, given)
    twice = made.take(0, 1) * 2
    with pytest.raises(ValueError, match="is not taken"):
        made.give(0, twice)
    made.give(0, twice[:1])
    assert sorted(made.free_ids()) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["none", "mutex", "spin", "adaptive", "treiber"])
def test_schemes_without_magazines_hand_the_last_given_out_first(name: str) -> None:
    made = pool(name, 8, 1)
    assert made.take(0, 3) == [0, 1, 2]
    made.give(0, [2])
    assert made.take(0, 2) == [2, 3]


@pytest.mark.parametrize(("total", "size"), [(64, 4), (64, 16), (1000, 1), (10, 64)])
def test_magazines_strand_at_most_two_a_thread(total: int, size: int) -> None:
    threads = 3
    made = pool("magazines", total, threads, magazine=size)
    generator = random.Random(size)
    held: list[tuple[int, list[int]]] = []
    for _ in range(500):
        thread = generator.randrange(threads)
        try:
            held.append((thread, made.take(thread, generator.randint(1, 3))))
        except OutOfBlocks:
            # Free blocks may lie in others' magazines: that is the price, and it is counted.
            own = len(made.free_ids()) - made.stranded
            assert own < 3
        if len(held) > 6:
            made.give(generator.randrange(threads), held.pop(0)[1])
        assert made.stranded <= min(total, 2 * size * threads)
    out = sum(len(ids) for _, ids in held)
    assert sorted(made.free_ids() + [b for _, ids in held for b in ids]) == list(range(total))
    assert len(made.free_ids()) == total - out


def test_a_magazine_keeps_blocks_from_another_thread() -> None:
    made = pool("magazines", 8, 2, magazine=4)
    made.give(0, made.take(0, 1))  # takes a magazine of four beyond the one asked for
    assert made.stranded == 5
    with pytest.raises(OutOfBlocks):
        made.take(1, 4)
    assert len(made.take(1, 3)) == 3


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_totals_of_a_stretch_and_its_histogram_agree(name: str, threads: int) -> None:
    made = pool(name, 300, threads)
    # A crowded machine may give no thread a turn within 3 ms, nor within 30.
    for duration_ns in (3_000_000, 30_000_000, 300_000_000):
        # From 16 blocks on every take is timed.
        stretch = made.closed(batch=16, think_ns=0, duration_ns=duration_ns)
        if any(one.pairs for one in stretch.threads):
            break
    assert len(stretch.threads) == threads
    assert stretch.latency.samples == sum(one.pairs for one in stretch.threads) > 0
    assert sum(count for _, count in stretch.latency.counts()) == stretch.latency.samples
    assert sorted(made.free_ids()) == list(range(300))


def test_a_pool_that_is_too_small_refuses_and_says_so() -> None:
    # One batch fits and two threads want one each while they hold it.
    made = pool("mutex", 16, 2)
    stretch = made.closed(batch=16, think_ns=50_000, duration_ns=20_000_000)
    assert stretch.latency.samples == sum(one.pairs for one in stretch.threads)
    assert sum(one.refused for one in stretch.threads) > 0
    assert sorted(made.free_ids()) == list(range(16))


def test_a_paced_stretch_serves_every_request_once() -> None:
    made = pool("treiber", 64, 2)
    stretch = made.paced(batch=2, think_ns=0, duration_ns=50_000_000, rate=1000.0)
    # Requests 0 .. 49, the even ones the first thread's.
    assert [one.pairs for one in stretch.threads] == [25, 25]
    assert stretch.latency.samples == 50
    assert all(0 < one.in_pool_ns <= one.elapsed_ns for one in stretch.threads)


@pytest.mark.parametrize("name", SHARED)
def test_windows_count_only_what_ran_throughout(name: str) -> None:
    windows = pool(name, 4096, 2).windows(batch=1, think_ns=0, **PLAN)
    assert len(windows.accepted) == len(windows.threads) <= PLAN["most"]
    assert sum(windows.accepted) <= PLAN["wanted"]
    for good, rows in zip(windows.accepted, windows.threads, strict=True):
        assert len(rows) == 2
        throughout = all(
            ops > 0
            and involuntary == 0
            and (gap <= PLAN["gap_limit_ns"] or voluntary > 0)
            and elapsed <= 4 * PLAN["window_ns"]
            and late <= PLAN["gap_limit_ns"] / 2
            for ops, elapsed, late, gap, voluntary, involuntary, _ in rows
        )
        assert good == throughout


def test_a_limit_that_no_thread_can_keep_accepts_nothing() -> None:
    strict = {**PLAN, "gap_limit_ns": 1}
    windows = pool("spin", 64, 2).windows(batch=1, think_ns=1_000, **strict)
    assert len(windows.accepted) == PLAN["most"]
    assert not any(windows.accepted)
    assert windows.latency.samples == 0


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("stride", [8, 64])
def test_every_write_to_a_counter_arrives(atomic: bool, stride: int) -> None:
    # The core raises if one does not.
    windows = native.counter_windows(atomic, stride, 2, **PLAN)
    assert all(ops % 128 == 0 for rows in windows.threads for ops, *_ in rows)


@pytest.mark.parametrize("layout", ["range", "interleaved", "shuffled"])
@pytest.mark.parametrize("width", [1, 2, 4, 64])
def test_every_write_to_a_ref_count_arrives(layout: str, width: int) -> None:
    native.ref_count_windows(False, 301, width, layout, 7, 2, **PLAN)


def test_packed_counters_cost_more_than_padded_ones() -> None:
    """A ratio far from one, in windows that prove overlap; where none does, nothing is said."""
    plan = {**PLAN, "wanted": 20, "most": 200}

    def cost(stride: int) -> float:
        windows = native.counter_windows(True, stride, 2, **plan)
        rows = [r for r, good in zip(windows.threads, windows.accepted, strict=True) if good]
        if len(rows) < 5:
            pytest.skip("the threads never ran at once")
        each = sorted(sum(r[1] for r in one) / sum(r[0] for r in one) for one in rows)
        return each[len(each) // 2]

    ping = native.ping_pong_ns()
    if ping < 60:
        pytest.skip(f"both processors are threads of one core ({ping:.0f} ns)")
    assert cost(8) > 1.3 * cost(64)


def test_bad_sizes_are_value_errors() -> None:
    for name, total, threads in (("none", 8, 2), ("mutex", 0, 1), ("mutex", 8, 0)):
        with pytest.raises(ValueError, match=r"one thread|total_blocks|threads"):
            pool(name, total, threads)
    with pytest.raises(ValueError, match="batch"):
        pool("mutex", 8, 1).closed(batch=9, think_ns=0, duration_ns=1)
    with pytest.raises(ValueError, match="rate"):
        pool("mutex", 8, 1).paced(batch=1, think_ns=0, duration_ns=1, rate=0.0)
    with pytest.raises(ValueError, match="magazine"):
        pool("magazines", 8, 1, magazine=0)
    with pytest.raises(ValueError, match="stride"):
        native.counter_windows(False, 12, 1, **PLAN)
    with pytest.raises(ValueError, match="layout"):
        native.ref_count_windows(False, 8, 2, "striped", 1, 1, **PLAN)
    with pytest.raises(ValueError, match="bytes"):
        native.ref_count_windows(False, 8, 3, "range", 1, 1, **PLAN)


def test_affinity_of_the_caller_is_as_before() -> None:
    import os

    before = os.sched_getaffinity(0)
    pool("mutex", 64, 2).windows(batch=1, think_ns=0, **PLAN)
    assert os.sched_getaffinity(0) == before
