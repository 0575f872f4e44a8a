"""Verdicts on claims about made runs: each relation on both sides of its line."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.model import Run
from blockmark.verdict.claim_values import Measured
from blockmark.verdict.claims import Case, Claim, ClaimsFile, explore, judge_case, judge_claims
from blockmark.verdict.claims_file import parse_claims
from run_factory import find_cell, make_run, scalar

HEAD = """
[sources.s]
title = "S"

[settings.d16]
scenario = "decode"
implementations = ["hash-map/cpp", "vector/cpp", "flat-stack/cpp", "mine", "prefix-tree"]
set = { block_size = 16, concurrency = 256 }

[settings.d1]
scenario = "decode"
implementations = ["flat-stack/cpp"]
set = { block_size = 1 }

[settings.elsewhere]
scenario = "decode"
implementations = ["flat-stack/cpp"]
set = { block_size = 64 }
"""


def claims(text: str) -> ClaimsFile:
    return parse_claims(HEAD + text, "c.toml")


def claim(cases: str, more: str, relation: str = "about") -> str:
    return f"""
[[claims]]
id = "c"
source = "s"
statement = "It is so."
condition = "As it is."
relation = "{relation}"
{more}
cases = [{cases}]
"""


def run_with(**times: list[float]) -> Run:
    """A made run in which `step_ns` of the C++ structures is as given (at block size 16)."""
    content = make_run()
    for name, values in times.items():
        impl = f"{name.replace('_', '-')}/cpp"
        find_cell(content, impl)["metrics"]["step_ns"] = scalar(values)
    return parse_run(content, "made")


def verdict_of(run: Run | None, text: str) -> str:
    (found,) = judge_claims(claims(text), run)
    return found.verdict


COLUMN = (
    '{ label = "x", values = ["{d16 hash-map/cpp step_ns}", "{d16 vector/cpp step_ns}", '
    '"{d16 flat-stack/cpp step_ns}"] }'
)


@pytest.mark.parametrize(
    ("hashed", "vector", "flat", "verdict"),
    [
        ([134.0], [24.5], [3.6], "holds"),
        ([268.0], [49.0], [7.2], "holds"),  # just within a factor of two
        ([67.0], [12.25], [1.8], "holds"),
        ([270.0] * 5, [24.5] * 5, [3.6] * 5, "order"),
        ([30.0] * 5, [5.0] * 5, [3.6] * 5, "order"),
        ([30.0] * 5, [3.0] * 5, [3.6] * 5, "fails"),
        # Rounds of both reach each other, in this order and in the other one.
        ([30.0] * 5, [3.0, 4.0, 4.0, 4.0, 4.0], [3.9] * 5, "unshown"),
        ([30.0] * 5, [3.0, 3.1, 3.2, 3.3, 4.0], [3.9] * 5, "unshown"),
        ([30.0] * 5, [4.0, 4.1, 4.2, 4.3, 4.4], [3.9] * 5, "order"),
        # Too few rounds show neither an order nor its opposite.
        ([30.0] * 4, [4.0] * 4, [3.9] * 4, "unshown"),
        ([30.0], [3.0], [3.6], "unshown"),
    ],
)
def test_column(hashed: list[float], vector: list[float], flat: list[float], verdict: str) -> None:
    run = run_with(hash_map=hashed, vector=vector, flat_stack=flat)
    assert verdict_of(run, claim(COLUMN, "published = [134.0, 24.5, 3.6]")) == verdict


@pytest.mark.parametrize(("flat", "verdict"), [(6.9, "holds"), (7.0, "order"), (7.1, "order")])
def test_published_limit(flat: float, verdict: str) -> None:
    run = run_with(hash_map=[192.0] * 5, vector=[56.0] * 5, flat_stack=[flat] * 5)
    assert verdict_of(run, claim(COLUMN, 'published = [192, 56, "<7"]')) == verdict


def one(value: float, low: float | None = None, high: float | None = None) -> Measured:
    """An exact number, or an estimate of 5 rounds with their range."""
    if low is None or high is None:
        return Measured.exact(value)
    return Measured(value, low, high, rounds=5)


def few(value: float) -> Measured:
    return Measured(value, value, value, rounds=4)


def case_verdict(relation: str, found: tuple[Measured, ...], more: str) -> tuple[str, bool]:
    names = [f"{{d16 flat-stack/cpp m{place}}}" for place in range(len(found))]
    text = (
        claim(
            f'{{ label = "x", values = {[name.replace("m", "step_ns", 1) for name in names]} }}',
            more,
            relation,
        )
        .replace("step_ns0", "step_ns")
        .replace("step_ns1", "append_ns")
        .replace("step_ns2", "pack_ns")
    )
    parsed: Claim = claims(text).claims[0]
    by_name = dict(zip(("step_ns", "append_ns", "pack_ns"), found, strict=False))
    case: Case = parsed.cases[0]
    judged = judge_case(parsed, case, lambda address: by_name[address.name])
    return judged.verdict, judged.close


@pytest.mark.parametrize(
    ("relation", "more", "found", "verdict", "close"),
    [
        ("times", "published = 37.2", (one(30.0),), "holds", False),
        ("times", "published = 37.2", (one(5.0),), "order", False),
        ("times", "published = 37.2", (one(1.2, 0.9, 1.5),), "unshown", False),
        ("times", "published = 37.2", (one(0.6, 0.5, 0.9),), "fails", False),
        ("times", "published = 37.2", (few(30.0),), "unshown", False),
        ("times", "published = 37.2", (one(0.5),), "fails", False),
        ("times", "published = 0.5", (one(0.4),), "holds", False),
        ("times", "published = 0.5", (one(0.1),), "order", False),
        ("times", "published = 3\nwithin = 1.25", (one(3.7),), "holds", False),
        ("times", "published = 3\nwithin = 1.25", (one(3.8),), "order", False),
        ("below", "published = 1", (one(1.0), one(0.5)), "holds", False),
        ("below", "published = 1", (one(1.1, 0.9, 1.2),), "fails", True),
        ("above", "published = 0.8", (one((25 - 5) / 25),), "holds", False),
        ("above", "published = 0.8", (one((15 - 5) / 15),), "fails", False),
        ("between", "published = [4, 8]", (one(2.4),), "fails", False),
        ("between", "published = [4, 8]", (one(8.02),), "fails", False),
        ("between", "published = [4, 8]\nplaces = 0", (one(8.02),), "holds", False),
        ("between", "published = [0.3, 0.6]", (one(0.59, 0.55, 0.61),), "holds", True),
        ("equals", "published = 0.192\nplaces = 3", (one(0.195584),), "fails", False),
        ("equals", "published = 0.196\nplaces = 3", (one(0.195584),), "holds", False),
        ("equals", "published = 65535", (one(65536.0),), "fails", False),
        ("equals", "published = 0", (one(0.0),), "holds", False),
        ("equals", "published = 0", (one(1e-6),), "fails", False),
        ("equals", "published = 0.3", (one(0.1 + 0.2),), "holds", False),
        ("rising", "", (one(1.0), one(2.0), one(3.0)), "holds", False),
        ("rising", "", (one(1.0, 0.9, 2.0), one(2.1, 2.0, 2.2)), "unshown", False),
        # In the wrong order, and nothing shown; as a p99 of 1.90 (1.69-2.07) and 1.79.
        ("rising", "", (one(1.9, 1.69, 2.07), one(1.79, 1.48, 2.16)), "unshown", False),
        ("rising", "", (one(3.0, 2.9, 3.1), one(2.1, 2.0, 2.2)), "fails", False),
        ("rising", "", (few(1.0), few(2.0)), "unshown", False),
        ("rising", "", (few(2.0), few(1.0)), "unshown", False),
        ("rising", "", (one(1.0), one(3.0), one(2.0)), "fails", False),
        ("rising", "", (one(1.0), one(1.0)), "fails", False),
    ],
)
def test_relations(
    relation: str, more: str, found: tuple[Measured, ...], verdict: str, close: bool
) -> None:
    assert case_verdict(relation, found, more) == (verdict, close)


def test_depends_shows_both_sides() -> None:
    cases = (
        '{ label = "at 16", values = ["{d16 flat-stack/cpp step_ns}"] }, '
        '{ label = "at 1", values = ["{d1 flat-stack/cpp step_ns}"] }'
    )
    run = run_with(flat_stack=[100.0])
    (found,) = judge_claims(claims(claim(cases, "published = 150", "below")), run)
    assert found.verdict == "depends"
    assert [(case.label, case.verdict) for case in found.cases] == [
        ("at 16", "holds"),
        ("at 1", "fails"),  # 1,210 ns x 1.6, as the factory makes it
    ]


def test_a_case_that_shows_nothing_does_not_decide() -> None:
    cases = (
        '{ label = "step", values = ["{d16 flat-stack/cpp step_ns}", '
        '"{d16 hash-map/cpp step_ns}"] }, '
        '{ label = "one round", values = ["{d16 flat-stack/cpp append_ns}", '
        '"{d16 hash-map/cpp append_ns}"] }'
    )
    content = make_run()
    for name, cost in (("flat-stack/cpp", 1.0), ("hash-map/cpp", 2.0)):
        metrics = find_cell(content, name)["metrics"]
        metrics["step_ns"], metrics["append_ns"] = scalar([cost] * 5), scalar([cost])
    (found,) = judge_claims(claims(claim(cases, "", "rising")), parse_run(content))
    assert [case.verdict for case in found.cases] == ["holds", "unshown"]
    assert found.verdict == "holds"


def test_what_was_not_measured_does_not_decide() -> None:
    cases = (
        '{ label = "there", values = ["{d16 flat-stack/cpp step_ns}"] }, '
        '{ label = "not there", values = ["{elsewhere flat-stack/cpp step_ns}"] }'
    )
    (found,) = judge_claims(claims(claim(cases, "published = 1e9", "below")), run_with())
    assert found.verdict == "holds"
    assert found.cases[1].reason == "the run has no cell of the setting elsewhere"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("{elsewhere flat-stack/cpp step_ns}", "no cell of the setting elsewhere"),
        ("{d16 mine step_ns}", "mine is wrong: step 12"),
        ("{d16 prefix-tree step_ns}", "prefix-tree is unavailable: it has no `fork`"),
        ("{d16 flat-stack/cpp step_l1d_miss_rate}", "the run has no step_l1d_miss_rate"),
        ("{d16 such_a_fact}", "no fact such_a_fact"),
        ("{d16 program_digest}", "no fact program_digest"),
    ],
)
def test_not_measurable_says_why(address: str, reason: str) -> None:
    text = claim(f'{{ label = "x", values = ["{address}"] }}', "published = 1", "below")
    (found,) = judge_claims(claims(text), run_with())
    assert found.verdict == "unmeasurable"
    assert reason in found.reason
    (found,) = judge_claims(claims(text), None)
    assert (found.verdict, found.reason) == ("unmeasurable", "nothing was measured")


def test_a_metric_that_is_unavailable_gives_its_reason() -> None:
    content = make_run()
    find_cell(content, "flat-stack/cpp")["metrics"]["step_l1d_miss_rate"] = {
        "value": None,
        "unit": "share",
        "source": "counter",
        "unavailable": "no valgrind here",
    }
    text = claim(
        '{ label = "x", values = ["{d16 flat-stack/cpp step_l1d_miss_rate}"] }',
        "published = 1",
        "below",
    )
    (found,) = judge_claims(claims(text), parse_run(content, "made"))
    assert (found.verdict, found.reason) == ("unmeasurable", "no valgrind here")


def test_facts_are_exact_counts() -> None:
    text = claim(
        '{ label = "x", values = ["{d16 occupancy_p95} * 100"] }',
        "published = 74",
        "equals",
    )
    (found,) = judge_claims(claims(text), run_with())
    assert found.verdict == "holds"
    assert found.sources == {"count"}


def test_open_and_unmeasurable_need_no_run() -> None:
    text = """
