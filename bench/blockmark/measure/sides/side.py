"""The two sides of a check: whose package, which interpreter, in which folder.

This harness drives both. Only `blockmark_impls`, and what a user's target names, comes
from the side.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import blockmark
import blockmark_impls

from ..process.jobs import WORKER, Job
from ..targets import describe_job
from .side_start import AS_INSTALLED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from blockmark.workload.scenario import Cell

HARNESS = Path(blockmark.__file__).resolve().parents[1]
INSTALLED = Path(blockmark_impls.__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Side:
    """One side. `name` is what reports call it.

    `implementations` is the folder that holds `blockmark_impls`, None for the one that
    `python` has installed; `cwd` the folder that a user's targets are relative to, None
    for the working directory. `root` is the working tree that it comes from, and
    `apart_from` the other side's, of which it must load nothing. `origin` says in words what
    there is to know of where the side comes from.
    """

    name: str
    implementations: Path | None = None
    python: str = sys.executable
    cwd: Path | None = None
    origin: str = ""
    root: Path | None = None
    apart_from: Path | None = None

    def command(self, module: str = WORKER) -> list[str]:
        """How a module of this harness is started for this side: the same for every side."""
        package = AS_INSTALLED if self.implementations is None else str(self.implementations)
        start = Path(__file__).with_name("side_start.py")
        return [self.python, "-P", str(start), str(HARNESS), package, module]

    def job(self, request: dict[str, Any], timeout_s: float, stop: Event | None = None) -> Job:
        """A process of this side, started with a request as `worker.py` reads it."""
        return Job(request, timeout_s, stop, command=self.command(), cwd=self.cwd)

    def player(self, request: dict[str, Any], timeout_s: float, stop: Event | None = None) -> Job:
        """A process of this side that plays in turns, started with a job of `turns_job`."""
        command = self.command()
        return Job(request, timeout_s, stop, command=command, cwd=self.cwd, talks=True)


@dataclass(frozen=True, slots=True)
class Described:
    """What a side says of itself; `broken` is why it says nothing.

    `package` are plain facts: versions, interpreter, how the core was built. `found` has
    for each target the implementations that it names (as `describe.py` gives them), and
    `unknown` for each other target the reason why it names none, those `absent` that are
    just not there. `loaded` are the files that it took.
    """

    package: dict[str, Any] = field(default_factory=dict)
    found: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    broken: str = ""
    absent: set[str] = field(default_factory=set)
    loaded: dict[str, Any] = field(default_factory=dict)


def describe_side(
    side: Side, targets: Sequence[str], cell: Cell, timeout_s: float = 60.0
) -> Described:
    """Ask a side, in a process of its own, what it is and what `targets` name there.

    A target that ends or hangs that process is `unknown` with how it ended: all others are
    asked again, each in another process.
    """
    told = _ask(side, targets, cell, timeout_s)
    if not told.broken or not targets:
        return told
    told = _ask(side, [], cell, timeout_s)
    if told.broken:
        return told
    for target in dict.fromkeys(targets):
        alone = _ask(side, [target], cell, timeout_s)
        told.found.update(alone.found)
        told.unknown.update(alone.unknown)
        told.absent.update(alone.absent)
        told.loaded.update(_together(told.loaded, alone.loaded))
        if alone.broken:
            told.unknown[target] = f"{target} can't be loaded: {alone.broken}"
    return told


def _ask(side: Side, targets: Sequence[str], cell: Cell, timeout_s: float) -> Described:
    try:
        answer = side.job(describe_job(targets, cell), timeout_s).result()
    except OSError as error:
        return Described(broken=f"{side.python} can't be started: {error.strerror}")
    if answer["status"] != "ok":
        return Described(broken=answer["reason"])
    return Described(
        answer["package"],
        answer["found"],
        answer["unknown"],
        absent=set(answer.get("absent", ())),
        loaded=answer.get("loaded", {}),
    )


def _together(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    files = sorted({*one.get("files", ()), *other.get("files", ())})
    return {"files": files, "installed": one.get("installed", {}) | other.get("installed", {})}


def unlike(before: Described, after: Described) -> str:
    """Why nothing of two sides can be compared; empty where it can.

    What a replay does and what the contract asks for must be the same work on both; and
    an interpreter's own speed is no change of the code.
    """
    if before.broken:
        return f"the baseline can't be driven by this blockmark: {before.broken}"
    facts = (("contract_version", "contract"), ("replay_version", "replay"))
    for fact, what in (*facts, ("python", "interpreter")):
        old, new = before.package.get(fact), after.package.get(fact)
        if None not in (old, new) and old != new:
            word = "version " if fact.endswith("_version") else ""
            return f"other {what}: {word}{old} before, {word}{new} now"
    return ""


def unlike_in(tier: str, before: Described, after: Described) -> str:
    """Why two sides' implementations of one tier can't be compared; empty where they can.

    The core's build is that of `cpp` alone; numpy may serve all but `cpp` and `py`.
    """
    sides = [before.package, after.package]
    facts = [] if tier == "py" else ["numpy"]
    if tier == "cpp":
        sides = [side.get("core", {}) for side in sides]
        facts = ["compiler", "flags", "build_type"]
    for fact in facts:
        old, new = (side.get(fact) for side in sides)
        if None not in (old, new) and old != new:
            return f"other {'build' if tier == 'cpp' else 'packages'}: {fact} was {old}, is {new}"
    return ""
