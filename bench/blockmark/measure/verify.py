"""Proof before timing: an implementation replays a Program beside the oracle.

The same answers, the same errors, the same tables up to a renaming of physical ids,
the same ref counts and free count; and the order in which freed blocks come back, as
the implementation declares it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle import Oracle
from blockmark.workload.program import METHODS, Op, Program
from blockmark_impls.contract import BlockManagerError, Copy, missing_operations

from .reuse import ReuseOrderChecker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from blockmark_impls.contract import PoolConfig


class WrongAnswer(Exception):  # noqa: N818 - a finding, not a failure of this program
    """An implementation differs from the oracle; says at which step and operation."""


@dataclass(slots=True)
class Verified:
    """How much was compared."""

    operations: int = 0
    steps: int = 0


def describe(code: Op, a: int, b: int, c: int) -> str:
    """An operation as one would write the call."""
    match code:
        case Op.CAN_ALLOCATE:
            return f"can_allocate({a})"
        case Op.APPEND | Op.FREE | Op.PACK:
            return f"{METHODS[code]}({a})"
        case Op.FORK:
            return f"fork({a}, {b}, {c or None})"
        case _:
            return f"{METHODS[code]}({a}, {b})"


class Checker:
    """One manager beside its oracle."""

    def __init__(self, manager: Any, config: PoolConfig, reuse_order: str) -> None:
        self.manager = manager
        self.config = config
        usable = getattr(manager, "usable_blocks", config.total_blocks)
        self.oracle = Oracle(config, usable)
        self.physical: dict[int, int] = {}  # the oracle's block -> physical id
        self.holder: dict[int, int] = {}  # and back, for blocks in use
        self.reuse = ReuseOrderChecker(reuse_order, usable)
        self.done = Verified()

    def replay(self, program: Program, steps: Iterable[int], compare_every: int = 1) -> None:
        """Do the steps' operations one by one. Raises WrongAnswer."""
        for number, step in enumerate(steps):
            at, what = -1, "the state"
            try:
                for index, code, a, b, c in program.operations(step):
                    at, what = index, describe(code, a, b, c)
                    self.operation(code, a, b, c)
                    self.done.operations += 1
                what = "the state after it"
                if number % compare_every == 0:
                    self.compare_all()
            except MemoryError:
                raise
            except Exception as error:
                said = error if isinstance(error, WrongAnswer) else f"raised {error!r}"
                raise WrongAnswer(f"step {step}, operation {at}, {what}: {said}") from None
            self.done.steps += 1

    def operation(self, code: Op, a: int, b: int, c: int) -> None:
        """One operation on both sides, and what it changed."""
        oracle = self.oracle
        if code is Op.PACK:
            self._compare_packed([a])
            return
        expected, expected_error = _outcome(lambda: _call_oracle(oracle, code, a, b, c))
        got, got_error = _outcome(lambda: self._call(code, a, b, c))
        if type(expected_error) is not type(got_error):
            raise WrongAnswer(
                f"{_says(got, got_error)} where the contract says {_says(expected, expected_error)}"
            )
        if expected_error is not None:
            # After an error the state must be as before.
            self.compare_all()
            return
        self._collect_released()
        if code in _CHANGING:
            self.bind_table(b if code is Op.FORK else a, grown=code in _GROWING)
        self._compare_answer(code, expected, got)
        if self.manager.num_free_blocks != oracle.num_free_blocks:
            raise WrongAnswer(
                f"{self.manager.num_free_blocks} blocks are free; it should be "
                f"{oracle.num_free_blocks}"
            )

    def _call(self, code: Op, a: int, b: int, c: int) -> Any:
        manager = self.manager
        if code is Op.FORK:
            return manager.fork(a, b, c or None)
        method = getattr(manager, METHODS[code])
        return method(a) if code in _ONE_OPERAND else method(a, b)

    def _compare_answer(self, code: Op, expected: Any, got: Any) -> None:
        if code in (Op.APPEND, Op.EXTEND):
            wanted = _copies(expected)
            renamed = [Copy(self.physical[s], self.physical[d]) for s, d in wanted]
            if [tuple(copy) for copy in _copies(got)] != [tuple(copy) for copy in renamed]:
                raise WrongAnswer(f"returned {got!r}; it should name the copies {renamed!r}")
        elif code in (Op.LOOKUP, Op.LOOKUP_CHAIN):
            if got != self.physical[expected]:
                raise WrongAnswer(f"returned {got}; it should be {self.physical[expected]}")
        elif code is Op.CAN_ALLOCATE and bool(got) != expected:
            raise WrongAnswer(f"returned {got!r}; it should be {expected}")

    def bind_table(self, seq: int, *, grown: bool = False) -> None:
        """Learn the physical ids of a changed table, and compare the rest of it.

        Of a table that has only `grown`, nothing is asked for unless it has new blocks:
        decode appends to long tables all the time, and `compare_all` looks at all.
        """
        kept = self.oracle.tables[seq].kept
        if grown and kept[-1] in self.physical:
            return
        table = list(self.manager.block_table(seq))
        if len(table) != len(kept):
            raise WrongAnswer(f"sequence {seq} has {len(table)} blocks; it should have {len(kept)}")
        taken = []
        for ours, theirs in zip(kept, table, strict=True):
            known = self.physical.get(ours)
            if known is None:
                self._bind(seq, ours, theirs)
                taken.append(theirs)
            elif known != theirs:
                raise WrongAnswer(
                    f"block_table({seq}) names block {theirs} where block {known} should be"
                )
        if hasattr(self.manager, "lookup") and table:
            last = len(self.oracle.tables[seq].blocks) - 1
            if (got := self.manager.lookup(seq, last)) != table[-1]:
                raise WrongAnswer(f"lookup({seq}, {last}) is {got!r}, not {table[-1]}")
        self.reuse.taken(taken, WrongAnswer)

    def _bind(self, seq: int, ours: int, theirs: int) -> None:
        if not isinstance(theirs, int) or not 0 <= theirs < self.config.total_blocks:
            raise WrongAnswer(
                f"block_table({seq}) names {theirs!r}, which is no block of a pool of "
                f"{self.config.total_blocks}"
            )
        if theirs in self.holder:
            raise WrongAnswer(f"sequence {seq} was given block {theirs}, which is in use")
        self.physical[ours] = theirs
        self.holder[theirs] = ours

    def _collect_released(self) -> None:
        ids = [self.physical.pop(block) for block in self.oracle.released]
        self.oracle.released.clear()
        for physical in ids:
            del self.holder[physical]
        self.reuse.given(ids)

    def compare_all(self) -> None:
        """Every table, length, ref count and packed row, and the free count."""
        manager, oracle = self.manager, self.oracle
        if manager.num_free_blocks != oracle.num_free_blocks:
            raise WrongAnswer(
                f"{manager.num_free_blocks} blocks are free; it should be {oracle.num_free_blocks}"
            )
        for seq, table in oracle.tables.items():
            wanted = [self.physical[block] for block in table.kept]
            if (got := list(manager.block_table(seq))) != wanted:
                raise WrongAnswer(f"block_table({seq}) is {_short(got)}, not {_short(wanted)}")
            if hasattr(manager, "num_tokens") and manager.num_tokens(seq) != table.tokens:
                raise WrongAnswer(
                    f"num_tokens({seq}) is {manager.num_tokens(seq)!r}, not {table.tokens}"
                )
        if hasattr(manager, "ref_count"):
            for block, refs in oracle.ref_counts.items():
                if (got_refs := manager.ref_count(self.physical[block])) != refs:
                    raise WrongAnswer(
                        f"ref_count({self.physical[block]}) is {got_refs!r}, not {refs}"
                    )
        if hasattr(manager, "write_block_tables"):
            self._compare_packed(list(oracle.tables))

    def _compare_packed(self, seqs: list[int]) -> None:
        import numpy as np

        # One column more than is needed, so that a tail left dirty shows.
        width = max((len(self.oracle.tables[seq].blocks) for seq in seqs), default=0) + 1
        out = np.full((len(seqs), width), -7, dtype=np.int32)
        lengths = np.full(len(seqs), -7, dtype=np.int32)
        self.manager.write_block_tables(np.array(seqs, dtype=np.int32), out, lengths)
        for row, seq in enumerate(seqs):
            blocks = self.oracle.tables[seq].blocks
            wanted = [0 if block is None else self.physical[block] for block in blocks]
            wanted += [0] * (width - len(wanted))
            if out[row].tolist() != wanted or lengths[row] != len(blocks):
                raise WrongAnswer(
                    f"write_block_tables wrote {_short(out[row].tolist())} with length "
                    f"{lengths[row]} for sequence {seq}, not {_short(wanted)} with {len(blocks)}"
                )