[[claims]]
id = "a"
source = "s"
statement = "A."
open = "needs a bitmap"
[[claims]]
id = "b"
source = "s"
statement = "B."
unmeasurable = "needs a GPU"
"""
    found = judge_claims(claims(text), None)
    assert [(one.verdict, one.reason) for one in found] == [
        ("open", "needs a bitmap"),
        ("unmeasurable", "needs a GPU"),
    ]


def test_another_cell_of_the_scenario_is_not_taken() -> None:
    """A run with other values is no answer, whatever its scenario is called."""
    content = make_run()
    for place in (*content["settings"], *content["cells"]):
        place["params"]["concurrency"] = 8
    text = claim(
        '{ label = "x", values = ["{d16 flat-stack/cpp step_ns}"] }', "published = 1e9", "below"
    )
    assert verdict_of(parse_run(content, "made"), text) == "unmeasurable"


VARIATIONS = """
[[variations]]
name = "one token"
settings = ["d16"]
set = { block_size = 1 }

[[variations]]
name = "shuffled"
settings = ["d16"]
replace = { "lookup_ordered" = "lookup_shuffled" }

[[variations]]
name = "cold"
settings = ["d16"]
set = { cache = "llc-cold" }
"""


def varied_run() -> Run:
    """A made run with a setting under the name that the variation has there."""
    content: dict[str, Any] = make_run()
    for place in (*content["settings"], *content["cells"]):
        if place["params"]["block_size"] == 1:
            place["scenario"] = "d16.one-token"
    content["scenarios"].append({**content["scenarios"][0], "name": "d16.one-token"})
    return parse_run(content, "made")


def test_exploration() -> None:
    text = claim(
        '{ label = "x", values = ["{d16 flat-stack/cpp step_ns}"] }', "published = 1500", "below"
    )
    file = claims(text + VARIATIONS)
    result = explore(file, varied_run())
    assert result.variations == ("one token", "shuffled", "cold")
    ((claimed, first, (token, shuffled, cold)),) = result.rows
    assert claimed.id == "c"
    # 1,210 ns as the factory makes it, and 1.6 times as much with blocks of one token.
    assert first.verdict == "holds"
    assert token is not None
    assert token.verdict == "fails"
    assert shuffled is None
    assert cold is not None
    assert cold.verdict == "unmeasurable"


def test_exploration_of_a_pattern_measures_nothing_new() -> None:
    text = claim(
        '{ label = "x", values = ["{d16 flat-stack/cpp lookup_ordered_ns}"] }',
        "published = 1500",
        "below",
    )
    file = claims(text + VARIATIONS)
    assert [one.name for one in file.needed()] == ["d16"]
    assert [one.name for one in file.needed(sensitivity=True)] == [
        "d16",
        "d16.one-token",
        "d16.cold",
    ]
    ((_, first, (_, shuffled, _)),) = explore(file, varied_run()).rows
    assert shuffled is not None
    # The factory's shuffled lookups are 9/8 of those in order.
    ratio = shuffled.measured[0].value / first.measured[0].value
    assert ratio == pytest.approx(9 / 8, rel=0.1)
