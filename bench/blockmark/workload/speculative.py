"""Speculative decoding: slots are taken ahead, and those of rejected tokens given back.

Each step drafts `lookahead_tokens` tokens for every sequence, makes room for them and
for the one that the model itself adds, and looks up a slot for each. A drafted token
is accepted with `acceptance_rate`, if those before it were; the table is cut back to
the accepted tokens and one more. Where a block was taken for rejected tokens alone, it
goes back to the pool and is taken again in the next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lengths import MOST_PLAYED, MOST_STEPS, Request
from .load import Load
from .program import Op
from .steady import make_steady, steady_facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .lives import Recorder
    from .scenario import Cell

_SALT = 23


def accepted_tokens(
    rng: np.random.Generator, rate: float, lookahead: int, steps: int
) -> NDArray[np.int64]:
    """Accepted drafts of each step, which end at the first rejection; int64 [steps].

    That i or more are accepted has the chance `rate` to the power of i.
    """
    import numpy as np

    if rate == 1.0:
        return np.full(steps, lookahead, dtype=np.int64)
    accepted: NDArray[np.int64] = np.minimum(rng.geometric(1.0 - rate, steps) - 1, lookahead)
    return accepted


class Speculation(Request):
    """A sequence that decodes with drafts.

    All lives have the same steps, in an order of their own, so that they are of one length.
    """

    stages = (Op.FREE, Op.CAN_ALLOCATE, Op.ALLOCATE, Op.EXTEND, Op.LOOKUP, Op.TRUNCATE)

    def __init__(self, cell: Cell) -> None:
        import numpy as np

        self._cell = cell
        self.ahead: int = cell["lookahead_tokens"]
        self.scheduled = self.ahead + 1
        self._output = cell.number("output_tokens")
        rng = np.random.default_rng([cell["seed"], _SALT])
        # No step keeps less than one token.
        steps = min(self._output or MOST_STEPS, MOST_PLAYED)
        accepted = accepted_tokens(rng, cell["acceptance_rate"], self.ahead, steps)
        self._kept = accepted + 1
        self._tokens = np.cumsum(self._kept)

    def steps_of(self, output: int) -> int:
        import numpy as np

        return int(np.searchsorted(self._tokens, output)) + 1

    def output_of(self, steps: int) -> int:
        tokens = int(self._tokens[steps - 1])
        return tokens if self._output is None else min(tokens, self._output)

    def grown(self, steps: int) -> int:
        return self.output_of(steps) + self.ahead

    def steps_within(self, tokens: int) -> int:
        import numpy as np

        return int(np.searchsorted(self._tokens, tokens - self.ahead, side="right"))

    def kept(self, steps: int) -> NDArray[np.int64]:
        """Tokens that stay of each step, their sum the output; int64 [steps]."""
        kept = self._kept[:steps].copy()
        # The engine stops at the output, in the midst of the last step's drafts.
        kept[-1] -= int(self._tokens[steps - 1]) - self.output_of(steps)
        return kept

    def play(self, recorder: Recorder, prompt: int, steps: int, variant: int) -> None:
        import numpy as np

        block_size = self._cell["block_size"]
        rng = np.random.default_rng([self._cell["seed"], _SALT, variant])
        tokens = prompt
        for age, kept in enumerate(rng.permutation(self.kept(steps)).tolist(), start=1):
            recorder.step()
            if age == 1:
                recorder.do(Op.CAN_ALLOCATE, -(-prompt // block_size))
                recorder.do(Op.ALLOCATE, 0, prompt)
            recorder.do(Op.EXTEND, 0, self.scheduled)
            for token in range(tokens, tokens + self.scheduled):
                recorder.do(Op.LOOKUP, 0, token // block_size)
            tokens += kept
            if kept < self.scheduled:
                recorder.do(Op.TRUNCATE, 0, tokens)


def speculative_load(cell: Cell) -> Load:
    """The Program and the facts of speculative decoding. Raises ConfigError."""
    sequence = Speculation(cell)
    made = make_steady(cell, sequence)
    steps, requests = made.stagger.steps, cell["concurrency"]
    drafted = steps * sequence.ahead
    accepted = int(sequence.kept(steps).sum()) - steps
    facts = steady_facts(cell, sequence, made) | {
        "drafts_accepted_per_step": accepted / steps * requests,
        "tokens_per_sequence_step": 1 + accepted / steps,
        "tokens_rejected_share": 1 - accepted / drafted,
        "blocks_given_back_per_step": made.per_step("truncated"),
    }
    return Load(made.program, facts)
