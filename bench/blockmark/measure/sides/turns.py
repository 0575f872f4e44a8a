"""Two sides measured in turns: both processes are alive at once, and one plays while one waits.

What a neighbour does to a shared cache moves a cost by a factor of two within a tenth of a
second, so two processes one after the other differ by that much. Turns of a few ms that lie
side by side meet the same neighbours: their ratio is what tells the sides apart.

Each message is one line of JSON. A player answers, once a message, with its `status`:

    (its job)                                -> {programs: [[metric, ...], ...]}
    {prepare: i}                             -> {periods, period, block_ns, wanted_ns}
                                             or {unavailable: {metric: reason}}
    {program: i, periods, discard, blocks, core, steps}
                                             -> {costs: {metric: [ns per unit, ...]}}
    {quantiles: [label, ...]}                -> {quantiles: {label: ns of single steps}}
    {end: true}, or the end of its input     -> {control_ns}
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from ..machine import cache_sizes
from ..probes.timing import Budget

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from ..process.task import Timed
    from ..run.plan import Pair
    from ..run.programs import Prepared


STEP = "step_ns"
LATENCY = "step_latency_ns"


class Player(Protocol):
    """A process of one side that was started with a job of the kind "turns"."""

    def say(self, message: dict[str, Any]) -> None:
        """Send a message."""

    def answer(self) -> dict[str, Any]:
        """Wait for the next answer; `status` is "ok" unless the process is no more."""

    def kill(self) -> None:
        """End it and all that it started."""


@dataclass(frozen=True, slots=True)
class Turns:
    """How long a match is: `pairs` of turns, one a side, of `blocks` counted blocks each.

    The block before those is not counted: it finds the other side's data in the caches.
    Where one period of a program is longer than two blocks, there are fewer of both, so that
    a match takes three times as long at most, but `least_pairs`.
    """

    pairs: int = 10
    blocks: int = 5
    least_pairs: int = 4
    # Enough for a p99 with some to spare. What they take is told by blocks that other work may
    # have disturbed, so with room.
    single_steps: int = 1_300
    most_single_ns: float = 2e9

    def fit(self, block_ns: float, wanted_ns: float) -> tuple[int, int, int]:
        """(pairs, discarded blocks, counted blocks) for blocks that take `block_ns`."""
        if block_ns <= 2 * wanted_ns:
            return self.pairs, 1, self.blocks
        blocks = max(1, int(self.blocks * wanted_ns / block_ns))
        most_ns = 3 * self.pairs * (1 + self.blocks) * wanted_ns
        least = min(self.least_pairs, self.pairs)
        # Caches are filled in a small part of a block that is so long.
        discard = int(most_ns >= least * (1 + blocks) * block_ns)
        pairs = int(most_ns / ((discard + blocks) * block_ns))
        return max(least, min(self.pairs, pairs)), discard, blocks


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric in turns: for each pair the counted blocks of both sides, ns per unit."""

    pairs: list[tuple[list[float], list[float]]]

    @property
    def before(self) -> float:
        """The least of all counted blocks before."""
        return min(min(pair[0]) for pair in self.pairs)

    @property
    def after(self) -> float:
        """The least of all counted blocks after."""
        return min(min(pair[1]) for pair in self.pairs)

    @property
    def shift(self) -> float:
        """The median over pairs of log(least block after / least block before).

        Pairs with a block that took no time by the clock tell no ratio; 0 if all do.
        """
        told = [(min(old), min(new)) for old, new in self.pairs]
        return median([math.log(new / old) for old, new in told if old and new] or [0.0])


@dataclass(frozen=True, slots=True)
class ComparedSteps:
    """A quantile of single steps, ns: of all that each side played in a match, turn by turn."""

    before: float
    after: float

    @property
    def shift(self) -> float:
        """log(after / before); 0 where one took no time by the clock."""
        return math.log(self.after / self.before) if self.before and self.after else 0.0


@dataclass(slots=True)
class Alternated:
    """A match. `answers` are how the sides fared, as a job's: nothing counts unless both
    have the `status` "ok".

    `unavailable` says for each side why a metric has no number (nothing where that side
    could, but the other can't), and `control_ns` is what a load from the first-level cache
    took on each.
    """

    answers: tuple[dict[str, Any], dict[str, Any]]
    metrics: dict[str, Compared | ComparedSteps] = field(default_factory=dict)
    unavailable: tuple[dict[str, str], dict[str, str]] = field(default_factory=lambda: ({}, {}))
    control_ns: tuple[float | None, float | None] = (None, None)

    @property
    def broken(self) -> bool:
        """Whether a side did not play to the end."""
        return any(answer["status"] != "ok" for answer in self.answers)


def turns_job(pair: Pair, prepared: Prepared, programs: Timed, seed: int) -> dict[str, Any]:
    """The job of a player; with the same `seed` on both sides their heaps age alike.

    `programs` are of the cell's models.
    """
    return prepared.request(
        "turns",
        pair,
        seed=seed,
        programs=dict(programs),
        sequences=prepared.programs[pair.cell.key].sequences,
        budget=asdict(Budget()),
        software_counters=False,
        pmu={},
        caches=cache_sizes(),
    )


