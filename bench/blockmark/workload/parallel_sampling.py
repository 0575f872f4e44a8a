"""Parallel sampling: several continuations of one prompt.

A request is admitted as one sequence and forked to `parallel_samples` of them, which
share all full blocks of the prompt for as long as they live. Its last, partly filled
block is shared only until it is written: each sample takes a copy of it, but for the
last one, which finds itself alone. A prompt of whole blocks needs no copy at all.

Samples end at different lengths: one has all of `output_tokens`, the others between a
quarter of it and all. The request is replaced when all have ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lengths import Request
from .load import Load
from .model_shape import bytes_per_token
from .program import Op
from .steady import make_steady, sharing_facts, steady_facts

if TYPE_CHECKING:
    from .lives import Recorder
    from .scenario import Cell

_SALT = 22
_SHORTEST = 4  # the shortest sample has a part of the longest: one in so many


class Samples(Request):
    """The samples of one prompt."""

    stages = (Op.FREE, Op.CAN_ALLOCATE, Op.ALLOCATE, Op.FORK, Op.APPEND, Op.LOOKUP)

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self.slots = self.scheduled = cell["parallel_samples"]

    def lengths(self, steps: int, variant: int) -> list[int]:
        """Tokens that each sample generates; the longest one has `steps`."""
        import numpy as np

        rng = np.random.default_rng([self._cell["seed"], _SALT, variant])
        least = -(-steps // _SHORTEST)
        drawn: list[int] = rng.integers(least, steps, self.slots, endpoint=True).tolist()
        drawn[int(rng.integers(self.slots))] = steps
        return drawn

    def play(self, recorder: Recorder, prompt: int, steps: int, variant: int) -> None:
        block_size = self._cell["block_size"]
        lengths = self.lengths(steps, variant)
        for age in range(1, steps + 1):
            recorder.step()
            for sample, length in enumerate(lengths):
                if length == age - 1:
                    recorder.do(Op.FREE, sample)
            if age == 1:
                recorder.do(Op.CAN_ALLOCATE, -(-prompt // block_size))
                recorder.do(Op.ALLOCATE, 0, prompt)
                for sample in range(1, self.slots):
                    recorder.do(Op.FORK, 0, sample)
            live = [sample for sample, length in enumerate(lengths) if length >= age]
            for sample in live:
                recorder.do(Op.APPEND, sample)
            for sample in live:
                recorder.do(Op.LOOKUP, sample, (prompt + age - 1) // block_size)


def parallel_sampling_load(cell: Cell) -> Load:
    """The Program and the facts of parallel sampling. Raises ConfigError."""
    per_token = bytes_per_token(cell["model_shape"])
    samples = Samples(cell)
    made = make_steady(cell, samples)
    facts = steady_facts(cell, samples, made) | sharing_facts(cell, made, per_token)
    return Load(made.program, facts)
