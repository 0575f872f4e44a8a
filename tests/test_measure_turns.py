"""Matches in turns: the arithmetic by hand on players of known times, and real processes."""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from blockmark.measure.process.jobs import Job
from blockmark.measure.run.plan import Pair
from blockmark.measure.run.programs import prepare
from blockmark.measure.sides.player import _TurnPlayer
from blockmark.measure.sides.side import Side, describe_side
from blockmark.measure.sides.turns import Alternated, Turns, alternate, turns_job
from blockmark.measure.subject import Subject
from blockmark.runs.histogram import Histogram
from blockmark.workload.scenario import parse_scenario
from cli import TINY, subject

pytestmark = pytest.mark.alone

# Speaks the protocol. Its job is a script: the ns of each block, turn by turn, what to do
# in a turn instead of playing it, and a file that it writes its turns to.
FAKE = """
import json, os, signal, sys, time
job = json.loads(sys.stdin.readline())
say = lambda **answer: print(job["mark"] + json.dumps({"status": "ok", **answer}), flush=True)
if job.get("before_ready"):
    print("no luck", file=sys.stderr)
    sys.exit(3)
say(programs=[["step_ns"]])
turns = iter(enumerate(job["turns"]))
for line in sys.stdin:
    message = json.loads(line)
    if "prepare" in message:
        if "unavailable" in job:
            say(unavailable={"step_ns": job["unavailable"]})
        else:
            say(periods=job.get("periods", 4), period=2, block_ns=1e6, wanted_ns=1e6)
    elif "quantiles" in message:
        say(quantiles={label: job["quantiles"][label] for label in message["quantiles"]})
    elif "end" in message:
        say(control_ns=job.get("control_ns"))
        sys.exit()
    else:
        number, blocks = next(turns)
        if job.get("crash") == number:
            os.kill(os.getpid(), signal.SIGSEGV)
        if job.get("hang") == number:
            time.sleep(600)
        if job.get("raise") == number:
            say(status="failed", reason="ValueError: bad")
            sys.exit()
        with open(job["log"], "a") as log:
            print(job["name"], json.dumps(message), file=log)
        played = blocks[message["discard"] :]
        assert len(played) == message["blocks"]
        say(costs={"step_ns": played})
"""


class Match:
    """Two fake players; `play` gives the match, `log` who played when."""

    def __init__(self, folder: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
        script = folder / "player.py"
        script.write_text(FAKE)
        self._log = folder / "log"
        self._log.unlink(missing_ok=True)
        self._command = [sys.executable, str(script)]
        self._jobs = [
            {"name": name, "log": str(self._log), "turns": [[9.0, 2.0, 3.0]] * 10, **job}
            for name, job in (("A", before), ("B", after))
        ]
        self.stop = Event()

    def play(
        self,
        seed: int = 1,
        timeout: float = 60.0,
        pairs: int = 3,
        quantiles: tuple[str, ...] = (),
        **more: float,
    ) -> Alternated:
        self.players = [
            Job(job, timeout, self.stop, command=self._command, talks=True) for job in self._jobs
        ]
        turns = Turns(pairs=pairs, blocks=2, **more)  # type: ignore[arg-type]
        players = self.players[0], self.players[1]
        return alternate(players, random.Random(seed), turns, quantiles)

    @property
    def order(self) -> str:
        return "".join(line[0] for line in self._log.read_text().splitlines())

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line[2:]) for line in self._log.read_text().splitlines()]

    def all_ended(self) -> bool:
        return all(player._process.poll() is not None for player in self.players)


def test_leasts_and_shift_by_hand(tmp_path: Path) -> None:
    # The first block of a turn, always the least here, is not counted.
    before = {"turns": [[1.0, 10.0, 11.0], [1.0, 12.0, 20.0], [1.0, 30.0, 9.0]], "control_ns": 1.5}
    after = {"turns": [[1.0, 11.0, 15.0], [1.0, 24.0, 25.0], [1.0, 40.0, 18.0]], "control_ns": 1.6}
    match = Match(tmp_path, before, after)
    found = match.play()
    assert not found.broken
    cost = found.metrics["step_ns"]
    assert (cost.before, cost.after) == (9.0, 11.0)
    # Pairs: 11/10, 24/12, 18/9.
    assert cost.shift == pytest.approx(math.log(2.0))
    assert cost.pairs[0] == ([10.0, 11.0], [11.0, 15.0])
    assert found.control_ns == (1.5, 1.6)
    assert match.all_ended()


def test_who_goes_first_is_drawn_from_the_seed(tmp_path: Path) -> None:
    orders = []
    for seed in (1, 1, 2):
        match = Match(tmp_path, {}, {})
        match.play(seed, pairs=10)
        orders.append([match.order[i : i + 2] for i in range(0, 20, 2)])
    assert orders[0] == orders[1] != orders[2]
    assert set(orders[0]) == {"AB", "BA"}


