"""Kill every command by every signal, alone and in bursts, and look at what is left.

    python tests/robustness/kill_storm.py --kills 200

After each kill: no process of the command is there five seconds later, nothing is in the folder
for temporary files, no file of a run is torn or half replaced, every round that was on the disk
is in the run that was published, the exit code is 130 (that of the signal where the kernel ended
the process), and nothing printed a traceback.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from blockmark.runs.errors import RunFileError
from blockmark.runs.store import RunWriter, load_run

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from cli import TINY  # noqa: E402

ORPHANS_MAY_TAKE_S = 5.0
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OTHERS = (signal.SIGKILL, signal.SIGQUIT, signal.SIGUSR1)
_MARK = "KILL_STORM"

# A class with a process of its own, in a session of its own, that would stay.
_DAEMON = """
import subprocess
from blockmark_impls.python.vector import VectorManager

class Daemon(VectorManager):
    def __init__(self, config):
        super().__init__(config)
        subprocess.Popen(["sleep", "300"], start_new_session=True)
"""

# What is killed, and for how many seconds it runs about, on a machine that does something else.
COMMANDS: dict[str, tuple[list[str], float]] = {
    "run": (["run", "tiny.toml", "--rounds", "8"], 6.0),
    "run, a daemon": (["run", "tiny.toml", "--impl", "d=daemon.py:Daemon", "--rounds", "3"], 6.0),
    "run, simulated": (["run", "tiny.toml", "--quick", "--counters", "callgrind"], 8.0),
    "verify": (["verify", "--impl", "vector/py", "--impl", "flat-stack/py"], 8.0),
    "verify --fuzz": (["verify", "--impl", "vector/py", "--quick", "--fuzz", "20s"], 8.0),
    "verify --corpus": (["verify", "--corpus"], 8.0),
    "check": (["check", "tiny.toml", "--self-test", "--rounds", "10"], 8.0),
    "check, a revision": (
        [
            "check",
            "tiny.toml",
            "--baseline-rev",
            "HEAD",
            "--impl",
            "vector/py",
            "--build",
            "sleep 2",
        ],
        8.0,
    ),
    "check --deterministic": (["check", "tiny.toml", "--deterministic", "--self-test"], 8.0),
    "contention": (["contention", "--quick"], 5.0),
    "capacity": (["capacity", "--quick"], 4.0),
    "claims": (["claims"], 8.0),
    "profile": (["profile", "vector/py", "tiny.toml"], 6.0),
    "doctor": (["doctor"], 3.0),
    "build": (["build", "table.hpp"], 8.0),
    "compare": (["compare", "stored"], 1.0),
    "report": (["report", "stored", "--output", "reported"], 3.0),
    "history": (["history", "stored"], 1.0),
    "list": (["list", "impls"], 0.3),
    "trace": (["trace", "trace.csv"], 1.5),
}


@dataclass(frozen=True)
class Kill:
    """One kill: `signals` are sent within ten milliseconds, `after_s` from the start."""

    name: str
    signals: tuple[signal.Signals, ...]
    after_s: float


def draw(rng: random.Random, name: str) -> Kill:
    """A kill of a command, at any time of its life, the very start often."""
    takes = COMMANDS[name][1]
    after = rng.choice([rng.uniform(0.05, 0.5), rng.uniform(0.05, takes)])
    if rng.random() < 0.3:
        return Kill(name, (rng.choice(_OTHERS),), after)
    count = rng.choice([1, 1, 2, 3])
    return Kill(name, tuple(rng.choice(_INTERRUPTS) for _ in range(count)), after)


def prepare_folder(folder: Path) -> Path:
    """All that the commands name."""
    (folder / "tiny.toml").write_text(TINY)
    table = TESTS.parent / "docs" / "bring-your-own" / "my_table.hpp"
    # With a text of its own, so that no build of before is used.
    (folder / "table.hpp").write_text(f"{table.read_text()}// {os.urandom(8).hex()}\n")
    (folder / "daemon.py").write_text(_DAEMON)
    rows = "".join(f"{i / 10},{100 + i % 900},{10 + i % 90}\n" for i in range(200_000))
    (folder / "trace.csv").write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t"]
    for words in (["init", "-q"], ["add", "tiny.toml"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    with RunWriter.create(folder / "made", {}):
        pass
    stored = Path(__file__).parents[2] / "reports" / "decode" / "run.json"
    (folder / "stored").mkdir()
    (folder / "stored" / "run.json").write_bytes(stored.read_bytes())
    return folder


def storm(kill: Kill, folder: Path) -> list[str]:
    """Carry out one kill in a prepared folder; what is wrong afterwards."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    scratch = folder / f"tmp-{mark}"
    scratch.mkdir()
    output = folder / f"results-{mark}"
    words = list(COMMANDS[kill.name][0])
    if words[0] in ("run", "contention", "capacity", "claims", "profile"):
        words += ["--output", str(output)]
    cache = folder / (f"cache-{mark}" if words[0] == "build" else "cache")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "blockmark", *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch), "XDG_CACHE_HOME": str(cache), _MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    time.sleep(kill.after_s)
    for number in kill.signals:
        process.send_signal(number)
        time.sleep(0.003)
    try:
        _, err = process.communicate(timeout=ORPHANS_MAY_TAKE_S * 4)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ["it did not end within 20 s"]
    wrong = _wrong_end(kill, process.returncode, err)
    if orphans := _left(mark):
        wrong.append(f"left behind: {', '.join(orphans)}")
    if names := _left_files(scratch):
        wrong.append(f"temporary files: {', '.join(names[:5])}")
    if output.is_dir():
        for run in output.iterdir():
            wrong += _torn(run, kill)
    return wrong


