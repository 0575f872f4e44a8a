"""Three significant digits, units and intervals, against numbers written by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmark.report.facts.numbers import (
    count,
    exact,
    interval,
    percent,
    scale_for,
    short_count,
    significant,
    times,
    with_unit,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (1.2149, "1.21"),
        (1.215001, "1.22"),
        (17.94, "17.9"),
        (250.4, "250"),
        (9.996, "10.0"),
        (99.96, "100"),
        (999.6, "1,000"),
        (12_345.0, "12,300"),
        (1_234_567.0, "1,230,000"),
        (0.3149, "0.315"),
        (0.000_012_34, "0.0000123"),
        (0.000_000_012_34, "1.23e-08"),
        (1.5e13, "1.50e+13"),
        (-1.234, "-1.23"),
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_a_number_has_three_significant_digits(value: float | None, text: str) -> None:
    assert significant(value) == text


@given(st.floats(min_value=1e-6, max_value=9e11))
def test_what_is_printed_is_within_half_a_digit_of_the_value(value: float) -> None:
    printed = float(significant(value).replace(",", ""))
    assert printed == pytest.approx(value, rel=0.00501)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (256.0, "256"), (65_536, "65,536"), (0.25, "0.250")]
)
def test_a_count_is_exact_where_it_is_whole(value: float, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("low", "high", "value", "text"),
    [
        (1.188, 1.242, 1.21, "1.19-1.24"),
        (17.62, 18.41, 17.9, "17.6-18.4"),
        (9.87, 10.4, 9.99, "9.87-10.40"),
        (9.87, 10.4, 10.1, "9.9-10.4"),
        (12_345.0, 12_651.0, 12_400.0, "12,300-12,700"),
        (-0.5, 0.25, 0.1, "-0.500 to 0.250"),
        (0.0, 0.0, 0.0, "0-0"),
        (None, 1.0, 1.0, "-"),
        (1.0, math.inf, 1.0, "-"),
    ],
)
def test_an_interval_is_rounded_where_its_value_is(
    low: float | None, high: float | None, value: float, text: str
) -> None:
    assert interval(low, high, value) == text


def test_an_interval_without_a_value_is_rounded_by_its_upper_end() -> None:
    assert interval(0.98, 1.234) == "0.98-1.23"


@pytest.mark.parametrize(
    ("values", "unit", "label"),
    [
        ([3.6, 134.0], "ns", "ns"),
        ([1_210.0, 17_900.0], "ns", "us"),
        ([999.0, 17_900.0], "ns", "ns"),
        ([5e6, 2e7], "ns", "ms"),
        ([2e9], "ns", "s"),
        ([0.0, None, 2_000.0], "ns", "us"),
        ([], "ns", "ns"),
        ([131_072.0], "bytes", "KiB"),
        ([1_000.0, 3e9], "bytes", "B"),
        ([3.0 * 2**30], "bytes", "GiB"),
        ([5.0], "blocks", "blocks"),
    ],
)
def test_a_column_has_the_largest_unit_in_which_nothing_gets_small(
    values: list[float | None], unit: str, label: str
) -> None:
    assert scale_for(values, unit).label == label


def test_the_least_number_of_a_column_can_be_chosen() -> None:
    assert scale_for([310.0, 17_900.0], "ns", 0.1).label == "us"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (17_900.0, "ns", "17.9 us"),
        (3.61, "ns", "3.61 ns"),
        (524_288.0, "bytes", "512 KiB"),
        (0.0, "ns", "0 ns"),
        (None, "ns", "-"),
    ],
)
def test_one_value_alone_has_the_unit_that_suits_it(
    value: float | None, unit: str, text: str
) -> None:
    assert with_unit(value, unit) == text


def test_shares_and_ratios() -> None:
    assert percent(0.002418) == "0.242 %"
    assert percent(1.5) == "150 %"
    assert percent(None) == "-"
    assert times(1.2649) == "1.26x"
    assert times(None) == "-"


@pytest.mark.parametrize(
    ("value", "whole", "short"),
    [
        (0, "0", "0"),
        (0.25, "0.25", "0.25"),
        (0.1234567, "0.123457", "0.123457"),
        (16, "16", "16"),
        (1000.0, "1,000", "1,000"),
        (1024, "1,024", "1Ki"),
        (1536, "1,536", "1,536"),
        (65_536.0, "65,536", "64Ki"),
        (16_777_216, "16,777,216", "16Mi"),
        (3 * 2**30, "3,221,225,472", "3Gi"),
        (10**13, "10,000,000,000,000", "10,000,000,000,000"),
    ],
)
def test_a_number_that_somebody_chose_is_not_rounded(value: float, whole: str, short: str) -> None:
    assert exact(value) == whole
    assert short_count(value) == short
