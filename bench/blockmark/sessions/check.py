"""The loop of `blockmark check`: both sides measured now, in turn, until the rule has decided.

A round of a pair is a match of two fresh processes, one a side, that play in turns; who goes
first is drawn for every turn. After each planned look the rule judges, and pairs whose cells
are all decided are not run again. The budget is time of measuring alone, and does not end it
before the first look that can find a regression: a slow candidate would have the fewest
rounds, and pass. Nor at once where a large slowdown may be hidden.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.measure.machine import load_average
from blockmark.measure.process.side_by_side import side_by_side
from blockmark.measure.proof.effort import BEFORE_MEASURING
from blockmark.measure.proof.verification import verify_job
from blockmark.measure.run.programs import prepare
from blockmark.measure.sides.side import Described, Side, describe_side
from blockmark.measure.sides.turns import Alternated, Turns, alternate, turns_job
from blockmark.runs.estimate import lower_quartile
from blockmark.verdict.check import MOST_DROPPED, CellVerdict, CheckResult
from blockmark.verdict.gate import Rule, judge
from blockmark.verdict.judged import cell_verdict
from blockmark.verdict.margins import margin_of_cell
from blockmark.workload.errors import ConfigError

from .check_identity import refuse_shared_code
from .check_plan import Asked, Card, Contest, make_card

if TYPE_CHECKING:
    from threading import Event

    from blockmark.measure.run.programs import Prepared

Progress = Callable[[int, int, str], None]

# The least load of a first-level cache was within this in 95 % of 4,440 processes.
_MOST_CONTROL = 0.02
_SIDES = ("before", "after")
# So many budgets are spent at most on cells that may hide a large slowdown.
_PATIENCE = 4


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a check may go on.

    `rounds` replaces the rule's last look; `turns` is how long one round is, `budget_s` the
    seconds of measuring after which no more rounds are taken than the first look needs that
    can decide, and `timeout_s` the time of one process. With `to_the_end`
    decided pairs go on being measured, so that all rounds tell what could be seen.
    """

    rule: Rule = field(default_factory=Rule)
    rounds: int | None = None
    budget_s: float = 110.0
    timeout_s: float = 60.0
    turns: Turns = field(default_factory=Turns)
    to_the_end: bool = False
    allow_missing: bool = False

    def rule_for(self, cells: int) -> Rule:
        """The rule with its last look. Raises ConfigError if that can't decide a cell."""
        if self.rounds is None:
            return self.rule
        rule, cells = self.rule.until(self.rounds), max(1, cells)
        if rule.least_rounds(cells) > self.rounds:
            least = self.rounds
            while self.rule.until(least).least_rounds(cells) > least:
                least += 1
            raise ConfigError(
                f"--rounds {self.rounds} cannot decide: one of {cells} cells takes at least "
                f"{least} rounds a side at alpha = {rule.alpha:g}"
            )
        return rule


