"""Give every parsing function thousands of damaged files, and some of them to the command line.

    python tests/robustness/fuzz_inputs.py --inputs 20000 --commands 1000

What is damaged are whole files: scenarios, waivers, claims, programs, traces, runs, plans, counts,
kept programs, and texts of options. An input passes if it is read, or refused by an error that
commands know, in one line of at most 500 letters, within five seconds of CPU time and a gigabyte.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from damage import damaged, damaged_json

from blockmark.cli.errors import known_errors, one_message
from blockmark.measure.proof.kept import kept_files
from blockmark.measure.proof.mutants import read_mutants
from blockmark.measure.run.plan import Plan, make_plan
from blockmark.measure.run.runner import Journal
from blockmark.recorder import PoolRecorder, Recorder
from blockmark.report.console import print_run
from blockmark.runs.counts import load_counts
from blockmark.runs.rows import rows_of
from blockmark.runs.store import RunWriter, load_run, render_json
from blockmark.sessions.durations import seconds_of
from blockmark.verdict.claims_file import load_claims
from blockmark.verdict.compare import compare_implementations, compare_runs
from blockmark.verdict.waivers import read_waivers
from blockmark.workload.memory_size import memory_size
from blockmark.workload.model_shape import model_shape
from blockmark.workload.program import ProgramError
from blockmark.workload.recorded import describe
from blockmark.workload.recording import load_recording
from blockmark.workload.scenario import load_scenario, parse_setting
from blockmark.workload.traces import open_trace, summarise, time_window
from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager
from blockmark_impls.registry import own_target
from run_factory import make_run

ROOT = Path(__file__).parents[2]
MOST_S = 5.0
MOST_BYTES = 1 << 30
LONGEST_MESSAGE = 500

Damage = Callable[[bytes, random.Random], bytes]


class TooLongError(BaseException):
    """It is not done within the time; no `except Exception` may take it for an answer."""


@dataclass(frozen=True)
class Kind:
    """A kind of input: whole ones, how they are damaged, and what reads them from a file."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[Path], object]
    damage: Damage = damaged
    file: str = "input"
    words: tuple[str, ...] = ()  # a command that is given the file in place of FILE


@contextmanager
def limited() -> Iterator[None]:
    """TooLongError after five seconds of CPU time, MemoryError after a gigabyte more."""

    def over(*_: object) -> None:
        raise TooLongError

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MOST_BYTES
    handler = signal.signal(signal.SIGPROF, over)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def wrong_with(kind: Kind, path: Path) -> str:
    """What is wrong with how a file is read; empty if it is read, or refused well."""
    try:
        with limited():
            kind.read(path)
    except TooLongError:
        return f"not done within {MOST_S:g} s of CPU time"
    except ProgramError as error:  # a command makes it one of its own
        message = str(error)
    except Exception as error:
        if known_errors(error) is None:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            return f"{type(error).__name__} at {place}: {str(error)[:200]}"
        message = str(error)
    else:
        return ""
    line = one_message(f"error: {message}")
    if "\n" in line or len(line) > LONGEST_MESSAGE:
        return f"a message of {len(line)} letters"
    named = (path.name, "plan.json", "cells.jsonl")
    if not kind.name.startswith("option") and not any(name in line for name in named):
        return f"a message that does not name the file: {line[:120]}"
    return ""


