"""Many random programs: cut into processes, added up, and ended by the first fault."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from blockmark.measure.proof import verification


class FakeJob:
    """Answers at once; the programs from `wrong_from` on are wrong."""

    asked: list[dict[str, Any]]
    wrong_from: int

    def __init__(self, request: dict[str, Any], timeout: float, stop: threading.Event) -> None:
        assert timeout == 7.0
        self.request = request
        FakeJob.asked.append(request)

    def result(self) -> dict[str, Any]:
        first, count = self.request["first_program"], self.request["random_programs"]
        if first + count > FakeJob.wrong_from:
            return {"status": "wrong", "reason": "so it is"}
        return {"status": "ok", "operations": 10 * count, "steps": count}


def in_chunks(monkeypatch: pytest.MonkeyPatch, count: int, wrong_from: int) -> dict[str, Any]:
    monkeypatch.setattr(verification, "Job", FakeJob)
    FakeJob.asked, FakeJob.wrong_from = [], wrong_from
    job = {"random_programs": count, "programs": ["load"]}
    return verification._in_chunks(job, 7.0, threading.Event())


def test_every_program_is_played_once_and_the_load_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = in_chunks(monkeypatch, 1_250, 10**9)
    played = [
        number
        for job in FakeJob.asked
        for number in range(job["first_program"], job["first_program"] + job["random_programs"])
    ]
    assert played == list(range(1_250))
    assert [job["programs"] for job in FakeJob.asked] == [["load"], [], []]
    assert answer.pop("seconds") >= 0
    assert answer.pop("notes") == []
    assert answer == {"status": "ok", "operations": 12_500, "steps": 1_250, "programs": 1_250}


def test_the_first_fault_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_chunks(monkeypatch, 5_000, 900) == {"status": "wrong", "reason": "so it is"}
    assert len(FakeJob.asked) == 2


@pytest.mark.parametrize("count", [0, 1, 500])
def test_few_programs_are_one_process(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    in_chunks(monkeypatch, count, 10**9)
    (job,) = FakeJob.asked
    assert (job["first_program"], job["random_programs"]) == (0, count)