def check_sides(
    asked: Asked,
    baseline: Side,
    candidate: Side,
    effort: Effort,
    *,
    self_test: bool = False,
    progress: Progress = lambda done, total, text: None,
) -> CheckResult:
    """Measure both sides and judge. An interrupt gives a result of what there is.

    Raises ConfigError for what can't be asked of the candidate, for `rounds` that can't
    decide, and where the baseline runs code of the candidate.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        prepared = prepare(asked.every_cell, Path(folder))
        first = asked.every_cell[0]
        told = [
            describe_side(side, asked.every_target, first, effort.timeout_s)
            for side in (baseline, candidate)
        ]
        if told[1].broken:
            raise ConfigError(f"the candidate can't be measured: {told[1].broken}")
        refuse_shared_code(baseline, told[0].loaded)
        card = make_card(asked, prepared, told[0], told[1], same=self_test)
        match = _Match(asked, card, prepared, (baseline, candidate), effort, progress, started)
        interrupted = False
        try:
            match.run()
        except KeyboardInterrupt:
            interrupted = True
            match.stopped = "interrupted"
        return match.result(told, interrupted=interrupted, self_test=self_test)


class _Match:
    """A check on its way: what was measured, dropped and found so far."""

    def __init__(
        self,
        asked: Asked,
        card: Card,
        prepared: Prepared,
        sides: tuple[Side, Side],
        effort: Effort,
        progress: Progress,
        started: float,
    ) -> None:
        self._asked = asked
        self._card = card
        self._prepared = prepared
        self._sides = sides
        self._effort = effort
        self._progress = progress
        self._started = started
        self._load_before = load_average()
        self._control: tuple[list[float], list[float]] = ([], [])
        self._order: list[list[str]] = []
        self._pair_s: list[float] = []
        self._done = 0
        self._steps = 0
        self._looked = False
        self._overtime: list[Contest] | None = None
        for contest in card.contests:
            for gate in contest.gates.values():
                if contest.incomparable:
                    gate.verdict, gate.reason = "incomparable", contest.incomparable
        self.rule = effort.rule_for(len(card.gates))
        self.mended: list[str] = []
        self.wrong: list[str] = []
        self.failures: list[str] = []
        self.stopped = "nothing to measure"

    def run(self) -> None:
        """Prove, then measure round by round and look."""
        contests = [contest for contest in self._card.contests if contest.is_open]
        proofs = len(contests) * (1 if self._same_sides() else 2)
        self._steps = proofs + len(contests) * self.rule.looks[-1]
        self._verify(contests)
        for number in range(self.rule.looks[-1]):
            playing = [contest for contest in self._card.contests if self._plays(contest)]
            if not playing:
                self.stopped = "every cell is decided" if number else self.stopped
                return
            playing = self._after_budget(playing, number)
            if not playing:
                self.stopped = (
                    f"the budget of {self._effort.budget_s:g} s was used up after {number} rounds"
                )
                return
            self._skip_to(proofs + number * len(contests))
            self._round(number, playing)
            if number + 1 in self.rule.every_look:
                self._look(last=number + 1 == self.rule.looks[-1])
        self.stopped = "all planned rounds were measured"

    def _after_budget(self, playing: list[Contest], number: int) -> list[Contest]:
        """Those that go on with round `number`, once the budget is used up.

        All of them up to the first look that can find a regression. Then those with a cell
        that may hide a large slowdown, from look to look, for a few budgets more: else the
        noise of a busy machine would decide whether a check passes.
        """
        budget, spent = self._effort.budget_s, sum(self._pair_s)
        decisive = self.rule.first_look_for(max(1, len(self._card.gates)))
        if number < decisive or spent + spent / number <= budget:
            return playing
        if spent > _PATIENCE * budget:
            return []
        if self._overtime is None or number in self.rule.looks:
            self._overtime = [contest for contest in playing if self._may_hide(contest)]
        return [contest for contest in playing if contest in self._overtime]

    def _may_hide(self, contest: Contest) -> bool:
        return any(cell.may_hide for cell in self._cells_of(contest))

    def _plays(self, contest: Contest) -> bool:
        if not contest.gates or contest.incomparable or self._given_up(contest):
            return False
        return contest.is_open or (self._effort.to_the_end and contest.rounds > 0)

    def _given_up(self, contest: Contest) -> bool:
        return len(contest.dropped) > MOST_DROPPED * self.rule.looks[-1]

    def _same_sides(self) -> bool:
        old, new = self._sides
        return (old.implementations, old.python, old.cwd) == (
            new.implementations,
            new.python,
            new.cwd,
        )

    def _verify(self, contests: list[Contest]) -> None:
        """Prove both sides; a contest with a side that isn't right is not judged."""
        sides = (1,) if self._same_sides() else (0, 1)
        asked = [(contest, side) for contest in contests for side in sides]
        with side_by_side(self._prove, asked) as answers:
            for contest in contests:
                found = [next(answers) for _ in sides]
                refuse_shared_code(self._sides[0], found[0].get("loaded", {}))
                self._proved(contest, found[0], found[-1])
                for _ in found:
                    self._advance(f"checked {contest.name}")

    def _prove(self, asked: tuple[Contest, int], stop: Event) -> dict[str, Any]:
        contest, side = asked
        pair = (contest.before, contest.after)[side]
        job = verify_job(
            pair,
            self._prepared,
            BEFORE_MEASURING,
            first=pair.cell == self._asked.every_cell[0],
            seed=self._asked.seed,
        )
        job["tell_loaded"] = True
        return self._sides[side].job(job, self._effort.timeout_s, stop).result()

    def _proved(self, contest: Contest, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Take a contest out unless both sides gave the right answers."""
        if new["status"] == "ok":
            if old["status"] == "ok":
                return
            if old["status"] == "unavailable":
                self._card.added.append(f"{contest.name}: {old['reason']}")
                contest.gates.clear()
                return
            if old["status"] == "wrong":
                # What mends a wrong baseline has no speed to be held against.
                self.mended.append(f"{contest.name}: the baseline is wrong: {old['reason']}")
                contest.gates.clear()
                return
            contest.incomparable = f"the baseline is {old['status']}: {old['reason']}"
            for gate in contest.gates.values():
                gate.verdict, gate.reason = "incomparable", contest.incomparable
            return
        contest.gates.clear()
        line = f"{contest.name}: {new['reason']}"
        if new["status"] == "wrong":
            self.wrong.append(line)
        elif new["status"] != "unavailable":
            self.failures.append(line)
        elif old["status"] == "unavailable":
            self._card.notes.append(f"{contest.name}: unavailable on both sides: {new['reason']}")
        else:
            self._card.missing.append(line)

    def _round(self, number: int, playing: list[Contest]) -> None:
        """One round of all that play."""
        draw = random.Random(f"{self._asked.seed}/{number}")
        order = list(playing)
        draw.shuffle(order)
        drawn: list[str] = []
        self._order.append(drawn)
        for contest in order:
            began = time.monotonic()
            found = self._play(contest, number)
            self._pair_s.append(time.monotonic() - began)
            self._keep(contest, found)
            drawn.append(contest.name)
            self._advance(f"measured {contest.name}")

    def _play(self, contest: Contest, number: int) -> Alternated:
        # By its name, so that it does not matter which contests are decided.
        draw = random.Random(f"{self._asked.seed}/{number}/{contest.name}")
        seed, started = self._asked.seed * 1000 + number, {}
        sides = [0, 1]
        draw.shuffle(sides)
        try:
            for side in sides:
                pair = (contest.before, contest.after)[side]
                job = turns_job(pair, self._prepared, contest.programs, seed)
                started[side] = self._sides[side].player(job, self._effort.timeout_s)
        except BaseException:
            for player in started.values():
                player.kill()
            raise
        players, quantiles = (started[0], started[1]), contest.quantiles
        if self._effort.to_the_end:
            quantiles = list(self._asked.quantiles)
        return alternate(players, draw, self._effort.turns, quantiles)

    def _keep(self, contest: Contest, found: Alternated) -> None:
        """Take in a round of both sides, or drop it from both."""
        contest.rounds += 1
        if found.answers[1]["status"] == "wrong":
            # Right while it was proved, and wrong where it was timed.
            self._proved(contest, {"status": "ok"}, found.answers[1])
            return
        if found.broken:
            contest.dropped.append(
                "; ".join(
                    f"{name}: {answer['reason']}"
                    for name, answer in zip(_SIDES, found.answers, strict=True)
                    if answer["status"] != "ok"
                )
            )
            return
        for values, control in zip(self._control, found.control_ns, strict=True):
            if control:
                values.append(control)
        for metric, gate in list(contest.gates.items()):
            if metric in found.metrics:
                if gate.verdict is None or self._effort.to_the_end:
                    compared = found.metrics[metric]
                    gate.before.append(compared.before)
                    gate.after.append(compared.after)
                    gate.shifts.append(compared.shift)
            elif gate.verdict is None and not gate.before and contest.lacks(metric):
                # A load or a condition that a side can't serve: known in the first round.
                del contest.gates[metric]
                old, new = (side.get(metric, "not measured") for side in found.unavailable)
                if not old:
                    self._card.missing.append(f"{gate.name}: {new}")
                elif not new:
                    self._card.added.append(f"{gate.name}: {old}")
                else:
                    self._card.notes.append(f"{gate.name}: unavailable on both sides: {new}")

    def _look(self, *, last: bool) -> None:
        self._looked = last
        judge(self._card.gates, self.rule, last=last)

    def result(self, told: list[Described], *, interrupted: bool, self_test: bool) -> CheckResult:
        """Judge what is still open, and tell all."""
        for contest in self._card.contests:
            for gate in contest.gates.values():
                if gate.verdict is None and interrupted:
                    gate.verdict, gate.reason = "inconclusive", self.stopped
                elif gate.verdict is None and contest.dropped and not gate.before:
                    gate.verdict, gate.reason = "incomparable", "every round broke"
        if not self._looked:
            # In place of the next planned look, whose share of the error is not spent.
            self._look(last=True)
        for contest in self._card.contests:
            if len(contest.dropped) > MOST_DROPPED * max(1, contest.rounds):
                self.failures.append(
                    f"{contest.name}: {len(contest.dropped)} of {contest.rounds} rounds broke: "
                    f"{contest.dropped[0]}"
                )
        old, new = self._sides
        card, allowed = self._card, self._effort.allow_missing
        cells = tuple(self._cells(always_visible=self_test))
        return CheckResult(
            kind="self-test" if self_test else "interleaved",
            baseline=old.name,
            candidate=new.name,
            cells=cells,
            missing=() if allowed else tuple(card.missing),
            added=tuple(card.added),
            mended=tuple(self.mended),
            wrong=tuple(self.wrong),
            failures=tuple(self.failures),
            notes=(*self._notes(allowed), *(_visible_words(cells) if self_test else ())),
            interrupted=interrupted,
            duration_s=time.monotonic() - self._started,
            facts=self._facts(told),
        )

    def _cells(self, *, always_visible: bool) -> Iterator[CellVerdict]:
        for contest in self._card.contests:
            yield from self._cells_of(contest, always_visible=always_visible)

    def _cells_of(self, contest: Contest, *, always_visible: bool = False) -> Iterator[CellVerdict]:
        for metric, gate in contest.gates.items():
            yield cell_verdict(
                gate,
                contest.where,
                metric,
                margin_of_cell(gate.name, metric, self._asked.margins),
                rule=self.rule,
                planned=max(1, len(self._card.gates)),
                always_visible=always_visible,
            )

    def _notes(self, allowed: bool) -> Iterator[str]:
        yield from (side.origin for side in self._sides if side.origin)
        if allowed:
            yield from (f"missing in the candidate, as allowed: {m}" for m in self._card.missing)
        yield from self._card.notes
        yield f"measuring ended: {self.stopped}"
        for contest in self._card.contests:
            if 0 < len(contest.dropped) <= MOST_DROPPED * contest.rounds:
                yield (
                    f"{contest.name}: {len(contest.dropped)} of {contest.rounds} rounds were "
                    f"dropped: {contest.dropped[0]}"
                )
        if all(self._control):
            old, new = map(lower_quartile, self._control)
            if abs(new / old - 1.0) > _MOST_CONTROL:
                yield (
                    f"the clock or the machine changed between the sides: a load from the "
                    f"first-level cache took {old:.3f} ns before, {new:.3f} ns after"
                )

    def _facts(self, told: list[Described]) -> dict[str, Any]:
        control = [lower_quartile(side) if side else None for side in self._control]
        return {
            "seed": self._asked.seed,
            "alpha": self.rule.alpha,
            "beta": self.rule.beta,
            "looks": list(self.rule.looks),
            "leaps": list(self.rule.early),
            "budget_s": self._effort.budget_s,
            "measuring_s": sum(self._pair_s),
            "stopped": self.stopped,
            "load": load_average(),
            "load_before": self._load_before,
            "processes": 2 * len(self._pair_s),
            "dropped": {c.name: len(c.dropped) for c in self._card.contests if c.dropped},
            "control_ns": dict(zip(_SIDES, control, strict=True)),
            "sides": {
                name: {"name": side.name, "origin": side.origin, **one.package}
                for name, side, one in zip(_SIDES, self._sides, told, strict=True)
            },
            "order": self._order,
        }

    def _advance(self, text: str) -> None:
        self._done += 1
        self._progress(self._done, self._steps, text)

    def _skip_to(self, done: int) -> None:
        self._done = max(self._done, done)


def _visible_words(cells: tuple[CellVerdict, ...]) -> Iterator[str]:
    """What this machine can show, metric by metric: the smallest slowdown of each cell.

    As it is measured: of true ones of that size half are measured below it.
    """
    for metric in dict.fromkeys(cell.metric for cell in cells):
        own = [cell for cell in cells if cell.metric == metric]
        rounds = min(min(len(cell.before), len(cell.after)) for cell in own)
        seen = sorted(cell.visible for cell in own if cell.visible is not None)
        if not seen:
            yield f"{metric}: {rounds} rounds could not have shown any slowdown"
            continue
        least, most = map(_percent, (seen[0], seen[-1]))
        words = f"from {least} (best cell) to {most} (worst)" if least != most else f"of {least}"
        blind = len(own) - len(seen)
        yield (
            f"{metric}: {rounds} rounds show a slowdown {words}, where it is measured as large"
            + (f"; in {blind} of {len(own)} cells none" if blind else "")
        )


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %" if share < 1.0 else f"{share * 100:.0f} %"
