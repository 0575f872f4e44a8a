"""One request's life, played alone on the oracle and written down step by step.

A stationary load is many requests that live the same kind of life, each at another
point of it (steady.py). Requests share no blocks with each other, so what one does to
the pool can be found out alone, exactly, and added up.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from blockmark_impls.contract import PoolConfig

from .oracle.model import Oracle, Table
from .program import METHODS, Op

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .scenario import Cell

# Whether the blocks of all requests fit the pool is found out when they are added up.
_ENDLESS = 1 << 40
_ONE_OPERAND = (Op.CAN_ALLOCATE, Op.APPEND, Op.FREE)
_GROWING = (Op.ALLOCATE, Op.APPEND, Op.EXTEND)
Operation = tuple[Op, int, int, int]

# What is counted of each step of a life.
COUNTS = (
    "in_use",  # blocks that the request names after the step
    "high",  # the most that it names at once, after what the step frees first
    "taken",  # blocks taken from the pool, copies included
    "copies",
    "dropped",  # blocks given back by drop_front
    "truncated",  # blocks given back by truncate
    "entries",  # entries of its live tables
    "shared",  # those of them whose block has a ref count above one
    "forked",  # entries that forks have filled
    "running",  # live sequences
)


class Column(NamedTuple):
    """The operations of one code: those of age n lie from `start[n - 1]` to `start[n]`."""

    start: array[int]
    a: array[int]
    b: array[int]
    c: array[int]


@dataclass(frozen=True, slots=True)
class Life:
    """A whole life of `steps` steps; age n is the state after the n-th of them.

    `columns` has the operations by code, with the request's own slots 0, 1, ...; the
    first step begins with the FREEs of whoever lived in the slots before. `counts` has a
    list [steps] for each of COUNTS, `tables` the tables at the ages that were asked for.
    """

    steps: int
    columns: dict[Op, Column]
    counts: dict[str, list[int]]
    tables: dict[int, dict[int, Table]]


@dataclass(slots=True)
class Recorder:
    """Plays a request on an oracle of its own.

    In every step operations come in the order of `stages`: an engine does each for the
    whole batch before it does the next. `keep` are the ages to remember the tables of.
    """

    cell: Cell
    slots: int
    stages: tuple[Op, ...]
    keep: frozenset[int] = frozenset()
    oracle: Oracle = field(init=False)
    _columns: dict[Op, Column] = field(init=False)
    _counts: dict[str, list[int]] = field(init=False)
    _now: dict[str, int] = field(init=False)
    _tables: dict[int, dict[int, Table]] = field(init=False)
    _stage: int = field(init=False, default=0)
    _age: int = field(init=False, default=0)
    _sharing: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        config = PoolConfig(
            total_blocks=_ENDLESS,
            block_size=self.cell["block_size"],
            max_seqs=self.slots,
            max_blocks_per_seq=self.cell["max_blocks_per_seq"],
        )
        self.oracle = Oracle(config)
        self._columns = {
            code: Column(array("q", [0]), array("i"), array("i"), array("i"))
            for code in self.stages
        }
        self._counts = {name: [] for name in COUNTS}
        self._now = dict.fromkeys(COUNTS, 0)
        self._tables = {}

    def step(self) -> None:
        """Begin the next step."""
        if self._age:
            self._close()
        self._age += 1
        self._stage = 0
        self._now = dict.fromkeys(COUNTS, 0)
        self._now["high"] = len(self.oracle.ref_counts)

    def do(self, code: Op, a: int, b: int = 0, c: int = 0) -> None:
        """One operation, which must succeed."""
        stage = self.stages.index(code)
        assert stage >= self._stage, f"{code.name} comes too late in a step"
        self._stage = stage
        column = self._columns[code]
        column.a.append(a)
        column.b.append(b)
        column.c.append(c)
        if code in (Op.LOOKUP, Op.CAN_ALLOCATE):
            return
        now, oracle = self._now, self.oracle
        before = len(oracle.ref_counts)
        if code is Op.FORK:
            oracle.fork(a, b, c or None)
            now["forked"] += len(oracle.tables[b].kept)
            self._sharing = True
            return
        method = getattr(oracle, METHODS[code])
        answer = method(a) if code in _ONE_OPERAND else method(a, b)
        after = len(oracle.ref_counts)
        if code in _GROWING:
            now["taken"] += after - before
            now["copies"] += len(answer) if code is Op.EXTEND else answer is not None
            now["high"] = max(now["high"], after)
        elif code is Op.FREE:
            now["high"] = after
        elif code is Op.DROP_FRONT:
            now["dropped"] += before - after
        elif code is Op.TRUNCATE:
            now["truncated"] += before - after

    def finish(self) -> Life:
        """The life as played. Its last sequences are freed when another takes over."""
        ended = sorted(self.oracle.tables)
        self._close()
        frees = self._columns[Op.FREE]
        assert frees.start[1] == 0, "the first step of a life frees nothing of its own"
        start = [0, *(place + len(ended) for place in frees.start[1:])]
        zeros = [0] * (len(ended) + len(frees.a))
        self._columns[Op.FREE] = Column(
            array("q", start), array("i", ended) + frees.a, array("i", zeros), array("i", zeros)
        )
        return Life(self._age, self._columns, self._counts, self._tables)

    def _close(self) -> None:
        now, refs = self._now, self.oracle.ref_counts
        now["in_use"] = len(refs)
        now["entries"] = sum(refs.values()) if self._sharing else len(refs)
        if self._sharing:
            now["shared"] = now["entries"] - list(refs.values()).count(1)
        now["running"] = len(self.oracle.tables)
        for name, counted in self._counts.items():
            counted.append(now[name])
        for column in self._columns.values():
            column.start.append(len(column.a))
        self.oracle.released.clear()
        if self._age in self.keep:
            self._tables[self._age] = {
                seq: Table(table.tokens, list(table.blocks), table.first_kept)
                for seq, table in sorted(self.oracle.tables.items())
            }


def rebuild(tables: dict[int, Table], block_size: int, spare: int) -> Iterator[Operation]:
    """The fewest operations that make `tables`, with every block shared as it is there.

    Between steps sequences share only full blocks from the front (whoever wrote into a
    shared one has made a copy), so each is a prefix of an earlier one and a rest of its
    own. A sequence with a dropped front is grown in pieces, so that at no time it names
    more than `spare` blocks beyond those it keeps.
    """
    done: dict[int, Table] = {}
    for seq, table in tables.items():
        if table.first_kept:
            yield from _grow_behind(seq, table, block_size, max(1, spare))
            continue
        common = {other: _common(table.blocks, done[other].blocks) for other in done}
        parent = max(common, key=lambda other: common[other], default=None)
        done[seq] = table
        if parent is None or not common[parent]:
            yield Op.ALLOCATE, seq, table.tokens, 0
            continue
        shared = common[parent]
        assert shared * block_size <= min(table.tokens, done[parent].tokens)
        yield Op.FORK, parent, seq, shared
        if rest := table.tokens - shared * block_size:
            yield Op.EXTEND, seq, rest, 0


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many blocks from the front are the same."""
    length = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        length += 1
    return length


def _grow_behind(seq: int, table: Table, block_size: int, spare: int) -> Iterator[Operation]:
    blocks, dropped = len(table.blocks), table.first_kept
    kept = blocks - dropped
    end = min(blocks, kept + spare)
    tokens = min(table.tokens, end * block_size)
    yield Op.ALLOCATE, seq, tokens, 0
    while True:
        yield Op.DROP_FRONT, seq, end - kept, 0
        if end == blocks:
            return
        end = min(blocks, end + spare)
        grown = min(table.tokens, end * block_size)
        yield Op.EXTEND, seq, grown - tokens, 0
        tokens = grown
