"""Recorded rounds as the simulation draws suites from them: windows and label swaps."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockmark.runs.estimate import lower_quartile

STEP = "step_ns"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a cell: the value of each round, and its blocks where they were kept."""

    values: list[float]
    blocks: list[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Recording:
    """What `record_rounds.py` wrote. `cells` is name -> variant -> ns of each round;
    `blocks` name -> variant -> ns of the blocks of each round.
    """

    rounds: int
    cells: Mapping[str, Mapping[str, Sequence[float]]]
    blocks: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]
    facts: Mapping[str, Any]

    @property
    def steps(self) -> list[str]:
        """The cells into which the slowdown was injected."""
        return [name for name, variants in self.cells.items() if "B5" in variants]

    def true_change(self, name: str) -> float:
        """How much slower B5 is over all rounds, as a share of one."""
        cell = self.cells[name]
        return lower_quartile(cell["B5"]) / lower_quartile([*cell["A0"], *cell["A1"]]) - 1.0


def load_recording(path: Path) -> Recording:
    """Read a recording. Raises ValueError if its cells have not the same rounds."""
    data = json.loads(path.read_text("utf-8"))
    lengths = {
        len(values)
        for part in (data["cells"], data.get("blocks", {}))
        for variants in part.values()
        for values in variants.values()
    }
    if len(lengths) != 1:
        raise ValueError(f"{path}: cells have {sorted(lengths)} rounds; all must have as many")
    facts = {name: data[name] for name in data if name not in ("cells", "blocks")}
    return Recording(lengths.pop(), data["cells"], data.get("blocks", {}), facts)


def subject_of(cell: str) -> str:
    """`decode (block_size 1) vector/cpp` of a cell's name: what one process measures."""
    return cell.rpartition(" ")[0]


@dataclass(frozen=True, slots=True)
class Suite:
    """One comparison of a program with itself, or with a slower one: a window of rounds.

    A0 and A1 change sides at random, for each process and round. That makes as many other
    recordings as there are ways to label two equal programs, all equally likely, as the
    order inside a round was random. Cells of one process change sides together.
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

    def before(self, cell: str) -> Side:
        """The side that is called the baseline."""
        return self._side(cell, [("A0", "A1")[swap] for swap in self.swaps[subject_of(cell)]])

    def after(self, cell: str, *, slower: bool = False) -> Side:
        """The other side: the same program, or the slower one."""
        if slower:
            return self._side(cell, ["B5"] * self.rounds)
        return self._side(cell, [("A1", "A0")[swap] for swap in self.swaps[subject_of(cell)]])

    def _side(self, cell: str, variants: Sequence[str]) -> Side:
        values, blocks = self.recording.cells[cell], self.recording.blocks.get(cell)
        window = [(variant, self.first + i) for i, variant in enumerate(variants)]
        return Side(
            [values[variant][i] for variant, i in window],
            [blocks[variant][i] for variant, i in window] if blocks else [],
        )
