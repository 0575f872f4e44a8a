"""How other tools call a change, applied to the same recorded rounds.

Each rule is written down from its tool's source and fed as the tool would be: a tool that
looks at one process gets the blocks of one, a tool that starts several gets as many. A block
of the recording takes about 1 ms; where a tool takes longer samples, neighbouring blocks are
averaged. What a tool decides by printing, a person would decide: then the rule is the one
by which it prints in red.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from recording import Side

from blockmark.verdict.rank_test import p_greater

Told = Literal["regressed", "improved"] | None
RivalJudge = Callable[[Side, Side], Told]

# criterion draws 100,000; the interval of a mean needs no more than this here.
_RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class RivalRule:
    """A tool's rule: its name, the rounds a side that it looks at, and what it says."""

    name: str
    rounds: int
    judge: RivalJudge


def samples(side: Side, rounds: int, per_round: int) -> list[float]:
    """`per_round` means of neighbouring blocks out of each of the first `rounds` rounds; as
    many as there are where a round has fewer, as on a busy machine a block may take long.
    """
    found = []
    for blocks in side.blocks[:rounds]:
        parts = min(per_round, len(blocks))
        edges = [len(blocks) * i // parts for i in range(parts + 1)]
        found += [statistics.fmean(blocks[a:b]) for a, b in itertools.pairwise(edges)]
    return found


def _by_ratio(ratio: float, limit: float) -> Told:
    return "regressed" if ratio > limit else "improved" if 1.0 / ratio > limit else None


def pytest_benchmark(field: Literal["min", "mean", "median"]) -> RivalJudge:
    """`--benchmark-compare-fail=FIELD:5%`: one process, its rounds are samples.

    pytest_benchmark/utils.py, PercentageRegressionCheck: fails if the field grew by more
    than so many per cent. Nothing else is looked at.
    """
    fields: dict[str, Callable[[Sequence[float]], float]] = {
        "min": min,
        "mean": statistics.fmean,
        "median": statistics.median,
    }
    of = fields[field]
    return lambda before, after: _by_ratio(of(after.blocks[0]) / of(before.blocks[0]), 1.05)


def pyperf(before: Sequence[float], after: Sequence[float]) -> Told:
    """`pyperf compare_to`: Student's t with pooled variance, two-sided at 95 %.

    pyperf/_utils.py, is_significant and tscore; a significant change is printed as slower
    or faster by the ratio of the means.
    """
    from scipy.stats import t as student

    if len(before) < 2:
        return None
    pooled = (statistics.variance(before) + statistics.variance(after)) / 2
    error = math.sqrt(2 * pooled / len(before))
    change = statistics.fmean(after) - statistics.fmean(before)
    critical = float(student.ppf(0.975, len(before) + len(after) - 2))
    if error == 0.0 or abs(change / error) < critical:
        return None
    return "regressed" if change > 0 else "improved"


def asv(before: Sequence[float], after: Sequence[float], factor: float) -> Told:
    """`asv continuous`: medians apart by more than a factor, and a two-sided rank test.

    asv/_stats.py, is_different: exact Mann-Whitney with p < 0.002 up to 20 samples a side,
    its normal approximation above; asv/commands/compare.py: then better or worse by the
    factor (1.1 unless set).
    """
    told = _by_ratio(statistics.median(after) / statistics.median(before), factor)
    if told is None:
        return None
    low, high = (before, after) if told == "regressed" else (after, before)
    if len(before) <= 20:
        p = 2 * p_greater(high, low)
    else:
        pairs = len(low) * len(high)
        wins = sum(a > b for a in high for b in low)
        deviation = math.sqrt(pairs * (len(low) + len(high) + 1) / 12)
        p = math.erfc((wins - pairs / 2) / deviation / math.sqrt(2))
    return told if p < 0.002 else None


def criterion(before: Sequence[float], after: Sequence[float]) -> Told:
    """criterion.rs: a bootstrapped t test, then the interval of the change above 1 %.

    src/analysis/compare.rs: Welch's t of both samples against its distribution over
    resamples of the pooled ones, two-sided at 5 %; src/report.rs, compare_to_threshold: the
    95 % percentile interval of the relative change of the means lies beyond the noise
    threshold of 1 % as a whole.
    """
    import numpy as np

    if len(before) < 2:
        return None
    a, b = np.asarray(before, float), np.asarray(after, float)
    # The same draws for the same samples, so that the table can be made again.
    rng = np.random.default_rng(random.Random(repr((before[0], after[0]))).randrange(2**32))

    def welch(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        error = np.sqrt(x.var(-1, ddof=1) / x.shape[-1] + y.var(-1, ddof=1) / y.shape[-1])
        change = np.asarray(x.mean(-1) - y.mean(-1))
        t: np.ndarray = np.divide(change, error, out=np.zeros_like(change), where=error > 0)
        return t

    pooled = rng.choice(np.concatenate((b, a)), (_RESAMPLES, len(a) + len(b)))
    below = float((welch(pooled[:, : len(b)], pooled[:, len(b) :]) < welch(b, a)).mean())
    if 2 * min(below, 1 - below) >= 0.05:
        return None
    means = [rng.choice(x, (_RESAMPLES, len(x))).mean(-1) for x in (b, a)]
    low, high = np.quantile(means[0] / means[1] - 1, (0.025, 0.975))
    return "regressed" if low > 0.01 else "improved" if high < -0.01 else None


def rival_rules() -> list[RivalRule]:
    """The rules as their tools ship them, and two of them on this gate's own values."""

    def fed(rule: Callable[..., Told], rounds: int, per_round: int, *more: float) -> RivalJudge:
        def judge(before: Side, after: Side) -> Told:
            sides = [samples(side, rounds, per_round) for side in (before, after)]
            # Most of these rules are for sides of one size.
            size = min(map(len, sides))
            return rule(sides[0][:size], sides[1][:size], *more)

        return judge

    def own(rule: Callable[..., Told], *more: float) -> RivalJudge:
        return lambda before, after: rule(before.values[:20], after.values[:20], *more)

    return [
        RivalRule("pytest-benchmark, mean:5%", 1, pytest_benchmark("mean")),
        RivalRule("pytest-benchmark, median:5%", 1, pytest_benchmark("median")),
        RivalRule("pytest-benchmark, min:5%", 1, pytest_benchmark("min")),
        RivalRule("criterion, 50 samples of one process", 1, fed(criterion, 1, 50)),
        RivalRule("asv, 2 processes of 5 samples, factor 1.1", 2, fed(asv, 2, 5, 1.1)),
        RivalRule("asv, 20 processes of 5 samples, factor 1.1", 20, fed(asv, 20, 5, 1.1)),
        RivalRule("pyperf, 20 processes of 3 values", 20, fed(pyperf, 20, 3)),
        RivalRule("pyperf's test on our values (least block)", 20, own(pyperf)),
        RivalRule("asv's rule on our values, factor 1.03", 20, own(asv, 1.03)),
    ]
