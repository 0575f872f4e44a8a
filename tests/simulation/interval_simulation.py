"""How often the range of a few rounds holds what it is of, on drawn and on recorded rounds.

    python tests/simulation/interval_simulation.py --splice METHODOLOGY.md

Drawn rounds are independent, of three distributions. Recorded ones are windows of
`rounds.json`, one round after another; what they should hold is the lower quartile of all
rounds of that program. Then two windows of equal programs are compared as `blockmark
compare` does, of the same rounds and of other rounds: whatever it tells apart is wrong. With
the same recording and seed the output is the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from recording import Recording, load_recording

from blockmark.report.splice import splice
from blockmark.runs.estimate import estimate_cost, level, level_in_a_row, lower_quartile
from blockmark.verdict.stats import CONFIDENCE, ratio_of_quartiles

SPLICED = "interval simulation"
ROUNDS = (3, 5, 7, 10, 15, 20)
COMPARED = (5, 10, 20, 30)
# Variants that are one program, measured in the same rounds.
_EQUAL = ("A0", "A1", "A2")
# The quartile of each kind of noise: 1/4 of exp(1) lies below ln(4/3), of a normal variable
# below -0.67449, and of a process in ten that takes a third more, otherwise uniform in 0..1,
# below 1/4 / 0.9.
_QUARTILES = {"skewed": np.log(4 / 3), "normal": -0.6744897501960817, "two modes": 0.25 / 0.9}


def drawn(kind: str, trials: int, rounds: int, source: np.random.Generator) -> np.ndarray:
    """Independent rounds of a kind of noise, shape [trials, rounds]."""
    if kind == "skewed":
        return source.exponential(1.0, (trials, rounds))
    if kind == "normal":
        return source.normal(0.0, 1.0, (trials, rounds))
    slow = source.random((trials, rounds)) < 0.1
    return np.where(slow, source.uniform(4.0, 5.0, slow.shape), source.random(slow.shape))


def covered(samples: np.ndarray, truth: float) -> float:
    """The share of samples, shape [trials, rounds], whose range holds the truth."""
    found = [estimate_cost(values) for values in samples.tolist()]
    return float(np.mean([one.low <= truth <= one.high for one in found]))  # type: ignore[operator]


def windows(values: Sequence[float], rounds: int) -> np.ndarray:
    """All runs of `rounds` neighbours, shape [windows, rounds]."""
    return np.lib.stride_tricks.sliding_window_view(np.asarray(values, dtype=float), rounds)


def covered_in_a_row(recording: Recording, rounds: int) -> float:
    """The share of all windows of all programs that hold the quartile of the whole."""
    shares = [
        covered(windows(values, rounds), lower_quartile(values))
        for variants in recording.cells.values()
        for values in variants.values()
    ]
    return float(np.mean(shares))


def told_apart(recording: Recording, rounds: int, *, same: bool) -> tuple[int, int]:
    """How many of the comparisons of equal programs find a difference, and of how many."""
    found = total = 0
    for one, other in _pairs(recording):
        for start, later in _starts(recording.rounds, rounds, same=same):
            ratio = ratio_of_quartiles(one[start : start + rounds], other[later : later + rounds])
            found += bool(ratio.leaves_out_one)
            total += 1
    return found, total


def _pairs(recording: Recording) -> Iterator[tuple[Sequence[float], Sequence[float]]]:
    for variants in recording.cells.values():
        yield from combinations([variants[name] for name in _EQUAL if name in variants], 2)


def _starts(length: int, rounds: int, *, same: bool) -> Iterator[tuple[int, int]]:
    """Where two windows begin: at one place, or at two that share no round."""
    places = range(0, length - rounds + 1, max(1, rounds // 2))
    for start in places:
        if same:
            yield start, start
        else:
            yield from ((start, later) for later in places if later >= start + rounds)


def render(recording: Recording, trials: int, seed: int) -> str:
    """Both tables as Markdown."""
    source = np.random.default_rng(seed)
    lines = [
        f"| rounds | stated, independent | {' | '.join(_QUARTILES)} | stated, in a row "
        "| recorded, in a row |",
        f"|--:{'|--:' * (len(_QUARTILES) + 3)}|",
    ]
    for rounds in ROUNDS:
        independent = [
            _percent(covered(drawn(kind, trials, rounds, source), float(truth)))
            for kind, truth in _QUARTILES.items()
        ]
        lines.append(
            f"| {rounds} | {_percent(level(rounds))} | {' | '.join(independent)} "
            f"| {_percent(level_in_a_row(rounds))} "
            f"| {_percent(covered_in_a_row(recording, rounds))} |"
        )
    programs = sum(len(variants) for variants in recording.cells.values())
    lines += [
        "",
        f"{trials:,} draws each, seed {seed}; recorded: all windows of {recording.rounds} rounds "
        f"of {programs} programs on one machine.",
        "",
        f"Equal programs that a {CONFIDENCE:.0%} interval of their ratio tells apart:".replace(
            "%", " %"
        ),
        "",
        "| rounds a side | measured in the same rounds | at two times |",
        "|--:|--:|--:|",
    ]
    for rounds in COMPARED:
        both = [_of(*told_apart(recording, rounds, same=same)) for same in (True, False)]
        lines.append(f"| {rounds} | {' | '.join(both)} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _of(found: int, total: int) -> str:
    return f"{found:,} of {total:,} ({found / total:.1%})".replace("%", " %") if total else "-"


def main() -> None:
    """Simulate, print, and splice where asked to."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=Path, default=here / "rounds.json", metavar="FILE")
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--splice", type=Path, metavar="FILE", help="put the text into a document")
    options = parser.parse_args()
    text = render(load_recording(options.rounds), options.trials, options.seed)
    print(text)
    if options.splice:
        command = f"python tests/simulation/interval_simulation.py --splice {options.splice}"
        splice(options.splice, SPLICED, text, command)


if __name__ == "__main__":
    main()