def _wrong_end(kill: Kill, code: int, err: str) -> list[str]:
    wrong = []
    # Before the interpreter comes to the command, an interrupt shows the interpreter's own files.
    starting = "Traceback" in err and "/blockmark/" not in err
    if "Traceback" in err and not starting:
        wrong.append(f"a traceback: {err[-300:]}")
    if (code == 1 and not starting) or (code < 0 and -code not in kill.signals):
        wrong.append(f"exit code {code}: {err[-300:]}")
    return wrong


def _left(mark: str) -> list[str]:
    """The processes that are there for longer than they may be."""
    wanted = f"{_MARK}={mark}".encode()
    end = time.monotonic() + ORPHANS_MAY_TAKE_S
    while True:
        found = []
        for place in Path("/proc").iterdir():
            try:
                if place.name.isdigit() and wanted in (place / "environ").read_bytes():
                    found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def _left_files(scratch: Path) -> list[str]:
    """The files that are there for longer than they may be."""
    end = time.monotonic() + ORPHANS_MAY_TAKE_S
    while (names := sorted(entry.name for entry in scratch.rglob("*"))) and time.monotonic() < end:
        time.sleep(0.1)
    return names


def _torn(run: Path, kill: Kill) -> list[str]:
    """What is wrong with the files of a run."""
    wrong = [f"{file.name} is left" for file in run.glob("*.tmp")]
    journal = run / "cells.jsonl"
    lines = journal.read_bytes().count(b'"kind":"round"') if journal.is_file() else 0
    kept = -1
    if (run / "run.json").is_file():
        try:
            cells = load_run(run).cells
            kept = sum(max((m.rounds for m in cell.metrics.values()), default=0) for cell in cells)
        except RunFileError as error:
            return [*wrong, f"torn: {error}"]
        if kept < lines:
            wrong.append(f"{lines} rounds on the disk, {kept} in the run")
    elif (run / "plan.json").is_file():
        if lines and set(kill.signals) <= set(_INTERRUPTS):
            wrong.append(f"{lines} rounds on the disk, and no run was published")
        try:
            with RunWriter.resume(run):
                pass
        except RunFileError as error:
            wrong.append(f"it can't be gone on with: {error}")
    return wrong


def main() -> None:
    """Kill, count, and end with code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="the one command to kill")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    bad = 0
    by_signal: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = prepare_folder(Path(name))
        for number in range(options.kills):
            names = [options.only] if options.only else list(COMMANDS)
            kill = draw(rng, names[number % len(names)])
            by_signal["+".join(each.name for each in kill.signals)] += 1
            for problem in (wrong := storm(kill, folder)):
                signals = "+".join(each.name for each in kill.signals)
                print(f"{kill.name}, {signals} after {kill.after_s:.2f} s: {problem}", flush=True)
            bad += bool(wrong)
    kinds = len(by_signal)
    print(
        f"{options.kills} kills of {len(names)} commands by {kinds} signals and bursts: {bad} bad"
    )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
