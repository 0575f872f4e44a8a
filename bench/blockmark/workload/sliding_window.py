"""Sliding window: blocks behind the window are given back while the sequence runs.

As in decode every step appends one token to every sequence. A token attends to itself
and the `window_tokens` - 1 tokens before it, so a block is behind the window when all of
its tokens are further back; it is dropped in the step that makes it so. Logical indices
stay: a sequence of any length keeps about a window of blocks, but its table is as wide
as it is long, and `max_blocks_per_seq` limits it.

Prompts are one window long where the block tables have room for that, so that blocks
fall behind from the first tokens on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import ConfigError
from .lengths import MOST_STEPS, Request
from .load import Load
from .program import Op
from .steady import make_steady, steady_facts

if TYPE_CHECKING:
    from .lives import Recorder
    from .scenario import Cell


class WindowedSequence(Request):
    """A sequence that forgets. Raises ConfigError if no block could ever be forgotten."""

    stages = (Op.FREE, Op.CAN_ALLOCATE, Op.ALLOCATE, Op.APPEND, Op.DROP_FRONT, Op.LOOKUP)
    most_steps = 2 * MOST_STEPS  # sequences run long

    def __init__(self, cell: Cell) -> None:
        self._block_size = cell["block_size"]
        self._window = cell["window_tokens"]
        widest = cell["max_blocks_per_seq"]
        if self._window + self._block_size > widest * self._block_size:
            raise ConfigError(
                f"window_tokens = {self._window:,} is as long as max_blocks_per_seq = {widest:,} "
                f"blocks of {self._block_size}, so no block ever falls behind it; lower "
                f"window_tokens or raise max_blocks_per_seq"
            )
        self.prompt_blocks = max(1, min(-(-self._window // self._block_size), widest // 2))

    def play(self, recorder: Recorder, prompt: int, steps: int, variant: int) -> None:
        block_size, dropped = self._block_size, 0
        for tokens in range(prompt + 1, prompt + steps + 1):
            recorder.step()
            if tokens == prompt + 1:
                recorder.do(Op.CAN_ALLOCATE, -(-prompt // block_size))
                recorder.do(Op.ALLOCATE, 0, prompt)
            recorder.do(Op.APPEND, 0)
            behind = max(0, (tokens - self._window) // block_size)
            if behind > dropped:
                recorder.do(Op.DROP_FRONT, 0, behind)
                dropped = behind
            recorder.do(Op.LOOKUP, 0, (tokens - 1) // block_size)


def sliding_window_load(cell: Cell) -> Load:
    """The Program and the facts of decode with a sliding window. Raises ConfigError."""
    sequence = WindowedSequence(cell)
    made = make_steady(cell, sequence)
    facts = steady_facts(cell, sequence, made)
    return Load(made.program, facts | {"blocks_dropped_per_step": made.per_step("dropped")})
