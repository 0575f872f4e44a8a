"""Processors that the kernel's command line sets aside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmark.measure import machine
from blockmark.measure.kernel_line import as_list, set_aside


# Examples of Documentation/admin-guide/kernel-parameters.rst, worked out by hand.
@pytest.mark.parametrize(
    ("line", "parameter", "numbers"),
    [
        ("quiet isolcpus=1,2,10-20 x", "isolcpus", [1, 2, *range(10, 21)]),
        ("isolcpus=managed_irq,2-3", "isolcpus", [2, 3]),
        ("isolcpus=nohz,domain,managed_irq,0", "isolcpus", [0]),
        ("isolcpus=0-10:2/4", "isolcpus", [0, 1, 4, 5, 8, 9]),
        ("nohz_full=28-N", "nohz_full", [28, 29, 30, 31]),
        ("nohz_full=all", "nohz_full", list(range(32))),
        ("isolcpus=1 isolcpus=2", "isolcpus", [2]),
        ("isolcpus=", "isolcpus", []),
        ("isolcpus", "isolcpus", []),
        ("isolcpus=garbage,5-,-3,3:1/0", "isolcpus", []),
        ("isolcpus=0-99999", "isolcpus", list(range(32))),
        ("", "isolcpus", []),
    ],
)
def test_lists_in_the_kernels_syntax(line: str, parameter: str, numbers: list[int]) -> None:
    assert list(set_aside(line, parameter, 32)) == numbers


@given(st.sets(st.integers(0, 300)))
def test_a_list_that_is_written_is_read_back(numbers: set[int]) -> None:
    text = as_list(tuple(sorted(numbers)))
    assert set(set_aside(f"a isolcpus=domain,{text} b", "isolcpus", 301)) == numbers


@given(st.text(max_size=60), st.integers(1, 64))
def test_any_text_names_processors_that_there_are(text: str, count: int) -> None:
    assert set(set_aside(f"isolcpus={text}", "isolcpus", count)) <= set(range(count))


def test_facts_are_collected_whatever_the_kernel_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyperf's own reader takes `managed_irq` for a number."""
    from pyperf import _cpu_utils

    with pytest.raises(ValueError, match="managed_irq"):
        _cpu_utils.parse_cpu_list("managed_irq,2-3")

    def refuses() -> None:
        _cpu_utils.parse_cpu_list("managed_irq,2-3")

    monkeypatch.setattr("pyperf._collect_metadata.get_isolated_cpus", refuses)
    facts = machine.machine_facts()
    assert facts["cores"] >= 1
    assert "cpu_config" not in facts
