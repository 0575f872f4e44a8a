"""A profile from beginning to end: prove, replay under the tool, read what it wrote."""

from __future__ import annotations

import gzip
import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.runs.errors import StoreError
from blockmark.runs.profile import (
    Frame,
    Profile,
    ProfiledReplay,
    Stack,
    collapsed,
    functions_of,
    lines_of,
)
from blockmark.workload.errors import ConfigError
from blockmark.workload.keys import nearest

from ..probes.callgrind import callgrind_command, callgrind_environment
from ..process.jobs import COMMAND, WORKER, Job, worker_environment
from ..proof.effort import QUICK
from ..proof.verification import verify_job
from ..run.plan import Pair
from ..run.programs import Prepared, prepare
from ..targets import subjects_of
from .call_graph import profile_of
from .callgrind_file import parse_callgrind
from .choice import choose
from .perf_file import parse_perf, rooted
from .perf_tool import PerfError, controlled, record_command, script_of
from .source_text import with_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from blockmark.workload.scenario import Scenario

    from ..process.task import TimedProgram
    from .choice import Tool

    Progress = Callable[[int, int, str], None]

# Models whose replay can be profiled; a paced loop mostly waits.
MODELS = ("step", "lookup", "alloc_free", "pack", "fork", "pool")
_KNOWN_MODELS = f"; there are {', '.join(MODELS)}"
# As a quick run verifies.
_ENTERED_BEFORE = (
    "The interpreter's loop was entered before counting began; its instructions are charged to "
    "the function that called it."
)
_LOST = "{:,} samples were lost: C was entering a function in Python, which has no stack yet."
# The outermost function of a native replay: what is above it is the way in from Python.
_NATIVE_ROOT = "Replay<"


class ProfileError(Exception):
    """Nothing was profiled; one line, why. `wrong` says that an answer was."""

    def __init__(self, message: str, *, wrong: bool = False) -> None:
        self.wrong = wrong
        super().__init__(message)


def profile_replay(
    scenario: Scenario,
    target: str,
    folder: Callable[[str], Path],
    *,
    model: str = "step",
    by: str = "auto",
    cache: Sequence[str] = (),
    seconds: float | None = None,
    seed: int | None = None,
    timeout_s: float = 120.0,
    progress: Progress = lambda done, steps, text: None,
) -> tuple[ProfiledReplay, Path]:
    """Profile one implementation in a scenario's first cell.

    `folder` gives the folder for an implementation's name; it is made, what the tool
    wrote goes there, and it is returned. `seconds` bound the sampling, `timeout_s` every
    process. Raises ConfigError and TargetError for what can't be asked, StoreError for a
    folder that can't be written, and ProfileError where nothing came of it.
    """
    pair = _pair(scenario, target, model, seed, timeout_s)
    tool = choose(pair, by, cache, seconds)
    if reason := pair.subject.broken or pair.unavailable:
        raise ProfileError(f"{pair.subject.name} can't be profiled: {reason}")
    if model not in pair.subject.models:
        raise ProfileError(f"{pair.subject.name} does not serve the model {model}")
    place = folder(pair.subject.name)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            place, f"can't be made: {error.strerror}", "name another folder with --output"
        ) from None
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="blockmark-") as scratch:
        prepared = prepare([pair.cell], Path(scratch, "programs"))
        if reason := prepared.refused.get(pair.cell.key):
            raise ProfileError(f"{pair.subject.name} can't be profiled: {reason}")
        _verify(pair, prepared, timeout_s, stop)
        progress(1, 3, f"checked {pair.subject.name}")
        run = _Run(pair, prepared, tool, place, Path(scratch), model)
        answer = run.answer(timeout_s, stop)
        progress(2, 3, f"profiled {pair.subject.name}")
        found = run.read(answer)
        progress(3, 3, "")
    return found, place


def _pair(scenario: Scenario, target: str, model: str, seed: int | None, timeout_s: float) -> Pair:
    if model not in MODELS:
        raise ConfigError(
            f"--model {model}: unknown model{nearest(model, list(MODELS)) or _KNOWN_MODELS}"
        )
    if seed is not None:
        scenario = scenario.override({"seed": [seed]})
    cell = scenario.cells()[0]
    found = subjects_of(target, cell, timeout_s)
    if len(found) > 1:
        names = ", ".join(subject.name for subject in found)
        raise ConfigError(f"{target} names several implementations; profile one of {names}")
    if cell["cache"] != "hot":
        raise ConfigError(
            f"cache = {cell['cache']}: a profile is of replays with hot caches; --set cache=hot"
        )
    # Programs of the other models are not needed.
    params = tuple((key, (model,) if key == "models" else value) for key, value in cell.params)
    cell = replace(cell, params=params)
    return Pair(cell, found[0])


def _verify(pair: Pair, prepared: Prepared, timeout_s: float, stop: threading.Event) -> None:
    if pair.subject.kind == "control":
        return
    job = verify_job(pair, prepared, QUICK, first=True, seed=pair.cell["seed"])
    answer = Job(job, timeout_s, stop).result()
    if answer["status"] != "ok":
        raise ProfileError(
            f"{pair.subject.name} is not profiled, since it is {answer['status']}: "
            f"{answer['reason']}",
            wrong=answer["status"] == "wrong",
        )


