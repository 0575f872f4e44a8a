"""Cache simulation of a run's cells: a process under valgrind for every implementation.

One process replays all cells of an implementation, since starting one takes seconds, and
hands in every cell as it is finished. A crash costs the cell that it happened in: the
others are tried once more in another process. Counts don't depend on what else runs, so
as many processes as there are processors run side by side.
"""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.runs.metrics.counters import operation_of

from .probes.callgrind import callgrind_command, callgrind_environment, of_fixed_size
from .probes.callgrind_dumps import DumpError, counter_metrics, events_of, parse_dump
from .process.answers import read_answer
from .process.jobs import ProcessMark, why_ended
from .process.limits import PATIENCE_S, Watch
from .process.reading import Reading
from .process.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event

    from .probes.callgrind import Geometry, Valgrind
    from .run.plan import Pair
    from .run.programs import Prepared
    from .sides.side import Side

_MODULE = "blockmark.measure.inside.simulated"
# A simulated process is some hundred times slower than the one that was measured.
LEAST_TIMEOUT_S = 300.0
Answer = dict[str, Any]


def simulation_requests(
    pairs: Sequence[Pair], prepared: Prepared, seed: int
) -> list[dict[str, Any]]:
    """What `Simulator.simulate` takes: the pairs, gathered by implementation."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for pair in pairs:
        saved = prepared.programs[pair.cell.key]
        cells[pair.subject.name, pair.subject.target].append(
            {
                "cell": pair.cell.key,
                "params": pair.cell.values,
                "call_style": pair.call_style,
                "config": asdict(pair.cell.pool_config),
                "programs": saved.models,
                "condition": saved.condition,
                "seed": seed,
            }
        )
    return [{"name": name, "impl": target, "cells": jobs} for (name, target), jobs in cells.items()]


class Simulator:
    """Starts the processes. `timeout_s`: at most so long without a finished cell, as
    limits.py counts.

    Without a `side` they measure what this interpreter has installed.
    """

    def __init__(
        self,
        valgrind: Valgrind,
        geometry: Geometry,
        timeout_s: float,
        side: Side | None = None,
    ) -> None:
        self._valgrind = valgrind
        self._geometry = geometry
        self._timeout_s = timeout_s
        self._side = side

    def simulate(self, requests: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, Answer]]:
        """(name, cell, answer) of every cell of every request, as they are finished.

        A request has the `name` and the target `impl` of an implementation, and its
        `cells`: jobs as `simulated.py` reads them. An answer has a `status`; if it is ok
        `metrics`, or for a job with `net` false `totals`, else a `reason`. Processes are ended
        when the caller stops asking.
        """
        finished: queue.SimpleQueue[tuple[str, str, Answer] | None] = queue.SimpleQueue()

        def work(request: dict[str, Any], stop: Event) -> None:
            def hand_in(cell: str, answer: Answer) -> None:
                finished.put((request["name"], cell, answer))

            try:
                self._all_cells(request, stop, hand_in)
            finally:
                finished.put(None)

        with side_by_side(work, requests) as done:
            for _ in requests:
                while (one := finished.get()) is not None:
                    yield one
            list(done)  # a defect of ours must not pass for a missing count

    def _all_cells(
        self, request: dict[str, Any], stop: Event, hand_in: Callable[[str, Answer], None]
    ) -> None:
        todo = [job["cell"] for job in request["cells"]]
        for attempt in range(2):
            jobs = [job for job in request["cells"] if job["cell"] in todo]
            wanted = {"impl": request["impl"], "cells": jobs}
            try:
                # Names have the same length each time: it decides where a stack begins.
                with (
                    tempfile.TemporaryDirectory(prefix="blockmark-") as folder,
                    _Process(
                        self._valgrind, self._geometry, wanted, Path(folder), self._side
                    ) as process,
                ):
                    for cell, answer in process.answers(self._timeout_s, stop):
                        todo.remove(cell)
                        hand_in(cell, answer)
                    broken = process.broken()
            except OSError as error:
                broken = {"status": "failed", "reason": f"valgrind can't be started: {error}"}
            if not todo or stop.is_set():
                return
            # The cell that it was in is given up. Those after it did nothing wrong.
            given_up, todo = (todo[:1], todo[1:]) if attempt == 0 else (todo, [])
            for cell in given_up:
                hand_in(cell, broken)
            if not todo:
                return


class _Process:
    """One process under valgrind, with a folder of its own, and its whole group with it."""

    def __init__(
        self,
        valgrind: Valgrind,
        geometry: Geometry,
        request: dict[str, Any],
        folder: Path,
        side: Side | None,
    ) -> None:
        self._gross = {job["cell"] for job in request["cells"] if not job.get("net", True)}
        self._out = folder / "out"
        self._errors = folder / "errors"
        self._mark = ProcessMark()
        (folder / "request").write_text(
            json.dumps({**request, "mark": self._mark.text}, default=asdict)
        )
        self._dumps: dict[str, dict[str, int]] = {}
        self._read: set[str] = set()
        self._timed_out = ""
        start = side.command(_MODULE) if side else None
        command = callgrind_command(valgrind, geometry, self._out, _MODULE, start=start)
        with (folder / "request").open() as stdin, self._errors.open("w") as stderr:
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=of_fixed_size(callgrind_environment(), command),
                cwd=side.cwd if side else None,
                start_new_session=True,
            )

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._mark.end_all(self._process.pid)
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def answers(self, timeout_s: float, stop: Event) -> Iterator[tuple[str, Answer]]:
        """Finished cells, until the process ends, is late, or should stop."""
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        pipe = self._process.stdout
        assert pipe is not None

        def read() -> None:
            for line in pipe:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        watch = Watch(self._process.pid, timeout_s)
        while not stop.is_set():
            try:
                line = lines.get(timeout=PATIENCE_S)
            except queue.Empty:
                self._timed_out = watch.overdue()
                if self._timed_out:
                    return
                continue
            if line is None:
                self._process.wait()
                return
            if (answer := read_answer(line.decode(errors="replace"), self._mark.text)) is not None:
                cell = answer.pop("cell")
                counted = self._with_totals if cell in self._gross else self._with_metrics
                yield cell, self._with_counts(answer, counted)
                watch.renew()

    def broken(self) -> Answer:
        """Why there are no more answers."""
        if self._timed_out:
            return {
                "status": "timeout",
                "reason": f"the simulation was not finished within {self._timed_out}; it was ended",
            }
        return {"status": "failed", "reason": f"under valgrind {self._last_words()}"}

    def _last_words(self) -> str:
        text = self._errors.read_text(errors="replace")
        code = self._process.returncode or 0
        if "unhandled instruction bytes" in text:
            return (
                "the process met an instruction that valgrind does not know (AVX-512?); build "
                "the core, and what else it imports, without -march=native"
            )
        return why_ended(code, text)

    def _with_counts(self, answer: Answer, counted: Callable[[Answer], Answer]) -> Answer:
        """The answer with counts instead of the labels of dumps."""
        if answer["status"] != "ok":
            return answer
        self._read_dumps()  # all of this cell's: it asked for them before it answered
        try:
            return {"status": "ok", **counted(answer)}
        except DumpError as error:
            return {"status": "failed", "reason": str(error)}

    def _with_metrics(self, answer: Answer) -> Answer:
        metrics = {
            f"{operation_of(cost)}_l1d_misses_per_op": Reading.missing(reason, "callgrind")
            for cost, reason in answer["unavailable"].items()
        }
        for one in answer["passes"]:
            metrics |= counter_metrics(
                one["cost"],
                one["units"],
                self._events(one["label"]),
                baseline=self._events(one["baseline"]) if one["baseline"] else None,
                warm=one["warm"],
            )
        return {"metrics": {name: one.as_json() for name, one in metrics.items()}}

    def _with_totals(self, answer: Answer) -> Answer:
        """Cost -> the reason why there is nothing, or its units and what was counted."""
        totals: dict[str, Any] = dict(answer["unavailable"])
        for one in answer["passes"]:
            totals[one["cost"]] = {"units": one["units"], **self._events(one["label"])}
        return {"totals": totals}

    def _events(self, label: str) -> dict[str, int]:
        if label not in self._dumps:
            raise DumpError("callgrind wrote no counts though it was asked to")
        return events_of(self._dumps[label])

    def _read_dumps(self) -> None:
        for path in self._out.parent.glob(f"{self._out.name}.*"):
            if path.name not in self._read:
                try:
                    dump = parse_dump(path.read_text(errors="replace"))
                except DumpError:
                    continue  # of the next cell, and being written; missed if it is asked for
                self._read.add(path.name)
                self._dumps[dump.label] = dict(dump.totals)
