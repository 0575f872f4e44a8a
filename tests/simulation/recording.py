"""Recorded rounds as the simulation draws suites from them: windows and label swaps."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

SCHEMA_VERSION = 2
# The matches of a round: what a shift is between.
EQUAL, SLOWER = "A1/A0", "B5/A2"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a cell: the value of each round, its blocks where they were kept, and the
    shifts from the other side to this one where it is the one after.
    """

    values: list[float]
    blocks: list[Sequence[float]]
    shifts: list[float] = field(default_factory=list)

    def times(self, factor: float) -> Side:
        """The same side, had it taken `factor` times as long in every turn."""
        return Side(
            [value * factor for value in self.values],
            [[block * factor for block in round_] for round_ in self.blocks],
            [shift + math.log(factor) for shift in self.shifts],
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """What `record_rounds.py` wrote. `cells` is name -> variant -> ns of each round;
    `blocks` name -> variant -> ns of the blocks of each round. `shifts` name -> match -> the
    logarithm of the change that each round's turns found.
    """

    rounds: int
    cells: Mapping[str, Mapping[str, Sequence[float]]]
    blocks: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]
    shifts: Mapping[str, Mapping[str, Sequence[float]]]
    facts: Mapping[str, Any]

    @property
    def steps(self) -> list[str]:
        """The cells into which the slowdown was injected."""
        return [name for name, variants in self.cells.items() if "B5" in variants]

    def true_change(self, name: str) -> float:
        """How much slower B5 is, the median over all rounds, as a share of one."""
        return math.exp(statistics.median(self.shifts[name][SLOWER])) - 1.0

    def likeness(self, name: str) -> float:
        """The rank correlation (Spearman) of the two equal programs within a round."""
        from scipy.stats import spearmanr

        new, old = EQUAL.split("/")
        return float(spearmanr(self.cells[name][new], self.cells[name][old]).statistic)


def load_recording(path: Path) -> Recording:
    """Read a recording. Raises ValueError for another version, and for unequal rounds."""
    data = json.loads(path.read_text("utf-8"))
    if data.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(
            f"{path}: version {data.get('schema_version')} of a recording; "
            f"this reads {SCHEMA_VERSION}: record again"
        )
    parts = [data["cells"], data["blocks"], data["shifts"]]
    lengths = {
        len(values) for part in parts for kinds in part.values() for values in kinds.values()
    }
    if len(lengths) != 1:
        raise ValueError(f"{path}: cells have {sorted(lengths)} rounds; all must have as many")
    facts = {name: data[name] for name in data if name not in ("cells", "blocks", "shifts")}
    return Recording(lengths.pop(), *parts, facts)


def subject_of(cell: str) -> str:
    """`decode (block_size 1) vector/cpp` of a cell's name: what one process measures."""
    return cell.rpartition(" ")[0]


@dataclass(frozen=True, slots=True)
class Suite:
    """One comparison of a program with itself, or with a slower one: a window of rounds.

    A0 and A1 change sides at random, for each process and round. That makes as many other
    recordings as there are ways to label two equal programs, all equally likely, as the
    order inside a round was random; a shift changes its sign with them. Cells of one process
    change sides together. The slower program played against a third equal one, A2.
    """

    recording: Recording
    first: int
    rounds: int
    swaps: Mapping[str, Sequence[bool]]  # process -> for each round of the window

    @classmethod
    def draw(cls, recording: Recording, rounds: int, rng: random.Random) -> Suite:
        """A window anywhere in the recording, with labels of its own."""
        first = rng.randrange(recording.rounds - rounds + 1)
        subjects = dict.fromkeys(map(subject_of, recording.cells))
        swaps = {subject: rng.choices([False, True], k=rounds) for subject in subjects}
        return cls(recording, first, rounds, swaps)

    @classmethod
    def as_recorded(cls, recording: Recording, first: int, rounds: int) -> Suite:
        """The window without swaps."""
        subjects = dict.fromkeys(map(subject_of, recording.cells))
        return cls(recording, first, rounds, {name: [False] * rounds for name in subjects})

    def before(self, cell: str, *, slower: bool = False) -> Side:
        """The side that is called the baseline: `slower` is what it is to be held against."""
        equal = [("A0", "A1")[swap] for swap in self.swaps[subject_of(cell)]]
        # A2's blocks are not kept; for rules that ask for blocks another equal process serves.
        return Side(
            self._of(self.recording.cells, cell, ["A2"] * self.rounds if slower else equal),
            self._of(self.recording.blocks, cell, equal),
        )

    def after(self, cell: str, *, slower: bool = False) -> Side:
        """The other side: the same program, or the slower one."""
        swaps = self.swaps[subject_of(cell)]
        variants = ["B5" if slower else ("A1", "A0")[swap] for swap in swaps]
        shifts = self._of(self.recording.shifts, cell, [SLOWER if slower else EQUAL] * self.rounds)
        if not slower:
            shifts = [-one if swap else one for one, swap in zip(shifts, swaps, strict=True)]
        return Side(
            self._of(self.recording.cells, cell, variants),
            self._of(self.recording.blocks, cell, variants),
            shifts,
        )

    def _of(
        self,
        part: Mapping[str, Mapping[str, Sequence[T]]],
        cell: str,
        kinds: Sequence[str],
    ) -> list[T]:
        """What each round of the window has of its kind; nothing where none was kept."""
        if cell not in part:
            return []
        return [part[cell][kind][self.first + i] for i, kind in enumerate(kinds)]
