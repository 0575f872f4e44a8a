"""The picture of what a pool trades: who is in it, and when there is none."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from blockmark.report.facts.sweep import sweeps
from blockmark.report.plots import draw_pictures
from blockmark.report.plots.hand_outs import trails_of
from blockmark.runs.codec import parse_run
from run_factory import scalar
from swept_run_factory import make_swept_run

IMPLS = ("flat-stack/cpp", "vector/cpp", "vector/py", "raw-array/cpp")
# Occupancy -> neighbours in a hand-out; the costs are the factory's.
NEIGHBOURS = {0.5: 18.0, 0.75: 14.0, 0.9: 9.0, 0.99: 4.7}
FACTORS = {"vector/cpp": 2.0}


def pools_run(*, steps: bool = False) -> dict[str, Any]:
    """Pools alone over their occupancy; only managers tell what they hand out."""
    content = make_swept_run("pool_occupancy", tuple(NEIGHBOURS), scenario="pools", impls=IMPLS)
    for cell in content["cells"]:
        if not steps:
            for name in [n for n in cell["metrics"] if n.startswith("step_")]:
                del cell["metrics"][name]
        if cell["kind"] == "manager":
            found = NEIGHBOURS[cell["params"]["pool_occupancy"]]
            # A list trades contiguity for its price, a stack does not.
            found *= FACTORS.get(cell["impl"], 1.0)
            cell["metrics"]["take_run_length"] = scalar([found] * 5, "blocks", "count")
    return content


def test_a_trail_goes_through_the_settings_in_order() -> None:
    run = parse_run(pools_run())
    trails = trails_of(run, sweeps(run)[0])
    # The floor hands out nothing that is counted, so it is no point.
    assert {trail.line.impl for trail in trails} == {"flat-stack/cpp", "vector/cpp", "vector/py"}
    for trail in trails:
        factor = FACTORS.get(trail.line.impl, 1.0)
        assert [across for across, _ in trail.points] == [
            factor * one for one in NEIGHBOURS.values()
        ]
        costs = [cell.metric("take_ns") for cell in trail.line.cells if cell is not None]
        assert [up for _, up in trail.points] == [cost.value for cost in costs if cost]
    last = [trail.points[-1][1] for trail in trails]
    assert last == sorted(last, reverse=True)


def test_the_picture_is_there_where_pools_are_the_question() -> None:
    pictures = {picture.file: picture for picture in draw_pictures(parse_run(pools_run()))}
    picture = pictures["hand-outs.png"]
    assert picture.title == "What a pool trades: pools, pool_occupancy 0.99"
    assert picture.scenario == "pools"
    width, height = struct.unpack(">II", picture.data[16:24])
    assert width == 850
    assert 350 <= height <= 1200
    again = {one.file: one for one in draw_pictures(parse_run(pools_run()))}
    assert again["hand-outs.png"].data == picture.data


def test_no_picture_where_all_hand_outs_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten marks in one column say nothing that the table does not."""
    monkeypatch.setitem(FACTORS, "vector/cpp", 1.1)
    assert "hand-outs.png" not in {one.file for one in draw_pictures(parse_run(pools_run()))}


def test_no_picture_beside_whole_steps_or_without_counts() -> None:
    beside = draw_pictures(parse_run(pools_run(steps=True)))
    assert "hand-outs.png" not in {picture.file for picture in beside}
    run = parse_run(make_swept_run("pool_occupancy", (0.5, 0.9, 0.99), impls=IMPLS))
    assert trails_of(run, sweeps(run)[0]) == []