def alternate(
    players: tuple[Player, Player],
    draw: random.Random,
    turns: Turns | None = None,
    quantiles: Sequence[str] = (),
) -> Alternated:
    """Let two started processes play, before and after; both have ended on return.

    With `quantiles`, such as `p99`, each turn of whole steps ends with single ones, and the
    metrics `step_latency_ns.p99` are of all of a side's. Who goes first is drawn for every
    pair of turns. A side that crashes, hangs or gives up ends the match: its answer says why,
    and the other side is ended. Raises KeyboardInterrupt if a player was told to stop.
    """
    match = _Match(players, draw, turns or Turns(), quantiles)
    try:
        match.play()
    except _Broken as broken:
        answers = [{"status": "ok"}, {"status": "ok"}]
        answers[broken.side] = broken.answer
        return Alternated((answers[0], answers[1]))
    finally:
        for player in players:
            player.kill()
    return match.result


def _drawn_core(draw: random.Random) -> int | None:
    """A core for both sides' turns; None where a process can't be told to stay.

    Only one plays at a time, so they need no more than one, and on two they have other
    neighbours. Measured for equal programs, 8 to 10 matches each in turn: the shift of
    hash-map/cpp was 3, 8 and 10 % off (root mean square) on cores as they came, and 2 % each
    time on a shared one; that of flat-stack/cpp 12 % (one match in eight was off by a third)
    and 0.4 %; that of vector/cpp 1.4 and 1.7 %, and 0.8 and 2.3 %: no clear difference.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    return draw.choice(sorted(os.sched_getaffinity(0)))


class _Broken(Exception):  # noqa: N818
    def __init__(self, side: int, answer: dict[str, Any]) -> None:
        super().__init__(answer.get("reason", ""))
        self.side = side
        self.answer = answer


class _Match:
    def __init__(
        self,
        players: tuple[Player, Player],
        draw: random.Random,
        turns: Turns,
        quantiles: Sequence[str],
    ) -> None:
        self._quantiles = quantiles
        self._players = players
        self._draw = draw
        self._turns = turns
        self.result = Alternated(({"status": "ok"}, {"status": "ok"}))

    def play(self) -> None:
        old, new = (self._answer(side)["programs"] for side in (0, 1))
        if old != new:
            raise ValueError(f"the sides were given other programs: {old}, {new}")
        for number, metrics in enumerate(new):
            self._play_program(number, metrics)
        # One after the other: the clock runs.
        control: list[float | None] = [None, None]
        for side in self._order():
            self._players[side].say({"end": True})
            control[side] = self._answer(side).get("control_ns")
        self.result.control_ns = control[0], control[1]

    def _play_program(self, number: int, metrics: list[str]) -> None:
        for side in self._order():
            self._players[side].say({"prepare": number})
        ready = [self._answer(side) for side in (0, 1)]
        for side, answer in enumerate(ready):
            self.result.unavailable[side].update(answer.get("unavailable", {}))
        if any("unavailable" in answer for answer in ready):
            for side, answer in enumerate(ready):
                if "unavailable" not in answer:
                    # It could, but there is nothing to compare it with.
                    self.result.unavailable[side].update(dict.fromkeys(metrics, ""))
            return
        # The same operations a block on both sides, whatever each would have chosen.
        periods = min(answer["periods"] for answer in ready)
        block_ns = max(answer["block_ns"] / answer["periods"] for answer in ready) * periods
        pairs, discard, blocks = self._turns.fit(block_ns, ready[0]["wanted_ns"])
        steps = 0
        if self._quantiles and STEP in metrics:
            steps = self._single_steps(ready, pairs)
        turn = {
            "program": number,
            "periods": periods,
            "discard": discard,
            "blocks": blocks,
            "core": _drawn_core(self._draw),
            "steps": steps,
        }
        played: dict[str, list[tuple[list[float], list[float]]]] = {name: [] for name in metrics}
        for _ in range(pairs):
            costs: list[dict[str, list[float]]] = [{}, {}]
            for side in self._order():
                self._players[side].say(turn)
                costs[side] = self._answer(side)["costs"]
            for name, kept in played.items():
                kept.append((costs[0][name], costs[1][name]))
        self.result.metrics.update({name: Compared(kept) for name, kept in played.items()})
        if steps:
            self._keep_quantiles()

    def _single_steps(self, ready: list[dict[str, Any]], pairs: int) -> int:
        """How many single steps a turn ends with; 0 where they take too long."""
        period = int(ready[0]["period"])
        step_ns: float = max(float(each["block_ns"]) / (each["periods"] * period) for each in ready)
        fitting = pairs * float(ready[0]["wanted_ns"]) / max(step_ns, 1.0)
        # Whole periods over the match, so that both sides have the same steps in theirs.
        steps = math.ceil(max(self._turns.single_steps, fitting) / period) * period
        if steps * step_ns <= self._turns.most_single_ns:
            return math.ceil(steps / pairs)
        why = f"{self._turns.single_steps:,} single steps take too long"
        for side in (0, 1):
            for label in self._quantiles:
                self.result.unavailable[side][f"{LATENCY}.{label}"] = why
        return 0

    def _keep_quantiles(self) -> None:
        found = []
        for side in (0, 1):
            self._players[side].say({"quantiles": list(self._quantiles)})
            found.append(self._answer(side)["quantiles"])
        for label in self._quantiles:
            name, values = f"{LATENCY}.{label}", (found[0][label], found[1][label])
            if None in values:
                for side in (0, 1):
                    self.result.unavailable[side][name] = "too few steps were not interrupted"
            else:
                self.result.metrics[name] = ComparedSteps(*values)

    def _order(self) -> tuple[int, int]:
        first = self._draw.randrange(2)
        return first, 1 - first

    def _answer(self, side: int) -> dict[str, Any]:
        answer = self._players[side].answer()
        if answer["status"] != "ok":
            raise _Broken(side, answer)
        return answer
