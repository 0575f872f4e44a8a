"""Shares of a core and of a step, by hand arithmetic."""

from __future__ import annotations

import pytest

from blockmark.runs.model import MetricValue
from blockmark.runs.shares import derive_shares


def timing(*values: float) -> MetricValue:
    return MetricValue(min(values), "ns", "clock", rounds=len(values), values=values)


def test_shares_follow_from_each_round_of_the_step() -> None:
    metrics = {"step_ns": timing(1_000.0, 2_000.0), "pack_ns": timing(4_000.0, 6_000.0)}
    shares = derive_shares(metrics, 2_000.0, concurrency=256)
    assert {name: share.values for name, share in shares.items()} == {
        "busy_share_estimated": pytest.approx((0.002, 0.004)),
        "busy_share_with_pack_estimated": pytest.approx((0.010, 0.016)),
        "share_of_1ms_step": pytest.approx((0.001, 0.002)),
        "share_of_10ms_step": pytest.approx((0.0001, 0.0002)),
        "share_of_30ms_step": pytest.approx((1e-3 / 30, 2e-3 / 30)),
    }
    assert shares["busy_share_estimated"].value == pytest.approx(0.0025)
    assert all((share.unit, share.source) == ("share", "derived") for share in shares.values())


@pytest.mark.parametrize(
    "pack",
    [
        {},
        {"pack_ns": MetricValue(None, "ns", "clock", unavailable="no")},
        {"pack_ns": timing(4_000.0)},
    ],
)
def test_rounds_without_their_pack_have_no_share_with_it(pack: dict[str, MetricValue]) -> None:
    shares = derive_shares({"step_ns": timing(1_000.0, 2_000.0), **pack}, 2_000.0, concurrency=256)
    assert "busy_share_with_pack_estimated" not in shares
    assert "busy_share_estimated" in shares


def test_there_is_no_share_without_a_step() -> None:
    missing = MetricValue(None, "ns", "clock", unavailable="no")
    assert derive_shares({"step_ns": missing}, 2_000.0, concurrency=256) == {}
    assert derive_shares({}, 2_000.0, concurrency=256) == {}


def test_the_published_share_by_its_own_arithmetic() -> None:
    # 134 ns a lookup and 248 ns a block taken and given back; 256 sequences x 2,000 steps a
    # second are 512,000 of each: 382 ns x 512,000/s. Its table says 19.2 %.
    costs = {"lookup_ordered_ns": timing(134.0), "alloc_free_interleaved_ns": timing(248.0)}
    shares = derive_shares(costs, 2_000.0, concurrency=256)
    assert set(shares) == {"busy_share_by_operations"}
    assert shares["busy_share_by_operations"].value == pytest.approx(0.195584)
    # Its other two rows: 24.5 + 72 and 3.6 + 7.8 ns.
    for lookup, alloc_free, share in ((24.5, 72.0, 0.049408), (3.6, 7.8, 0.0058368)):
        costs = {
            "lookup_ordered_ns": timing(lookup),
            "alloc_free_interleaved_ns": timing(alloc_free),
        }
        found = derive_shares(costs, 2_000.0, concurrency=256)
        assert found["busy_share_by_operations"].value == pytest.approx(share)