def kinds(folder: Path) -> list[Kind]:
    """Every kind of input. Whole ones that have to be made are made in `folder`."""
    scenarios = tuple(path.read_bytes() for path in sorted((ROOT / "scenarios").glob("*.toml")))
    waivers = (
        b'[[waiver]]\ncell = "decode (block_size 16) flat-stack/cpp step_ns"\nlimit = 1.10\n'
        b'reason = "checked"\nexpires = 2027-03-01\n'
    )
    runs = tuple(json.dumps(make_run(**each)).encode() for each in ({}, {"rounds": 1}))
    mutants = tuple(path.read_bytes() for path in (ROOT / "tests" / "corpus").rglob("*.toml"))
    counts = tuple(path.read_bytes() for path in (ROOT / "results" / "baseline").glob("*.json"))
    return [
        Kind("scenario", scenarios, _scenario, file="input.toml",
             words=("run", "FILE", "--dry-run")),
        Kind("waivers", (waivers,), read_waivers, file="input.toml",
             words=("check", "--baseline", "RUN", "--candidate", "RUN", "--waivers", "FILE")),
        Kind("claims", ((ROOT / "scenarios" / "claims.toml").read_bytes(),), load_claims,
             file="input.toml", words=("claims", "--claims", "FILE", "--run", "RUN")),
        Kind("program", _programs(folder), _program, _damaged_program,
             words=("record", "FILE")),
        Kind("program, to be run", _programs(folder), _program, _damaged_program,
             words=("run", "--program", "FILE", "--dry-run")),
        Kind("trace", _traces(), _trace, words=("trace", "FILE")),
        Kind("run", runs, _run, damaged_json, words=("compare", "FILE")),
        Kind("run, as text", runs, _run, words=("report", "FILE", "--format", "junit")),
        Kind("plan", _plans(folder), _plan, damaged_json),
        Kind("cells", (_CELLS,), _cells),
        Kind("counts", counts, load_counts, damaged_json),
        Kind("kept program", (_CALLS,), lambda path: kept_files(path.parent), file="input.calls"),
        Kind("mutants", mutants, read_mutants, file="input.toml"),
        *(Kind(f"option {name}", seeds, _option(read), words=words)
          for name, seeds, read, words in _OPTIONS),
    ]  # fmt: skip


_CALLS = b"""# blockmark calls 1
total_blocks=8 block_size=2 max_seqs=4 max_blocks_per_seq=4 id_bits=16
allocate(0, 3)
append_slot(0)
fork(0, 1, None)
append_slots([0, 1])
lookup_slots([0, 1], [0, 1])
write_block_tables([0, 1])
free(1)
"""
_CELLS = b"".join(
    json.dumps({"kind": kind, "cell": "ab", "impl": "x", "round": n, "status": "ok",
                "elapsed_s": n * 0.5, "metrics": {"step_ns": {"value": 5.0, "unit": "ns"}}})
    .encode() + b"\n"
    for n, kind in enumerate(["verify", "round", "round", "counters"])
)  # fmt: skip
_OPTIONS: tuple[tuple[str, tuple[bytes, ...], Callable[[str], object], tuple[str, ...]], ...] = (
    ("--set", (b"concurrency=512,64", b"prompt_tokens=lognormal:median=512,p99=4096",
               b"models=step,pack", b"trace_window=0:3600", b"occupancy=0.5"), parse_setting,
     ("run", "--dry-run", "--set", "TEXT")),
    ("--impl", (b"mine=path/file.py:Class", b"flat-stack/cpp[row_pad=32]", b"a=b.hpp:C",
                b"module.sub:Class", b"vector"), own_target,
     ("run", "--dry-run", "--impl", "TEXT")),
    ("--window", (b"0:3600", b"3600:", b":600"), lambda text: time_window("--window", text),
     ("trace", "TRACE", "--window", "TEXT")),
    ("--budget", (b"90s", b"5m", b"1.5h"), lambda text: seconds_of(text, "--budget"),
     ("check", "--baseline", "RUN", "--candidate", "RUN", "--budget", "TEXT")),
    ("kv_memory", (b"45GiB", b"80GB", b"123"), lambda text: memory_size("kv_memory", text),
     ("capacity", "--dry-run", "--set", "TEXT")),
    ("model_shape", (b"llama-3-8b", b"32x8x128x2"), model_shape, ()),
    ("SCENARIO", (b"decode", b"a/b.toml"), lambda text: None, ("run", "TEXT", "--dry-run")),
    ("RUN", (b"results/0001", b"latest-main"), lambda text: None, ("show", "TEXT")),
    ("list", (b"impls", b"scenarios"), lambda text: None, ("list", "TEXT")),
    ("COMMAND", (b"run", b"verify", b"--version"), lambda text: None, ("TEXT", "--help")),
)  # fmt: skip


