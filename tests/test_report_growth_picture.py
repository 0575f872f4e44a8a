"""Pictures of growth: which there are, what they hold, and what their captions own up to."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from blockmark.report.facts.picture import Picture
from blockmark.report.facts.sweep import sweeps
from blockmark.report.plots import draw_pictures
from blockmark.report.plots.growth import gaps, panels_of
from blockmark.runs.codec import parse_run
from run_factory import make_run, scalar
from swept_run_factory import make_swept_run

NATIVE = ("flat-stack/cpp", "vector/cpp", "hash-map/cpp", "null/cpp", "raw-array/cpp")
SIZES = (1024, 4096, 16_384, 65_536)


def drawn(content: dict[str, Any]) -> list[Picture]:
    return draw_pictures(parse_run(content))


def panels(content: dict[str, Any]) -> dict[str, list[tuple[str, bool, list[float | None]]]]:
    run = parse_run(content)
    [sweep] = sweeps(run)
    return {
        panel.quantity.label: [
            (
                curve.line.impl,
                curve.floor,
                [None if value is None else value.value for value in curve.values],
            )
            for curve in panel.curves
        ]
        for panel in panels_of(run, sweep, ("native",))
    }


def gap_words(content: dict[str, Any]) -> str:
    run = parse_run(content)
    [sweep] = sweeps(run)
    return gaps(sweep, panels_of(run, sweep, ("native",)))


def test_many_settings_on_one_axis_have_growth_in_place_of_their_own_pictures() -> None:
    pictures = drawn(make_swept_run(values=SIZES, impls=(*NATIVE, "vector/py", "null/py")))
    assert [picture.file for picture in pictures] == ["growth.png", "growth-python.png"]
    assert {picture.setting for picture in pictures} == {None}
    assert {picture.scenario for picture in pictures} == {"scale-pool"}
    assert pictures[0].title == "Growth over total_blocks: scale-pool, native loop"
    for picture in pictures:
        width, height = struct.unpack(">II", picture.data[16:24])
        assert width == 850
        assert 250 <= height <= 1200
        assert len(picture.data) > 20_000


def test_three_settings_have_both_and_two_have_no_growth() -> None:
    three = [picture.file for picture in drawn(make_swept_run("block_size", (16, 64, 512)))]
    assert three[:2] == ["growth.png", "growth-python.png"]
    assert len(three) == 2 + 3 * 2
    two = [picture.file for picture in drawn(make_swept_run("block_size", (16, 64), impls=NATIVE))]
    assert not [file for file in two if file.startswith("growth")]


def test_many_settings_without_one_axis_of_numbers_have_pictures_of_the_first_few() -> None:
    content = make_swept_run(
        "block_size", (1, 16, 64), impls=NATIVE, second_axis=("pool", ("fresh", "burst"))
    )
    files = [picture.file for picture in drawn(content)]
    assert files[0] == "cost-block_size-1-pool-fresh.png"
    assert len(files) == 6


def test_a_run_of_many_scenarios_has_pictures_of_the_first_setting_of_each() -> None:
    content = make_run(impls=("flat-stack/cpp", "null/cpp"))
    settings, cells = content["settings"], content["cells"]
    for name in ("b", "c", "d"):
        content["scenarios"].append(content["scenarios"][0] | {"name": name})
        content["settings"] = content["settings"] + [each | {"scenario": name} for each in settings]
        content["cells"] = content["cells"] + [each | {"scenario": name} for each in cells]
    pictures = drawn(content)
    assert len(pictures) == 4 * 2
    assert len({picture.file for picture in pictures}) == 4 * 2


def test_growth_of_two_scenarios_has_two_names() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp",))
    content["scenarios"].append(content["scenarios"][0] | {"name": "other"})
    for part in ("settings", "cells"):
        content[part] = content[part] + [each | {"scenario": "other"} for each in content[part]]
    files = [picture.file for picture in drawn(content)]
    assert files == ["growth-scale-pool.png", "growth-other.png"]


def test_the_same_run_gives_the_same_bytes_and_another_value_others() -> None:
    content = make_swept_run(values=SIZES, impls=NATIVE)
    first = drawn(content)
    assert drawn(content) == first
    content["cells"][0]["metrics"]["lookup_chain_shuffled_ns"] = scalar([50.0] * 5)
    assert drawn(content)[0].data != first[0].data


def test_a_panel_has_its_managers_and_the_floor_of_the_same_work() -> None:
    found = panels(make_swept_run(values=SIZES, impls=NATIVE))
    assert list(found) == [
        "step, per sequence",
        "lookup chain, shuffled",
        "block tables",
        "alloc + free, burst",
        "alloc + free, mixed",
        "pack, per row",
        "pool alone: take",
        "pool alone: give",
    ]
    floors = {
        label: [impl for impl, floor, _ in curves if floor] for label, curves in found.items()
    }
    assert floors["step, per sequence"] == ["null/cpp"]
    assert floors["lookup chain, shuffled"] == ["raw-array/cpp"]
    assert floors["block tables"] == []
    managers = [impl for impl, floor, _ in found["alloc + free, burst"] if not floor]
    assert managers == ["flat-stack/cpp", "vector/cpp", "hash-map/cpp"]


def test_values_stand_at_their_places_and_gaps_are_gaps() -> None:
    content = make_swept_run(values=SIZES, impls=NATIVE, refused=(65_536,))
    cells = [cell for cell in content["cells"] if cell["impl"] == "vector/cpp"]
    for cell, cost in zip(cells[:3], (1.0, 2.0, 3.0), strict=True):
        cell["metrics"]["lookup_chain_shuffled_ns"] = scalar([cost] * 5)
    cells[1] |= {"status": "failed", "reason": "killed", "metrics": {}, "verified": None}
    curves = panels(content)["lookup chain, shuffled"]
    assert [values for impl, _, values in curves if impl == "vector/cpp"] == [
        [1.0, None, 3.0, None]
    ]


def test_the_caption_names_the_gaps() -> None:
    content = make_swept_run(values=SIZES, impls=("vector/cpp", "flat-stack/cpp"))
    assert gap_words(content) == ""
    cells = [cell for cell in content["cells"] if cell["impl"] == "vector/cpp"]
    for cell in cells[2:]:
        cell |= {"status": "timeout", "reason": "no answer", "metrics": {}, "verified": None}
    for cell in content["cells"][:2]:
        del cell["metrics"]["alloc_free_burst_ns"]
    assert gap_words(content) == (
        "No vector/cpp at 16,384 to 65,536 (timeout); alloc + free, burst at 1,024 (not measured)."
    )
    [picture] = drawn(content)
    assert picture.caption.endswith(gap_words(content))


def test_many_gaps_are_counted() -> None:
    content = make_swept_run(values=SIZES, refused=(1024,))
    assert gap_words(content).endswith("; 1 more.")


def test_one_point_makes_no_line_and_zero_has_no_place() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp", "vector/cpp"))
    for cell in content["cells"][2:]:
        del cell["metrics"]["lookup_chain_shuffled_ns"]
    for cell in content["cells"]:
        cell["metrics"]["table_bytes"] = scalar([0.0] * 5, "bytes", "count")
    found = panels(content)
    assert "lookup chain, shuffled" not in found
    assert "block tables" not in found


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("acceptance_rate", (0.0, 0.25, 0.5, 1.0)),
        ("concurrency", (1, 2, 3, 65_536)),
        ("total_blocks", (1, 10**12, 10**13, 10**14)),
        ("temperature", (-2, -1, 0, 3)),
        ("$x^2$ {}", (1, 2, 4, 8)),
    ],
)
def test_any_axis_is_drawn_without_a_warning(axis: str, values: tuple[float, ...]) -> None:
    for rounds in (1, 5):
        content = make_swept_run(axis, values, impls=NATIVE, rounds=rounds)
        assert drawn(content)[0].file == "growth.png"


def test_equal_and_far_apart_values_are_drawn_without_a_warning() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp", "vector/cpp"))
    for place, cell in enumerate(content["cells"]):
        cell["metrics"]["step_per_sequence_ns"] = scalar([1.0] * 5, source="derived")
        cell["metrics"]["alloc_free_burst_ns"] = scalar([1e-6 * 1e3**place] * 5)
        cell["metrics"]["table_bytes"] = scalar([float(8**place)] * 5, "bytes", "count")
    assert len(drawn(content)) == 1


def test_nothing_to_draw_along_an_axis_draws_nothing() -> None:
    content = make_swept_run(values=SIZES, impls=NATIVE)
    for cell in content["cells"]:
        cell["metrics"] = {k: v for k, v in cell["metrics"].items() if k.startswith("fork")}
    assert drawn(content) == []
