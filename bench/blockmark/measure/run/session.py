"""A run as a whole: started or gone on with, interrupted or not, always published."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark import __version__
from blockmark.interrupts import interrupts_wait
from blockmark.runs.store import RunWriter
from blockmark.workload.keys import ConfigError

from ..machine import OtherWork, build_facts, machine_facts
from .assemble import assemble_run
from .plan import Plan
from .programs import prepare
from .runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from blockmark.runs.model import Run

    from .programs import Prepared
    from .runner import Progress

# Facts that must not have changed between the sessions of one run.
_SAME_MACHINE = ("cpu_model", "cores", "architecture", "kernel", "python", "memory_bytes")
_SAME_BUILD = ("native", "compiler", "flags", "replay_version")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A published run, and whether it was cut short."""

    run: Run
    folder: Path
    interrupted: bool


def start(plan: Plan, output: Path, progress: Progress) -> Outcome:
    """Carry out a plan in a new folder under `output`. Raises StoreError, ConfigError."""
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        progress(0, 1, "making the load ready")
        prepared = prepare(plan.cells, Path(folder))
        with RunWriter.create(output, {"created": created, **plan.as_json()}) as writer:
            return _carry_out(plan, prepared, writer, created, progress)


def resume(
    run_folder: Path, progress: Progress, check: Callable[[Plan], None] = lambda plan: None
) -> Outcome:
    """Go on with a run. Raises RunFileError, StoreError, ConfigError.

    `check` may refuse the plan, by an error of its own, before anything is measured.
    """
    with (
        RunWriter.resume(run_folder) as writer,
        tempfile.TemporaryDirectory(prefix="blockmark-") as folder,
    ):
        plan = Plan.from_json(writer.plan)
        check(plan)
        _check_same(run_folder, "machine", plan.machine, machine_facts(), _SAME_MACHINE)
        _check_same(run_folder, "build", plan.build, build_facts(), _SAME_BUILD)
        progress(0, 1, "making the load ready")
        prepared = prepare(plan.cells, Path(folder))
        return _carry_out(plan, prepared, writer, str(writer.plan["created"]), progress)


def _check_same(folder: Path, what: str, then: Any, now: Any, names: tuple[str, ...]) -> None:
    for name in names:
        if then.get(name) != now.get(name):
            raise ConfigError(
                f"{folder}: this run was begun on another {what} ({name} was "
                f"{then.get(name)!r}, is {now.get(name)!r}); start a new run"
            )


def _carry_out(
    plan: Plan, prepared: Prepared, writer: RunWriter, created: str, progress: Progress
) -> Outcome:
    runner = Runner(plan, prepared, writer, progress)
    others = OtherWork()
    interrupted = False
    try:
        runner.run()
    except KeyboardInterrupt:
        interrupted = True
    # One that comes now changes nothing of what was measured.
    with interrupts_wait():
        run = assemble_run(
            plan,
            runner.journal,
            prepared.facts,
            run_id=writer.run_id,
            created=created,
            duration_s=runner.elapsed_s,
            version=__version__,
            machine_after=others.facts(),
        )
        writer.publish(run)
    return Outcome(run, writer.folder, interrupted)
