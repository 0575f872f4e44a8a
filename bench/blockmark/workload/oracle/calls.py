"""Calls as one would write them: what a checker makes, and what it prints.

A Program's columns are for speed; a person reads `fork(0, 1, None)`. A run of several
appends or lookups becomes one call of `append_slots` or `lookup_slots` where a manager
has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..program import METHODS, Op, Program, ProgramBuilder

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

Operand = int | None | tuple[int, ...]

# Where a call's operands are sequences.
SEQUENCES = {
    "allocate": (0,),
    "append_slot": (0,),
    "append_slots": (0,),
    "extend": (0,),
    "truncate": (0,),
    "drop_front": (0,),
    "fork": (0, 1),
    "free": (0,),
    "lookup": (0,),
    "lookup_slots": (0,),
    "write_block_tables": (0,),
}
_ONE_OPERAND = {Op.CAN_ALLOCATE, Op.APPEND, Op.FREE}
_BATCHES = {Op.APPEND: "append_slots", Op.LOOKUP: "lookup_slots"}


@dataclass(frozen=True, slots=True)
class Call:
    """A method of a manager and its operands; a tuple stands for an array."""

    method: str
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        shown = (list(x) if isinstance(x, tuple) else x for x in self.operands)
        return f"{self.method}({', '.join(map(str, shown))})"

    @property
    def sequences(self) -> list[int]:
        """The sequences that it names, each once."""
        named: dict[int, None] = {}
        for place in SEQUENCES.get(self.method, ()):
            operand = self.operands[place]
            if operand is not None:
                named.update(dict.fromkeys(operand if isinstance(operand, tuple) else (operand,)))
        return list(named)


def call_of(code: Op, a: int, b: int, c: int) -> Call:
    """One operation of a Program as a call."""
    if code in _ONE_OPERAND:
        return Call(METHODS[code], (a,))
    if code is Op.FORK:
        return Call("fork", (a, b, c or None))
    if code is Op.PACK:
        return Call(METHODS[code], ((a,),))
    return Call(METHODS[code], (a, b))


def calls_of(
    program: Program, step: int, batches: Container[str] = ()
) -> Iterator[tuple[int, Call]]:
    """(index of its first operation, call) for a step; runs of the methods in `batches` whole."""
    for code, first, end in program.runs(step):
        yield from calls_of_run(program, code, first, end, batches)


def calls_of_run(
    program: Program, code: Op, first: int, end: int, batches: Container[str] = ()
) -> Iterator[tuple[int, Call]]:
    """The same for one run of a step."""
    if code is Op.PACK:
        yield first, Call(METHODS[code], (tuple(program.a[first:end]),))
        return
    if end - first > 1 and _BATCHES.get(code) in batches:
        columns = [tuple(program.a[first:end])]
        if code is Op.LOOKUP:
            columns.append(tuple(program.b[first:end]))
        yield first, Call(_BATCHES[code], tuple(columns))
        return
    for i in range(first, end):
        yield i, call_of(code, program.a[i], program.b[i], program.c[i])


def renumbered(calls: Iterable[Call]) -> list[Call]:
    """The same calls with the sequences named 0, 1, ... as they come."""
    names: dict[int, int] = {}

    def named(operand: Operand) -> Operand:
        if isinstance(operand, tuple):
            return tuple(names.setdefault(seq, len(names)) for seq in operand)
        return operand if operand is None else names.setdefault(operand, len(names))

    return [
        Call(
            call.method,
            tuple(
                named(operand) if place in SEQUENCES.get(call.method, ()) else operand
                for place, operand in enumerate(call.operands)
            ),
        )
        for call in calls
    ]


_CODES = {name: code for code, name in METHODS.items() if code is not Op.LOOKUP_CHAIN}


def program_of(calls: Sequence[Call], width: int) -> Program:
    """A Program of these calls, each a step of phase 1; batches as runs.

    `width`: columns of a packed row.
    """
    builder = ProgramBuilder()
    for call in calls:
        builder.step(phase=1)
        if call.method == "append_slots":
            builder.run(Op.APPEND, call.operands[0])
        elif call.method == "lookup_slots":
            builder.run(Op.LOOKUP, *call.operands)
        elif call.method == "write_block_tables":
            builder.run(Op.PACK, call.operands[0])
        else:
            a, b, c = (*(operand or 0 for operand in call.operands), 0, 0)[:3]
            builder.run(_CODES[call.method], a, b, c)
    return builder.build(units={1: 1.0}, width=width)
