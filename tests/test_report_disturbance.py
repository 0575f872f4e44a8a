"""One line on a machine that was busy with something else, and none on a quiet one."""

from __future__ import annotations

import io
from typing import Any

import pytest

from blockmark.report.console import print_run
from blockmark.report.findings.disturbance import disturbance
from blockmark.report.markdown import render_report
from blockmark.runs.codec import parse_run
from run_factory import make_run, scalar

PAIR = ("flat-stack/cpp", "vector/cpp")


def run_with(
    machine: dict[str, Any], steps: list[float], share: float | None = None
) -> dict[str, Any]:
    content = make_run(impls=PAIR)
    content["machine"] |= {"cores": 2} | machine
    for cell in content["cells"]:
        cell["metrics"]["step_ns"] = scalar(steps)
        cell["metrics"].pop("cpu_share_of_wall", None)
        if share is not None:
            cell["metrics"]["cpu_share_of_wall"] = scalar([share] * 5, "share", "software")
    return content


QUIET = [100.0, 101.0, 102.0, 103.0, 104.0]


@pytest.mark.parametrize(
    ("machine", "steps", "share", "signs"),
    [
        ({"other_cores": 0.5, "all_cores": 2}, QUIET, 1.0, ""),
        # Not known is no sign, nor is the load of the minute before, of a build perhaps.
        ({"load_before": 20.0}, QUIET, None, ""),
        ({"other_cores": 0.51, "all_cores": 2}, QUIET, 1.0, "other work used 0.51 of 2 cores"),
        ({"other_cores": 8.0, "all_cores": 64}, QUIET, 1.0, ""),
        ({"other_cores": 0.1, "all_cores": 2}, QUIET, 0.5, "processes got 50.0 % of a core"),
        (
            {"other_cores": 0.1, "all_cores": 2},
            [100.0, 150.0, 110.0, 120.0, 130.0],
            1.0,
            "rounds of a cell differ by 50.0 %",
        ),
    ],
)
def test_each_sign_by_hand(
    machine: dict[str, Any], steps: list[float], share: float | None, signs: str
) -> None:
    said = disturbance(parse_run(run_with(machine, steps, share)))
    assert said.partition(";")[0] == (f"Disturbed: {signs}" if signs else "")
    assert ("stop other work" in said) == bool(signs)


def test_the_screen_and_the_report_say_it() -> None:
    run = parse_run(run_with({"other_cores": 1.7, "all_cores": 2}, QUIET, 0.5))
    stream = io.StringIO()
    print_run(run, stream=stream, width=200)
    for text in (stream.getvalue(), render_report(run)):
        assert "Disturbed: other work used 1.7 of 2 cores, processes got 50.0 % of a core;" in text
