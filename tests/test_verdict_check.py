"""What a check means for a build: exit codes, waivers, plain JSON."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest

from blockmark.verdict.check import CellVerdict, CheckResult, waive


def verdict(kind: str, **fields: Any) -> CellVerdict:
    if kind == "inconclusive":
        # Open, but nothing large can be in it.
        fields = {"ruled_out": 0.08, "margin": 0.03} | fields
    place = {"scenario": "decode", "setting": "block_size 16", "impl": "vector/cpp"}
    return CellVerdict(**place, metric="step_ns", unit="ns", verdict=kind, **fields)  # type: ignore[arg-type]


def result(*kinds: str, **fields: Any) -> CheckResult:
    cells = tuple(verdict(kind) for kind in kinds)
    return CheckResult(fields.pop("kind", "interleaved"), "1a2b3c4", "work tree", cells, **fields)


def test_each_outcome_alone() -> None:
    assert result("unchanged", "improved", "inconclusive").exit_code() == 0
    assert result("regressed", "unchanged").exit_code() == 1
    assert result("unchanged", "incomparable").exit_code() == 3
    assert result("unchanged", missing=("decode vector/cpp: failed",)).exit_code() == 3
    assert result("unchanged", failures=("too many rounds broke",)).exit_code() == 3
    assert result("unchanged", wrong=("vector/cpp: step 3",)).exit_code() == 4
    assert result("unchanged", "inconclusive").exit_code(strict=True) == 5
    assert result("unchanged", interrupted=True).exit_code() == 130


def test_nothing_in_common_never_passes() -> None:
    assert result().exit_code() == 3
    assert result("incomparable").exit_code() == 3
    assert result(enforced=False).exit_code() == 3
    assert result("incomparable", enforced=False).exit_code() == 3


def with_open(**fields: Any) -> CheckResult:
    cells = (verdict("unchanged"), verdict("inconclusive", **fields))
    return CheckResult("interleaved", "1a2b3c4", "work tree", cells)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        # Nothing above 8 % is left, and the interval reaches below the margin.
        ({"ratio": 1.02, "low": 0.99, "high": 1.05}, 0),
        ({"ruled_out": 0.10}, 0),
        ({"ruled_out": 0.11}, 3),
        ({"ruled_out": None}, 3),
        # All of the interval is beyond the margin, however small.
        ({"ratio": 1.05, "low": 1.031, "high": 1.07}, 3),
        # A wide margin: two of them.
        ({"ruled_out": 0.45, "margin": 0.25}, 0),
        ({"ruled_out": 0.55, "margin": 0.25}, 3),
    ],
)
def test_an_open_cell_that_may_hide_a_slowdown_is_no_pass(
    fields: dict[str, Any], code: int
) -> None:
    found = with_open(**fields)
    assert found.exit_code() == code
    assert found.exit_code(strict=True) == (code or 5)
    assert not found.all_decided
    # A regression is known whatever else is not.
    worse = CheckResult("interleaved", "a", "b", (*found.cells, verdict("regressed")))
    assert worse.exit_code() == 1


def test_where_nothing_was_decided_nothing_passes() -> None:
    assert result("inconclusive").exit_code() == 3
    assert result("inconclusive", kind="self-test").exit_code() == 3
    assert result("inconclusive", enforced=False).exit_code() == 0


def test_a_waiver_covers_what_an_open_cell_may_hide() -> None:
    found = with_open(ruled_out=0.25)
    name = found.cells[1].name
    assert waive(found, {name: (1.2, "known")}).exit_code() == 3
    waived = waive(found, {name: (1.3, "known")})
    assert waived.exit_code() == 0
    assert waived.all_decided


def test_a_mended_baseline_passes() -> None:
    assert result(mended=("decode mine: wrong",)).exit_code() == 0
    assert result("unchanged", mended=("decode mine: wrong",)).exit_code() == 0
    assert result("inconclusive", mended=("decode mine: wrong",)).exit_code() == 3
    assert result(mended=("decode mine: wrong",), failures=("x",)).exit_code() == 3


def test_a_new_cell_is_reported_and_stops_nothing() -> None:
    assert result("unchanged", added=("decode open-hash/cpp step_ns",)).exit_code() == 0


def test_the_precedence_of_every_combination() -> None:
    order = [130, 4, 1, 3, 5]
    for present in itertools.product([False, True], repeat=5):
        interrupted, wrong, regressed, missing, inconclusive = present
        kinds = ["unchanged"] + ["regressed"] * regressed + ["inconclusive"] * inconclusive
        found = result(
            *kinds,
            interrupted=interrupted,
            wrong=("x",) if wrong else (),
            missing=("x",) if missing else (),
        )
        expected = next((code for code, on in zip(order, present, strict=True) if on), 0)
        assert found.exit_code(strict=True) == expected


def test_advice_fails_for_a_wrong_answer_alone() -> None:
    assert result("regressed", "incomparable", missing=("x",), enforced=False).exit_code() == 0
    assert result("regressed", wrong=("x",), enforced=False).exit_code() == 4


@pytest.mark.parametrize("alarm", ["regressed", "improved"])
def test_a_self_test_that_finds_a_change_tells_of_the_machine(alarm: str) -> None:
    assert result("unchanged", alarm, kind="self-test").exit_code() == 3
    assert result("unchanged", "inconclusive", kind="self-test").exit_code() == 0


def test_the_name_that_a_waiver_uses() -> None:
    assert verdict("unchanged").name == "decode (block_size 16) vector/cpp step_ns"
    plain = CellVerdict("decode", "", "vector/cpp", "step_ns", "ns", "unchanged")
    assert plain.name == "decode vector/cpp step_ns"


@pytest.mark.parametrize(
    ("ratio", "limit", "code"),
    [
        (1.05, 1.10, 0),
        (1.10, 1.10, 0),
        (1.11, 1.10, 1),
        # From zero to something: above every limit, unless there is none.
        (None, 1.10, 1),
        (None, math.inf, 0),
    ],
)
def test_a_waiver_holds_up_to_its_limit(ratio: float | None, limit: float, code: int) -> None:
    cell = verdict("regressed", ratio=ratio)
    found = CheckResult("interleaved", "a", "b", (cell,))
    waived = waive(found, {cell.name: (limit, "traded for memory")})
    assert waived.exit_code() == code
    assert waived.cells[0].waiver == ("" if code else "traded for memory")
    assert waived.count("regressed") == 1
    assert waive(found, {"another cell": (limit, "no")}).exit_code() == 1


def test_a_waiver_marks_nothing_but_regressions() -> None:
    cell = verdict("inconclusive", ratio=1.01)
    found = CheckResult("interleaved", "a", "b", (cell,))
    assert waive(found, {cell.name: (2.0, "reason")}) == found


def test_json_holds_every_round_of_both_sides() -> None:
    cell = verdict("regressed", before=(1.0, 2.0), after=(3.0, 4.0), ratio=2.2, p=1 / 6)
    found = CheckResult("files", "a", "b", (cell,), facts={"seed": 42, "looks": [6, 10]})
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert (plain["schema"], plain["schema_version"]) == ("blockmark.check", 1)
    assert plain["cells"][0]["before"] == [1.0, 2.0]
    assert plain["cells"][0]["after"] == [3.0, 4.0]
    assert plain["facts"] == {"seed": 42, "looks": [6, 10]}
