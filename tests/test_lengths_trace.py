"""A trace of lengths alone: all its rows are taken, and made-up arrivals are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blockmark.workload.scenario import Cell, parse_scenario
from blockmark.workload.serving import serving_load
from trace_files import LENGTHS, save


def cell(path: Path, limit: int = 0) -> Cell:
    text = f"""
workload = "serving"
trace = "{path}"
trace_limit = {limit}
total_blocks = 4096
max_blocks_per_seq = 64
concurrency = 64
arrival_rate = 200.0
models = ["step"]
"""
    return parse_scenario(text, "lengths", "test").cells()[0]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [f"{20 + i % 7},{1 + i % 3},0,0" for i in range(2500)]
    return save(tmp_path_factory.mktemp("trace") / "lengths.csv", LENGTHS, *rows)


@pytest.mark.parametrize(("limit", "taken"), [(0, 2500), (1200, 1200), (7, 7)])
def test_as_many_as_asked_for(trace: Path, limit: int, taken: int) -> None:
    """More than the thousand requests that a scenario makes up."""
    facts = serving_load(cell(trace, limit)).facts
    assert facts["trace"]["requests"] == facts["requests"]["arrived"] == taken
    tokens = sum(20 + i % 7 for i in range(taken))
    assert tokens > 0
    assert facts["requests"]["finished"] == taken


def test_that_arrivals_are_made_up_is_said(trace: Path) -> None:
    (note,) = serving_load(cell(trace)).facts["notes"]
    assert "made up" in note
    assert "arrival_rate = 200 a second" in note


def test_they_have_the_rate_that_is_said(trace: Path) -> None:
    """The mean of 2,499 exponential gaps is within 8 % of 5 ms, four standard errors."""
    from blockmark.workload.requests import arrivals

    came = np.array(arrivals(cell(trace), 2500))
    assert came[0] == 0
    assert np.diff(came).mean() == pytest.approx(0.005, rel=0.08)
