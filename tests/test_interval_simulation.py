"""The simulation of ranges: what they hold on drawn rounds, on recorded ones, on made-up ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "simulation"
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))

import interval_simulation as simulation  # noqa: E402
import numpy as np  # noqa: E402
from recording import Recording, load_recording  # noqa: E402
from scipy import stats  # type: ignore[import-untyped]  # noqa: E402

from blockmark.runs.estimate import level, level_in_a_row  # noqa: E402


def made_up(cells: dict[str, dict[str, list[float]]]) -> Recording:
    rounds = len(next(iter(next(iter(cells.values())).values())))
    return Recording(rounds, cells, {}, {}, {})


@pytest.mark.parametrize("rounds", simulation.ROUNDS)
def test_the_stated_levels_hold_within_three_points(rounds: int) -> None:
    source = np.random.default_rng(2)
    for kind, truth in simulation._QUARTILES.items():
        # 3,000 draws: 3 points are more than three standard errors.
        found = simulation.covered(simulation.drawn(kind, 3000, rounds, source), float(truth))
        assert found == pytest.approx(level(rounds), abs=0.03)
    recorded = simulation.covered_in_a_row(load_recording(FOLDER / "rounds.json"), rounds)
    assert recorded == pytest.approx(level_in_a_row(rounds), abs=0.03)


def test_the_quartiles_of_the_drawn_kinds_are_right() -> None:
    assert simulation._QUARTILES["skewed"] == pytest.approx(stats.expon.ppf(0.25))
    assert simulation._QUARTILES["normal"] == pytest.approx(stats.norm.ppf(0.25))
    many = simulation.drawn("two modes", 1, 400_000, np.random.default_rng(1))
    assert np.quantile(many, 0.25) == pytest.approx(simulation._QUARTILES["two modes"], abs=0.004)


def test_coverage_of_a_recording_by_hand() -> None:
    # The quartile of 1..8 is 2.75: of the six windows of three, 1 2 3 and 2 3 4 hold it.
    recording = made_up({"one": {"A0": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]}})
    assert simulation.covered_in_a_row(recording, 3) == pytest.approx(2 / 6)


def test_equal_programs_on_a_machine_that_drifts_differ_at_two_times_alone() -> None:
    drift = [100.0 + place for place in range(20)]
    recording = made_up({"one": {"A0": drift, "A1": [value + 0.5 for value in drift]}})
    # Windows of 10 begin at 0, 5 and 10: three at one place, one pair without a common round.
    assert simulation.told_apart(recording, 10, same=True) == (0, 3)
    assert simulation.told_apart(recording, 10, same=False) == (1, 1)
