"""The table of metrics: complete, consistent, and addressable."""

from __future__ import annotations

import pytest

from blockmark.runs.metrics import METRICS, metric_of, split_address
from blockmark.workload.keys import STUDIES

PUBLISHED = """
    lookup_ordered_ns lookup_shuffled_ns lookup_chain_ordered_ns lookup_chain_shuffled_ns
    alloc_free_burst_ns alloc_free_interleaved_ns can_allocate_ns append_ns take_ns give_ns
    step_ns step_per_sequence_ns step_latency_ns pack_ns pack_changed_ns fork_per_block_ns
    cow_per_copy_ns busy_share_estimated busy_share_with_pack_estimated share_of_1ms_step
    share_of_10ms_step share_of_30ms_step busy_share_by_operations busy_share
    busy_share_with_pack copy_share noop_busy_share thread_cpu_share noop_cpu_share
    user_cpu_share kernel_cpu_share psutil_cpu_share lateness_ns paced_latency_ns
    missed_deadlines achieved_rate highest_rate streamed_bytes gc_collections gc_pause_share
    gc_longest_pause_ns take_run_length take_descriptors remove_ns find_contiguous_ns
    contiguous_found longest_free_run compact_ns compact_moves
    heap_allocations_per_step table_bytes pool_bytes peak_rss_bytes
    pool_run_length move_descriptors minor_faults voluntary_switches involuntary_switches
    cpu_share_of_wall major_faults migrations task_clock_ns
"""
NAMES = PUBLISHED.split()
OPERATIONS = """
    lookup_ordered lookup_shuffled lookup_chain_ordered lookup_chain_shuffled alloc_free_burst
    alloc_free_interleaved can_allocate append take give step step_per_sequence pack pack_changed
    fork_per_block cow_per_copy remove find_contiguous compact
"""
COUNTERS = """
    instructions_per_op cycles_per_op ipc branches_per_op branch_misses_per_op l1d_loads_per_op
    l1d_misses_per_op l1d_miss_rate l1d_stores_per_op l1d_store_misses_per_op l2_loads_per_op
    l2_misses_per_op l2_miss_rate ll_loads_per_op ll_misses_per_op ll_miss_rate
"""


def test_the_table_holds_exactly_the_published_names_in_order() -> None:
    # Counters are made of operations, and each study's tests know the names of its own.
    others = {"counters", *STUDIES}
    assert [name for name, row in METRICS.items() if row.model not in others] == NAMES


def test_every_timed_operation_has_every_counter() -> None:
    counted = [name for name, row in METRICS.items() if row.model == "counters"]
    assert counted == [
        f"{operation}_{counter}"
        for operation in OPERATIONS.split()
        for counter in COUNTERS.split()
        if f"{operation}_{counter}" in METRICS
    ]
    for operation in ("step", "lookup_ordered", "alloc_free_interleaved", "pack"):
        assert {f"{operation}_{counter}" for counter in COUNTERS.split()} <= METRICS.keys()
    row = METRICS["lookup_ordered_l1d_miss_rate"]
    assert row.formula.startswith("l1d_misses / l1d_loads")
    assert (row.unit, row.direction) == ("share", "lower")


@pytest.mark.parametrize("name", NAMES)
def test_a_row_can_be_printed_and_its_name_tells_its_unit(name: str) -> None:
    row = METRICS[name]
    assert row.name == name
    assert row.formula
    assert row.meaning
    assert "\n" not in row.formula + row.meaning
    if name.endswith("_ns"):
        assert row.unit == "ns"
        assert row.kind in ("cost", "distribution", "proof")
    elif name.endswith("_bytes"):
        assert row.unit == "bytes"
        assert row.kind in ("bytes", "proof")
    elif name.endswith("_rate"):
        assert (row.unit, row.kind, row.direction) == ("1/s", "rate", "higher")
    else:
        assert row.unit in ("share", "count", "blocks")
    assert (row.kind == "proof") == (row.direction is None)


def test_single_steps_alone_are_distributions() -> None:
    assert [row.name for row in METRICS.values() if row.kind == "distribution"] == [
        "step_latency_ns",
        "lateness_ns",
        "paced_latency_ns",
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
