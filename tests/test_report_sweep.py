"""Settings taken together: on one axis of numbers, on several, or on none."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.report.facts.sweep import Sweep, in_run_order, ranges, sweeps
from blockmark.runs.codec import parse_run
from run_factory import make_run
from swept_run_factory import make_swept_run

FEW = ("flat-stack/cpp", "null/cpp")


def swept(axis: str, values: tuple[Any, ...], **options: Any) -> Sweep:
    [found] = sweeps(parse_run(make_swept_run(axis, values, impls=FEW, **options)))
    return found


def test_settings_on_one_axis_of_numbers_ascend_whatever_their_order() -> None:
    run = parse_run(make_swept_run("block_size", (64, 1, 16, 4), impls=FEW))
    [sweep] = sweeps(run)
    assert sweep.axis == "block_size"
    assert sweep.values == (1, 4, 16, 64)
    assert [setting.params["block_size"] for setting in sweep.settings] == [1, 4, 16, 64]
    assert [each.params["block_size"] for each in in_run_order(run, sweep)] == [64, 1, 16, 4]


@pytest.mark.parametrize(
    ("axis", "values", "long", "line", "logarithmic"),
    [
        ("total_blocks", (1024, 4096, 16_384, 65_536), True, True, True),
        ("block_size", (16, 64, 512), False, True, True),
        ("block_size", (16, 1), False, False, True),
        ("acceptance_rate", (0.5, 0.7, 0.9, 1.0), True, True, False),
        ("lookahead_tokens", (0, 4, 64, 512), True, True, False),
        ("pool", ("fresh", "burst", "shuffled", "aged"), True, False, False),
        ("prompt_tokens", (16, {"kind": "lognormal"}, 32, 64), True, False, False),
        ("flag", (True, False, 2, 3), True, False, False),
    ],
)
def test_what_an_axis_allows(
    axis: str, values: tuple[Any, ...], long: bool, line: bool, logarithmic: bool
) -> None:
    sweep = swept(axis, values)
    assert (sweep.is_long, sweep.is_line, sweep.is_logarithmic) == (long, line, logarithmic)


def test_titles_are_the_values_and_short_ones_powers_of_1024() -> None:
    sweep = swept("total_blocks", (1, 1000, 1024, 65_536, 1_048_576, 3 * 2**30))
    assert sweep.titles() == ("1", "1,000", "1,024", "65,536", "1,048,576", "3,221,225,472")
    assert sweep.titles(short=True) == ("1", "1,000", "1Ki", "64Ki", "1Mi", "3Gi")
    assert swept("rate", (0.25, 0.5, 1.0)).titles() == ("0.25", "0.5", "1")


def test_several_axes_have_titles_but_no_places() -> None:
    sweep = swept("block_size", (1, 16), second_axis=("pool", ("fresh", "burst")))
    assert sweep.axis == "block_size, pool"
    assert sweep.titles() == ("1, fresh", "1, burst", "16, fresh", "16, burst")
    assert sweep.values == ()
    assert not sweep.is_line


def test_each_scenario_is_one_sweep_and_one_setting_has_no_axis() -> None:
    [pair] = sweeps(parse_run(make_run(impls=FEW)))
    assert pair.axes == ("block_size",)
    alone = swept("block_size", (16,))
    assert (alone.axes, alone.titles(), alone.is_long) == ((), ("",), False)
    assert sweeps(parse_run(make_run(impls=(), settings=[], cells=[]))) == ()


def test_ranges_join_neighbours() -> None:
    titles = ("1", "4", "16", "64", "256")
    assert ranges(titles, (True, False, True, True, True)) == "1, 16 to 256"
    assert ranges(titles, (True,) * 5) == "1 to 256"
    assert ranges(titles, (False,) * 5) == ""
