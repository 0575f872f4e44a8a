"""Which source a run's counters come from, on machines that have one, both or neither."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blockmark.measure.probes.callgrind import CacheShape, Geometry, Valgrind
from blockmark.measure.probes.pmu import Availability
from blockmark.measure.run import counting
from blockmark.measure.run.counting import CounterPlan, choose_counters
from blockmark.measure.run.plan import Plan, make_plan
from blockmark.workload.builtin import find_scenario
from blockmark.workload.errors import ConfigError

COUNTS = Availability(
    True, "", ("instructions", "l1d_misses"), {"ll_misses": "not shown by this processor (ENOENT)"}
)
NONE = Availability(False, "not shown by this virtual machine (ENOENT)", (), {})
VALGRIND = Valgrind("/usr/bin/valgrind", "3.19.0")
MISSING = "valgrind is not installed; install it"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Say what the machine has: `machine(pmu, valgrind)`."""

    def have(pmu: Availability, valgrind: Valgrind | str) -> None:
        monkeypatch.setattr(counting, "probe_pmu", lambda: pmu)
        monkeypatch.setattr(counting, "find_valgrind", lambda: valgrind)

    return have


@pytest.mark.parametrize(
    ("asked", "pmu", "valgrind", "source"),
    [
        ("auto", COUNTS, VALGRIND, "pmu"),
        ("auto", COUNTS, MISSING, "pmu"),
        ("auto", NONE, VALGRIND, "callgrind"),
        ("auto", NONE, MISSING, "software"),
        ("pmu", COUNTS, MISSING, "pmu"),
        ("callgrind", COUNTS, VALGRIND, "callgrind"),
        ("software", COUNTS, VALGRIND, "software"),
        ("none", COUNTS, VALGRIND, "none"),
    ],
)
def test_the_source(machine: Any, asked: str, pmu: Any, valgrind: Any, source: str) -> None:
    machine(pmu, valgrind)
    plan = choose_counters(asked, [])
    assert (plan.asked, plan.source) == (asked, source)
    assert plan.software is (asked != "none")
    assert bool(plan.events) is (source == "pmu")
    assert (plan.geometry is not None) is (source == "callgrind")
    facts = plan.run_facts()
    assert (facts["asked"], facts["source"]) == (asked, source)
    assert all(isinstance(fact, str | int | float | bool) for fact in facts.values())


def test_auto_keeps_the_reasons_against_what_it_did_not_take(machine: Any) -> None:
    machine(NONE, MISSING)
    facts = choose_counters("auto", []).facts
    assert facts["why_not_pmu"] == NONE.reason
    assert facts["why_not_callgrind"] == MISSING
    machine(NONE, VALGRIND)
    facts = choose_counters("auto", []).facts
    assert facts["why_not_pmu"] == NONE.reason
    assert "why_not_callgrind" not in facts
    machine(COUNTS, VALGRIND)
    assert "why_not_pmu" not in choose_counters("auto", []).facts


def test_what_the_processor_counts_and_what_not(machine: Any) -> None:
    machine(COUNTS, MISSING)
    plan = choose_counters("pmu", [])
    reason = "not shown by this processor (ENOENT)"
    assert plan.events == {"instructions": "", "l1d_misses": "", "ll_misses": reason}
    assert plan.facts == {"events": "instructions, l1d_misses", "why_not_ll_misses": reason}


def test_the_caches_are_pinned_and_told(machine: Any) -> None:
    machine(NONE, VALGRIND)
    plan = choose_counters("callgrind", ["l1=65536,8,64"])
    assert plan.geometry == Geometry(CacheShape(65536, 8, 64), CacheShape(65536, 8, 64))
    assert plan.facts == {
        "valgrind": "3.19.0",
        "i1": "65536,8,64",
        "d1": "65536,8,64",
        "ll": "33554432,16,64",
    }


@pytest.mark.parametrize(
    ("asked", "cache", "pmu", "valgrind", "says"),
    [
        ("pmu", [], NONE, VALGRIND, "not shown by this virtual machine (ENOENT); --counters callg"),
        ("pmu", [], NONE, MISSING, "--counters software works"),
        ("callgrind", [], COUNTS, MISSING, f"--counters callgrind: {MISSING}"),
        ("callgrnd", [], COUNTS, VALGRIND, 'did you mean "callgrind"?'),
        ("", [], COUNTS, VALGRIND, "there are auto, pmu, callgrind, software, none"),
        ("software", ["l1=32768,8,64"], COUNTS, VALGRIND, "has no effect"),
        ("none", ["l1=32768,8,64"], COUNTS, VALGRIND, "has no effect"),
        ("pmu", ["l1=32768,8,64"], COUNTS, VALGRIND, "the processor's own are counted"),
        ("auto", ["l1=32768,8,64"], COUNTS, VALGRIND, "the processor's own are counted"),
        ("auto", ["l1=32768,8,64"], NONE, MISSING, f"nothing can be simulated here: {MISSING}"),
        ("callgrind", ["l1=3,8,64"], NONE, VALGRIND, "--cache l1=3,8,64"),
        ("software", ["l9=3,8,64"], NONE, VALGRIND, "--cache l9=3,8,64"),
    ],
)
def test_what_can_not_be_had(
    machine: Any, asked: str, cache: list[str], pmu: Any, valgrind: Any, says: str
) -> None:
    machine(pmu, valgrind)
    with pytest.raises(ConfigError) as caught:
        choose_counters(asked, cache)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "counters",
    [
        CounterPlan(),
        CounterPlan("none", "none"),
        CounterPlan("auto", "pmu", {"events": "cycles"}, events={"cycles": "", "ll_loads": "no"}),
        CounterPlan("auto", "callgrind", {"valgrind": "3.19.0"}, Geometry(ll=CacheShape(1, 2, 3))),
    ],
)
def test_a_plan_comes_back_from_the_disk(counters: CounterPlan) -> None:
    plan = make_plan([find_scenario("decode")], ["vector/py"], command="", counters=counters)
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))).counters == counters


def test_a_plan_of_another_version_is_refused() -> None:
    content = make_plan([find_scenario("decode")], ["vector/py"], command="").as_json()
    for spoilt in ({}, None, {"asked": "auto"}, {**content["counters"], "geometry": [1]}):
        with pytest.raises(ConfigError, match="start a new run"):
            Plan.from_json({**content, "counters": spoilt})
