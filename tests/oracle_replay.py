"""A load's Program replayed whole on the oracle, and everything about it counted anew.

The counts are taken from the tables as they are, not in the way in which the workloads
take them, so that the two can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from blockmark.measure.proof.checker import Checker, check_state
from blockmark.measure.replay import bind
from blockmark.workload.load import Load
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.program import Op, Program
from blockmark.workload.scenario import Cell, parse_scenario
from blockmark_impls.registry import resolve

Step = list[tuple[Op, int, int, int]]


def make_cell(workload: str, **params: Any) -> Cell:
    lines = [f"{key} = {value!r}" for key, value in {"workload": workload, **params}.items()]
    return parse_scenario("\n".join(lines), workload, "test").cells()[0]


def steps_of(program: Program) -> list[Step]:
    """The operations of each body step."""
    return [
        [operation[1:] for operation in program.operations(step)]
        for step in range(program.setup_steps, program.num_steps)
    ]


def shape(oracle: Oracle) -> list[tuple[int, int, list[int | None]]]:
    """The state up to the names of blocks: they are numbered as they are met."""
    names: dict[int, int] = {}
    return [
        (
            seq,
            table.tokens,
            [
                None if at < table.first_kept else names.setdefault(block, len(names))
                for at, block in enumerate(table.blocks)
            ],
        )
        for seq, table in sorted(oracle.tables.items())
    ]


@dataclass
class Replayed:
    """What each body step did: Counters of operations and of what came of them."""

    oracle: Oracle
    usage: list[int] = field(default_factory=list)  # after each step
    peak: int = 0
    steps: list[Counter[str]] = field(default_factory=list)

    def from_admission(self) -> tuple[list[Counter[str]], list[int]]:
        """(steps, usage) of a lone request, from the step that admits it on."""
        (first,) = (i for i, step in enumerate(self.steps) if step["ALLOCATE"])
        return self.steps[first:] + self.steps[:first], self.usage[first:] + self.usage[:first]

    def total(self, name: str) -> int:
        return sum(step[name] for step in self.steps)

    def per_step(self, name: str) -> float:
        return self.total(name) / len(self.steps)


def do(oracle: Oracle, code: Op, a: int, b: int, c: int, counts: Counter[str]) -> None:
    """One operation; whatever the contract refuses is raised."""
    free, before = oracle.num_free_blocks, len(oracle.released)
    counts[code.name] += 1
    match code:
        case Op.CAN_ALLOCATE:
            assert oracle.can_allocate(a)
        case Op.ALLOCATE:
            oracle.allocate(a, b)
        case Op.APPEND:
            counts["copies"] += oracle.append_slot(a) is not None
        case Op.EXTEND:
            counts["copies"] += len(oracle.extend(a, b))
        case Op.TRUNCATE:
            oracle.truncate(a, b)
            counts["truncated"] += oracle.num_free_blocks - free
        case Op.DROP_FRONT:
            oracle.drop_front(a, b)
            counts["dropped"] += oracle.num_free_blocks - free
        case Op.FORK:
            oracle.fork(a, b, c or None)
            counts["forked"] += len(oracle.tables[b].kept)
        case Op.FREE:
            counts["freed entries"] += len(oracle.tables[a].kept)
            oracle.free(a)
        case Op.LOOKUP:
            oracle.lookup(a, b)
        case _:
            raise AssertionError(code)
    counts["taken"] += max(0, free - oracle.num_free_blocks)
    assert before <= len(oracle.released)


def replay_on_oracle(cell: Cell, program: Program, turns: int = 2) -> Replayed:
    """Replay set-up and body; assert that the body is cyclic and periodic."""
    oracle = Oracle(cell.pool_config)
    done = Replayed(oracle)
    for step in range(program.setup_steps):
        for _, code, a, b, c in program.operations(step):
            do(oracle, code, a, b, c, Counter())
            done.peak = max(done.peak, oracle.config.total_blocks - oracle.num_free_blocks)
    start = shape(oracle)
    for _ in range(turns):
        done.steps.clear()
        done.usage.clear()
        for operations in steps_of(program):
            counts: Counter[str] = Counter()
            for operation in operations:
                do(oracle, *operation, counts)
                done.peak = max(done.peak, len(oracle.ref_counts))
            entries = [block for table in oracle.tables.values() for block in table.kept]
            named = Counter(entries)
            assert dict(named) == oracle.ref_counts
            counts["entries"] = len(entries)
            counts["shared"] = sum(named[block] > 1 for block in entries)
            counts["running"] = len(oracle.tables)
            done.steps.append(counts)
            done.usage.append(len(oracle.ref_counts))
        assert shape(oracle) == start
    assert set(program.phases[program.setup_steps :]) == {1}
    period = program.period
    assert len(done.steps) % period == 0
    assert program.units == {1: period}
    windows = [
        sum(done.steps[i : i + period], Counter()) for i in range(0, len(done.steps), period)
    ]
    assert all(window == windows[0] for window in windows)
    return done


def check_load(cell: Cell, load: Load) -> Replayed:
    """The replay, after the facts that all these loads have were compared with it."""
    done, facts, program = replay_on_oracle(cell, load.program), load.facts, load.program
    calls = program.counts_per_step()
    assert facts["workload"] == cell["workload"]
    assert facts["operations_per_step"] == calls
    assert {name.upper() for name in calls} <= {op.name for op in Op}
    assert facts["blocks_taken_per_step"] == done.per_step("taken")
    assert facts["running_mean"] == done.per_step("running")
    assert facts["occupancy_mean"] * cell["total_blocks"] * len(done.usage) == (
        _about(sum(done.usage))
    )
    assert max(done.usage) <= done.peak <= cell["total_blocks"]
    assert facts["body_steps"] == len(done.steps)
    operations = sum(calls.values()) + 3 * done.per_step("taken") + 2 * done.per_step("forked")
    assert facts["operations_per_sequence_step"] == _about(operations / done.per_step("running"))
    assert facts["program_digest"] == program.digest()
    return done


def _about(value: float) -> Any:
    import pytest

    return pytest.approx(value, rel=1e-12)


def check_implementations(
    cell: Cell, program: Program, targets: Iterable[str] = ("vector/py", "flat-stack/cpp")
) -> None:
    """Two real managers give the oracle's answers, one by one and by the timed replay."""
    config = cell.pool_config
    for target in targets:
        (impl,) = resolve(target)
        if impl.unavailable:
            continue
        checker = Checker(impl.make_manager(config), config, impl.reuse_order)
        # Longer than the body, so that it comes round.
        turn = [*range(program.num_steps), *range(program.setup_steps, program.num_steps)]
        checker.replay(program, turn, 16)
        checker.compare_all()
        manager = impl.make_manager(config)
        replay = bind(manager, program, impl.call_style)
        replay.setup()
        replay.run(0, 2 * program.body_steps)
        check_state(manager, config, program, turn)
