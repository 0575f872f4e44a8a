"""What a request of a stationary load is, and how long prompts and lives are.

As in decode, lengths that the cell leaves open are chosen so that the pool is filled to
`occupancy`; what requests share is found out by playing one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import ConfigError
from .lives import Recorder

if TYPE_CHECKING:
    from .program import Op
    from .scenario import Cell

# A life that nobody set the length of takes at most so many steps,
MOST_STEPS = 1024
# and a body schedules about so many tokens, since a program is kept in memory.
_MAX_BODY_TOKENS = 4_000_000
_MOST_TOKENS = 32_000_000
# Steps of a life x its sequences, at most: it is played one by one.
MOST_PLAYED = 1 << 18
# Different lives: more of them make a period longer, and more is to be played.
_MOST_VARIANTS = 16
_WANTED_PERIOD = 128
_WANTED_PLAYED = 100_000  # of all lives together, as MOST_PLAYED


class Request(ABC):
    """A kind of request: its size, and how one is played."""

    # Operations of a step in the order in which an engine does them for its batch.
    stages: tuple[Op, ...]
    slots = 1  # sequences of a request
    scheduled = 1  # tokens of a request that a step schedules, at most
    most_steps = MOST_STEPS
    prompt_blocks: int | None = None  # where the workload itself has a wish

    @abstractmethod
    def play(self, recorder: Recorder, prompt: int, steps: int, variant: int) -> None:
        """Live for `steps` steps after a prompt of `prompt` tokens."""

    def steps_of(self, output: int) -> int:
        """Steps that it takes to generate `output` tokens."""
        return output

    def output_of(self, steps: int) -> int:
        """Tokens that the longest sequence generates in a life."""
        return steps

    def grown(self, steps: int) -> int:
        """Tokens by which a table grows in a life, at most."""
        return steps

    def steps_within(self, tokens: int) -> int:
        """The longest life in which a table grows by no more than `tokens`."""
        return tokens


@dataclass(frozen=True, slots=True)
class Lengths:
    """Prompt and life. `prompt`: tokens where the cell says so, else whole blocks."""

    prompt: int | None
    prompt_blocks: int
    steps: int


def choose_lengths(cell: Cell, request: Request) -> Lengths:
    """Prompt and life, as the cell says or so that the pool is filled to `occupancy`.

    A life that is left open takes at most MOST_STEPS steps and half of a block table, and
    less where requests are many for the pool; a prompt that is left open fills up what
    the others leave. Raises ConfigError where the table is too short.
    """
    block_size, output = cell["block_size"], cell.number("output_tokens")
    room = cell["max_blocks_per_seq"] * block_size
    prompt = cell.number("prompt_tokens")
    wish = request.prompt_blocks
    if output is None:
        taken = prompt or (room - room // 2 if wish is None else wish * block_size)
        steps = _open_life(cell, request, room - taken)
    else:
        steps = request.steps_of(output) if output < room else 0
    if steps < 1:
        raise _no_room(cell, prompt, output or 1)
    _check_length(cell, request, steps)
    if room - request.grown(steps) < (prompt or block_size):
        raise _no_room(cell, prompt, request.grown(steps))
    wanted = cell["occupancy"] * cell["total_blocks"] / cell["concurrency"]
    if output is None and wish is None:
        while steps > 1 and _mean_use(cell, request, prompt, steps) > wanted:
            steps = best_life(cell["concurrency"], request.slots, steps // 2)
    if prompt is not None:
        return Lengths(prompt, -(-prompt // block_size), steps)
    blocks = wish or 1 + max(0, math.floor(wanted - _mean_use(cell, request, None, steps)))
    most = (room - request.grown(steps)) // block_size
    return Lengths(None, min(blocks, most), steps)


def _no_room(cell: Cell, prompt: int | None, tokens: int) -> ConfigError:
    widest, block_size = cell["max_blocks_per_seq"], cell["block_size"]
    first = "a prompt" if prompt is None else f"prompt_tokens = {prompt:,}"
    after = "1 token" if tokens == 1 else f"{tokens:,} tokens"
    return ConfigError(
        f"{first} and {after} after it do not fit max_blocks_per_seq = {widest:,} blocks of "
        f"{block_size}; raise max_blocks_per_seq"
        + (" or lower output_tokens" if cell.number("output_tokens") else "")
    )


def _check_length(cell: Cell, request: Request, steps: int) -> None:
    """A life must be playable, and a body must be kept in memory. Raises ConfigError."""
    if steps * request.slots > MOST_PLAYED:
        raise ConfigError(
            f"output_tokens makes a life of over {MOST_PLAYED // request.slots:,} steps; lower it"
        )
    tokens = steps * cell["concurrency"] * request.scheduled
    if tokens > _MOST_TOKENS:
        raise ConfigError(
            f"{steps:,} steps for concurrency = {cell['concurrency']:,} make a program of "
            f"{tokens:,} tokens, over {_MOST_TOKENS:,}; lower output_tokens or concurrency"
        )


def _open_life(cell: Cell, request: Request, left: int) -> int:
    """Steps of a life that nobody set the length of; 0 if `left` tokens are too few."""
    most = min(request.most_steps, request.steps_within(left))
    affordable = _MAX_BODY_TOKENS // (cell["concurrency"] * request.scheduled)
    most = max(min(most, affordable), min(most, cell["block_size"]))
    return best_life(cell["concurrency"], request.slots, most) if most > 0 else 0


def _mean_use(cell: Cell, request: Request, prompt: int | None, steps: int) -> float:
    """Blocks that a request names on average, with a prompt of a block if it is open."""
    _, variants = period_of(cell["concurrency"], request.slots, steps)
    used = 0
    for variant in range(variants):
        recorder = Recorder(cell, request.slots, request.stages)
        request.play(recorder, prompt or cell["block_size"], steps, variant)
        used += sum(recorder.finish().counts["in_use"])
    return used / steps / variants


def best_life(concurrency: int, slots: int, most: int) -> int:
    """A life between 3/4 of `most` and `most` steps with the shortest period."""
    return min(
        range(max(1, math.ceil(most * 3 / 4)), most + 1),
        key=lambda steps: (period_of(concurrency, slots, steps)[0], -steps),
    )


def period_of(concurrency: int, slots: int, steps: int) -> tuple[int, int]:
    """(steps after which the same lives are at the same ages, number of lives).

    Request j of n is at age j * steps / n, rounded down, and lives life j modulo the
    number of lives, which divides n: both come back together.
    """
    variants = math.gcd(concurrency, _MOST_VARIANTS)
    while variants > 1 and (
        variants * steps > _WANTED_PERIOD * concurrency or variants * steps * slots > _WANTED_PLAYED
    ):
        variants //= 2
    common = math.gcd(concurrency, steps)
    return steps // common * variants // math.gcd(variants, concurrency // common), variants
