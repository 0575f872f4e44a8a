"""What sets two runs apart: stable facts alone."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.model import Run
from blockmark.verdict.machine import Difference, differences
from run_factory import make_run


def run_with(part: str = "machine", **facts: Any) -> Run:
    content = make_run(impls=("vector/cpp",), rounds=1)
    content[part] |= facts
    return parse_run(content)


PLAIN = run_with()


def test_a_run_is_not_apart_from_itself() -> None:
    assert differences(PLAIN, PLAIN) == ()


@pytest.mark.parametrize(
    ("part", "facts", "flag"),
    [
        ("machine", {"cpu_model": "AMD EPYC (Zen 4)"}, "other machine"),
        ("machine", {"cpu_stepping": 2}, "other machine"),
        ("machine", {"cores": 4}, "other machine"),
        ("machine", {"l2_bytes": 1_048_576}, "other machine"),
        ("machine", {"kernel": "5.15.0"}, "other machine"),
        ("build", {"compiler": "clang++ 18"}, "other build"),
        ("build", {"flags": "-O2"}, "other build"),
        ("machine", {"python": "3.12.1"}, "other interpreter"),
        ("machine", {"numpy": "2.5.0"}, "other interpreter"),
    ],
)
def test_a_stable_fact_that_differs_is_flagged(part: str, facts: dict[str, Any], flag: str) -> None:
    other = run_with(part, **facts)
    (fact, value) = next(iter(facts.items()))
    (found,) = differences(PLAIN, other)
    assert (found.flag, found.fact, found.now) == (flag, fact, value)
    (back,) = differences(other, PLAIN)
    assert (back.before, back.now) == (value, found.before)


@pytest.mark.parametrize(
    "facts",
    [
        {"load_before": 7.5},
        {"cpu_freq": "0-1=2450 MHz"},
        {"memory_bytes": 8_589_930_000},
        {"kernel": "6.8.0-generic"},
        {"python": "3.11.9"},
        {"cpu_family": "25"},
        {"cpu_vendor": "AuthenticAMD"},
        {"l3_bytes": None},
    ],
)
def test_what_moves_between_two_runs_on_one_machine_is_not(facts: dict[str, Any]) -> None:
    assert differences(PLAIN, run_with(**facts)) == ()


def test_quick_and_incomplete_runs_are_named() -> None:
    odd = parse_run(make_run(impls=("vector/cpp",), rounds=1, quick=True, complete=False))
    assert differences(PLAIN, odd) == (
        Difference("quick", "quick", False, True),
        Difference("incomplete", "complete", True, False),
    )
    assert len(differences(odd, odd)) == 2
