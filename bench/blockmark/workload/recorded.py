"""The workload `recorded`: a Program out of a file, as blockmark.recorder wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .load import Load
from .measured import Measured
from .oracle.model import Oracle
from .program import METHODS, Op, ProgramBuilder, ProgramError
from .recording import is_pool_program, load_recording
from .scenario import Scenario

if TYPE_CHECKING:
    from blockmark_impls.contract import PoolConfig

    from .keys import Value
    from .program import Program
    from .scenario import Cell

_ANALYSIS = """
A recording of a live manager, replayed through every implementation: the same operations, in
the same order and steps. It holds sizes and times of life, and no contents.
"""


def recorded_scenario(path: Path) -> Scenario:
    """A scenario of one file; its sizes are those of the file. Raises ConfigError."""
    program, config = _load(path)
    models = ("pool",) if is_pool_program(program) else ("step",)
    fixed: dict[str, Value] = {
        "workload": "recorded",
        "program": str(path),
        "models": models,
        "total_blocks": config.total_blocks,
        "id_bits": config.id_bits,
        "batch": 1,
    }
    if models == ("step",):
        del fixed["batch"]
        fixed |= {
            "block_size": config.block_size,
            "max_blocks_per_seq": config.max_blocks_per_seq,
            "concurrency": config.max_seqs,
        }
    else:
        # What was free at the start is not known; the recording makes its own order.
        fixed |= {"concurrency": min(256, config.total_blocks), "pool": "fresh"}
    title = f"A recording: {path.name}"
    return Scenario(path.stem, title, _ANALYSIS.strip(), (), fixed, {}, str(path))


def recorded_load(cell: Cell) -> Load:
    """The Program of the cell's file, and facts about it. Raises ConfigError."""
    program, config = _load_of(cell)
    facts = describe(program, config)
    facts["workload"] = "recorded"
    if is_pool_program(program):
        # What is verified of a pool is not this load, and a manager has no part in it.
        return Load(_nothing(), {**facts, "running_mean": 1.0})
    return Load(program, facts)


def recorded_pool_programs(cell: Cell) -> list[Measured]:
    """The hand-outs and returns of a recorded pool."""
    program, _ = _load_of(cell)
    if not is_pool_program(program):
        raise ConfigError(
            f"{cell['program']}: a recording of a manager has no operations of a pool alone; "
            "take pool out of models"
        )
    names = {1: "take_ns", 2: "give_ns"}
    metrics = {phase: name for phase, name in names.items() if phase in program.units}
    return [Measured(program, metrics, pool_only=True)]


def describe(program: Program, config: PoolConfig) -> dict[str, Any]:
    """What a checked recording holds: operations by kind, steps, peak and mean of what lives.

    Blocks, sequences and tokens are counted at the end of each step of phase 1.
    """
    facts: dict[str, Any] = {
        "operations_per_step": program.counts_per_step(),
        "period_steps": program.period,
        "body_steps": program.body_steps,
        "program_digest": program.digest(),
    }
    if is_pool_program(program):
        return facts | _pool_facts(program)
    return facts | _manager_facts(program, config)


def _manager_facts(program: Program, config: PoolConfig) -> dict[str, Any]:
    import numpy as np

    oracle = Oracle(config)
    used, filled, running, ended = [], [], [], []
    taken = 0
    for step in range(program.num_steps):
        before = oracle.num_free_blocks
        for _, code, a, b, c in program.operations(step):
            if code is Op.FREE and program.phases[step]:
                ended.append(oracle.tables[a].tokens)
            if code is Op.FORK:
                oracle.fork(a, b, c or None)
            elif code not in (Op.PACK, Op.CAN_ALLOCATE, Op.LOOKUP, Op.LOOKUP_CHAIN):
                one = code in (Op.APPEND, Op.FREE)
                getattr(oracle, METHODS[code])(*((a,) if one else (a, b)))
        if program.phases[step]:
            taken += max(0, before - oracle.num_free_blocks + len(oracle.released))
            used.append(config.total_blocks - oracle.num_free_blocks)
            filled.append(_filled_slots(oracle))
            running.append(len(oracle.tables))
        oracle.released.clear()
    steps = max(1, len(used))
    mean = float(np.mean(running)) if running else 0.0
    facts: dict[str, Any] = {
        "steps": len(used),
        "blocks_taken_per_step": taken / steps,
        "running_mean": mean or 1.0,
        "running_peak": max(running, default=0),
        "occupancy_mean": float(np.mean(used)) / config.total_blocks if used else 0.0,
        "token_occupancy_mean": (
            float(np.mean(filled)) / (config.total_blocks * config.block_size) if filled else 0.0
        ),
        "blocks_peak": max(used, default=0),
        "sequences_ended": len(ended),
    }
    if ended:
        facts["tokens_at_end"] = {
            "mean": float(np.mean(ended)),
            "p50": float(np.quantile(ended, 0.5)),
            "p90": float(np.quantile(ended, 0.9)),
            "max": float(max(ended)),
        }
    return facts


def _filled_slots(oracle: Oracle) -> int:
    """Token slots that hold a token; those of a shared block count once."""
    size = oracle.config.block_size
    empty: dict[int, int] = {}
    for table in oracle.tables.values():
        rest = len(table.blocks) * size - table.tokens
        empty[table.blocks[-1]] = min(rest, empty.get(table.blocks[-1], rest))
    return len(oracle.ref_counts) * size - sum(empty.values())


def _pool_facts(program: Program) -> dict[str, Any]:
    held: dict[int, int] = {}
    now = peak = 0
    sizes: dict[int, int] = {}
    for step in range(program.num_steps):
        for _, code, a, b, _ in program.operations(step):
            if code is Op.TAKE:
                held[a] = b
                now += b
                peak = max(peak, now)
                sizes[b] = sizes.get(b, 0) + 1
            else:
                now -= held.pop(a)
    return {
        "steps": sum(1 for phase in program.phases if phase),
        "blocks_peak": peak,
        "handouts": sum(sizes.values()),
        "blocks_per_handout_max": max(sizes),
    }


def _nothing() -> Program:
    builder = ProgramBuilder()
    builder.step()
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.CAN_ALLOCATE, 1)
    return builder.build(units={1: 1.0})


def _load_of(cell: Cell) -> tuple[Program, PoolConfig]:
    if not cell["program"]:
        raise ConfigError('workload = "recorded" needs a file: set program, or run --program FILE')
    program, config = _load(Path(cell["program"]))
    sizes = {"total_blocks": config.total_blocks}
    if not is_pool_program(program):
        sizes |= {
            "block_size": config.block_size,
            "max_blocks_per_seq": config.max_blocks_per_seq,
            "concurrency": config.max_seqs,
        }
    for name, value in sizes.items():
        if cell[name] != value:
            raise ConfigError(
                f"{cell['program']}: recorded with {name} = {value:,}, not {cell[name]:,}; a "
                "recording has the sizes that it was made with"
            )
    return program, config


def _load(path: Path) -> tuple[Program, PoolConfig]:
    try:
        return load_recording(path)
    except ProgramError as error:
        raise ConfigError(str(error)) from None
