"""A Program: the deterministic list of operations that every implementation replays.

All decisions are in it before a clock starts, so implementations differ in
nothing but the structure. It is kept as columns, not as objects: the native core
streams them, and a measured process maps the file without importing NumPy.

Operations come in *runs* (consecutive ones of one code), runs in *steps* (one
scheduler iteration). A step's *phase* says which clock its time goes to: 0 is
never timed, 1 and 2 are two separate sums. The first `setup_steps` steps bring a
manager to the starting state; the rest is the *body*, which is cyclic: after its
last step the state is as before its first, up to the names of physical blocks.
Every `period` steps of the body do the same number of each operation, so blocks
of whole periods can be compared with each other.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_FORMAT = 1
_MAGIC = b"blockmark program %d\n" % _FORMAT
_ALIGN = 64


class Op(IntEnum):
    """Operation codes, with their operands; the native replay has the same numbers."""

    CAN_ALLOCATE = 0  # a = blocks
    ALLOCATE = 1  # a = seq, b = tokens
    APPEND = 2  # a = seq
    EXTEND = 3  # a = seq, b = tokens
    TRUNCATE = 4  # a = seq, b = tokens
    DROP_FRONT = 5  # a = seq, b = blocks
    FORK = 6  # a = parent, b = child, c = blocks (0 = the whole table)
    FREE = 7  # a = seq
    LOOKUP = 8  # a = seq, b = logical block
    LOOKUP_CHAIN = 9  # the same, its address made to depend on the last answer
    PACK = 10  # a = seq; the whole run is one write_block_tables call
    TAKE = 11  # a = handle, b = blocks; programs for a pool alone
    GIVE = 12  # a = handle
    REMOVE = 13  # a = handle, b = blocks: those that it held last, out of the free ones
    FIND = 14  # a = blocks side by side, b = free blocks: the most that there is to look at
    COMPACT = 15  # a = blocks at the top of the pool that are to be free, b = free blocks


# The method that serves each operation code.
METHODS = {
    Op.CAN_ALLOCATE: "can_allocate",
    Op.ALLOCATE: "allocate",
    Op.APPEND: "append_slot",
    Op.EXTEND: "extend",
    Op.TRUNCATE: "truncate",
    Op.DROP_FRONT: "drop_front",
    Op.FORK: "fork",
    Op.FREE: "free",
    Op.LOOKUP: "lookup",
    Op.LOOKUP_CHAIN: "lookup",
    Op.PACK: "write_block_tables",
    Op.TAKE: "take",
    Op.GIVE: "give",
    Op.REMOVE: "remove",
    Op.FIND: "find_contiguous",
    Op.COMPACT: "plan_compaction",
}


# What a pool may lack; the core refuses a program that holds what its target does not serve.
FREE_SPACE = (Op.REMOVE, Op.FIND, Op.COMPACT)


class ProgramError(ValueError):
    """A program file that cannot be used; one line, naming the file."""


# Column name -> (array typecode, bytes an item).
_COLUMNS: dict[str, tuple[Literal["B", "q", "i"], int]] = {
    "codes": ("B", 1),
    "run_start": ("q", 8),
    "a": ("i", 4),
    "b": ("i", 4),
    "c": ("i", 4),
    "step_runs": ("q", 8),
    "phases": ("B", 1),
}


@dataclass(frozen=True, slots=True)
class Program:
    """Columns as flat buffers (see the module's text), and what they mean.

    `codes` uint8 [R], `run_start` int64 [R+1], `a b c` int32 [N],
    `step_runs` int64 [S+1], `phases` uint8 [S]. `units` maps a phase to the number
    of things that one period does in it: what a time is divided by. `width` is the
    number of columns that a PACK writes. After `probe` steps of the body the tables are
    typical of the load: there one may look at them. `config` is the size of the manager that
    a recorded one is for, by the names of PoolConfig; empty where a cell says it.
    """

    codes: memoryview
    run_start: memoryview
    a: memoryview
    b: memoryview
    c: memoryview
    step_runs: memoryview
    phases: memoryview
    setup_steps: int
    period: int
    units: dict[int, float] = field(default_factory=dict)
    width: int = 0
    probe: int = 0
    config: dict[str, int] = field(default_factory=dict)

    @property
    def num_steps(self) -> int:
        """Steps in all, set-up included."""
        return len(self.phases)

    @property
    def body_steps(self) -> int:
        """Steps of the cyclic body."""
        return len(self.phases) - self.setup_steps

    def steps_with(self, operations: int) -> int:
        """Steps from the first on, set-up included, with at least so many body operations."""
        step = self.setup_steps
        first = self.run_start[self.step_runs[step]]
        while step < self.num_steps:
            step += 1
            if self.run_start[self.step_runs[step]] - first >= operations:
                break
        return step

    def work_in(self, steps: int) -> int:
        """Operations in the body's first `steps` steps, at least 1.

        Packing a row is one for each column, a look through a pool one for each free block, and
        a period has at least as many as it has units.
        """
        first = self.setup_steps
        runs = range(self.step_runs[first], self.step_runs[first + steps])
        done = sum(self._work_of(run) for run in runs)
        if steps == self.period:
            done = max(done, round(sum(self.units.values())))
        return max(1, done)

    def _work_of(self, run: int) -> int:
        first, end = self.run_start[run], self.run_start[run + 1]
        code = self.codes[run]
        if code in (Op.FIND, Op.COMPACT):
            return sum(max(1, blocks) for blocks in self.b[first:end])
        return (end - first) * (max(1, self.width) if code == Op.PACK else 1)

    def turn_of(self, work: int) -> int:
        """Steps of about so much work: whole periods, and a turn of the body at most."""
        periods = max(1, work // self.work_in(self.period))
        return min(self.body_steps, periods * self.period)

    @property
    def num_operations(self) -> int:
        """Operations in all, set-up included."""
        return len(self.a)

    def runs(self, step: int) -> Iterator[tuple[Op, int, int]]:
        """(code, first operation, end) of each run of a step."""
        for run in range(self.step_runs[step], self.step_runs[step + 1]):
            yield Op(self.codes[run]), self.run_start[run], self.run_start[run + 1]

    def operations(self, step: int) -> Iterator[tuple[int, Op, int, int, int]]:
        """(index, code, a, b, c) of each operation of a step, in order."""
        for code, first, end in self.runs(step):
            for i in range(first, end):
                yield i, code, self.a[i], self.b[i], self.c[i]

    def counts_per_step(self) -> dict[str, float]:
        """Operations of each kind in a step of the body, on average."""
        totals: dict[Op, int] = {}
        for step in range(self.setup_steps, self.num_steps):
            for code, first, end in self.runs(step):
                totals[code] = totals.get(code, 0) + end - first
        return {
            code.name.lower(): totals[code] / self.body_steps for code in sorted(totals, key=int)
        }

    def digest(self) -> str:
        """Sixteen hex digits that change when any operation does."""
        state = hashlib.sha256()
        for name in _COLUMNS:
            state.update(getattr(self, name))
        state.update(f"{self.setup_steps} {self.period} {self.width}".encode())
        return state.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write the program: a magic line, a JSON header, then aligned columns."""
        offset = 0
        header: dict[str, Any] = {
            "setup_steps": self.setup_steps,
            "period": self.period,
            "units": {str(k): v for k, v in self.units.items()},
            "width": self.width,
            "probe": self.probe,
            "config": self.config,
            "columns": {},
        }
        for name, (_, size) in _COLUMNS.items():
            length = len(getattr(self, name))
            header["columns"][name] = [offset, length]
            offset += -(-length * size // _ALIGN) * _ALIGN
        text = json.dumps(header).encode() + b"\n"
        pad = -(len(_MAGIC) + 8 + len(text)) % _ALIGN
        with path.open("wb") as file:
            file.write(_MAGIC)
            file.write(b"%07d\n" % (len(text) + pad))
            file.write(text[:-1] + b" " * pad + b"\n")
            for name in _COLUMNS:
                data = bytes(getattr(self, name))
                file.write(data + b"\0" * (-len(data) % _ALIGN))

    @classmethod
    def load(cls, path: Path) -> Program:
        """Map a saved program. Raises ProgramError for anything that is not one."""
        try:
            if not path.is_file():  # a pipe would be waited for
                raise ValueError("not a regular file" if path.exists() else "No such file")
            with path.open("rb") as file:
                view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise ProgramError(f"{path}: cannot be read as a program: {error}") from None
        start = len(_MAGIC) + 8
        magic = bytes(view[: len(_MAGIC)])
        if magic != _MAGIC:
            family = _MAGIC.rstrip(b"0123456789\n")
            if magic.startswith(family):
                version = magic[len(family) :].split(b"\n")[0].decode("ascii", "replace")
                raise ProgramError(
                    f"{path}: a program of format {version}; this version of blockmark reads "
                    f"format {_FORMAT}: record it again, or use the version that wrote it"
                )
            raise ProgramError(f"{path}: not a blockmark program")
        try:
            size = int(bytes(view[len(_MAGIC) : start]))
            header = json.loads(bytes(view[start : start + max(0, size)]))
            columns: dict[str, memoryview] = {}
            for name, (typecode, width) in _COLUMNS.items():
                offset, length = (_whole(name, number) for number in header["columns"][name])
                first = start + size + offset
                column = view[first : first + length * width].cast(typecode)
                if len(column) != length:
                    raise ProgramError(f"{path}: the program is cut short in column {name}")
                columns[name] = column
            return cls(
                **columns,
                setup_steps=_whole("setup_steps", header["setup_steps"]),
                period=_whole("period", header["period"]),
                width=_whole("width", header["width"]),
                probe=_whole("probe", header["probe"]),
                units={int(phase): _unit(phase, count) for phase, count in header["units"].items()},
                config={
                    str(name): _whole(name, size) for name, size in header.get("config", {}).items()
                },
            )
        except ProgramError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ProgramError(f"{path}: the program's header is damaged: {said}") from None


def _whole(name: str, value: Any) -> int:
    """A number of the header, of at most 31 bits: what is larger fits no column."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ValueError(f"{str(name)[:40]} must be a whole number from 0 to 2^31 - 1")
    return value


def _unit(phase: str, value: Any) -> float:
    if phase not in ("0", "1", "2"):
        raise ValueError(f"units has no phase {str(phase)[:40]}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1 << 62:
        raise ValueError(f"units: phase {phase} must be a positive number")
    return float(value)


class ProgramBuilder:
    """Collects steps and runs into a Program."""

    def __init__(self) -> None:
        self._codes = array("B")
        self._run_start = array("q", [0])
        self._columns = {"a": array("i"), "b": array("i"), "c": array("i")}
        self._step_runs = array("q", [0])
        self._phases = array("B")
        self._setup_steps = 0

    @property
    def num_steps(self) -> int:
        """Steps begun so far."""
        return len(self._phases)

    def step(self, phase: int = 0) -> None:
        """Begin a step whose time goes to `phase`."""
        if self._phases:
            self._step_runs.append(len(self._codes))
        self._phases.append(phase)

    def end_setup(self) -> None:
        """Everything so far is set-up; the body begins with the next step."""
        self._setup_steps = len(self._phases)

    def run(self, code: Op, a: Any, b: Any = 0, c: Any = 0) -> None:
        """Add a run: `a` an int or a sequence (a NumPy int32 array is quickest).

        `b` and `c` are scalars, which hold for the whole run, or of the length of
        `a`. An empty run is left out.
        """
        length = 1 if isinstance(a, int) else len(a)
        if length == 0:
            return
        for name, value in (("a", a), ("b", b), ("c", c)):
            column = self._columns[name]
            if isinstance(value, int):
                column.extend([value] * length)
            elif hasattr(value, "astype"):
                column.frombytes(value.astype("int32").tobytes())
            else:
                column.extend(value)
        self._codes.append(code)
        self._run_start.append(len(self._columns["a"]))

    def operations(self, items: Iterable[tuple[Op, int, int, int]]) -> None:
        """Add single operations, each a run of its own."""
        for code, a, b, c in items:
            self.run(code, a, b, c)

    def build(
        self,
        *,
        period: int = 1,
        units: dict[int, float],
        width: int = 0,
        probe: int = 0,
        config: dict[str, int] | None = None,
    ) -> Program:
        """The finished Program. `period` in steps; the rest as in Program."""
        self._step_runs.append(len(self._codes))
        return Program(
            codes=memoryview(self._codes),
            run_start=memoryview(self._run_start),
            a=memoryview(self._columns["a"]),
            b=memoryview(self._columns["b"]),
            c=memoryview(self._columns["c"]),
            step_runs=memoryview(self._step_runs),
            phases=memoryview(self._phases),
            setup_steps=self._setup_steps,
            period=period,
            units=units,
            width=width,
            probe=probe,
            config=config or {},
        )