def test_both_sides_play_the_same_operations(tmp_path: Path) -> None:
    match = Match(tmp_path, {"periods": 6}, {"periods": 4})
    match.play()
    # The shorter of what they would have chosen.
    turn = {"program": 0, "periods": 4, "discard": 1, "blocks": 2, "steps": 0}
    messages = match.messages
    cores = {message.pop("core") for message in messages}
    assert messages == [turn] * 6
    assert len(cores) == 1  # and on the same core


def test_quantiles_of_single_steps_by_hand(tmp_path: Path) -> None:
    before = {"quantiles": {"p50": 100.0, "p99": 200.0}}
    after = {"quantiles": {"p50": 100.0, "p99": 300.0}}
    match = Match(tmp_path, before, after)
    found = match.play(pairs=4, quantiles=("p50", "p99"))
    tail = found.metrics["step_latency_ns.p99"]
    assert (tail.before, tail.after, tail.shift) == (200.0, 300.0, pytest.approx(math.log(1.5)))
    assert found.metrics["step_latency_ns.p50"].shift == 0.0
    # A block is 4 periods of 2 steps in a ms: 125 us a step. 1,300 steps are 325 a turn.
    assert {message["steps"] for message in match.messages} == {325}


@pytest.mark.parametrize(("interrupted", "p99"), [(0, 1e6), (30, 200.0), (49, 100.0), (400, None)])
def test_steps_that_were_interrupted_are_no_tail(interrupted: int, p99: float | None) -> None:
    # 1,300 steps: 1,250 usual ones, 20 of twice that, and 30 in which another process ran.
    player = object.__new__(_TurnPlayer)
    player._singles, player._interrupted = Histogram(), interrupted
    for ns, count in ((100, 1_250), (200, 20), (1_000_000, 30)):
        for _ in range(count):
            player._singles.record(ns)
    # Of 1,270 steps 99 % are 1,258, so one of the 20; of 1,251 they are 1,239; 900 are too few.
    found = player.quantiles(["p99"])["p99"]
    assert found == (p99 if p99 is None else pytest.approx(p99, rel=0.01))


def test_single_steps_that_take_too_long_are_told(tmp_path: Path) -> None:
    # A block of one period: 500 us a step, so that 1,300 take 0.65 seconds.
    assert Turns().most_single_ns > 6e8
    match = Match(tmp_path, {"periods": 1}, {"periods": 1})
    found = match.play(quantiles=("p99",), most_single_ns=5e8)
    assert "step_latency_ns.p99" not in found.metrics
    why = {"step_latency_ns.p99": "1,300 single steps take too long"}
    assert found.unavailable == (why, why)
    assert {message["steps"] for message in match.messages} == {0}