def _option(read: Callable[[str], object]) -> Callable[[Path], object]:
    # Of what a command line can hold.
    return lambda path: read(path.read_bytes().decode("utf-8", "surrogateescape"))


def _scenario(path: Path) -> object:
    return load_scenario(path).cells()


def _program(path: Path) -> object:
    return describe(*load_recording(path))


def _trace(path: Path) -> object:
    return summarise(open_trace(path), 16)


def _run(path: Path) -> object:
    run = load_run(path)
    rows_of(run)
    compare_implementations(run)
    compare_runs(run, run)
    print_run(run, stream=io.StringIO(), width=80)
    return run


def _plan(path: Path) -> object:
    folder = path.with_suffix(".resumed")
    folder.mkdir(exist_ok=True)
    (folder / "plan.json").write_bytes(path.read_bytes())
    with RunWriter.resume(folder) as writer:
        return Plan.from_json(writer.plan).pairs()


def _cells(path: Path) -> object:
    folder = path.with_suffix(".resumed")
    folder.mkdir(exist_ok=True)
    plan = {"schema": "blockmark.plan", "schema_version": 1, "run_id": "0001"}
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "cells.jsonl").write_bytes(path.read_bytes())
    with RunWriter.resume(folder) as writer:
        journal = Journal()
        for record in writer.finished:
            journal.add(record)
        return journal


def _programs(folder: Path) -> tuple[bytes, ...]:
    manager = Recorder(VectorManager(PoolConfig(64, 4, 8, 8)), PoolConfig(64, 4, 8, 8))
    pool = PoolRecorder(ListPool(32), 32)
    for step in range(12):
        manager.step()
        pool.step()
        seq = step % 4
        if step >= 4:
            manager.manager.free(seq)
        manager.manager.allocate(seq, 3 + step)
        manager.manager.append_slot(seq)
        pool.pool.give(pool.pool.take(3))
    saved = []
    for number, recorder in enumerate((manager, pool)):
        recorder.save(folder / f"{number}.program")
        saved.append((folder / f"{number}.program").read_bytes())
    return tuple(saved)


