"""Stationary loads: many requests of one kind, each at another point of its life.

As in decode, a request that has ended is replaced at the head of the next step, lives
are staggered evenly, and prompts differ by up to a block, so that boundaries spread
over the steps. A body is one life long: after it every request is where it was, and
the body is cyclic without a reset.

What happens in a life (which beams die, which tokens are rejected) is drawn from the
seed. There are up to sixteen different lives, dealt out in turn, so that every
`period` steps the same lives are at the same ages and exactly the same is done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .lengths import Lengths, Request, choose_lengths, period_of
from .lives import Life, Recorder, rebuild
from .program import Op, Program, ProgramBuilder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .scenario import Cell


@dataclass(frozen=True, slots=True)
class Stagger:
    """Who is where. `progress`, `variants` int64 [requests]: age and life at the start."""

    steps: int
    progress: NDArray[np.int64]
    variants: NDArray[np.int64]
    num_variants: int
    period: int

    def ages(self, step: int) -> NDArray[np.int64]:
        """Ages after a body step, 1 to `steps`; int64 [requests]."""
        return (self.progress + step) % self.steps + 1


@dataclass(frozen=True, slots=True)
class Steady:
    """A stationary load, made: the Program, and the lives that it consists of."""

    program: Program
    lengths: Lengths
    stagger: Stagger
    prompts: tuple[int, ...]  # by variant
    lives: tuple[Life, ...]  # by variant

    def total(self, name: str) -> int:
        """The sum of one of lives.COUNTS over the body."""
        each = len(self.stagger.progress) // len(self.lives)
        return each * sum(sum(life.counts[name]) for life in self.lives)

    def per_step(self, name: str) -> float:
        """The mean of one of lives.COUNTS over the steps of the body."""
        return self.total(name) / self.stagger.steps


def stagger(cell: Cell, slots: int, steps: int) -> Stagger:
    """Spread the requests evenly over a life, in a seeded order, and deal out the lives."""
    import numpy as np

    concurrency = cell["concurrency"]
    period, variants = period_of(concurrency, slots, steps)
    order = np.random.default_rng(cell["seed"]).permutation(concurrency)
    return Stagger(steps, 1 + order * steps // concurrency, order % variants, variants, period)


def make_steady(cell: Cell, request: Request) -> Steady:
    """The load of a cell, one step of phase 1 a scheduler iteration.

    Raises ConfigError where it does not fit block tables or pool.
    """
    lengths = choose_lengths(cell, request)
    when = stagger(cell, request.slots, lengths.steps)
    while True:
        prompts = _prompts(cell, lengths, when)
        lives = _play(cell, request, when, prompts)
        peak, start = _most_blocks(when, lives)
        over = peak - cell["total_blocks"]
        if over <= 0:
            break
        # A prompt that is left open gives way, by its whole blocks.
        fewer = lengths.prompt_blocks - math.ceil(over / cell["concurrency"])
        if lengths.prompt is not None or request.prompt_blocks is not None or fewer < 1:
            raise ConfigError(
                f"total_blocks = {cell['total_blocks']:,} is too small for this load, which needs "
                f"{peak:,} at its peak; raise total_blocks, or lower concurrency or the lengths"
            )
        lengths = replace(lengths, prompt_blocks=fewer)
    program = _assemble(cell, request, when, lives, cell["total_blocks"] - start)
    return Steady(program, lengths, when, prompts, lives)


def _prompts(cell: Cell, lengths: Lengths, when: Stagger) -> tuple[int, ...]:
    """Tokens of the prompt of each life.

    Where the lengths are open, remainders make requests that stand next to each other in
    the order cross their block boundaries in different steps.
    """
    if lengths.prompt is not None:
        return (lengths.prompt,) * when.num_variants
    block_size, concurrency = cell["block_size"], cell["concurrency"]
    prompts = []
    for variant in range(when.num_variants):
        age = 1 + variant * when.steps // concurrency
        remainder = (variant * block_size // when.num_variants - age) % block_size
        prompts.append((lengths.prompt_blocks - 1) * block_size + 1 + remainder)
    return tuple(prompts)


def _play(
    cell: Cell, request: Request, when: Stagger, prompts: tuple[int, ...]
) -> tuple[Life, ...]:
    lives = []
    for variant, prompt in enumerate(prompts):
        starts = frozenset(when.progress[when.variants == variant].tolist())
        recorder = Recorder(cell, request.slots, request.stages, starts)
        request.play(recorder, prompt, when.steps, variant)
        lives.append(recorder.finish())
        assert lives[-1].steps == when.steps
    return tuple(lives)


def _counted(lives: tuple[Life, ...], name: str) -> NDArray[np.int64]:
    """One of lives.COUNTS; int64 [variants, steps]."""
    import numpy as np

    return np.array([life.counts[name] for life in lives], dtype=np.int64)


def _sums(when: Stagger, lives: tuple[Life, ...], name: str) -> NDArray[np.int64]:
    """The sum over all requests after each step of a period; int64 [period]."""
    import numpy as np

    counted = _counted(lives, name)
    steps = range(when.period)
    return np.array([counted[when.variants, when.ages(step) - 1].sum() for step in steps])


def _most_blocks(when: Stagger, lives: tuple[Life, ...]) -> tuple[int, int]:
    """(blocks that the load needs at its peak, blocks in use at the body's start)."""
    start = int(_counted(lives, "in_use")[when.variants, when.progress - 1].sum())
    # Blocks behind a window are dropped one by one while the start is built.
    dropping = any(
        table.first_kept
        for life in lives
        for tables in life.tables.values()
        for table in tables.values()
    )
    return max(int(_sums(when, lives, "high").max()), start + dropping), start


def _assemble(
    cell: Cell, request: Request, when: Stagger, lives: tuple[Life, ...], spare: int
) -> Program:
    import numpy as np

    slots, block_size = request.slots, cell["block_size"]
    builder = ProgramBuilder()
    builder.step()
    for number, (variant, age) in enumerate(
        zip(when.variants.tolist(), when.progress.tolist(), strict=True)
    ):
        base = number * slots
        for code, a, b, c in rebuild(lives[variant].tables[age], block_size, spare):
            builder.run(code, a + base, b + base if code is Op.FORK else b, c)
    builder.end_setup()
    columns = {code: _Columns.of(lives, code) for code in request.stages}
    numbers = np.arange(cell["concurrency"], dtype=np.int64)
    for step in range(when.steps):
        builder.step(phase=1)
        where = when.variants * when.steps + when.ages(step) - 1
        for code, column in columns.items():
            owners, index = column.find(numbers, where)
            if not len(index):
                continue
            bases = owners * slots
            builder.run(
                code,
                column.a[index] + bases * (code is not Op.CAN_ALLOCATE),
                column.b[index] + bases * (code is Op.FORK),
                column.c[index],
            )
    return builder.build(
        period=when.period, units={1: when.period}, width=cell["max_blocks_per_seq"]
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """The operations of one code in all lives, end to end; all int64 arrays."""

    start: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    c: NDArray[np.int64]

    @classmethod
    def of(cls, lives: tuple[Life, ...], code: Op) -> _Columns:
        import numpy as np

        columns = [life.columns[code] for life in lives]
        counts = [np.diff(np.array(column.start, dtype=np.int64)) for column in columns]
        start = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        a, b, c = (
            np.concatenate([np.array(column[i], dtype=np.int64) for column in columns])
            for i in (1, 2, 3)
        )
        return cls(start, a, b, c)

    def find(
        self, numbers: NDArray[np.int64], where: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(request, place) of each operation, for requests at the steps `where`."""
        import numpy as np

        first = self.start[where]
        counts = self.start[where + 1] - first
        ends = np.cumsum(counts)
        owners = np.repeat(numbers, counts)
        return owners, np.arange(len(owners)) + np.repeat(first - ends + counts, counts)


def steady_facts(cell: Cell, request: Request, made: Steady) -> dict[str, Any]:
    """What a reader should know about any such load, for the run file; counts are exact.

    As the facts of decode, and `running_mean`: live sequences. In
    `operations_per_sequence_step` a fork counts two more operations for each entry that it
    shares: its ref count goes up, and down again.
    """
    import numpy as np

    program, when = made.program, made.stagger
    calls = program.counts_per_step()
    running, taken = made.per_step("running"), made.per_step("taken")
    operations = sum(calls.values()) + 3 * taken + 2 * made.per_step("forked")
    shares = _sums(when, made.lives, "in_use") / cell["total_blocks"]
    return {
        "workload": cell["workload"],
        "operations_per_step": calls,
        "blocks_taken_per_step": taken,
        "operations_per_sequence_step": operations / running,
        "running_mean": running,
        "occupancy_mean": float(shares.mean()),
        "occupancy_p95": float(np.quantile(shares, 0.95)),
        "prompt_tokens": int(np.median(made.prompts)),
        "output_tokens": request.output_of(when.steps),
        "period_steps": when.period,
        "body_steps": program.body_steps,
        "program_digest": program.digest(),
    }


def sharing_facts(cell: Cell, made: Steady, bytes_per_token: int) -> dict[str, Any]:
    """Forks, and copies-on-write with the bytes that an engine would move for them.

    `shared_blocks_share`: entries of live tables that name a block with a ref count above
    one / all entries of live tables.
    """
    copies = made.per_step("copies")
    return {
        "forks_per_step": made.program.counts_per_step().get("fork", 0.0),
        "copies_per_step": copies,
        "copy_bytes_per_step": copies * cell["block_size"] * bytes_per_token,
        "shared_blocks_share": made.total("shared") / made.total("entries"),
    }
