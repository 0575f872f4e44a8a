"""Steady decode: a stationary engine that generates one token a sequence and step.

Every slot holds a sequence at another point of its life, so lengths are spread
uniformly between a prompt and a final length; each step appends one token to every
running sequence, blocks are taken at boundaries, and a sequence that has its last
token is freed and replaced at the head of the next step.

The lives are staggered evenly, and prompts differ by up to a block, so that each
step takes the same number of blocks and every `period` steps do exactly the same
number of each operation. After `output` steps every slot is where it was: the body
is cyclic without a reset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import ConfigError
from .load import Load
from .program import Op, Program, ProgramBuilder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .scenario import Cell

# Operands of one body, at most: larger engines get shorter lives (stated in the
# facts), since a program is kept in memory.
_MAX_BODY_APPENDS = 4_000_000
_MOST_APPENDS = 32_000_000


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """Lives of the sequences: tokens at the start, tokens generated, the period.

    `prompts` int64 [concurrency], `progress` int64 [concurrency]: tokens generated
    so far by each slot when the body begins, between 1 and `output`.
    """

    prompts: NDArray[np.int64]
    progress: NDArray[np.int64]
    output: int
    period: int

    def lengths(self, step: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """(which slots are replaced, tokens of each after its append) in a body step."""
        import numpy as np

        done = (self.progress - 1 + step) % self.output + 1
        replaced = done == self.output
        return replaced, self.prompts + np.where(replaced, 1, done + 1)


def plan_decode(cell: Cell) -> DecodePlan:
    """Choose prompt and output lengths, and stagger the lives.

    Where the cell sets neither `prompt_tokens` nor `output_tokens`, lengths are
    spread so that the pool is filled to `occupancy`, as far as the block tables
    allow (at most three quarters of a table on average, so that lengths can differ).
    Raises ConfigError if the pool or the table is too small.
    """
    import numpy as np

    concurrency, block_size = cell["concurrency"], cell["block_size"]
    prompt_blocks, output = _choose_lives(cell)
    order = np.random.default_rng(cell["seed"]).permutation(concurrency)
    progress = 1 + order * output // concurrency
    # The remainders make the tokens of slot number j in the order equal j modulo the
    # block size, so that boundaries fall evenly on the steps.
    remainder = (order - progress) % block_size
    prompts = (prompt_blocks - 1) * block_size + 1 + remainder
    if cell.number("prompt_tokens") is not None:
        prompts = np.full(concurrency, cell["prompt_tokens"])
    return DecodePlan(prompts, progress, output, _period(output, concurrency, block_size))


def _choose_lives(cell: Cell) -> tuple[int, int]:
    """(prompt in blocks, output in tokens)."""
    concurrency, block_size = cell["concurrency"], cell["block_size"]
    widest = cell["max_blocks_per_seq"]
    mean = min(cell["occupancy"] * cell["total_blocks"] / concurrency, 0.75 * widest)
    longest = min(widest, math.floor(2 * mean) - 1)
    prompt, output = cell.number("prompt_tokens"), cell.number("output_tokens")
    if prompt is None and output is None:
        if longest < 2:
            raise ConfigError(
                f"total_blocks = {cell['total_blocks']:,} is too small for concurrency = "
                f"{concurrency:,} at occupancy = {cell['occupancy']}; raise total_blocks to at "
                f"least {math.ceil(1.5 * concurrency / cell['occupancy']):,} or lower concurrency"
            )
        shortest = max(1, round(2 * mean) - longest)
        most = (longest - shortest) * block_size
        most = max(min(most, _MAX_BODY_APPENDS // concurrency), min(most, block_size))
        output = _best_output(most, concurrency, block_size)
        return max(1, round(mean - output / block_size / 2)), output
    if prompt is None:
        assert output is not None
        most = widest - math.ceil(output / block_size)
        if most < 1:
            raise ConfigError(
                f"output_tokens = {output:,} leaves no room for a prompt in "
                f"max_blocks_per_seq = {widest:,} blocks of {block_size}; lower output_tokens"
            )
        return max(1, min(most, round(mean - output / block_size / 2))), output
    room = widest * block_size - prompt
    if room < (output or 1):
        raise ConfigError(
            f"prompt_tokens = {prompt:,} and output_tokens = {output or 1:,} do not fit "
            f"max_blocks_per_seq = {widest:,} blocks of {block_size}; raise max_blocks_per_seq"
        )
    if output is None:
        most = max(1, min(room, _MAX_BODY_APPENDS // concurrency))
        output = _best_output(most, concurrency, block_size)
    return math.ceil(prompt / block_size), output


def _period(output: int, concurrency: int, block_size: int) -> int:
    """Steps after which the same number of blocks was taken and sequences replaced.

    Boundaries keep their beat across a replacement only if the output is whole blocks;
    else nothing less than the whole body repeats.
    """
    if output % block_size:
        return output
    return math.lcm(block_size, output // math.gcd(concurrency, output))


def _best_output(most: int, concurrency: int, block_size: int) -> int:
    """An output between 3/4 of `most` and `most` with the shortest period."""
    return min(
        range(max(1, math.ceil(most * 3 / 4)), most + 1),
        key=lambda tokens: (_period(tokens, concurrency, block_size), -tokens),
    )


def decode_load(cell: Cell) -> Load:
    """The Program and the facts of steady decode. Raises ConfigError."""
    program = decode_program(cell)
    return Load(program, decode_facts(cell, program))


def decode_program(cell: Cell) -> Program:
    """The decode Program of a cell; one unit of phase 1 is a step.

    Raises ConfigError where the load does not fit the pool.
    """
    import numpy as np

    plan = plan_decode(cell)
    if plan.output * cell["concurrency"] > _MOST_APPENDS:
        raise ConfigError(
            f"output_tokens = {plan.output:,} for concurrency = {cell['concurrency']:,} makes a "
            f"program of over {_MOST_APPENDS:,} appends; lower one of them"
        )
    block_size = cell["block_size"]
    peak = int(occupied_blocks(plan, block_size).max())
    if peak > cell["total_blocks"]:
        raise ConfigError(
            f"total_blocks = {cell['total_blocks']:,} is too small for this load, which needs "
            f"{peak:,} at its peak; raise total_blocks, or lower concurrency or the lengths"
        )
    slots = np.arange(cell["concurrency"], dtype=np.int32)
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, slots, plan.prompts + plan.progress)
    builder.end_setup()
    for step in range(plan.output):
        replaced, lengths = plan.lengths(step)
        builder.step(phase=1)
        ended = slots[replaced]
        builder.run(Op.FREE, ended)
        builder.run(Op.CAN_ALLOCATE, -(-plan.prompts[replaced] // block_size))
        builder.run(Op.ALLOCATE, ended, plan.prompts[replaced])
        builder.run(Op.APPEND, slots)
        builder.run(Op.LOOKUP, slots, (lengths - 1) // block_size)
    return builder.build(
        period=plan.period, units={1: plan.period}, width=cell["max_blocks_per_seq"]
    )


def occupied_blocks(plan: DecodePlan, block_size: int) -> NDArray[np.int64]:
    """Blocks in use after each step of the body; int64 [output]."""
    import numpy as np

    return np.array(
        [
            int(((plan.lengths(step)[1] + block_size - 1) // block_size).sum())
            for step in range(plan.output)
        ]
    )


def filled_slots(plan: DecodePlan) -> NDArray[np.int64]:
    """Token slots that hold a token, after each step of a lifetime; int64 [plan.output]."""
    import numpy as np

    return np.array([int(plan.lengths(step)[1].sum()) for step in range(plan.output)])


def decode_facts(cell: Cell, program: Program) -> dict[str, object]:
    """What a reader needs to know about the load, for the run file.

    `operations_per_step` counts calls; `blocks_taken` counts blocks, by admissions
    and at boundaries; `operations_per_sequence_step` is what the structure does for
    one sequence: calls, and the blocks taken, given back and ref counts set by them.
    """
    import numpy as np

    plan = plan_decode(cell)
    occupied = occupied_blocks(plan, cell["block_size"])
    calls = program.counts_per_step()
    ends = -(-(plan.prompts + plan.output) // cell["block_size"])
    taken = float(ends.sum()) / plan.output
    shares = occupied / cell["total_blocks"]
    filled = filled_slots(plan) / (cell["total_blocks"] * cell["block_size"])
    return {
        "operations_per_step": calls,
        "blocks_taken_per_step": taken,
        "operations_per_sequence_step": (sum(calls.values()) + 3 * taken) / cell["concurrency"],
        "occupancy_mean": float(shares.mean()),
        "occupancy_p95": float(np.quantile(shares, 0.95)),
        "token_occupancy_mean": float(filled.mean()),
        "token_occupancy_p95": float(np.quantile(filled, 0.95)),
        "prompt_tokens": int(np.median(plan.prompts)),
        "output_tokens": plan.output,
        "period_steps": plan.period,
        "body_steps": program.body_steps,
        "program_digest": program.digest(),
    }