def _damaged_program(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return damaged(data, rng)
    # The header is JSON, padded so that the columns stay where they are.
    first = data.index(b"\n") + 1
    size = int(data[first : first + 7])
    header, columns = data[first + 8 : first + 8 + size], data[first + 8 + size :]
    text = damaged_json(header, rng)
    if rng.random() < 0.3:
        columns = damaged(columns, rng)
    text = text.rstrip() + b" " * (-len(text.rstrip()) % 64)
    return data[:first] + b"%07d\n" % len(text) + text + columns


def _traces() -> tuple[bytes, ...]:
    rows = [(i * 250, 100 + 7 * i, 10 + i) for i in range(40)]
    azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n" + "\r\n".join(
        f"2023-11-16 18:17:{i:02}.9799600,{p},{o}" for i, (_, p, o) in enumerate(rows)
    )
    burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n" + "".join(
        f"{t / 1000},GPT-4,{p},{o},{p + o},API log\n" for t, p, o in rows
    )
    mooncake = "".join(
        json.dumps({"timestamp": t, "input_length": p, "output_length": o,
                    "hash_ids": list(range(-(-p // 512)))}) + "\n" for t, p, o in rows
    )  # fmt: skip
    vidur = "arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(
        f"{t / 1000},{p},{o}\n" for t, p, o in rows
    )
    lengths = "num_prefill_tokens,num_decode_tokens\n" + "".join(f"{p},{o}\n" for _, p, o in rows)
    plain = [text.encode() for text in (azure, burst, mooncake, vidur, lengths)]
    return (*plain, gzip.compress(plain[2]))


def _plans(folder: Path) -> tuple[bytes, ...]:
    scenario = load_scenario(ROOT / "scenarios" / "decode.toml")
    plan = make_plan([scenario], ["vector/py"], command="blockmark run")
    header = {"schema": "blockmark.plan", "schema_version": 1, "run_id": "0001", "created": "2026"}
    plain = json.loads(json.dumps({**header, **plan.as_json()}, default=str))
    return (render_json(plain).encode(),)


def fuzz(inputs: int, seed: int, only: str = "") -> Iterator[tuple[str, str, bytes]]:
    """Damage and read so many inputs: (kind, what is wrong, input) of each that fails.

    The sum over kinds is `inputs`; their order is the seed's.
    """
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = [kind for kind in kinds(folder) if only in kind.name and kind.seeds]
        for number in range(inputs):
            kind = known[number % len(known)]
            data = kind.damage(rng.choice(kind.seeds), rng)
            place = folder / f"{number % 50}"
            place.mkdir(exist_ok=True)
            path = place / kind.file
            path.write_bytes(data)
            if wrong := wrong_with(kind, path):
                yield kind.name, wrong, data
            path.unlink()


def ask(words: list[str], folder: Path) -> tuple[int, str]:
    """Exit code and errors of a command, in a child that has all modules already.

    A code of -24 (SIGXCPU) is more than five seconds of CPU time.
    """
    errors = folder / "errors"
    child = os.fork()
    if not child:
        code = 99
        with contextlib.suppress(BaseException):
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            os.chdir(folder)
            resource.setrlimit(resource.RLIMIT_CPU, (int(MOST_S) + 1, int(MOST_S) + 3))
            resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_BYTES, 4 * MOST_BYTES))
            sys.argv = ["blockmark", *words]
            try:
                from blockmark.__main__ import main

                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0
            except BaseException:
                traceback.print_exc()
                code = 98
            sys.stderr.flush()
        os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, errors.read_text(errors="replace")


def fuzz_commands(commands: int, seed: int) -> Iterator[tuple[str, str, bytes]]:
    """The same through the command line."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = [kind for kind in kinds(folder) if kind.words]
        whole = {kind.name: kind.seeds[0] for kind in known}
        (folder / "whole.json").write_bytes(whole["run"])
        (folder / "whole.csv").write_bytes(whole["trace"])
        for number in range(commands):
            kind = known[number % len(known)]
            data = kind.damage(rng.choice(kind.seeds), rng)
            path = folder / f"{rng.choice(['', 'a [b] ', 'ä'])}{kind.file}"
            path.write_bytes(data)
            text = data.replace(b"\0", b"").decode("utf-8", "surrogateescape")[:100_000]
            names = {"FILE": path.name, "RUN": "whole.json", "TRACE": "whole.csv", "TEXT": text}
            words = [names.get(word, word) for word in kind.words]
            code, err = ask(words, folder)
            last = err.rstrip("\n").split("\n")
            if "Traceback" in err or (code in (1, 98, 99) and kind.words[0] != "check"):
                yield kind.name, f"exit code {code}: {err[-300:]}", data
            elif code < 0:
                yield kind.name, f"ended by signal {-code}", data
            elif any(len(line) > LONGEST_MESSAGE for line in last):
                yield kind.name, f"a line of {max(map(len, last))} letters: {last[-1][:80]}", data
            elif code == 2 and len(last) > 1 and not any(line.startswith("error") for line in last):
                yield kind.name, f"{len(last)} lines and no error in them: {err[:200]}", data


def main() -> None:
    """Fuzz, print what fails and how often, and end with code 1 if anything does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--commands", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds whose name holds this")
    parser.add_argument("--keep", type=Path, help="a folder for inputs that fail")
    options = parser.parse_args()
    bad: Counter[str] = Counter()

    def told(found: Iterator[tuple[str, str, bytes]], what: str) -> None:
        for name, wrong, data in found:
            bad[what] += 1
            print(f"{name}: {wrong}", flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{name.replace('/', '-')}-{bad[what]}").write_bytes(data)

    told(fuzz(options.inputs, options.seed, options.only), "inputs")
    told(fuzz_commands(options.commands, options.seed), "commands")
    print(
        f"{options.inputs:,} damaged inputs through the parsing functions: {bad['inputs']} failed; "
        f"{options.commands:,} through the command line: {bad['commands']} failed"
    )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
