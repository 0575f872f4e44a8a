"""Hardware counters without any hardware: reasons, scaling, the check, and the pass."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.inside import round as round_module
from blockmark.measure.inside.counter_pass import count_operations, entries
from blockmark.measure.probes.perf_reasons import (
    Answer,
    Rights,
    ask,
    reason_of,
    running_share,
    scaled,
    value_of,
)
from blockmark.measure.probes.pmu import Pmu, event_groups, probe, survey, vendor_in
from blockmark.measure.probes.software import SoftwareCounts, migrations_in
from blockmark.measure.probes.timing import Cost, Cursor
from blockmark.measure.process.reading import Reading
from blockmark.measure.process.task import CellTask, RoundTask
from blockmark.measure.replay import bind
from blockmark.measure.run.plan import QUICK
from blockmark.measure.run.programs import prepare
from blockmark.runs.metrics.counters import EVENTS
from blockmark.workload.builtin import find_scenario
from blockmark.workload.models import lookup_programs
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.registry import resolve
from cli import TINY

NOBODY = Rights(2, privileged=False)


def kernel(
    level: int, *, privileged: bool = False, has_event: bool = True
) -> Callable[[bool], int]:
    """perf_event_open as kernels do it: permission first, then the event.

    Levels above 2 are those of Debian and Ubuntu, which refuse everything.
    """

    def open_event(exclude_kernel: bool) -> int:
        if not privileged and (level >= 3 or (level == 2 and not exclude_kernel)):
            return errno.EACCES
        return 0 if has_event else errno.ENOENT

    return open_event


@pytest.mark.parametrize("privileged", [False, True])
@pytest.mark.parametrize("level", [-1, 0, 1, 2, 3, 4])
def test_no_level_hides_that_the_event_does_not_exist(level: int, privileged: bool) -> None:
    answer = ask(kernel(level, privileged=privileged, has_event=False))
    if level <= 2 or privileged:
        # Level 2 answers EACCES first, as long as the kernel's share is asked for.
        assert answer.code == errno.ENOENT
        assert answer.kernel_refused is (level == 2 and not privileged)
    else:
        assert answer == Answer(errno.EACCES, kernel_refused=True)


@pytest.mark.parametrize("level", [-1, 0, 1, 2])
def test_every_level_up_to_2_counts_user_space(level: int) -> None:
    assert ask(kernel(level)).code == 0


def test_it_is_not_asked_again_unless_it_was_refused() -> None:
    asked: list[bool] = []

    def open_event(exclude_kernel: bool) -> int:
        asked.append(exclude_kernel)
        return errno.ENOENT

    ask(open_event)
    assert asked == [False]


@pytest.mark.parametrize("level", [3, 4])
def test_a_strict_level_is_named_with_the_mend(level: int) -> None:
    reason = reason_of(errno.EACCES, Rights(level, privileged=False))
    assert f"/proc/sys/kernel/perf_event_paranoid is {level}" in reason
    assert "sysctl kernel.perf_event_paranoid=2" in reason
    assert "seccomp" not in reason


@pytest.mark.parametrize("level", [-1, 0, 1, 2])
def test_an_open_level_is_not_blamed(level: int) -> None:
    container = reason_of(errno.EPERM, Rights(level, privileged=False))
    assert f"perf_event_paranoid is {level}, which allows it" in container
    assert "seccomp" in container
    assert "--cap-add PERFMON" in container
    module = reason_of(errno.EACCES, Rights(level, privileged=False))
    assert f"is {level}, which allows it" in module
    assert "SELinux" in module
    assert "sysctl" not in container + module


def test_a_refusal_without_a_level_or_with_every_capability() -> None:
    assert "there is no /proc/sys/kernel/perf_event_paranoid" in reason_of(
        errno.EPERM, Rights(None, privileged=False)
    )
    # A capability is bound by no level, so the level is not to blame.
    reason = reason_of(errno.EPERM, Rights(4, privileged=True))
    assert "though the process has the capability" in reason
    assert "sysctl" not in reason


@pytest.mark.parametrize(
    "code", [errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENXIO, errno.EINVAL]
)
def test_what_the_processor_does_not_have(code: int) -> None:
    assert "not shown by this processor" in reason_of(code, NOBODY)
    virtual = reason_of(code, Rights(2, privileged=False, virtual=True))
    assert "not shown by this virtual machine" in virtual
    # EOPNOTSUPP has two names for one number.
    names = {name for name in dir(errno) if getattr(errno, name) == code}
    assert any(f"({name})" in virtual for name in names)


def test_a_sandbox_and_anything_else() -> None:
    assert "sandbox" in reason_of(errno.ENOSYS, NOBODY)
    assert reason_of(errno.EMFILE, NOBODY) == ("the kernel answered: Too many open files (EMFILE)")


@pytest.mark.parametrize(
    ("paranoid", "status", "cpuinfo", "expected"),
    [
        ("2\n", "CapEff:\t0000000000000000\n", "flags\t: fpu sse\n", Rights(2, False, False)),
        ("-1\n", "CapEff:\t0000004000000000\n", "flags\t: fpu\n", Rights(-1, True, False)),
        ("4\n", "CapEff:\t0000000000200000\n", "flags: a hypervisor b\n", Rights(4, True, True)),
        ("1\n", "CapEff:\t0000000000100000\n", "", Rights(1, False, False)),
        ("", "", "", Rights(None, False, False)),
        ("what\n", "Name:\tcat\n", "flags2: hypervisor\n", Rights(None, False, False)),
    ],
)
def test_rights_from_proc(paranoid: str, status: str, cpuinfo: str, expected: Rights) -> None:
    """CAP_SYS_ADMIN is bit 21, CAP_PERFMON bit 38; bit 20 is another."""
    assert Rights.parse(paranoid, status, cpuinfo) == expected


def test_scaling_by_hand() -> None:
    # On a counter for a quarter of the time: four times as many.
    assert scaled(250, 400, 100) == 1000
    assert scaled(250, 400, 400) == 250
    assert scaled(0, 400, 400) == 0
    assert scaled(0, 400, 0) is None
    assert running_share(400, 100) == 0.25
    assert running_share(0, 0) == 0.0
    assert running_share(100, 101) == 1.0


def test_a_reading_is_a_count_or_a_reason() -> None:
    assert value_of((250, 400, 100)) == 1000
    assert "never scheduled" in str(value_of((0, 400, 0)))
    assert "5.0% of the time" in str(value_of((10, 400, 20)))
    assert "did not open" in str(value_of(None))
    assert value_of((0, 400, 400)) == 0


def test_the_second_level_is_never_called_the_last() -> None:
    """Numbers as in linux/perf_event.h: PERF_COUNT_HW_* and id | op << 8 | result << 16."""
    amd = {name: code for group in event_groups("AuthenticAMD") for name, code in group.items()}
    other = {name: code for group in event_groups("GenuineIntel") for name, code in group.items()}
    assert amd.keys() - other.keys() == {"l2_loads", "l2_misses"}
    assert other.keys() - amd.keys() == {"ll_loads", "ll_misses"}
    assert (amd["l2_loads"], amd["l2_misses"]) == ((0, 2), (0, 3))
    assert (other["ll_loads"], other["ll_misses"]) == ((3, 2), (3, 0x10002))
    assert (amd["cycles"], amd["instructions"]) == ((0, 0), (0, 1))
    assert (amd["branches"], amd["branch_misses"]) == ((0, 4), (0, 5))
    assert (amd["l1d_loads"], amd["l1d_misses"]) == ((3, 0), (3, 0x10000))
    assert amd.keys() | other.keys() <= set(EVENTS)
    assert event_groups("HygonGenuine") == event_groups("AuthenticAMD")
    assert event_groups("") == event_groups("GenuineIntel")


@pytest.mark.parametrize("vendor", ["AuthenticAMD", "GenuineIntel"])
def test_numerator_and_denominator_count_together(vendor: str) -> None:
    groups = event_groups(vendor)
    assert all(len(group) <= 4 for group in groups)
    for one, other in (
        ("instructions", "cycles"),
        ("l1d_loads", "l1d_misses"),
        ("branches", "branch_misses"),
    ):
        assert any(one in group and other in group for group in groups)


def test_the_vendor_in_cpuinfo() -> None:
    assert vendor_in("processor\t: 0\nvendor_id\t: AuthenticAMD\n") == "AuthenticAMD"
    assert vendor_in("CPU implementer\t: 0x41\n") == ""


class FakeEvents:
    """Counters that count `steps` of what is done inside; `world` says what each code does."""

    def __init__(self, world: FakeProcessor, groups: Sequence[Sequence[Any]]) -> None:
        self.world = world
        (self.codes,) = groups
        self.inside = False
        self.counts = [0] * len(self.codes)
        self.closed = False

    def errors(self) -> list[list[int]]:
        return [[self.world.errors.get(code, 0) for code in self.codes]]

    def enter(self) -> None:
        self.world.inside = self

    def leave(self) -> None:
        self.world.inside = None

    def reset(self) -> None:
        self.counts = [0] * len(self.codes)

    def close(self) -> None:
        self.closed = True

    def read(self) -> list[list[tuple[int, int, int] | None]]:
        return [
            [
                None if code in self.world.errors else (count, 100, self.world.running)
                for code, count in zip(self.codes, self.counts, strict=True)
            ]
        ]


class FakeProcessor:
    """`rates` maps codes to counts for each unit of work."""

    def __init__(self, rates: dict[Any, int], errors: dict[Any, int] | None = None) -> None:
        self.rates = rates
        self.errors = errors or {}
        self.running = 100
        self.inside: FakeEvents | None = None
        self.opened: list[FakeEvents] = []

    def open(self, groups: Sequence[Sequence[Any]], exclude_kernel: bool) -> FakeEvents:
        self.opened.append(FakeEvents(self, groups))
        return self.opened[-1]

    def work(self, units: int) -> None:
        if self.inside:
            self.inside.counts = [
                count + self.rates[code] * units
                for code, count in zip(self.inside.codes, self.inside.counts, strict=True)
            ]


INTEL = event_groups("GenuineIntel")
CODES = {name: code for group in INTEL for name, code in group.items()}
# One unit of work is a million iterations of the known loop.
RATES = {
    CODES["instructions"]: 4_000_000,
    CODES["cycles"]: 1_000_000,
    CODES["branches"]: 1_000_000,
    CODES["branch_misses"]: 12,
    CODES["l1d_loads"]: 1_000_000,
    CODES["l1d_misses"]: 262_144,
    CODES["ll_loads"]: 200_000,
    CODES["ll_misses"]: 100_000,
}


def survey_of(processor: FakeProcessor, exempt: Sequence[str] = ()) -> Any:
    return survey(INTEL, processor.open, lambda group: processor.work(1), NOBODY, exempt)


def test_a_processor_that_counts() -> None:
    processor = FakeProcessor(RATES)
    found = survey_of(processor)
    assert found.ok
    assert found.reason == ""
    assert found.events == tuple(CODES)
    assert found.unavailable == {}
    assert all(events.closed for events in processor.opened)


def test_an_event_that_opens_but_stays_at_0_is_none() -> None:
    found = survey_of(FakeProcessor({**RATES, CODES["l1d_misses"]: 0, CODES["ll_misses"]: 0}))
    assert found.ok
    assert found.unavailable == {
        "l1d_misses": "opens but stays at 0",
        "ll_misses": "opens but stays at 0",
    }
    # A last level larger than what was walked over rightly misses nothing.
    found = survey_of(FakeProcessor({**RATES, CODES["ll_misses"]: 0}), ["ll_misses"])
    assert found.unavailable == {}


def test_a_counter_that_counts_too_little_is_not_believed() -> None:
    found = survey_of(FakeProcessor({**RATES, CODES["instructions"]: 3}))
    assert found.unavailable == {"instructions": "counted 3 where 1,000,000 were due"}
    assert found.ok  # cycles are left


def test_a_machine_whose_counters_all_stand_still() -> None:
    found = survey_of(FakeProcessor(dict.fromkeys(RATES, 0)))
    assert not found.ok
    assert found.reason == "opens but stays at 0"
    assert found.events == ()


def test_a_machine_without_counters_says_why_once() -> None:
    found = survey_of(FakeProcessor(RATES, dict.fromkeys(RATES, errno.ENOENT)))
    assert not found.ok
    assert found.reason == "not shown by this processor or its kernel (ENOENT)"
    assert set(found.unavailable) == set(CODES)


def test_counters_that_others_hold() -> None:
    processor = FakeProcessor(RATES)
    processor.running = 0
    assert "never scheduled" in survey_of(processor).reason


def test_this_machine_answers_one_way_or_the_other() -> None:
    found = probe()
    assert found.ok is (found.reason == "")
    assert not set(found.events) & set(found.unavailable)
    assert "\n" not in found.reason


class FakeReplay:
    """Steps of phases 1 and 2 in turn; a step of phase 2 is twice the work."""

    def __init__(self, processor: FakeProcessor) -> None:
        self.processor = processor
        self.asked: list[tuple[int, int, int]] = []

    def run_within(self, first: int, steps: int, phase: int, region: Any) -> None:
        self.asked.append((first, steps, phase))
        for step in range(first, first + steps):
            if step % 2 + 1 == phase:
                region.enter()
            self.processor.work(1 + step % 2)
            if step % 2 + 1 == phase:
                region.leave()


class FakeProgram:
    period = 2
    body_steps = 8
    units = {1: 10.0, 2: 5.0}  # noqa: RUF012


def test_a_pass_counts_one_phase_and_goes_on_where_it_was() -> None:
    processor = FakeProcessor(RATES)
    replay = FakeReplay(processor)
    cursor = Cursor(replay, FakeProgram())  # type: ignore[arg-type]
    pmu = Pmu({"instructions": "", "l1d_loads": "", "ll_loads": "no such"}, INTEL, processor.open)
    assert pmu.count(cursor, 4, 2) == {
        # Two steps of phase 2, each two units of work.
        "instructions": 2 * 2 * 4_000_000,
        "l1d_loads": 2 * 2 * 1_000_000,
        "ll_loads": "no such",
    }
    # A pass for each group that has anything to count.
    assert replay.asked == [(0, 4, 2), (4, 4, 2)]


def test_metrics_of_a_pass_by_hand() -> None:
    processor = FakeProcessor(RATES)
    cursor = Cursor(FakeReplay(processor), FakeProgram())  # type: ignore[arg-type]
    wanted = {"instructions": "", "cycles": "", "l1d_loads": "not shown"}
    pmu = Pmu(wanted, INTEL, processor.open)
    # 10 units of 250,000 ns: four periods are 10 ms. 5 units of 10 ms: one is enough.
    costs = {1: Cost(250_000.0, 0.0), 2: Cost(1e7, 0.0)}
    found = count_operations(pmu, cursor, {1: "lookup_ordered_ns", 2: "give_ns"}, costs)
    assert found["lookup_ordered_instructions_per_op"] == Reading(
        4 * 4_000_000 / (4 * 10), source="pmu"
    )
    assert found["give_instructions_per_op"].number == 2 * 4_000_000 / 5
    assert found["give_ipc"].number == 4.0
    assert found["give_l1d_loads_per_op"] == Reading.missing("l1d_loads: not shown", "pmu")
    assert "give_l2_loads_per_op" not in found


def test_a_quotient_of_a_missing_event_has_its_reason() -> None:
    found = entries("step", {"instructions": 100.0, "cycles": "never scheduled"}, 10)
    assert found["step_instructions_per_op"].number == 10.0
    assert found["step_ipc"].unavailable == "cycles: never scheduled"
    assert found["step_cycles_per_op"].unavailable == "cycles: never scheduled"
    found = entries("step", {"l1d_loads": 0.0, "l1d_misses": 0.0}, 10)
    assert found["step_l1d_misses_per_op"].number == 0.0
    assert "no l1d loads were counted" in found["step_l1d_miss_rate"].unavailable


def test_the_kernels_own_events_go_the_same_way() -> None:
    """The task clock (type 1, config 1) stands in for an event of the processor."""
    _native = pytest.importorskip("blockmark_impls._native")
    if _native.PerfEvents([[(1, 1)]]).errors() != [[0]]:
        pytest.skip("perf_event_open is refused here")
    cell = find_scenario("decode").cells()[0]
    program = lookup_programs(cell)[0].program
    groups = ({"instructions": (1, 1)}, {"cycles": (0xFFFF, 1)})
    for target in ("flat-stack/cpp", "vector/py"):
        (impl,) = resolve(target)
        replay = bind(impl.make_manager(cell.pool_config), program, impl.call_style)
        replay.setup()
        pmu = Pmu({"instructions": "", "cycles": ""}, groups, _native.PerfEvents)
        found = pmu.count(Cursor(replay, program), program.period, 1)
        assert isinstance(found["instructions"], float)
        assert found["instructions"] > 0
        assert "did not open" in str(found["cycles"])


def test_migrations_in_the_kernels_text() -> None:
    text = (
        "cat (31641, #threads: 1)\n"
        "se.sum_exec_runtime                          :             0.000000\n"
        "se.nr_migrations                             :                   17\n"
        "nr_switches                                  :                    3\n"
        "numa_pages_migrated                          :                    5\n"
    )
    assert migrations_in(text) == 17
    assert migrations_in("nr_migrations : 2") == 2
    assert migrations_in("nr_switches : 2") is None
    assert migrations_in("") is None


def test_software_counts_are_differences() -> None:
    one = SoftwareCounts(10, 2, 1, 2, 5, 1_000, 10_000)
    two = SoftwareCounts(17, 3, 1, 5, 9, 4_000, 14_000)
    assert two.since(one) == {
        "minor_faults": 7,
        "major_faults": 1,
        "voluntary_switches": 0,
        "involuntary_switches": 3,
        "migrations": 4,
        "task_clock_ns": 3_000,
        "cpu_share_of_wall": 0.75,
    }
    untold = SoftwareCounts(17, 3, 1, 5, None, 4_000, 14_000).since(one)
    assert untold["migrations"] == "this kernel keeps no /proc/self/sched"


def test_a_round_counts_every_operation_that_it_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the task clock in the place of instructions, from both sides of the boundary."""
    _native = pytest.importorskip("blockmark_impls._native")
    if _native.PerfEvents([[(1, 1)]]).errors() != [[0]]:
        pytest.skip("perf_event_open is refused here")
    groups = ({"instructions": (1, 1)},)
    wanted = {"instructions": "", "cycles": "not shown"}
    monkeypatch.setattr(Pmu, "here", lambda asked: Pmu(asked, groups, _native.PerfEvents))
    monkeypatch.setattr(round_module, "set_collector", lambda mode: None)
    text = TINY.replace('["step"]', '["step", "lookup", "pool"]')
    (cell,) = parse_scenario(text, "tiny", "tiny").cells()
    saved = prepare([cell], tmp_path).programs[cell.key]
    for target in ("flat-stack/cpp", "vector/py"):
        (impl,) = resolve(target)
        style, condition = impl.call_style, saved.condition
        task = CellTask(cell.values, cell.pool_config, style, condition, 1, saved.models)
        timed = RoundTask(task, saved.sequences, QUICK, False, wanted, {})
        found = round_module.measure_round(impl, timed)["metrics"]
        times = {name for name in found if name.endswith("_ns") and "value" in found[name]}
        assert {"step_ns", "lookup_ordered_ns"} <= times
        for name in times - {"step_per_sequence_ns"}:
            entry = found[f"{name.removesuffix('_ns')}_instructions_per_op"]
            assert entry["source"] == "pmu"
            assert entry["value"] > 0
            cycles = found[f"{name.removesuffix('_ns')}_cycles_per_op"]
            assert cycles["unavailable"] == "cycles: not shown"
        # Its own unit of work, not that of a whole step: eight lookups and more.
        step, lookup = (
            found[f"{name}_instructions_per_op"]["value"] for name in ("step", "lookup_ordered")
        )
        assert step > 4 * lookup
