"""Arithmetic in claims: against Python's own, and intervals against brute force."""

from __future__ import annotations

import itertools

import pytest

from blockmark.verdict.claim_values import (
    Address,
    Measured,
    Unmeasured,
    ValueSyntaxError,
    parse_value,
)


def nothing(address: Address) -> Measured:
    raise AssertionError(address)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(134.0 + 248.0) * 256 * 2000 / 1e9", 0.195584),
        ("1 - 0.004", 0.996),
        ("-2 * -3", 6.0),
        ("floor((16 + 64 + 63) / 64)", 2.0),
        ("ceil(1280 / 16)", 80.0),
        ("7", 7.0),
    ],
)
def test_arithmetic(text: str, value: float) -> None:
    found = parse_value(text).compute(nothing)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert not found.has_interval
    assert not found.sources


def test_addresses() -> None:
    value = parse_value("{decode  a/cpp[row_pad=32] step_ns} / 2 + {decode running_mean}")
    assert value.addresses == (
        Address("decode", "a/cpp[row_pad=32]", "step_ns"),
        Address("decode", "", "running_mean"),
    )
    known = {
        "decode a/cpp[row_pad=32] step_ns": Measured(10.0, 8.0, 12.0, frozenset({"clock"})),
        "decode running_mean": Measured(1.0, 1.0, 1.0, frozenset({"count"})),
    }
    found = value.compute(lambda address: known[str(address)])
    assert (found.value, found.low, found.high) == (6.0, 5.0, 7.0)
    assert found.sources == {"clock", "count"}


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
def test_intervals_hold_every_combination(sign: str) -> None:
    sides = {"x": (-3.0, 1.0, 2.0), "y": (0.5, 0.7, 4.0)}

    def look_up(address: Address) -> Measured:
        low, value, high = sides[address.impl]
        return Measured(value, low, high)

    found = parse_value(f"{{s x m}} {sign} {{s y m}}").compute(look_up)
    results = [
        eval(f"a {sign} b", {"a": a, "b": b})
        for a, b in itertools.product((-3.0, -1.0, 0.0, 2.0), (0.5, 1.0, 4.0))
    ]
    assert found.low == min(results)
    assert found.high == max(results)
    assert found.low <= found.value <= found.high


def test_division_by_what_may_be_zero() -> None:
    value = parse_value("1 / {s i m}")
    for low, high in ((0.0, 0.0), (-1.0, 1.0), (0.0, 2.0)):
        with pytest.raises(Unmeasured, match="zero"):
            value.compute(lambda _, low=low, high=high: Measured(high, low, high))  # type: ignore[misc]


def test_beyond_all_numbers() -> None:
    with pytest.raises(Unmeasured, match="beyond"):
        parse_value(" * ".join(["1e15"] * 25)).compute(nothing)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "two",
        "__import__('os')",
        "(1).real",
        "2 ** 1000",
        "1 if 1 else 2",
        "True",
        "'a'",
        "1e999",
        "floor(1, 2)",
        "sqrt(2)",
        "_0",
        "{a b c d}",
        "{a}",
        "{a b c",
        "[1]",
        "1; 2",
        "(" * 500 + "1" + ")" * 500,
        "1" + " + 1" * 400,
        "\0",
    ],
)
def test_what_is_no_arithmetic(text: str) -> None:
    with pytest.raises(ValueSyntaxError):
        parse_value(text)


def test_renamed() -> None:
    value = parse_value("{s  i m} - {s i m}")
    assert value.renamed(lambda address: address) is value
    other = value.renamed(lambda address: Address("t", address.impl, address.name))
    assert other.text == "{t i m} - {t i m}"
    assert other.compute(lambda _: Measured.exact(2.0)).value == 0.0
