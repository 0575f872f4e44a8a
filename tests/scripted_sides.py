"""Sides of a check that answer by a script: no process, no clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from blockmark.measure.sides.side import Side
from blockmark.measure.subject import Subject
from blockmark.sessions.check import Effort, check_sides
from blockmark.sessions.check_plan import Asked
from blockmark.verdict.check import CheckResult
from blockmark.workload.scenario import parse_scenario
from cli import TINY

SCENARIO = TINY.replace('["vector/py"]', '["a", "b"]').replace('["step"]', '["step", "pack"]')
PACKAGE = {"contract_version": 1, "replay_version": 1, "python": "3.11", "core": {}}

Script = Callable[[dict[str, Any], int], dict[str, Any]]


class Scripted:
    """A side whose processes answer at once. `script` gets the job and its number."""

    def __init__(self, script: Script, folder: str, **package: Any) -> None:
        self.script = script
        self.package = {**PACKAGE, **package}
        self.impls = ["a", "b"]
        self.proof: dict[str, dict[str, Any]] = {}
        self.jobs: list[dict[str, Any]] = []
        self.players: list[_Player] = []
        self.name, self.origin = folder, ""
        self.implementations, self.python, self.cwd = Path(folder), "python", None
        self.root = self.apart_from = None
        self.absent: set[str] | None = None
        self.loaded: dict[str, Any] = {}
        self.reuse_order = "LIFO"

    def job(self, request: dict[str, Any], timeout_s: float, stop: object = None) -> Scripted:
        self._request = request
        return cast("Scripted", _Answer(self._answer(request)))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["kind"] == "describe":
            found = {
                target: [
                    {
                        "subject": asdict(replace(subject(target), reuse_order=self.reuse_order)),
                        "file": None,
                    }
                ]
                for target in request["targets"]
                if target in self.impls
            }
            unknown = {target: f"no {target}" for target in request["targets"]}
            unknown = {target: why for target, why in unknown.items() if target not in found}
            absent = set(unknown) if self.absent is None else self.absent
            return {
                "status": "ok",
                "package": self.package,
                "found": found,
                "unknown": unknown,
                "absent": sorted(absent),
            }
        assert request["kind"] == "verify"
        return {**self.proof.get(request["impl"], {"status": "ok"}), "loaded": self.loaded}

    def player(self, request: dict[str, Any], timeout_s: float, stop: object = None) -> _Player:
        self.jobs.append(request)
        number = sum(job["impl"] == request["impl"] for job in self.jobs) - 1
        player = _Player(request, self.script(request, number))
        self.players.append(player)
        return player


class _Answer:
    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def result(self) -> dict[str, Any]:
        return self._answer


class _Player:
    """Plays every block in the time that its script's answer gives."""

    def __init__(self, job: dict[str, Any], found: dict[str, Any]) -> None:
        self._found = found
        self._programs = [timed.names for model in job["programs"].values() for timed in model]
        self._next: dict[str, Any] = {**found, "programs": self._programs}
        self.killed = False

    def say(self, message: dict[str, Any]) -> None:
        costs = self._found["metrics"]
        if "prepare" in message:
            names = self._programs[message["prepare"]]
            reasons = {name: costs[name].get("unavailable") for name in names}
            reasons = {name: reason for name, reason in reasons.items() if reason}
            block_ns = self._found.get("block_ns", 1e6)
            sizes = {"periods": 1, "period": 8, "block_ns": block_ns, "wanted_ns": 1e6}
            self._next = {"unavailable": reasons} if reasons else sizes
        elif "quantiles" in message:
            self._next = {"quantiles": self._found["quantiles"]}
        elif "end" in message:
            self._next = {"control_ns": self._found.get("control_ns")}
        else:
            names = self._programs[message["program"]]
            self._next = {"costs": {n: [costs[n]["value"]] * message["blocks"] for n in names}}

    def answer(self) -> dict[str, Any]:
        return {"status": "ok", **self._next}

    def kill(self) -> None:
        self.killed = True


def subject(name: str) -> Subject:
    return Subject(
        name=name,
        target=name,
        scheme=name,
        tier="py",
        kind="manager",
        summary="",
        profile="R",
        id_type="int32",
        reuse_order="LIFO",
        call_style="per-op",
        call_styles=("per-op",),
        fixed_style=False,
        models=("pack", "step"),
    )


def costs(ns: float, *, spread: float = 0.001) -> Script:
    """A side whose steps take `ns`, a little more in each round."""

    def answer(job: dict[str, Any], number: int) -> dict[str, Any]:
        value = ns * (1.0 + spread * number)
        return {"status": "ok", "metrics": {"step_ns": {"value": value}}, "control_ns": 1.5}

    return answer


def run(
    before: Scripted,
    after: Scripted,
    effort: Effort | None = None,
    *,
    metrics: tuple[str, ...] = ("step_ns",),
    quantiles: tuple[str, ...] = (),
    **more: Any,
) -> CheckResult:
    scenario = parse_scenario(SCENARIO, "tiny", "tiny.toml")
    asked = Asked.of([scenario], [], metrics, None, quantiles)
    sides = cast("tuple[Side, Side]", (before, after))
    return check_sides(asked, *sides, effort or Effort(), **more)


def verdicts(result: CheckResult) -> dict[str, str]:
    return {cell.name: cell.verdict for cell in result.cells}
