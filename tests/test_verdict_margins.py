"""Which change of a metric matters: the usual margins, and those that a user chose."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmark.verdict.errors import CompareError
from blockmark.verdict.margins import OwnMargin, margin_for, margin_of_cell, refuse_unused


@pytest.mark.parametrize(
    ("address", "share"),
    [
        ("step_ns", 0.03),
        ("alloc_free_interleaved_ns", 0.03),
        ("lookup_ordered_ns", 0.03),
        ("step_latency_ns", 0.05),
        ("step_latency_ns.p50", 0.05),
        ("step_latency_ns.p90", 0.10),
        ("step_latency_ns.p99", 0.25),
        ("step_latency_ns.p99.9", None),
        ("step_latency_ns.max", None),
        ("heap_allocations_per_step", None),
        ("table_bytes", None),
        ("pool_run_length", None),
        ("busy_share", None),
        ("highest_rate", None),
        ("lateness_ns.p99", None),
        ("step_per_sequence_ns", None),  # step_ns again
        ("busy_share_estimated", None),
    ],
)
def test_the_margin_of_a_metric(address: str, share: float | None) -> None:
    margin = margin_for(address)
    assert (margin.share if margin else None) == share


@pytest.mark.parametrize("address", ["nothing_ns", "step_ns.p50", "step_latency_ns.p98"])
def test_a_metric_that_is_not_there_is_an_error(address: str) -> None:
    with pytest.raises(ValueError, match=address.partition(".")[0]):
        margin_for(address)


def test_a_noise_floor_only_raises_a_margin_and_says_so() -> None:
    margin = margin_for("step_ns")
    assert margin is not None
    assert margin.raised_to(0.01) is margin
    raised = margin.raised_to(0.08)
    assert raised.share == 0.08
    assert "noise floor" in raised.origin
    assert margin.stored().share == pytest.approx(0.0501)
    for bad in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="noise floor"):
            margin.raised_to(bad)


@pytest.mark.parametrize(
    ("text", "cell", "share"),
    [
        ("0.05", "decode mine step_ns", 0.05),
        ("5%", "decode mine step_ns", 0.05),
        ("decode mine step_ns=8%", "decode mine step_ns", 0.08),
        ("* mine step_ns=0.5", "decode (block_size 16) mine step_ns", 0.5),
        ("*[call_style=per-op] step_ns=7%", "decode flat/cpp[call_style=per-op] step_ns", 0.07),
        ("decode ?ine step_ns=8%", "decode mine step_ns", 0.08),
        ("other*=8%", "decode mine step_ns", 0.03),
    ],
)
def test_a_margin_of_some_cells(text: str, cell: str, share: float) -> None:
    own = [OwnMargin.parse(text)]
    assert margin_of_cell(cell, "step_ns", own).share == pytest.approx(share)
    # The last one that fits.
    both = [OwnMargin.parse("0.2"), *own]
    assert margin_of_cell(cell, "step_ns", both).share == (0.2 if share == 0.03 else share)


@pytest.mark.parametrize("text", ["", "x", "a=b", "0", "-1", "nan", "a=inf", "1e9", "=%"])
def test_a_margin_that_is_none_is_told(text: str) -> None:
    with pytest.raises(CompareError, match=r"must be a share such as 0\.05 or 5%"):
        OwnMargin.parse(text)


@given(st.text(max_size=40))
def test_any_text_is_a_margin_or_one_error(text: str) -> None:
    try:
        share = OwnMargin.parse(text).share
    except CompareError:
        return
    assert 0 < share <= 10


def test_a_margin_of_no_cell_is_misspelt() -> None:
    own = [OwnMargin.parse("* mnie step_ns=5%")]
    with pytest.raises(CompareError, match=r"no cell has such a name; there is decode mine step"):
        refuse_unused(own, ["decode mine step_ns"])
    refuse_unused([OwnMargin.parse("*mine*=5%")], ["decode mine step_ns"])
