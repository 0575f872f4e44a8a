"""What the gate says of commits whose change is known, on a quiet machine and on a busy one.

    python tests/simulation/gate_figures.py --minutes 240 --splice docs/gate.md

A repository is made with a block manager in Python that does some extra work once a step, and
a branch for each commit of `COMMITS`, which changes that work or something else. Each is
checked with `blockmark check` as a user would, with its defaults, against the first commit:
with nothing else on the machine, and beside 16 processes that spin. `equal` is a commit that
changes a comment, checked many times: there each verdict is a false alarm.

Every finished check is a line in FILE (--records) before the next begins, so the same command
goes on where it ended; no check is begun after the time is over. The table is of what is
there. Run it alone: what else runs counts as load.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from blockmark.report.files import append_file
from blockmark.report.splice import splice

SPLICED = "gate figures"
LOADS = (0, 16)
SIZES = (16, 1)  # the two cells of decode
# Of a step of the vector scheme; so a faster commit has something to leave out.
USUAL_WORK = 0.3
_COMMAND = "python tests/simulation/gate_figures.py"

MANAGER = """
from blockmark_impls.python.vector import VectorManager

# Turns of a loop in each step, by block size; and in each 64th step beside.
WORK = {work}
RARE = {rare}


class {name}(VectorManager):
    def __init__(self, config):
        super().__init__(config)
        self._appends = 0
        self._work = WORK.get(config.block_size, 0)
        self._rare = RARE.get(config.block_size, 0)
        self._steps = 0

    def append_slot(self, seq):
        # An append for each of 256 sequences is a step.
        self._appends += 1
        if self._appends == 256:
            self._appends = 0
            self._steps += 1
            for _ in range(self._work):
                pass
            if not self._steps % 64:
                for _ in range(self._rare):
                    pass
        return super().append_slot(seq){spoilt}
"""
WRONG = """

    def lookup(self, seq, logical):
        return super().lookup(seq, 0)
"""


def commits(turns: dict[int, int]) -> dict[str, str]:
    """Name -> the text of mine.py; `turns` of the loop take as long as a step of the plain
    scheme, by block size. The first one is what all others are checked against.
    """
    usual = {size: round(USUAL_WORK * n) for size, n in turns.items()}
    step = {size: n + usual[size] for size, n in turns.items()}

    def source(
        change: float = 0.0, *, sizes: Sequence[int] = SIZES, rare: float = 0.0, **more: str
    ) -> str:
        work = {
            size: usual[size] + (round(change * step[size]) if size in sizes else 0)
            for size in turns
        }
        beside = {size: round(rare * step[size]) for size in turns}
        return MANAGER.format(
            work=work, rare=beside, **{"name": "Mine", "spoilt": "", **more}
        ).lstrip()

    return {
        "baseline": source(),
        "equal": source() + "# A comment.\n",
        "+3 %": source(0.03),
        "+5 %": source(0.05),
        "+10 %": source(0.10),
        "+30 %": source(0.30),
        "10 times": source(9.0),
        "faster, -15 %": source(-0.15),
        "wrong": source(spoilt=WRONG),
        "renamed": source(name="Renamed"),
        "+30 % at block size 1 alone": source(0.30, sizes=(1,)),
        # The p99 of this scheme is twice a usual step by itself.
        "each 64th step four times as long (p99)": source(rare=3.0),
    }


# What a gate has to do with each, beyond `equal`: the exit codes that are right.
RIGHT = {
    "+3 %": (0, 1, 3),
    "faster, -15 %": (0,),
    "wrong": (4,),
    "renamed": (3,),
}


def right_codes(name: str) -> tuple[int, ...]:
    """The exit codes that are no mistake: a slowdown of 5 % and more is found, or no pass."""
    return RIGHT.get(name, (0,) if name == "equal" else (1, 3))


def plan(names: Sequence[str], repeats: int, equal: int) -> list[tuple[str, int, int]]:
    """(commit, load, number), each commit once at each load before any a second time."""
    return [
        (name, load, number)
        for number in range(max(repeats, equal))
        for load in LOADS
        for name in names
        if name != "baseline" and number < (equal if name == "equal" else repeats)
    ]


@contextmanager
def spinning(processes: int) -> Iterator[list[int]]:
    """So many processes that spin; their ids. They are ended whatever happens."""
    started = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def calibrate() -> dict[int, int]:
    """How many turns of an empty loop take as long as a step of vector/py, by block size."""
    words = ["run", "decode", "--impl", "vector/py", "--set", "models=step", "--rounds", "3"]
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        done = _blockmark([*words, "--json"], Path(folder))
        if done.returncode:
            raise SystemExit(f"calibration failed: {done.stderr.strip()}")
        run = json.loads(done.stdout)
    step = {
        dict(cell["params"])["block_size"]: cell["metrics"]["step_ns"]["value"]
        for cell in run["cells"]
        if cell["impl"] == "vector/py"
    }
    turn = min(_loop_ns(100_000) for _ in range(20))
    return {size: round(ns / turn) for size, ns in step.items()}


def _loop_ns(turns: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(turns):
        pass
    return (time.perf_counter_ns() - start) / turns


def make_repository(folder: Path, sources: dict[str, str]) -> None:
    """A commit of `baseline` on the branch main, and a branch beside it for each other."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".gitignore").write_text("__pycache__/\n")
    for number, (name, text) in enumerate(sources.items()):
        if number:
            git(folder, "checkout", "--quiet", "-b", branch(number), "main")
        (folder / "mine.py").write_text(text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "-m", name)


def branch(number: int) -> str:
    """The branch of the commit with that number in `commits`."""
    return f"commit-{number}"