@pytest.mark.parametrize(
    ("after", "status", "reason"),
    [
        ({"crash": 2}, "failed", "the process crashed with SIGSEGV"),
        ({"raise": 2}, "failed", "ValueError: bad"),
        ({"before_ready": True}, "failed", "the process ended with code 3: no luck"),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_breaks_ends_the_match(
    tmp_path: Path, side: int, after: dict[str, Any], status: str, reason: str
) -> None:
    jobs = [{}, {}]
    jobs[side] = after
    match = Match(tmp_path, *jobs)
    found = match.play()
    assert found.broken
    assert found.answers[side] == {"status": status, "reason": reason}
    assert found.answers[1 - side] == {"status": "ok"}
    assert not found.metrics
    assert match.all_ended()


def test_a_side_that_hangs_is_ended(tmp_path: Path) -> None:
    match = Match(tmp_path, {}, {"hang": 2})
    found = match.play(timeout=2.0)
    assert found.answers[1] == {
        "status": "timeout",
        "reason": "no answer within 2 s; it was ended",
    }
    assert match.all_ended()


def test_a_stop_ends_both(tmp_path: Path) -> None:
    match = Match(tmp_path, {}, {"hang": 0})
    match.stop.set()
    with pytest.raises(KeyboardInterrupt):
        match.play()
    assert match.all_ended()


def test_what_one_side_cannot_serve_is_not_played(tmp_path: Path) -> None:
    match = Match(tmp_path, {}, {"unavailable": "it lacks pack"})
    found = match.play()
    assert not found.broken
    assert not found.metrics
    # Nothing: it could.
    assert found.unavailable == ({"step_ns": ""}, {"step_ns": "it lacks pack"})


def test_blocks_of_no_time_tell_no_ratio(tmp_path: Path) -> None:
    match = Match(
        tmp_path,
        {"turns": [[1.0, 0.0, 1.0], [1.0, 2.0, 2.0], [1.0, 4.0, 4.0]]},
        {"turns": [[1.0, 7.0, 7.0], [1.0, 3.0, 3.0], [1.0, 6.0, 6.0]]},
    )
    cost = match.play().metrics["step_ns"]
    assert (cost.before, cost.after) == (0.0, 3.0)
    assert cost.shift == pytest.approx(math.log(1.5))


@pytest.mark.parametrize(
    ("block_ms", "plan"),
    [
        (1.0, (10, 1, 5)),
        (2.0, (10, 1, 5)),
        # 60 blocks of 1 ms are planned, so three times that at most: 180 ms.
        (2.5, (10, 1, 2)),
        (10.0, (9, 1, 1)),
        (22.0, (4, 1, 1)),
        (30.0, (6, 0, 1)),
        (500.0, (4, 0, 1)),
    ],
)
def test_long_blocks_make_fewer_turns(block_ms: float, plan: tuple[int, int, int]) -> None:
    assert Turns().fit(block_ms * 1e6, 1e6) == plan


CELLS = TINY.replace('["step"]', '["step", "alloc_free", "fork"]')


def real_match(folder: Path, target: str, *, scenario: str = CELLS) -> tuple[Alternated, set[str]]:
    cell = parse_scenario(scenario, "tiny", "tiny.toml").cells()[0]
    prepared = prepare([cell], folder / "programs")
    side = Side("here")
    described = describe_side(side, [target], cell)
    pair = Pair(cell, Subject.from_json(described.found[target][0]["subject"]))
    programs = prepared.programs[cell.key].models
    job = turns_job(pair, prepared, programs, seed=7)
    players = side.player(job, 60.0), side.player(job, 60.0)
    names = {name for some in programs.values() for one in some for name in one.names}
    return alternate(players, random.Random(1), Turns(pairs=4, blocks=2)), names


@pytest.mark.parametrize("target", ["vector/py", "hash-map/py"])
def test_two_equal_sides(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = Turns.fit
    planned: list[tuple[int, int]] = []

    def noted(self: Turns, block_ns: float, wanted_ns: float) -> tuple[int, int, int]:
        pairs, discard, blocks = fit(self, block_ns, wanted_ns)
        planned.append((pairs, blocks))
        return pairs, discard, blocks

    monkeypatch.setattr(Turns, "fit", noted)
    found, names = real_match(tmp_path, target)
    assert found.answers == ({"status": "ok"}, {"status": "ok"})
    assert found.unavailable == ({}, {})
    assert set(found.metrics) == names
    for cost in found.metrics.values():
        assert cost.before > 0
        assert cost.after > 0
        # A machine that is busy with other tests moves them by as much.
        assert abs(cost.shift) < math.log(3.0)
        # Four pairs of two blocks, or of one where a busy machine makes a block twice as long.
        blocks = len(cost.pairs[0][0])
        assert (4, blocks) in planned
        assert [len(side) for pair in cost.pairs for side in pair] == [blocks] * 8


def test_in_a_cold_cell_single_steps_are_played(tmp_path: Path) -> None:
    cold = CELLS + 'cache = "l2-cold"\n'
    found, names = real_match(tmp_path, "vector/py", scenario=cold)
    assert not found.broken
    if "step_ns" not in found.metrics:
        pytest.skip(found.unavailable[0]["step_ns"])
    cost = found.metrics["step_ns"]
    assert min(cost.before, cost.after) > 0
    # Costs of operations are no steps that mean something on their own.
    told = found.unavailable[0]
    assert set(told) == names - {"step_ns"}
    assert set(told.values()) == {"cache = l2-cold is measured for step, pack, lookup"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Raises", "RuntimeError: no license found (in misbehaving.py:"),
        ("Crashes", "the process crashed with SIGSEGV"),
        ("BlowsUp", "out of memory: over the limit of"),
    ],
)
def test_an_implementation_that_breaks_is_an_answer(tmp_path: Path, name: str, reason: str) -> None:
    found, _ = real_match(tmp_path, subject(name))
    assert found.broken
    assert found.answers[0]["status"] == "failed"
    assert found.answers[0]["reason"].startswith(reason)


def test_what_an_implementation_prints_is_no_answer(tmp_path: Path) -> None:
    found, names = real_match(tmp_path, subject("Prints"))
    assert set(found.metrics) == names


def test_a_waiting_player_takes_no_time_of_a_processor(tmp_path: Path) -> None:
    if not Path(f"/proc/{os.getpid()}/stat").exists():
        pytest.skip("no /proc")
    match = Match(tmp_path, {}, {})
    job = match._jobs[0]
    player = Job(job, 60.0, Event(), command=match._command, talks=True)
    assert player.answer()["programs"] == [["step_ns"]]

    def ticks() -> int:
        fields = Path(f"/proc/{player._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(0.3)
    assert ticks() - before <= 1
    player.kill()
