"""How long a run takes: guessed before it starts, and better known with all that has ended.

A proof, a round and a simulation cost different times, and so do implementations. What is left
of a kind is estimated from what has ended of it: that pair's own rounds first, else those of
all pairs; before anything has ended, from the guesses below.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from ..inside.rate import extra_time_s
from ..machine import usable_cores

if TYPE_CHECKING:
    from .plan import Plan

VERIFY, ROUND, COUNTERS = "verify", "round", "counters"
# Seconds of one process on an idle core of today, the usual ones; proofs and simulations share
# the processors, rounds never do. A study's process measures a few things, a manager's many.
_GUESS = {VERIFY: 1.2, ROUND: 1.1, COUNTERS: 6.0}
_GUESS_QUICK = {VERIFY: 0.6, ROUND: 0.7, COUNTERS: 6.0}
_GUESS_STUDY = 0.25
_SHARED = (VERIFY, COUNTERS)

_Key = tuple[str, str]


class TimeLeft:
    """What is still to be done of a plan, and how long the like of it took."""

    def __init__(self, plan: Plan) -> None:
        guess = _GUESS_QUICK if plan.quick else _GUESS
        cores = usable_cores()
        self._guess = {kind: s / (cores if kind in _SHARED else 1) for kind, s in guess.items()}
        # Of each kind and pair: how many are left; of a round the part that no load changes.
        self._left: dict[str, dict[_Key, int]] = {kind: {} for kind in guess}
        self._paced: dict[_Key, float] = {}
        self._study = {pair.key for pair in plan.pairs() if pair.cell.study}
        self._took: dict[str, dict[_Key, list[float]]] = {kind: {} for kind in guess}
        for pair in plan.pairs():
            proved = pair.subject.kind != "control" and pair.unavailable is None
            self._left[VERIFY][pair.key] = int(proved and not pair.subject.broken)
            rounds = 0 if pair.unavailable or pair.subject.broken else pair.rounds(plan.rounds)
            self._left[ROUND][pair.key] = rounds
            simulated = plan.counters.source == "callgrind" and not pair.cell.study
            self._left[COUNTERS][pair.key] = int(simulated and rounds > 0)
            if not pair.cell.study:
                self._paced[pair.key] = extra_time_s(pair.cell.values)

    def ended(self, kind: str, key: _Key, seconds: float | None = None) -> None:
        """One of a kind is over; `seconds` is what it took, None if it was left out."""
        self._left[kind][key] = max(0, self._left[kind][key] - 1)
        if seconds is not None:
            self._took[kind].setdefault(key, []).append(seconds)

    def seconds(self) -> float:
        """What is left, in seconds."""
        pace = self._pace()
        total = 0.0
        for kind, left in self._left.items():
            took = self._took[kind]
            usual = fmean(map(fmean, took.values())) if took else None
            for key, count in left.items():
                if not count:
                    continue
                if own := took.get(key):
                    total += count * fmean(own)
                else:
                    total += count * (usual or self._guessed(kind, key, pace))
        return total

    def _guessed(self, kind: str, key: _Key, pace: float) -> float:
        if key in self._study:
            return _GUESS_STUDY * pace
        return self._guess[kind] * pace + (self._paced[key] if kind == ROUND else 0.0)

    def _pace(self) -> float:
        """How much longer proofs took than was guessed: this machine's pace, or its load's."""
        took = self._took[VERIFY]
        if not took:
            return 1.0
        return min(4.0, max(0.5, fmean(map(fmean, took.values())) / self._guess[VERIFY]))
