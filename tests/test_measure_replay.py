"""Replays from Python and in C++: the same calls, the right clock, the right counts."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import pytest

from blockmark.measure.proof.checker import check_state
from blockmark.measure.replay import MissingOperationsError, PythonReplay, bind
from blockmark.runs.histogram import Histogram
from blockmark.workload.decode import decode_program
from blockmark.workload.program import Op, Program, ProgramBuilder
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.registry import resolve

CELL = parse_scenario(
    "total_blocks = 512\nmax_blocks_per_seq = 16\nconcurrency = 24\nblock_size = 4", "c", "c"
).cells()[0]


class Recorder:
    """A manager that writes down what it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("append_slots", "lookup_slots", "take", "give"):
            raise AttributeError(name)

        def call(*args: Any) -> int:
            shown = [arg.tolist() if hasattr(arg, "tolist") else arg for arg in args]
            self.calls.append((name, *shown))
            return 7

        return call


def every_operation() -> Program:
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, [0, 1], [5, 6])
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.CAN_ALLOCATE, 3)
    builder.run(Op.APPEND, [0, 1])
    builder.run(Op.EXTEND, 0, 4)
    builder.run(Op.TRUNCATE, 0, 5)
    builder.step(phase=2)
    builder.run(Op.DROP_FRONT, 0, 1)
    builder.run(Op.FORK, [0, 0], [2, 3], [0, 1])
    builder.run(Op.LOOKUP, 0, 1)
    builder.run(Op.LOOKUP_CHAIN, [0, 0], [1, 2])
    builder.run(Op.FREE, [3, 2])
    return builder.build(period=2, units={1: 1.0, 2: 1.0}, width=4)


CALLS = [
    ("can_allocate", 3),
    ("append_slot", 0),
    ("append_slot", 1),
    ("extend", 0, 4),
    ("truncate", 0, 5),
    ("drop_front", 0, 1),
    ("fork", 0, 2, None),
    ("fork", 0, 3, 1),
    ("lookup", 0, 1),
    ("lookup", 0, 1),
    ("lookup", 0, 2),
    ("free", 3),
    ("free", 2),
]


def test_every_operation_is_the_call_it_names() -> None:
    manager = Recorder()
    replay = PythonReplay(manager, every_operation(), per_step=False)
    replay.setup()
    assert manager.calls == [("allocate", 0, 5), ("allocate", 1, 6)]
    manager.calls.clear()
    replay.run(0, 2)
    assert manager.calls == CALLS
    manager.calls.clear()
    replay.run(1, 3)  # cyclic: the second step, the first, the second again
    assert manager.calls == CALLS[5:] + CALLS


def test_time_goes_to_the_phase_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves by 1,000 in a call and not otherwise."""
    now = [0]
    monkeypatch.setattr("blockmark.measure.replay.python.perf_counter_ns", lambda: now[0])

    class Slow(Recorder):
        def __getattr__(self, name: str) -> Any:
            call = super().__getattr__(name)

            def slow(*args: Any) -> Any:
                now[0] += 1000
                return call(*args)

            return slow

    program = every_operation()
    replay = PythonReplay(Slow(), program, per_step=False)
    replay.setup()
    assert replay.run(0, 2) == (5_000, 8_000)
    assert replay.run(1, 3) == (5_000, 16_000)
    one, two = Histogram(), Histogram()
    replay.run_each(0, 4, one, two)
    assert (one.samples, one.max_value, two.samples, two.max_value) == (2, 5_000, 2, 8_000)


def test_per_step_makes_one_call_of_a_run_where_the_manager_can() -> None:
    class Batched(Recorder):
        def append_slots(self, seqs: Any) -> None:
            self.calls.append(("append_slots", seqs.tolist()))

        def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
            assert out.shape == seqs.shape
            self.calls.append(("lookup_slots", seqs.tolist(), logicals.tolist()))

    manager = Batched()
    builder = ProgramBuilder()
    builder.step()
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.APPEND, [0, 1, 2])
    builder.run(Op.LOOKUP, [0, 1, 2], [4, 5, 6])
    builder.run(Op.FREE, [1])
    PythonReplay(manager, builder.build(units={}), per_step=True).run(0, 1)
    assert manager.calls == [
        ("append_slots", [0, 1, 2]),
        ("lookup_slots", [0, 1, 2], [4, 5, 6]),
        ("free", 1),
    ]


def test_an_operation_that_is_not_there_is_named_before_anything_runs() -> None:
    class Part:
        def allocate(self, seq: int, num_tokens: int) -> None: ...

    with pytest.raises(MissingOperationsError, match="append_slot, can_allocate, drop_front"):
        PythonReplay(Part(), every_operation(), per_step=False)


@pytest.mark.parametrize(
    "target",
    [
        "flat-stack/cpp",
        "hash-map/cpp",
        "vector/cpp",
        "open-hash+lru/cpp",
        "two-level/cpp",
        "two-level/py",
        "flat-stack/numpy",
        "flat-stack/cpp[call_style=per-step]",
        "flat-stack/cpp[call_style=per-op]",
        "vector/py",
    ],
)
def test_a_replay_ends_where_the_oracle_does(target: str) -> None:
    impl = resolve(target)[0]
    program = decode_program(CELL)
    manager = impl.make_manager(CELL.pool_config)
    replay = bind(manager, program, impl.call_style)
    replay.setup()
    steps = program.body_steps + 7  # once round, and on
    replay.run(0, steps)
    order = [*range(program.num_steps), *range(program.setup_steps, program.setup_steps + 7)]
    check_state(manager, CELL.pool_config, program, order)


def allocations(target: str) -> float:
    impl = resolve(target)[0]
    program = decode_program(CELL)
    replay = bind(impl.make_manager(CELL.pool_config), program, impl.call_style)
    replay.setup()
    replay.run(0, program.body_steps)
    return sum(replay.allocations(0, program.body_steps)) / program.body_steps


def test_heap_allocations_in_a_steady_step() -> None:
    # The first of the published rules: nothing is allocated on the hot path.
    assert allocations("flat-stack/cpp") == 0
    # Pages are taken in the set-up and the first time round, and used again from then on.
    assert allocations("two-level/cpp") == 0
    assert allocations("null/cpp") == 0
    # A node per table entry: at least one for every block that a step takes.
    calls = decode_program(CELL).counts_per_step()
    assert allocations("hash-map/cpp") >= calls["append"] / CELL["block_size"]
    assert 0 < allocations("vector/cpp") < allocations("hash-map/cpp")


def test_python_objects_are_counted_and_the_loop_itself_is_not() -> None:
    gc.disable()
    try:

        class Idle(Recorder):
            def append_slot(self, seq: int) -> None: ...

        class Busy(Recorder):
            def append_slot(self, seq: int) -> None:
                self.kept = [None] * 20

        builder = ProgramBuilder()
        builder.step()
        builder.end_setup()
        builder.step(phase=1)
        builder.run(Op.APPEND, [0] * 100)
        program = builder.build(units={})
        idle, busy = (PythonReplay(kind(), program, per_step=False) for kind in (Idle, Busy))
        for replay in (idle, busy):
            replay.run(0, 1)
        assert idle.allocations(0, 1)[0] < 20
        assert 100 <= busy.allocations(0, 1)[0] <= 320
    finally:
        gc.enable()


def test_the_core_is_built() -> None:
    """Everything above is worth nothing if the native tier silently fell away."""
    assert importlib.import_module("blockmark_impls._native").allocation_counter_ok
