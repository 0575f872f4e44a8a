"""Beam search: groups of beams that share a prompt, die, and take each other's place.

A request is a group of `beam_width` sequences. When it is admitted, one of them is
allocated the prompt and forked to the others. In each later step the candidates are
ranked: every beam offers twice as many as there are beams, as the usual implementation
does, and the best `beam_width` of all live on. A beam without a candidate among them
is freed, a beam with several is forked into the slots of the dead. Then every beam
appends one token; where that token goes into a block that beams still share, all but
the last of them take a copy. After its output the group ends and is replaced.

Scores are random. Patterns of survival:

* `steady`: a beam's next candidates are each worse by exponential steps, the first one
  by less, so that in every step a few beams die.
* `dominant`: mostly every beam goes on with its best candidate; now and then all
  candidates of one beam are the best, and it takes over the whole group.
* `mixed`: stretches of one and of the other in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lengths import Request
from .load import Load
from .model_shape import bytes_per_token
from .program import Op
from .steady import make_steady, sharing_facts, steady_facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .lives import Recorder
    from .scenario import Cell

_SALT = 21
# Candidates that a beam offers, for each beam of the group.
_CANDIDATES = 2
# How much worse than its beam the best candidate is, in units of the steps between the
# next ones. A quarter: the likeliest token is a good deal likelier than the second.
_FIRST_STEP = 0.25
_TAKE_OVER = 1 / 16  # chance of a take-over in a step
_AT_ONCE = 256  # steps whose scores are drawn together
_STRETCH = 32  # steps of one pattern before `mixed` turns to the other


def candidates_kept(
    rng: np.random.Generator, survival: str, width: int, steps: int
) -> NDArray[np.int64]:
    """How many of each beam's candidates live on; int64 [steps, width], rows sum to `width`."""
    import numpy as np

    takes_over = rng.random(steps) < _TAKE_OVER
    winner = np.eye(width, dtype=np.int64)[rng.integers(0, width, steps)] * width
    dominant = np.where(takes_over[:, None], winner, 1)
    if survival == "dominant":
        return dominant
    ranked = np.concatenate(
        [_ranked(rng, width, min(_AT_ONCE, steps - i)) for i in range(0, steps, _AT_ONCE)]
    )
    if survival == "steady":
        return ranked
    in_turn = np.arange(steps) // _STRETCH % 2 == 0
    return np.where(in_turn[:, None], ranked, dominant)


def _ranked(rng: np.random.Generator, width: int, steps: int) -> NDArray[np.int64]:
    """The same by random scores: what of each beam is among the best `width` of all."""
    import numpy as np

    offered = _CANDIDATES * width
    losses = rng.exponential(1.0, (steps, width, offered))
    losses[:, :, 0] *= _FIRST_STEP
    losses = np.cumsum(losses, axis=2).reshape(steps, -1)
    beams = np.argpartition(losses, width - 1, axis=1)[:, :width] // offered
    return np.stack([np.bincount(row, minlength=width) for row in beams])


class BeamGroup(Request):
    """A group of beams."""

    stages = (Op.FREE, Op.CAN_ALLOCATE, Op.ALLOCATE, Op.FORK, Op.APPEND, Op.LOOKUP)

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self.slots = self.scheduled = cell["beam_width"]

    def play(self, recorder: Recorder, prompt: int, steps: int, variant: int) -> None:
        import numpy as np

        cell, width, block_size = self._cell, self.slots, self._cell["block_size"]
        rng = np.random.default_rng([cell["seed"], _SALT, variant])
        kept = candidates_kept(rng, cell["beam_survival"], width, steps).tolist()
        for age in range(1, steps + 1):
            recorder.step()
            if age == 1:
                recorder.do(Op.CAN_ALLOCATE, -(-prompt // block_size))
                recorder.do(Op.ALLOCATE, 0, prompt)
                for beam in range(1, width):
                    recorder.do(Op.FORK, 0, beam)
            else:
                _select(recorder, kept[age - 1])
            for beam in range(width):
                recorder.do(Op.APPEND, beam)
            for beam in range(width):
                recorder.do(Op.LOOKUP, beam, (prompt + age - 1) // block_size)


def _select(recorder: Recorder, kept: list[int]) -> None:
    """Free the beams of which nothing is kept, and fork the others into their slots."""
    dead = [beam for beam, count in enumerate(kept) if count == 0]
    for beam in dead:
        recorder.do(Op.FREE, beam)
    slots = iter(dead)
    for beam, count in enumerate(kept):
        for _ in range(count - 1):
            recorder.do(Op.FORK, beam, next(slots))


def beam_load(cell: Cell) -> Load:
    """The Program and the facts of beam search. Raises ConfigError."""
    per_token = bytes_per_token(cell["model_shape"])
    group = BeamGroup(cell)
    made = make_steady(cell, group)
    facts = steady_facts(cell, group, made) | sharing_facts(cell, made, per_token)
    return Load(made.program, facts)
