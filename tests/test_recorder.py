"""Recordings: what is noted, what comes back, and what a damaged file is told."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from blockmark.measure.proof.checker import Checker
from blockmark.recorder import PoolRecorder, Recorder, VllmManagerRecorder
from blockmark.workload import words
from blockmark.workload.program import Op, ProgramError
from blockmark.workload.recorded import describe
from blockmark.workload.recording import load_recording
from blockmark_impls.contract import OutOfBlocks, PoolConfig, UnknownSequence
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager
from blockmark_impls.registry import resolve
from cli import blockmark
from engines_on_path import run_code

if TYPE_CHECKING:
    from pathlib import Path

    from blockmark.workload.program import Program

CONFIG = PoolConfig(128, 4, 16, 12)


def operations(program: Program, steps: range | None = None) -> list[tuple[Any, ...]]:
    wanted = range(program.num_steps) if steps is None else steps
    return [
        (step, code, a, b, c) for step in wanted for _, code, a, b, c in program.operations(step)
    ]


def body(program: Program) -> list[tuple[Any, ...]]:
    """Operations of the timed steps."""
    timed = [step for step in range(program.num_steps) if program.phases[step]]
    return [(code, a, b, c) for step in timed for _, code, a, b, c in program.operations(step)]


def random_life(recorder: Recorder, seed: int) -> None:
    """A made-up engine: sequences come, grow, fork, shrink and go."""
    rng, manager, live = random.Random(seed), recorder.manager, set[int]()
    for _ in range(60):
        recorder.step()
        for seq in sorted(live):
            if rng.random() < 0.1:
                manager.free(seq)
                live.discard(seq)
        free = [seq for seq in range(12) if seq not in live]
        if free and manager.can_allocate(12):
            manager.allocate(free[0], rng.randint(1, 20))
            live.add(free[0])
            if len(free) > 1 and rng.random() < 0.4:
                manager.fork(free[0], free[1])
                live.add(free[1])
        for seq in sorted(live):
            if manager.num_tokens(seq) < 40 and manager.num_free_blocks > 2:
                manager.append_slot(seq)
            elif manager.num_tokens(seq) > 8:
                manager.truncate(seq, manager.num_tokens(seq) - 5)
            manager.lookup(seq, 0)


def test_codes_are_those_of_programs() -> None:
    names = [op.name for op in Op if hasattr(words, op.name)]
    assert {name: getattr(words, name) for name in names} == {name: Op[name] for name in names}
    assert {"ALLOCATE", "APPEND", "FORK", "FREE", "TAKE", "GIVE"} <= set(names)
    assert {words.STEP, words.OPERAND_C}.isdisjoint(set(Op))


def test_a_recording_by_hand(tmp_path: Path) -> None:
    manager = VectorManager(CONFIG)
    manager.allocate(9, 6)  # lives when recording begins
    recorder = Recorder(manager, CONFIG)
    watched = recorder.manager
    recorder.step()
    watched.allocate(0, 8)
    watched.fork(0, 1, 2)
    watched.fork(0, 2)
    with pytest.raises(UnknownSequence):
        watched.free(7)  # refused, so it is not noted
    recorder.step()
    assert watched.can_allocate(1_000) is False
    assert watched.append_slot(1) is None
    watched.extend(9, 5)
    watched.free(2)
    watched.drop_front(0, 1)
    assert watched.lookup(9, 0) == manager.block_table(9)[0]
    assert watched.num_free_blocks == manager.num_free_blocks  # all else is the manager's own
    recorder.save(tmp_path / "hand.program")
    program, config = load_recording(tmp_path / "hand.program")
    assert config == CONFIG
    assert operations(program) == [
        (0, Op.ALLOCATE, 9, 6, 0),
        (1, Op.ALLOCATE, 0, 8, 0),
        (1, Op.FORK, 0, 1, 2),
        (1, Op.FORK, 0, 2, 0),
        (2, Op.CAN_ALLOCATE, 1_000, 0, 0),
        (2, Op.APPEND, 1, 0, 0),
        (2, Op.EXTEND, 9, 5, 0),
        (2, Op.FREE, 2, 0, 0),
        (2, Op.DROP_FRONT, 0, 1, 0),
        (2, Op.LOOKUP, 9, 0, 0),
        # Off the clock: the end becomes the start.
        (3, Op.FREE, 0, 0, 0),
        (3, Op.FREE, 1, 0, 0),
        (3, Op.FREE, 9, 0, 0),
        (3, Op.ALLOCATE, 9, 6, 0),
    ]
    assert list(program.phases) == [0, 1, 1, 0]
    assert (program.setup_steps, program.period, program.units) == (1, 3, {1: 2.0})


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_recording_is_right_on_another_implementation(tmp_path: Path, seed: int) -> None:
    recorder = Recorder(VectorManager(CONFIG), CONFIG)
    random_life(recorder, seed)
    recorder.save(tmp_path / "life.program")
    program, config = load_recording(tmp_path / "life.program")
    impl = resolve("hash-map/py")[0]
    checker = Checker(impl.make_manager(config), config, impl.reuse_order)
    # Twice over, so that the end is the start.
    turn = range(program.setup_steps, program.num_steps)
    checker.replay(program, [*range(program.num_steps), *turn])
    facts = describe(program, config)
    assert facts["steps"] == 60
    calls = [code for code, *_ in body(program)]
    counted = facts["operations_per_step"]
    assert counted["append"] == calls.count(Op.APPEND) / program.body_steps
    assert facts["sequences_ended"] == calls.count(Op.FREE)
    assert 0 < facts["blocks_peak"] <= 128


def test_batches_are_noted_one_by_one(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    impl = resolve("flat-stack/numpy")[0]
    recorder = Recorder(impl.make_manager(CONFIG), CONFIG)
    manager = recorder.manager
    recorder.step()
    for seq in (3, 1):
        manager.allocate(seq, 4)
    out = np.zeros(2, dtype=np.int32)
    seqs = np.array([3, 1], dtype=np.int32)
    manager.append_slots(seqs)
    manager.lookup_slots(seqs, np.array([1, 0], dtype=np.int32), out)
    assert out.tolist() == [manager.lookup(3, 1), manager.lookup(1, 0)]
    recorder.save(tmp_path / "batch.program")
    program, _ = load_recording(tmp_path / "batch.program")
    assert body(program) == [
        (Op.ALLOCATE, 3, 4, 0),
        (Op.ALLOCATE, 1, 4, 0),
        (Op.APPEND, 3, 0, 0),
        (Op.APPEND, 1, 0, 0),
        (Op.LOOKUP, 3, 1, 0),
        (Op.LOOKUP, 1, 0, 0),
        (Op.LOOKUP, 3, 1, 0),
        (Op.LOOKUP, 1, 0, 0),
    ]


def test_a_pool_s_hand_outs_are_split_by_their_returns(tmp_path: Path) -> None:
    recorder = PoolRecorder(ListPool(32), 32)
    pool = recorder.pool
    recorder.step()
    first = pool.take(5)
    second = pool.take(2)
    with pytest.raises(OutOfBlocks):
        pool.take(99)
    recorder.step()
    pool.give([*first[:3], *second])
    third = pool.take(1)
    assert len(third) == 1
    assert pool.num_free == 32 - 3
    recorder.save(tmp_path / "pool.program")
    program, config = load_recording(tmp_path / "pool.program")
    assert config.total_blocks == 32
    # 5 blocks: 3 come back in step 2, 2 never do; so they are two hand-outs.
    assert body(program) == [
        (Op.TAKE, 0, 3, 0),
        (Op.TAKE, 1, 2, 0),
        (Op.TAKE, 2, 2, 0),
        (Op.GIVE, 0, 0, 0),
        (Op.GIVE, 2, 0, 0),
        (Op.TAKE, 3, 1, 0),
    ]
    last = program.num_steps - 1
    assert operations(program, range(last, last + 1)) == [
        (last, Op.GIVE, 1, 0, 0),
        (last, Op.GIVE, 3, 0, 0),
    ]
    assert program.units == {1: 8.0, 2: 5.0}
    assert describe(program, config)["blocks_peak"] == 7


def test_vllm_s_objects_are_wrapped(tmp_path: Path) -> None:
    code = f"""
