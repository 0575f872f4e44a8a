"""A history as a table and as a picture."""

from __future__ import annotations

import io
import struct

import pytest

from blockmark.report.console import print_sheet
from blockmark.report.plots.trend import draw_trend
from blockmark.report.tables.history import history_sheet
from blockmark.runs.codec import parse_run
from blockmark.verdict.history import History, make_history
from run_factory import find_cell, make_run, scalar


def history(impls: tuple[str, ...] = ("vector/cpp",), name: str = "") -> History:
    runs = []
    for day in range(1, 7):
        content = make_run(created=f"2026-11-{day:02d}T12:00:00+00:00", run_id=f"{day:04d}")
        step = 1500.0 if day < 5 else 1800.0
        find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([step] * 5)
        if day == 2:
            find_cell(content, "vector/cpp")["metrics"].pop("step_ns")
        if name:
            for part in (*content["implementations"], *content["cells"]):
                for key in ("name", "impl"):
                    if part.get(key) == "vector/cpp":
                        part[key] = name
        runs.append(parse_run(content))
    return make_history(runs, "step_ns", impls=[name] if name else impls)


def printed(found: History) -> str:
    stream = io.StringIO()
    print_sheet(history_sheet(found), stream=stream, width=80)
    return stream.getvalue()


def test_a_row_a_run_with_the_change_marked_and_told() -> None:
    text = printed(history())
    section = text.partition("block_size 16\n")[2].partition("block_size 1\n")[0]
    rows = [line.split() for line in section.splitlines() if line.startswith("000")]
    assert rows == [
        ["0001", "2026-11-01", "12:00", "1.50"],
        ["0002", "2026-11-02", "12:00", "-"],
        ["0003", "2026-11-03", "12:00", "1.50"],
        ["0004", "2026-11-04", "12:00", "1.50"],
        ["0005", "2026-11-05", "12:00", "1.80*"],
        ["0006", "2026-11-06", "12:00", "1.80"],
    ]
    said = " ".join(text.split())
    assert (
        "Change: vector/cpp (decode, block_size 16) at run 0005 2026-11-05 12:00: 1.80 us, "
        "+20.0 %, worse." in said
    )
    assert "No value: run 0002 2026-11-02 12:00, vector/cpp: not measured." in said
    assert "no verdict" in said


def test_no_chance_is_told_and_series_that_move_together_are() -> None:
    runs = []
    for day in range(1, 7):
        content = make_run(created=f"2026-11-{day:02d}T12:00:00+00:00", run_id=f"{day:04d}")
        for name in ("vector/cpp", "flat-stack/cpp", "hash-map/cpp"):
            for size in (16, 1):
                cost = 100.0 if day < 4 else 130.0
                find_cell(content, name, size)["metrics"]["step_ns"] = scalar([cost] * 5)
        runs.append(parse_run(content))
    impls = ("vector/cpp", "flat-stack/cpp", "hash-map/cpp")
    text = " ".join(printed(make_history(runs, "step_ns", impls=impls)).split())
    assert text.count("Change: ") == 6
    assert "(p " not in text
    assert (
        "At run 0004 2026-11-04 12:00 6 of 6 series moved the same way: look at the machine "
        "before you look at the code." in text
    )
    # One implementation alone that changed is no such sign.
    assert "moved the same way" not in printed(history())


def test_runs_that_are_apart_in_the_same_way_are_told_once() -> None:
    runs = [
        parse_run(
            make_run(
                created=f"2026-11-{day:02d}T12:00:00+00:00", run_id=f"{day:04d}", quick=day < 3
            )
        )
        for day in range(1, 4)
    ]
    text = " ".join(printed(make_history(runs, "step_ns", impls=["vector/cpp"])).split())
    assert "Runs 0001 2026-11-01 12:00, 0002 2026-11-02 12:00 are apart: quick." in text


def test_nothing_found_is_said() -> None:
    assert "No change was found." in printed(history(("flat-stack/cpp",)))


def test_the_picture_is_the_same_for_the_same_history_and_shows_all_panels() -> None:
    one, two = history(("vector/cpp", "flat-stack/cpp")), history(("vector/cpp", "flat-stack/cpp"))
    first = draw_trend(one)
    assert first == draw_trend(two)
    width, height = struct.unpack(">II", first.png[16:24])
    assert width == 850
    assert 300 <= height <= 900
    assert draw_trend(history(("flat-stack/cpp",))) != draw_trend(history(("vector/cpp",)))


@pytest.mark.parametrize("name", ["$x^2$ [b]|", "内存池/py\n", "x" * 200])
def test_hostile_names(name: str) -> None:
    found = history(name=name)
    assert draw_trend(found)
    assert printed(found)