def git(folder: Path, *words: str) -> None:
    """Run git with no settings of the user's. Raises CalledProcessError."""
    who = ["-c", "user.name=t", "-c", "user.email=t", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True)


def _blockmark(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "blockmark", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def check(folder: Path, options: Sequence[str]) -> dict[str, Any]:
    """One check of what is checked out: exit code, seconds, verdicts and the step's ratio."""
    words = ["check", "--baseline-rev", "main", "--impl", "mine=mine.py:Mine", *options]
    started = time.monotonic()
    done = _blockmark([*words, "--json", "-"], folder)
    seconds = time.monotonic() - started
    try:
        cells = json.loads(done.stdout)["cells"]
    except ValueError:
        raise SystemExit(f"the check told nothing: {done.stderr.strip()}") from None
    return {
        "code": done.returncode,
        "seconds": round(seconds, 1),
        "verdicts": {_cell_name(cell): cell["verdict"] for cell in cells},
        "ratios": {_cell_name(cell): cell["ratio"] for cell in cells},
        "rounds": max((len(cell["before"]) for cell in cells), default=0),
    }


def _cell_name(cell: dict[str, Any]) -> str:
    return f"{cell['setting']} {cell['metric']}"


def read_records(path: Path) -> list[dict[str, Any]]:
    """What was checked so far; a torn last line is as if it had not been."""
    found = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def render(records: Sequence[dict[str, Any]]) -> str:
    """The table, a row for each commit, and the counts of what was wrong."""
    names = list(dict.fromkeys(record["name"] for record in records if record["name"] != "equal"))
    lines = [
        "| commit | " + " | ".join(f"load {load}" for load in LOADS) + " |",
        "|---|" + "---|" * len(LOADS),
    ]
    for name in names:
        cells = [_told(_of(records, name, load)) for load in LOADS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    equal = [
        f"{sum(one['code'] == 1 for one in some)} of {len(some)} with a false alarm, "
        f"{sum(one['code'] == 3 for one in some)} not decided (exit 3) at load {load}"
        for load in LOADS
        if (some := _of(records, "equal", load))
    ]
    changed = [one for one in records if one["name"] != "equal"]
    bad = [one for one in changed if one["code"] not in right_codes(one["name"])]
    told = "; ".join(f"{one['name']} at load {one['load']}: exit {one['code']}" for one in bad)
    parts = [
        "Exit codes of each check, the change of the step that was measured (median over checks "
        "and the cells that changed) and the time of a check (median). Load is that of "
        "processes beside it that spin.",
        "\n".join(lines),
        f"Checks of equal programs: {'; '.join(equal) or 'none'}.",
        f"Other checks that ended as they must not: {len(bad)} of {len(changed)}"
        + (f" ({told})." if bad else "."),
    ]
    return "\n\n".join(parts)


def _of(records: Sequence[dict[str, Any]], name: str, load: int) -> list[dict[str, Any]]:
    return [one for one in records if (one["name"], one["load"]) == (name, load)]


def _told(some: Sequence[dict[str, Any]]) -> str:
    from statistics import median

    if not some:
        return "-"
    codes = ", ".join(str(one["code"]) for one in some)
    metric = "step_latency_ns.p99" if "p99" in some[0]["name"] else " step_ns"
    place = "block_size 1 " if "block size 1" in some[0]["name"] else ""
    ratios = [
        ratio
        for one in some
        for cell, ratio in one["ratios"].items()
        if ratio and cell.endswith(metric) and cell.startswith(place)
    ]
    change = f", {(median(ratios) - 1) * 100:+.1f} %" if ratios else ""
    return f"exit {codes}{change}, {median(one['seconds'] for one in some):.0f} s"


def main() -> None:
    """Check what is not yet in the records, then print the table, and splice where asked to."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=240, help="begin no check after these")
    parser.add_argument("--repeats", type=int, default=2, help="checks of each changed commit")
    parser.add_argument("--equal", type=int, default=30, help="checks of equal ones, each load")
    parser.add_argument("--records", type=Path, default=here / "gate-figures.jsonl")
    parser.add_argument("--check", default="", metavar="WORDS", help="more options of the check")
    parser.add_argument("--only", action="append", metavar="COMMIT", help="these commits alone")
    parser.add_argument("--splice", type=Path, metavar="FILE", help="put the text into a document")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end = time.monotonic() + 60 * options.minutes
    records = read_records(options.records)
    done = {(one["name"], one["load"], one["number"]) for one in records}
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        repo = Path(folder) / "repo"
        repo.mkdir()
        sources: dict[str, str] = {}
        for name, load, number in plan(
            list(commits(dict.fromkeys(SIZES, 1))), options.repeats, options.equal
        ):
            if options.only and name not in options.only:
                continue
            if (name, load, number) in done or time.monotonic() > end:
                continue
            if not sources:
                sources = commits(calibrate())
                make_repository(repo, sources)
            git(repo, "checkout", "--quiet", branch(list(sources).index(name)))
            with spinning(load):
                found = check(repo, options.check.split())
            record = {"name": name, "load": load, "number": number, **found}
            record["load_average"] = round(os.getloadavg()[0], 1)
            # A line of its own, also behind one that was torn.
            append_file(options.records, f"\n{json.dumps(record)}".encode(), "the records")
            records.append(record)
            print(f"{name} at load {load}: exit {found['code']}, {found['seconds']} s", flush=True)
    text = render(records)
    print(text)
    if options.splice:
        more = f" --check '{options.check}'" if options.check else ""
        splice(options.splice, SPLICED, text, f"{_COMMAND}{more} --splice {options.splice}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # Whole checks are on the disk; the same command goes on from there.
        sys.exit(130)