from blockmark.recorder import VllmManagerRecorder, VllmPoolRecorder
from blockmark_impls.engines.vllm_manager import VllmManager
from blockmark_impls.contract import PoolConfig
made = VllmManager(PoolConfig(64, 4, 4, 8), caching=False)
inner = made._manager
rec = VllmManagerRecorder(inner, block_size=4, max_blocks_per_seq=8)
made._manager, made._allocate_slots = rec.manager, rec.manager.allocate_slots
rec.manager.new_step_starts()
made.allocate(2, 7)
made.allocate(0, 3)
rec.manager.new_step_starts()
made.append_slot(2)
made.extend(2, 4)
made.free(2)
made.allocate(3, 5)
rec.save({str(tmp_path / "manager.program")!r})
pool = VllmPoolRecorder(inner.block_pool)
pool.step()
taken = pool.pool.get_new_blocks(3)
taken[0].ref_cnt += 1
pool.pool.free_blocks(iter(taken))
pool.save({str(tmp_path / "pool.program")!r})
print(rec.prefix_hit_blocks)
"""
    assert run_code(code) == "0\n"
    program, config = load_recording(tmp_path / "manager.program")
    assert config == PoolConfig(64, 4, 2, 8)
    assert body(program) == [
        (Op.ALLOCATE, 0, 7, 0),
        (Op.ALLOCATE, 1, 3, 0),
        (Op.APPEND, 0, 0, 0),
        (Op.EXTEND, 0, 4, 0),
        (Op.FREE, 0, 0, 0),
        (Op.ALLOCATE, 0, 5, 0),
    ]
    program, config = load_recording(tmp_path / "pool.program")
    # The block that another still holds has not come back.
    assert body(program) == [(Op.TAKE, 0, 1, 0), (Op.TAKE, 1, 2, 0), (Op.GIVE, 1, 0, 0)]
    assert config.total_blocks == 64


def test_prefix_hits_and_lookahead_count_as_tokens(tmp_path: Path) -> None:
    class Request:
        def __init__(self, name: str) -> None:
            self.request_id = name
            self.num_computed_tokens = 0

    class Engine:
        class block_pool:  # noqa: N801
            num_gpu_blocks = 33

        def allocate_slots(self, request: Request, num_new_tokens: int, *_: Any, **__: Any) -> Any:
            return None if num_new_tokens > 50 else [1]

        def free(self, request: Request) -> None:
            """Nothing to do."""

    recorder = VllmManagerRecorder(Engine(), block_size=4, max_blocks_per_seq=16)
    engine, request = recorder.manager, Request("a")
    recorder.step()
    assert engine.allocate_slots(request, 60) is None
    engine.allocate_slots(request, 3, num_new_computed_tokens=8, num_lookahead_tokens=2)
    request.num_computed_tokens = 11
    engine.allocate_slots(request, 1, 0, None, 2)  # one more than was asked for before
    engine.allocate_slots(request, 1)  # room is there already
    assert recorder.prefix_hit_blocks == 2
    recorder.save(tmp_path / "hits.program")
    program, _ = load_recording(tmp_path / "hits.program")
    assert body(program) == [(Op.ALLOCATE, 0, 13, 0), (Op.APPEND, 0, 0, 0)]


def test_without_a_step_there_is_nothing_to_save(tmp_path: Path) -> None:
    recorder = Recorder(VectorManager(CONFIG), CONFIG)
    recorder.manager.allocate(0, 3)
    with pytest.raises(ValueError, match="no step was marked: call step"):
        recorder.save(tmp_path / "x.program")
    pool = PoolRecorder(ListPool(4), 4)
    pool.pool.take(1)
    with pytest.raises(ValueError, match="call step"):
        pool.save(tmp_path / "x.program")
    assert not (tmp_path / "x.program").exists()


def test_marks_at_the_end_of_iterations_lose_none(tmp_path: Path) -> None:
    """Three iterations, marked as each ends and as each begins: the same recording."""
    programs = []
    for at_the_end in (True, False):
        recorder = Recorder(VectorManager(CONFIG), CONFIG)
        pool = PoolRecorder(ListPool(16), 16)
        for seq in range(3):
            for each in () if at_the_end else (recorder, pool):
                each.step()
            recorder.manager.allocate(seq, 5 + seq)
            pool.pool.give(pool.pool.take(1 + seq))
            for each in (recorder, pool) if at_the_end else ():
                each.step()
        for number, each in enumerate((recorder, pool)):
            path = tmp_path / f"{number}.program"
            if at_the_end:
                with pytest.warns(UserWarning, match="taken for the ends of iterations"):
                    each.save(path)
            else:
                each.save(path)
            programs.append(load_recording(path)[0])
    ends, begins = programs[:2], programs[2:]
    for one, other in zip(ends, begins, strict=True):
        assert one.digest() == other.digest()
    assert [op[2] for op in body(ends[0]) if op[0] is Op.ALLOCATE] == [5, 6, 7]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "life.program"
    recorder = Recorder(VectorManager(CONFIG), CONFIG)
    random_life(recorder, 5)
    recorder.save(path)
    return path


def test_run_replays_a_recording_through_every_rival(recording: Path, tmp_path: Path) -> None:
    done = blockmark("run", "--program", str(recording), "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 of 9 verified" in done.stdout
    for name in ("hash-map/cpp", "flat-stack/numpy", "vector/py"):
        assert name in done.stdout
    both = blockmark("run", "decode", "--program", str(recording), cwd=tmp_path)
    assert both.returncode == 2
    assert "name no SCENARIO" in both.stderr


def test_run_replays_a_recorded_pool(tmp_path: Path) -> None:
    recorder, rng = PoolRecorder(ListPool(64), 64), random.Random(1)
    out: list[Any] = []
    for _ in range(20):
        recorder.step()
        out += [recorder.pool.take(rng.randint(1, 4)) for _ in range(3)]
        while sum(map(len, out)) > 40:
            recorder.pool.give(out.pop(rng.randrange(len(out))))
    recorder.save(tmp_path / "pool.program")
    words = ("run", "--program", "pool.program", "--quick", "--impl", "list-duties/py")
    done = blockmark(*words, "--impl", "vector/cpp", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pool alone: take" in done.stdout
    assert "2 of 2 verified" in done.stdout


def test_record_says_what_a_recording_holds(recording: Path, tmp_path: Path) -> None:
    done = blockmark("record", str(recording), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "life.program: a manager, 128 blocks x 4 tokens, at most 16 sequences of 12 blocks"
    )
    assert "steps                60" in lines
    assert any(line.startswith("  append ") for line in lines)


def damaged(data: bytes, how: str) -> bytes:
    return {
        "cut": data[: len(data) - 64],
        "header cut": data[:40],
        "empty": b"",
        "foreign": b"\x7fELF" + data,
        "newer": data.replace(b"blockmark program 1", b"blockmark program 9"),
        "too small": data.replace(b'"total_blocks": 128', b'"total_blocks": 4  ', 1),
    }[how]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("cut", "cut short in column"),
        ("header cut", "damaged"),
        ("empty", "cannot be read as a program"),
        ("foreign", "not a blockmark program"),
        ("newer", "a program of format 9; this version of blockmark reads format 1"),
        ("too small", "OutOfBlocks"),
    ],
)
def test_a_bad_file_is_one_line(recording: Path, tmp_path: Path, how: str, said: str) -> None:
    path = tmp_path / "bad.program"
    path.write_bytes(damaged(recording.read_bytes(), how))
    with pytest.raises(ProgramError, match=said) as raised:
        load_recording(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_bad_file_ends_the_command(recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.program"
    path.write_bytes(damaged(recording.read_bytes(), "cut"))
    for asked in (("record", "bad.program"), ("run", "--program", "bad.program")):
        done = blockmark(*asked, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("error: bad.program: the program is cut short")
        assert done.stderr.count("\n") == 1
    done = blockmark("record", "missing.program", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
