"""The table of metrics: complete, consistent, and addressable."""

from __future__ import annotations

import pytest

from blockmark.runs.metrics import METRICS, metric_of, split_address

PUBLISHED = """
    lookup_ordered_ns lookup_shuffled_ns lookup_chain_ordered_ns lookup_chain_shuffled_ns
    alloc_free_burst_ns alloc_free_interleaved_ns can_allocate_ns append_ns take_ns give_ns
    step_ns step_per_sequence_ns step_latency_ns pack_ns pack_changed_ns fork_per_block_ns
    cow_per_copy_ns busy_share_estimated busy_share_with_pack_estimated share_of_1ms_step
    share_of_10ms_step share_of_30ms_step heap_allocations_per_step table_bytes pool_bytes
    peak_rss_bytes pool_run_length move_descriptors minor_faults voluntary_switches
    involuntary_switches cpu_share_of_wall
"""
NAMES = PUBLISHED.split()


def test_the_table_holds_exactly_the_published_names_in_order() -> None:
    assert list(METRICS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_row_can_be_printed_and_its_name_tells_its_unit(name: str) -> None:
    row = METRICS[name]
    assert row.name == name
    assert row.formula
    assert row.meaning
    assert "\n" not in row.formula + row.meaning
    if name.endswith("_ns"):
        assert (row.unit, row.direction) == ("ns", "lower")
        assert row.kind in ("cost", "distribution")
    elif name.endswith("_bytes"):
        assert (row.unit, row.kind) == ("bytes", "bytes")
    else:
        assert row.unit in ("share", "count", "blocks")
    assert (row.kind == "proof") == (row.direction is None)


def test_only_the_step_latency_is_a_distribution() -> None:
    assert [row.name for row in METRICS.values() if row.kind == "distribution"] == [
        "step_latency_ns"
    ]


def test_an_address_names_a_metric_or_one_of_its_quantiles() -> None:
    assert split_address("step_ns") == ("step_ns", None)
    assert split_address("step_latency_ns.p99") == ("step_latency_ns", "p99")
    assert split_address("step_latency_ns.p99.9") == ("step_latency_ns", "p99.9")
    row = metric_of("step_latency_ns.max")
    assert row is not None
    assert row.name == "step_latency_ns"
    assert metric_of("of_a_later_version") is None


@pytest.mark.parametrize("address", ["step_latency_ns.p98", "step_latency_ns.", "step_ns.p99"])
def test_an_address_that_leads_nowhere_is_an_error(address: str) -> None:
    with pytest.raises(ValueError, match="quantile"):
        metric_of(address)