class _Run:
    """One replay under one tool."""

    def __init__(
        self, pair: Pair, prepared: Prepared, tool: Tool, place: Path, scratch: Path, model: str
    ) -> None:
        self.pair = pair
        self.tool = tool
        self.place = place
        self.scratch = scratch
        self.model = model
        self._prepared = prepared

    def answer(self, timeout_s: float, stop: threading.Event) -> dict[str, Any]:
        """What the profiled process said. Raises ProfileError where it did not."""
        programs = self._prepared.programs[self.pair.cell.key].models[self.model]
        if not programs:
            raise ProfileError(f"the model {self.model} has no program in a cell so small")
        job = self._job(programs)
        command, environment = self._command()
        if self.tool.by == "perf":
            os.mkfifo(job["control"])
            os.mkfifo(job["acknowledged"])
        patience = timeout_s + self.tool.seconds
        answer = Job(job, patience, stop, command=command, environment=environment).result()
        if answer["status"] != "ok":
            raise ProfileError(f"{self.pair.subject.name}, {self.tool.by}: {answer['reason']}")
        return answer

    def _job(self, programs: list[TimedProgram]) -> dict[str, Any]:
        more: dict[str, Any] = {
            name: str(self.scratch / name) for name in ("control", "acknowledged", "tracebacks")
        }
        if self.tool.by == "callgrind":
            # valgrind needs many times the memory of what it runs.
            more["memory_limit"] = 0
        return self._prepared.request(
            "profile",
            self.pair,
            seed=self.pair.cell["seed"],
            by=self.tool.by,
            programs={self.model: programs},
            seconds=self.tool.seconds,
            **more,
        )

    def _command(self) -> tuple[list[str], dict[str, str]]:
        tool = self.tool
        if tool.valgrind is not None and tool.geometry is not None:
            out = self.scratch / "out"
            command = callgrind_command(tool.valgrind, tool.geometry, out, WORKER)
            return command, callgrind_environment()
        command = list(COMMAND)
        if tool.perf is not None:
            fifos = self.scratch / "control", self.scratch / "acknowledged"
            data = self.place / "perf.data"
            command = [*record_command(tool.perf, data), *controlled(*fifos), "--", *command]
        return command, worker_environment()

    def read(self, answer: dict[str, Any]) -> ProfiledReplay:
        """The profile; what the tool wrote stays in the folder. Raises ProfileError."""
        read = {"callgrind": self._callgrind, "perf": self._perf, "python": self._python}
        try:
            profile, tool, notes, raw = read[self.tool.by](answer)
        except OSError as error:
            raise StoreError(
                self.place, f"can't be written: {error.strerror}", "make room, or name another"
            ) from None
        except (ValueError, PerfError) as error:
            raise ProfileError(f"{self.pair.subject.name}, {self.tool.by}: {error}") from None
        return ProfiledReplay(
            profile=replace(profile, lines=with_text(profile.lines)),
            implementation=self.pair.subject.name,
            scenario=self.pair.cell.scenario,
            model=self.model,
            call_style=self.pair.call_style,
            params=self.pair.cell.values,
            tool=tool,
            steps=answer["steps"],
            operations=answer["operations"],
            notes=notes,
            raw=raw,
        )

    def _callgrind(self, _: dict[str, Any]) -> _Read:
        assert self.tool.valgrind is not None
        assert self.tool.geometry is not None
        text = (self.scratch / "out.1").read_text("utf-8", "replace")
        (self.place / "callgrind.out").write_text(text, "utf-8")
        caches = self.tool.geometry
        tool = (
            f"callgrind (valgrind {self.tool.valgrind.version}), simulated caches "
            f"i1={caches.i1} d1={caches.d1} ll={caches.ll}"
        )
        notes = () if self.pair.call_style == "native" else (_ENTERED_BEFORE,)
        return profile_of(parse_callgrind(text)), tool, notes, ("callgrind.out",)

    def _perf(self, _: dict[str, Any]) -> _Read:
        perf = self.tool.perf
        assert perf is not None
        text = script_of(perf, self.place / "perf.data")
        # Tens of megabytes, nearly all of it the same names again.
        with gzip.open(self.place / "perf.txt.gz", "wt", encoding="utf-8") as file:
            file.write(text)
        samples = parse_perf(text)
        stacks, notes = samples.stacks, []
        if self.pair.call_style == "native":
            stacks, left_out = rooted(stacks, lambda name: name.startswith(_NATIVE_ROOT))
            if left_out:
                notes.append(f"{left_out:,} samples outside the replay are left out.")
        notes.append("Steps that are off the clock are sampled as well.")
        event = samples.event or perf.event
        clock = " (a timer: there is no cycle counter here)" if "clock" in event else ""
        tool = f"perf {perf.version}, event {event}{clock}"
        return _of_stacks("perf", stacks), tool, tuple(notes), ("perf.data", "perf.txt.gz")

    def _python(self, answer: dict[str, Any]) -> _Read:
        stacks = [
            Stack(tuple(Frame(*frame) for frame in frames), count)
            for frames, count in answer["stacks"]
        ]
        (self.place / "stacks.txt").write_text(collapsed(stacks), "utf-8", "replace")
        tool = "a timer of 1.2 to 2.4 ms"
        notes = [_LOST.format(answer["lost"])] if answer["lost"] else []
        return _of_stacks("python", stacks), tool, tuple(notes), ("stacks.txt",)


_Read = tuple[Profile, str, tuple[str, ...], tuple[str, ...]]


def _of_stacks(source: str, stacks: list[Stack]) -> Profile:
    """A profile of samples. Raises ValueError where there are none."""
    total = sum(stack.weight for stack in stacks)
    if not total:
        raise ValueError("no samples were taken; raise --seconds")
    return Profile(source, "samples", total, functions_of(stacks), lines_of(stacks), stacks)
