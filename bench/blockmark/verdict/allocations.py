"""The claim that a structure never asks the heap in a steady step, held against a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from blockmark.runs.model import Cell, Run
from blockmark.verdict.pairs import measured

METRIC = "heap_allocations_per_step"


@dataclass(frozen=True, slots=True)
class Allocations:
    """One line for each cell: `broken` where it allocates, `unknown` where nothing can be said."""

    broken: tuple[str, ...]
    unknown: tuple[str, ...]


def is_named(impl: str, pattern: str) -> bool:
    """Whether a shell pattern means an implementation, with or without its `[...]` part.

    A name written out in full always means itself, though its brackets are special in a
    pattern.
    """
    return (
        impl == pattern
        or fnmatchcase(impl, pattern)
        or fnmatchcase(impl.partition("[")[0], pattern)
    )


def unmatched(patterns: Sequence[str], impls: Iterable[str]) -> tuple[str, ...]:
    """The patterns that mean none of these implementations."""
    names = tuple(impls)
    return tuple(
        pattern for pattern in patterns if not any(is_named(name, pattern) for name in names)
    )


def judge_allocations(run: Run, patterns: Sequence[str]) -> Allocations:
    """Every cell of the implementations that the patterns mean: no allocation in any round.

    Controls are not judged.
    """
    broken, unknown = [], []
    for cell in run.cells:
        if cell.kind == "control" or not any(is_named(cell.impl, one) for one in patterns):
            continue
        value = measured(cell, METRIC)
        who = f"{cell.impl}{_where(run, cell)}"
        if isinstance(value, str):
            unknown.append(f"{who}: heap allocations can't be asserted: {value}")
        elif (most := max(value.values)) > 0:
            broken.append(
                f"{who}: {_number(most)} heap allocations in a steady step; asserted zero"
            )
    return Allocations(tuple(broken), tuple(unknown))


def _where(run: Run, cell: Cell) -> str:
    """` (block_size 16)`: what tells the cell's setting from the others; empty if it is alone."""
    parts = [cell.scenario] if len(run.scenarios) > 1 else []
    parts += [f"{axis} {cell.params.get(axis)}" for axis in run.axes(cell.scenario)]
    return f" ({', '.join(parts)})" if parts else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
