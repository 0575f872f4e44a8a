"""The settings that both property tests have unless others are given."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, Any

import hypothesis

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.stateful import RuleBasedStateMachine


def test_case(
    machine: type[RuleBasedStateMachine],
    settings: hypothesis.settings | None,
    proof: Callable[[Any], None] | None,
) -> type[unittest.TestCase]:
    """The TestCase of a machine, and of a proof beside it if there is one.

    Without settings of one's own no example is kept between runs, so that no folder is left
    behind, and none has a deadline, since a busy machine is no fault.
    """
    case: Any = machine.TestCase
    case.settings = settings or hypothesis.settings(
        max_examples=200,
        stateful_step_count=40,
        deadline=None,
        database=None,
        print_blob=False,
        # One fault at a time, and its shortest calls; which of our lines ran says nothing.
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    if proof is not None:
        # A class with a test of its own has its runTest forgotten by unittest and pytest.
        case.test_calls = case.runTest
        case.test_as_verify = proof
    found: type[unittest.TestCase] = case
    return found
