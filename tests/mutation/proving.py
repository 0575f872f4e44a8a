"""The proof of many mutants, in processes that they may end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blockmark.measure.proof.effort import DEFAULT
from blockmark.measure.proof.mutants import write_mutants
from blockmark_impls.build import BuildError, build_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from blockmark.measure.proof.mutants import Mutant

_PROVER = Path(__file__).with_name("prover.py")
_CONFIG = {"total_blocks": 256, "block_size": 4, "max_seqs": 8, "max_blocks_per_seq": 16}
# Mutants in C++ can write where they should not: the next one must not be blamed for it.
_A_PROCESS = {".py": 8, ".hpp": 1}
_A_UNIT = 8


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a mutant: `killed`, `survived`, or `dropped` as it is no program."""

    mutant: Mutant
    status: str
    shown_by: str = ""


def prove_mutants(
    mutants: Sequence[Mutant], folder: Path, *, programs: int, cores: int, cpu_s: float
) -> Iterator[Result]:
    """Each one's result, in no order. Headers are compiled one by one, and kept in `folder`."""
    job = {
        "config": _CONFIG,
        **DEFAULT.request(first=True),
        "random_programs": programs,
        "seed": 1,
        "cpu_s": cpu_s,
    }
    python = [mutant for mutant in mutants if mutant.of.endswith(".py")]
    native = [mutant for mutant in mutants if mutant not in python]
    with ThreadPoolExecutor(cores) as pool:
        waiting = []

        def start(written: Sequence[tuple[Mutant, str]]) -> None:
            size = _A_PROCESS[Path(written[0][0].of).suffix] if written else 1
            parts = [written[at : at + size] for at in range(0, len(written), size)]
            waiting.extend(pool.submit(_prove, part, job) for part in parts)

        start(write_mutants(python, folder))
        for at in range(0, len(native), _A_UNIT):
            some = native[at : at + _A_UNIT]
            built, dropped = _build(some, folder / some[0].name)
            yield from (Result(mutant, "dropped", said) for mutant, said in dropped)
            start(built)
            while waiting and waiting[0].done():
                yield from waiting.pop(0).result()
        for each in waiting:
            yield from each.result()


def _build(
    mutants: Sequence[Mutant], folder: Path
) -> tuple[list[tuple[Mutant, str]], list[tuple[Mutant, str]]]:
    """Those that compile with their targets, and those that do not with what was said."""
    left, dropped = list(mutants), []
    while left:
        written = write_mutants(left, folder)
        header = Path(written[0][1].rpartition(":")[0])
        try:
            build_header(header)
        except BuildError as error:
            bad = _blamed(left, header, error.log) or (left if len(left) == 1 else [])
            if not bad:
                halves = left[: len(left) // 2], left[len(left) // 2 :]
                both = [_build(half, folder / half[0].name) for half in halves]
                return [*both[0][0], *both[1][0]], [*dropped, *both[0][1], *both[1][1]]
            dropped += [(mutant, str(error)) for mutant in bad]
            left = [mutant for mutant in left if mutant not in bad]
        else:
            return written, dropped
    return [], dropped


def _blamed(mutants: Sequence[Mutant], header: Path, log: str) -> list[Mutant]:
    """Those in whose part of the header an error was found."""
    lines = header.read_text("utf-8").splitlines()
    part_of, current = {}, ""
    for number, line in enumerate(lines, 1):
        if line.startswith("namespace blockmark::mutant_"):
            current = line.split("mutant_")[1].split(" ")[0]
        part_of[number] = current
    blamed = set()
    for line in log.splitlines():
        place, _, rest = line.partition(": error: ")
        if rest and place.startswith(str(header.resolve())):
            blamed.add(part_of.get(int(place.split(":")[1]), ""))
    return [mutant for mutant in mutants if mutant.name in blamed]


def _prove(written: Sequence[tuple[Mutant, str]], job: dict[str, object]) -> list[Result]:
    results: list[Result] = []
    while len(results) < len(written):
        left = written[len(results) :]
        request = json.dumps({**job, "targets": [target for _, target in left]}) + "\n"
        done = subprocess.run(
            [sys.executable, "-P", str(_PROVER)],
            input=request,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        for (mutant, _), answer in zip(left, answers, strict=False):
            survived = answer["status"] == "ok"
            reason = answer.get("reason", "")
            results.append(Result(mutant, "survived" if survived else "killed", reason))
        if len(answers) < len(left):
            # The one that was next ended the process.
            results.append(Result(left[len(answers)][0], "killed", _ended(done)))
    return results


def _ended(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode == -signal.SIGXCPU:
        return "it hangs"
    if done.returncode < 0:
        return f"the process crashed with {signal.Signals(-done.returncode).name}"
    last = done.stderr.strip().splitlines()[-1:] or [""]
    return f"the process ended with code {done.returncode}: {last[0]}"