_GROWING = {Op.APPEND, Op.EXTEND}
_CHANGING = {Op.ALLOCATE, Op.APPEND, Op.EXTEND, Op.TRUNCATE, Op.DROP_FRONT, Op.FORK}
_ONE_OPERAND = {Op.CAN_ALLOCATE, Op.APPEND, Op.FREE}


def _call_oracle(oracle: Oracle, code: Op, a: int, b: int, c: int) -> Any:
    if code is Op.FORK:
        return oracle.fork(a, b, c or None)
    method = getattr(oracle, METHODS[code])
    return method(a) if code in _ONE_OPERAND else method(a, b)


def _outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except (BlockManagerError, ValueError) as error:
        return None, error
    except Exception as error:  # whatever a user's class raises is its answer
        return None, error


def _says(answer: Any, error: Exception | None) -> str:
    return f"returned {answer!r}" if error is None else f"{type(error).__name__}({error})"


def _copies(answer: Any) -> list[Any]:
    if answer is None:
        return []
    return [answer] if isinstance(answer, tuple) and len(answer) == 2 else list(answer)


def _short(items: list[Any], most: int = 8) -> str:
    shown = ", ".join(map(str, items[:most]))
    return f"[{shown}{', ...' if len(items) > most else ''}]"


def lacking(manager: Any) -> frozenset[Op]:
    """Operation codes that a manager has no method for."""
    return frozenset(op for op, name in METHODS.items() if missing_operations(manager, [name]))


def check_state(manager: Any, config: PoolConfig, program: Program, steps: Iterable[int]) -> None:
    """That `manager`, which a replay drove, is where the oracle says it should be.

    Physical ids are learned from the tables: they must be distinct where the oracle's
    are, and equal where they are shared. Raises WrongAnswer.
    """
    checker = Checker(manager, config, "unspecified")
    for step in steps:
        for _, code, a, b, c in program.operations(step):
            _call_oracle(checker.oracle, code, a, b, c)
    checker.oracle.released.clear()
    for seq in checker.oracle.tables:
        checker.bind_table(seq)
    checker.compare_all()
