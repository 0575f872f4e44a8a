"""When a cost can be told from the loop around it."""

from __future__ import annotations

import pytest

from blockmark.runs.model import MetricValue
from blockmark.verdict.resolution import below_resolution, net_value


def timing(value: float | None, *values: float, unit: str = "ns") -> MetricValue:
    return MetricValue(value, unit, "clock", values=values, rounds=len(values))


# Quartiles 2.0 and 4.0: a spread of 2, so 6 above the control's value is the limit.
CONTROL = timing(2.0, 1.0, 2.0, 3.0, 4.0, 100.0)


@pytest.mark.parametrize(
    ("value", "below"), [(2.5, True), (7.9, True), (8.0, False), (50.0, False)]
)
def test_three_spreads_of_the_control_are_the_limit(value: float, below: bool) -> None:
    assert below_resolution(timing(value, value, value), CONTROL) is below
    net = net_value(timing(value, value, value), CONTROL)
    assert net is not None
    assert (net.net, net.spread) == (value - 2.0, 2.0)


def test_a_negative_net_value_is_below_resolution_and_not_cut_to_zero() -> None:
    net = net_value(timing(1.5, 1.5, 1.5), CONTROL)
    assert net is not None
    assert (net.net, net.below_resolution) == (-0.5, True)


def test_a_control_without_spread_hides_only_what_is_not_above_it() -> None:
    still = timing(2.0, 2.0, 2.0)
    assert below_resolution(timing(2.0, 2.0), still) is True
    assert below_resolution(timing(2.1, 2.1), still) is False


def test_one_round_of_the_control_says_nothing() -> None:
    net = net_value(timing(9.0, 9.0, 9.0), timing(2.0, 2.0))
    assert net is not None
    assert (net.net, net.spread, net.below_resolution) == (7.0, None, None)
    assert below_resolution(timing(9.0, 9.0, 9.0), timing(2.0, 2.0)) is None


def test_what_was_not_measured_has_no_net_value() -> None:
    missing = MetricValue(None, "ns", "clock", unavailable="no")
    assert net_value(missing, CONTROL) is None
    assert below_resolution(timing(9.0, 9.0), missing) is None


def test_values_of_two_units_are_never_subtracted() -> None:
    with pytest.raises(ValueError, match="bytes less ns"):
        net_value(timing(9.0, 9.0, unit="bytes"), CONTROL)
