"""A load that packs: after each step the scheduled rows are written for a kernel.

An engine hands a kernel the tables of the sequences that it scheduled, which are the ones
that the step looked up. The transformation changes nothing of the steps themselves.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from .program import Op, Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


def with_packing(program: Program) -> Program:
    """The same Program with a step of phase 2 after each body step of phase 1 that looks up.

    The new step has one PACK run: the sequences that were looked up and are still there,
    each once, in the order in which they were first looked up. `width` stays, so it must be
    that of a whole row. `units` of phase 2 are the packings of a period.
    """
    import numpy as np

    columns = {name: np.frombuffer(getattr(program, name), dtype=np.int32) for name in "abc"}
    codes, run_start, step_runs, phases = array("B"), array("q", [0]), array("q", [0]), array("B")
    parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in columns}
    new_steps = [0]  # of the body, before each of its steps and after the last

    def run(code: int, *operands: NDArray[np.int32]) -> None:
        codes.append(code)
        run_start.append(run_start[-1] + len(operands[0]))
        for part, operand in zip(parts.values(), operands, strict=True):
            part.append(operand)

    for step in range(program.num_steps):
        for code, first, end in program.runs(step):
            run(code, *(column[first:end] for column in columns.values()))
        step_runs.append(len(codes))
        phases.append(program.phases[step])
        if step < program.setup_steps:
            continue
        rows = _scheduled(program, columns["a"], step) if program.phases[step] == 1 else []
        if len(rows):
            nothing = np.zeros(len(rows), dtype=np.int32)
            run(Op.PACK, np.asarray(rows, dtype=np.int32), nothing, nothing)
            step_runs.append(len(codes))
            phases.append(2)
        new_steps.append(len(phases) - program.setup_steps)
    period, units = _periods(program, new_steps)
    return Program(
        codes=memoryview(codes),
        run_start=memoryview(run_start),
        a=_joined(parts["a"]),
        b=_joined(parts["b"]),
        c=_joined(parts["c"]),
        step_runs=memoryview(step_runs),
        phases=memoryview(phases),
        setup_steps=program.setup_steps,
        period=period,
        units=units,
        width=program.width,
        probe=new_steps[program.probe],
        config=program.config,
    )


def packed_bytes(program: Program) -> int:
    """Bytes of int32 rows that a step of phase 1 has packed after it, on average."""
    rows = steps = 0
    for step in range(program.setup_steps, program.num_steps):
        steps += program.phases[step] == 1
        if program.phases[step] == 2:
            rows += sum(end - first for code, first, end in program.runs(step) if code is Op.PACK)
    return round(rows / steps * program.width * 4) if steps else 0


def _scheduled(program: Program, a: NDArray[np.int32], step: int) -> list[int]:
    """Sequences that the step looks up and does not free afterwards, by first lookup."""
    rows: dict[int, None] = {}
    for code, first, end in program.runs(step):
        if code is Op.LOOKUP:
            rows |= dict.fromkeys(a[first:end].tolist())
        elif code is Op.FREE:
            for seq in a[first:end].tolist():
                rows.pop(seq, None)
    return list(rows)


def _periods(program: Program, new_steps: list[int]) -> tuple[int, dict[int, float]]:
    """(period, units) of the new program; the whole body where periods come to differ."""
    old, body = program.period, program.body_steps
    lengths = {new_steps[first + old] - new_steps[first] for first in range(0, body - old + 1, old)}
    old = old if body % old == 0 and len(lengths) == 1 else body
    period = new_steps[old]
    units = {phase: units * old / program.period for phase, units in program.units.items()}
    if period > old:
        units[2] = float(period - old)
    return period, units


def _joined(parts: list[NDArray[np.int32]]) -> memoryview:
    import numpy as np

    joined: NDArray[np.int32] = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    return joined.data


def modelled_transfer_ns(copies: float, sent_bytes: float, params: Mapping[str, Any]) -> float:
    """copies x copy_call_ns + bytes / copy_bandwidth: a model, nothing is sent.

    One GB/s is one byte in a ns.
    """
    return float(copies * params["copy_call_ns"] + sent_bytes / params["copy_bandwidth"])
