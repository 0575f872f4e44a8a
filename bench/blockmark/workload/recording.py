"""From a recorder's log to a Program, and a Program from a file held against the contract.

A Program's body is cyclic, a recording is not: so a step that is not timed ends what lives
and brings back what lived at the start. Nothing else is added.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import BlockManagerError, PoolConfig

from .oracle.model import Oracle
from .program import METHODS, Op, Program, ProgramBuilder, ProgramError
from .words import MOST_A, MOST_CODE, OPERAND_C, STEP, A, B

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

_AT_THE_END = (
    "operations were noted before the first step mark and none after the last: the marks are "
    "taken for the ends of iterations, and what came before the first for an iteration of its own; "
    "call step() at the beginning of each"
)
# The largest that a scenario may ask for, so that what is replayed is checked as if it did.
_SIZES = {
    "total_blocks": (1, (1 << 31) - 1),
    "block_size": (1, 65_536),
    "max_seqs": (1, 1 << 20),
    "max_blocks_per_seq": (1, 1 << 22),
    "id_bits": (16, 64),
    "host_blocks": (0, (1 << 31) - 1),
}
_NEEDED_SIZES = ("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq")
# Blocks that the operations may take in all: some number each, and more for a few long prompts.
# Without a bound a damaged file of a hundred operations would fill the memory.
_MOST_MOVED, _MOVED_BY_ONE = 1 << 22, 1 << 12
_NO_STEP = (
    "no step was marked: call step() of the recorder once a scheduler iteration, before the "
    "iteration's first operation"
)


def manager_program(words: array[int], start: Mapping[int, int], config: PoolConfig) -> Program:
    """The noted operations of a manager; `start` has the tokens of what lived before them.

    What was noted before the first step mark is set-up; but where the last that was noted is a
    mark, marks end the iterations, and it is the first one. Raises ValueError where there is
    no step.
    """
    import numpy as np

    noted = np.frombuffer(words, dtype=np.int64)
    if len(noted) and noted[0] != STEP and noted[-1] == STEP:
        warnings.warn(_AT_THE_END, stacklevel=3)
        noted = np.concatenate(([STEP], noted[:-1]))
    marks = np.flatnonzero(noted == STEP)
    if not len(marks):
        raise ValueError(_NO_STEP)
    builder = ProgramBuilder()
    builder.step()
    before = noted[: marks[0]]
    for seq, tokens in start.items():
        builder.run(Op.ALLOCATE, seq, tokens)
    _add_runs(builder, before)
    builder.end_setup()
    edges = [*marks.tolist(), len(noted)]
    steps = 0
    for first, end in pairwise(edges):
        if end > first + 1:
            builder.step(phase=1)
            _add_runs(builder, noted[first + 1 : end])
            steps += 1
    if not steps:
        raise ValueError("no operation was noted after the first step mark")
    _close(builder, start, before, noted, config)
    return builder.build(
        period=builder.num_steps - 1,
        units={1: float(steps)},
        width=config.max_blocks_per_seq,
        probe=max(1, steps // 2),
        config=asdict(config),
    )


def pool_program(words: array[int], total_blocks: int) -> Program:
    """The noted hand-outs and returns of a pool alone, takes in phase 1 and gives in phase 2.

    A hand-out is split by the returns that its blocks come back in; what is out at the
    end comes back there. Blocks that were out at the start are not known, and left out.
    """
    steps, shares = _handouts(words)
    if not steps:
        raise ValueError(_NO_STEP)
    builder = ProgramBuilder()
    builder.step()
    builder.end_setup()
    taken = given = 0
    for step in steps:
        for code, handles in step:
            if not handles:
                continue
            builder.step(phase=1 if code is Op.TAKE else 2)
            sizes = [shares[handle] for handle in handles]
            if code is Op.TAKE:
                builder.run(Op.TAKE, handles, sizes)
                taken += sum(sizes)
            else:
                builder.run(Op.GIVE, handles)
                given += sum(sizes)
    if not taken:
        raise ValueError("no hand-out was noted after the first step mark")
    back = [handles for step in steps for code, handles in step if code is Op.GIVE]
    returned = set(chain.from_iterable(back))
    builder.step()
    builder.run(Op.GIVE, [handle for handle in range(len(shares)) if handle not in returned])
    units = {1: float(taken), **({2: float(given)} if given else {})}
    size = PoolConfig(total_blocks, 1, 2, 1, 16 if total_blocks <= 1 << 16 else 32)
    return builder.build(period=builder.num_steps - 1, units=units, config=asdict(size))


def write(program: Program, path: Path | str) -> None:
    """Save a Program. Raises OSError."""
    program.save(Path(path))


def is_pool_program(program: Program) -> bool:
    """Whether it is for a pool alone."""
    return bool({Op.TAKE, Op.GIVE} & {Op(code) for code in set(program.codes)})


def load_recording(path: Path) -> tuple[Program, PoolConfig]:
    """A recorded Program and the size of the manager that it is for, checked to be whole.

    Every operation is held against the contract, and the end against the start. Raises
    ProgramError, which names the file.
    """
    program = Program.load(path)
    if not program.config:
        raise ProgramError(
            f"{path}: it does not say the size of its manager; only recordings can be run: "
            "make one with blockmark.recorder"
        )
    try:
        config = _config(program.config)
        _check_structure(program)
        if is_pool_program(program):
            _check_pool(program, config)
        else:
            _check_manager(program, config)
    except (TypeError, ValueError, IndexError, KeyError, BlockManagerError) as error:
        said = " ".join(str(error).split())
        raise ProgramError(f"{path}: not a program that can be replayed: {said}") from None
    return program, config


def _add_runs(builder: ProgramBuilder, words: NDArray[np.int64]) -> None:
    """Words between two marks as runs of one code each."""
    import numpy as np

    codes = words & MOST_CODE
    third = codes == OPERAND_C
    c = np.zeros(len(words), dtype=np.int64)
    c[:-1][third[1:]] = words[1:][third[1:]] >> B
    keep = ~third
    codes, c, words = codes[keep], c[keep], words[keep]
    if not len(words):
        return
    a, b = words >> A & MOST_A, words >> B
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for first, end in pairwise(edges):
        part = slice(first, end)
        builder.run(Op(int(codes[first])), a[part], b[part], c[part])


def _close(
    builder: ProgramBuilder,
    start: Mapping[int, int],
    before: NDArray[np.int64],
    noted: NDArray[np.int64],
    config: PoolConfig,
) -> None:
    """Off the clock: end what lives at the end, and bring back what lived after the set-up."""
    builder.step()
    builder.run(Op.FREE, sorted(_alive(start, noted)))
    again = ProgramBuilder()
    again.step()
    for seq, tokens in start.items():
        again.run(Op.ALLOCATE, seq, tokens)
    _add_runs(again, before)
    setup = again.build(units={})
    for _, code, a, b, c in setup.operations(0):
        builder.run(code, a, b, c)


def _alive(start: Mapping[int, int], noted: NDArray[np.int64]) -> set[int]:
    alive = set(start)
    for word in noted.tolist():
        code, a, b = word & MOST_CODE, word >> A & MOST_A, word >> B
        if code == Op.ALLOCATE:
            alive.add(a)
        elif code == Op.FORK:
            alive.add(b)
        elif code == Op.FREE:
            alive.discard(a)
    return alive


def _handouts(words: array[int]) -> tuple[list[list[tuple[Op, list[int]]]], list[int]]:
    """Steps of (code, handles), and the number of blocks behind each handle."""
    # First which call each block of each hand-out comes back in.
    calls: list[tuple[int, list[int]]] = []
    at = 0
    while at < len(words):
        word = words[at]
        code = word & MOST_CODE
        count = 0 if code == STEP else word >> B
        calls.append((code, list(words[at + 1 : at + 1 + count])))
        at += 1 + count
    if calls and calls[0][0] != STEP and calls[-1][0] == STEP:
        warnings.warn(_AT_THE_END, stacklevel=4)
        calls = [calls[-1], *calls[:-1]]
    out: dict[int, tuple[int, int]] = {}  # block -> number of its hand-out, place in it
    fate: dict[int, list[int]] = {}  # hand-out -> call in which each block comes back
    for number, (code, ids) in enumerate(calls):
        if code == Op.TAKE:
            fate[number] = [-1] * len(ids)
            for place, block in enumerate(ids):
                out[block] = number, place
        elif code == Op.GIVE:
            for block in ids:
                if (taken := out.pop(block, None)) is not None:
                    fate[taken[0]][taken[1]] = number
    shares: list[int] = []
    handles_of: dict[int, list[int]] = {}  # returning call -> handles
    steps: list[list[tuple[Op, list[int]]]] = []
    for number, (code, _) in enumerate(calls):
        if code == STEP:
            steps.append([])
        elif not steps:
            raise ValueError("operations were noted before the first step mark; call step() first")
        elif code == Op.TAKE:
            mine: dict[int, int] = {}
            for back in fate[number]:
                mine[back] = mine.get(back, 0) + 1
            handles = []
            for back, size in mine.items():
                handles.append(len(shares))
                handles_of.setdefault(back, []).append(len(shares))
                shares.append(size)
            steps[-1].append((Op.TAKE, handles))
        elif code == Op.GIVE:
            steps[-1].append((Op.GIVE, handles_of.get(number, [])))
    return steps, shares


def _config(sizes: Mapping[str, int]) -> PoolConfig:
    """The size of the recorded manager. Raises ValueError."""
    for name, value in sizes.items():
        if name not in _SIZES:
            raise ValueError(f"its manager has a size {name[:40]} that is not known")
        if not _SIZES[name][0] <= value <= _SIZES[name][1]:
            raise ValueError(
                f"{name} = {value} is not between {_SIZES[name][0]} and {_SIZES[name][1]}"
            )
    for name in _NEEDED_SIZES:
        if name not in sizes:
            raise ValueError(f"its manager has no {name}")
    config = PoolConfig(**sizes)
    if config.id_bits not in (16, 32, 64) or config.total_blocks > 1 << config.id_bits:
        raise ValueError(f"id_bits = {config.id_bits} can't number {config.total_blocks} blocks")
    return config


def _check_structure(program: Program) -> None:
    import numpy as np

    for name, last in (("run_start", len(program.a)), ("step_runs", len(program.codes))):
        edges = np.asarray(getattr(program, name))
        if not len(edges) or edges[0] != 0 or edges[-1] != last or (np.diff(edges) < 0).any():
            raise ValueError(f"its column {name} does not fit the others")
    if len(program.run_start) != len(program.codes) + 1:
        raise ValueError("its columns run_start and codes differ in length")
    if len(program.step_runs) != len(program.phases) + 1:
        raise ValueError("its columns step_runs and phases differ in length")
    if not len(program.a) == len(program.b) == len(program.c):
        raise ValueError("its columns a, b and c differ in length")
    if program.body_steps < 1:
        raise ValueError("it has no body")
    if not 1 <= program.period <= program.body_steps or program.probe > program.body_steps:
        raise ValueError("its period or its probe does not fit its body")
    if max(program.phases) > 2:
        raise ValueError("it has a phase above 2")


def _check_manager(program: Program, config: PoolConfig) -> None:
    oracle = Oracle(config)
    start: Any = None
    left = _MOST_MOVED + _MOVED_BY_ONE * program.num_operations
    for step in range(program.num_steps):
        if step == program.setup_steps:
            start = _state(oracle)
        for _, code, a, b, c in program.operations(step):
            seq = b if code is Op.FORK else a
            held = _blocks(oracle, seq)
            try:
                _do(oracle, config, code, a, b, c)
            except (BlockManagerError, ValueError) as error:
                raise ValueError(
                    f"step {step}, {METHODS[code]}({a}, {b}): {type(error).__name__}: {error}"
                ) from None
            left -= max(0, _blocks(oracle, seq) - held)
            if left < 0:
                raise ValueError(f"step {step}: it takes more blocks than so few operations do")
        oracle.released.clear()
    if _state(oracle) != start:
        raise ValueError("its end is not its start, so that it can't be replayed again and again")


def _do(oracle: Oracle, config: PoolConfig, code: Op, a: int, b: int, c: int) -> None:
    match code:
        case Op.PACK:
            if a not in oracle.tables:
                raise ValueError(f"sequence {a} has no table")
        case Op.FORK:
            _slot(config, b)
            oracle.fork(a, b, c or None)
        case Op.CAN_ALLOCATE:
            oracle.can_allocate(a)
        case Op.APPEND | Op.FREE:
            getattr(oracle, METHODS[code])(a)
        case _:
            _slot(config, a)
            getattr(oracle, METHODS[code])(a, b)


def _blocks(oracle: Oracle, seq: int) -> int:
    table = oracle.tables.get(seq)
    return len(table.blocks) if table else 0


def _slot(config: PoolConfig, seq: int) -> None:
    if not 0 <= seq < config.max_seqs:
        raise ValueError(f"there are {config.max_seqs} sequences, and none is number {seq}")


def _state(oracle: Oracle) -> list[tuple[int, int, int]]:
    return sorted((seq, table.tokens, len(table.blocks)) for seq, table in oracle.tables.items())


def _check_pool(program: Program, config: PoolConfig) -> None:
    held: dict[int, int] = {}
    out = 0
    for step in range(program.num_steps):
        for _, code, a, b, _ in program.operations(step):
            if code is Op.TAKE:
                if a in held or b < 1:
                    raise ValueError(f"step {step}, take({b}): hand-out {a} is out or empty")
                held[a] = b
                out += b
                if out > config.total_blocks:
                    raise ValueError(f"step {step}, take({b}): the pool has too few blocks")
            elif code is Op.GIVE:
                if a not in held:
                    raise ValueError(f"step {step}, give: hand-out {a} is not out")
                out -= held.pop(a)
            else:
                raise ValueError(f"step {step}: {METHODS[code]} among operations of a pool alone")
    if held:
        raise ValueError("its end is not its start, so that it can't be replayed again and again")
