"""When a cost can be told from the loop around it."""

from __future__ import annotations

import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.floors import Standing, standing, stands
from blockmark.runs.model import MetricValue
from run_factory import find_cell, make_run, scalar


def timing(value: float | None, *values: float, unit: str = "ns") -> MetricValue:
    return MetricValue(value, unit, "clock", values=values, rounds=len(values))


# Quartiles 2.0 and 4.0: a spread of 2, so 6 above the control's value is the limit.
CONTROL = timing(2.0, 1.0, 2.0, 3.0, 4.0, 100.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.9, "below"),
        (1.0, "in its noise"),
        (2.0, "in its noise"),
        (7.9, "in its noise"),
        (8.0, "above"),
        (50.0, "above"),
    ],
)
def test_three_spreads_of_the_control_are_the_limit(value: float, expected: Standing) -> None:
    assert stands(timing(value, value, value), CONTROL) == expected


def test_a_control_without_spread_hides_only_what_is_not_above_it() -> None:
    still = timing(2.0, 2.0, 2.0)
    assert stands(timing(2.0, 2.0), still) == "in its noise"
    assert stands(timing(2.1, 2.1), still) == "above"


def test_one_round_of_the_control_tells_only_what_is_below_it() -> None:
    assert stands(timing(9.0, 9.0, 9.0), timing(2.0, 2.0)) is None
    assert stands(timing(1.0, 1.0, 1.0), timing(2.0, 2.0)) == "below"


def test_what_was_not_measured_stands_nowhere() -> None:
    missing = MetricValue(None, "ns", "clock", unavailable="no")
    assert stands(missing, CONTROL) is None
    assert stands(timing(9.0, 9.0), missing) is None


def test_values_of_two_units_are_never_set_together() -> None:
    with pytest.raises(ValueError, match="bytes against ns"):
        stands(timing(9.0, 9.0, unit="bytes"), CONTROL)


def test_the_floor_is_the_empty_loop_and_for_packing_a_plain_array() -> None:
    content = make_run()
    for name, metric, value in (
        ("null/cpp", "step_ns", 300.0),
        ("raw-array/cpp", "pack_ns", 6000.0),
        ("vector/cpp", "step_ns", 299.0),
        ("vector/cpp", "pack_ns", 5600.0),
        ("flat-stack/cpp", "pack_ns", 6000.0),
    ):
        find_cell(content, name)["metrics"][metric] = scalar([value] * 5)
    run = parse_run(content)
    cells = run.cells_of(run.settings[0].key)
    by_name = {cell.impl: cell for cell in cells}

    def found(impl: str, metric: str) -> Standing | None:
        return standing(by_name[impl], metric, cells, run.implementation_by_name)

    assert found("vector/cpp", "step_ns") == found("vector/cpp", "pack_ns") == "below"
    # A floor of the same work may be reached, which is no lack of resolution.
    assert found("flat-stack/cpp", "pack_ns") == "above"
    assert found("null/cpp", "step_ns") is None
    assert found("vector/cpp", "table_bytes") is None
    assert found("vector/cpp", "no_such_ns") is None
