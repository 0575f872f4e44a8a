"""Proof before timing: an implementation replays a Program beside the oracle.

The same answers, the same errors, the same tables up to a renaming of physical ids,
the same ref counts and free count; and the order in which freed blocks come back, as
the implementation declares it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.calls import Call, call_of, calls_of
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.program import METHODS, Op, Program
from blockmark_impls.contract import Copy, missing_operations

from .packed_rows import packed_fault, shown
from .reuse import ReuseOrderChecker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from blockmark_impls.contract import PoolConfig

BATCHES = ("append_slots", "lookup_slots")


class WrongAnswer(Exception):  # noqa: N818 - a finding, not a failure of this program
    """An implementation differs from the oracle; says at which step and operation.

    `brief` is the call and the difference alone.
    """

    def __init__(self, text: str, brief: str = "") -> None:
        super().__init__(text)
        self.brief = brief or text


@dataclass(slots=True)
class Verified:
    """How much was compared."""

    operations: int = 0
    steps: int = 0

    def add(self, other: Verified) -> None:
        """Count another's work too."""
        self.operations += other.operations
        self.steps += other.steps


class Checker:
    """One manager beside its oracle.

    `thorough`, for small managers: batch operations are called where there are any, and
    what a table does not name is looked at too.
    """

    def __init__(
        self, manager: Any, config: PoolConfig, reuse_order: str, *, thorough: bool = False
    ) -> None:
        self.manager = manager
        self.config = config
        self.usable_blocks = getattr(manager, "usable_blocks", config.total_blocks)
        self.oracle = Oracle(config, self.usable_blocks)
        self.physical: dict[int, int] = {}  # the oracle's block -> physical id
        self.holder: dict[int, int] = {}  # and back, for blocks in use
        self.reuse = ReuseOrderChecker(reuse_order, self.usable_blocks)
        self.done = Verified()
        self.thorough = thorough
        self.batches = tuple(n for n in BATCHES if thorough and hasattr(manager, n))
        self._counts = hasattr(manager, "ref_count")
        self._packs = hasattr(manager, "write_block_tables")
        self._looks_up = hasattr(manager, "lookup")
        self._compared = 0

    def replay(self, program: Program, steps: Iterable[int], compare_every: int = 1) -> None:
        """Do the steps' operations one by one. Raises WrongAnswer."""
        for number, step in enumerate(steps):
            at, what = -1, "the state"
            try:
                for index, call in calls_of(program, step, self.batches):
                    at, what = index, str(call)
                    self.call(call)
                    self.done.operations += 1
                what = "the state after it"
                if number % compare_every == 0:
                    self.compare_all()
            except MemoryError:
                raise
            except Exception as error:
                brief = f"{what}: {said(error)}"
                raise WrongAnswer(f"step {step}, operation {at}, {brief}", brief) from None
            self.done.steps += 1

    def operation(self, code: Op, a: int, b: int, c: int) -> None:
        """One operation of a Program. Raises WrongAnswer."""
        self.call(call_of(code, a, b, c))

    def call(self, call: Call) -> None:
        """One call on both sides, and what it changed. Raises WrongAnswer."""
        if call.method == "write_block_tables":
            self._compare_packed(call.sequences, spare=1)
            return
        oracle = self.oracle
        expected, expected_error = _outcome(lambda: getattr(oracle, call.method)(*call.operands))
        got, got_error = _outcome(lambda: self._call(call))
        if type(expected_error) is not type(got_error):
            raise WrongAnswer(
                f"{_says(got, got_error)} where the contract says {_says(expected, expected_error)}"
            )
        if expected_error is not None:
            # After an error the state must be as before.
            self.compare_all()
            return
        self._collect_released()
        if call.method in _CHANGING:
            changed = call.sequences[1:] if call.method == "fork" else call.sequences
            grown = call.method in _GROWING
            self.reuse.taken(
                [block for seq in changed for block in self.bind_table(seq, grown=grown)],
                WrongAnswer,
            )
        self._compare_answer(call.method, expected, got)
        if self.manager.num_free_blocks != oracle.num_free_blocks:
            raise WrongAnswer(
                f"{self.manager.num_free_blocks} blocks are free; it should be "
                f"{oracle.num_free_blocks}"
            )

    def _call(self, call: Call) -> Any:
        method = getattr(self.manager, call.method)
        if call.method not in BATCHES:
            return method(*call.operands)
        import numpy as np

        arrays = [np.array(operand, dtype=np.int32) for operand in call.operands]
        if call.method == "append_slots":
            return method(*arrays)
        out = np.full(len(arrays[0]), -7, dtype=np.int32)
        method(*arrays, out)
        return out.tolist()

    def _compare_answer(self, method: str, expected: Any, got: Any) -> None:
        if method in _GROWING:
            wanted = _copies(expected)
            renamed = [Copy(self.physical[s], self.physical[d]) for s, d in wanted]
            if [tuple(copy) for copy in _copies(got)] != [tuple(copy) for copy in renamed]:
                raise WrongAnswer(f"returned {got!r}; it should name the copies {renamed!r}")
        elif method == "lookup":
            if got != self.physical[expected]:
                raise WrongAnswer(f"returned {got!r}; it should be {self.physical[expected]}")
        elif method == "lookup_slots":
            if got != (wanted := [self.physical[block] for block in expected]):
                raise WrongAnswer(f"wrote {shown(got)}; it should be {shown(wanted)}")
        elif method == "can_allocate" and bool(got) != expected:
            raise WrongAnswer(f"returned {got!r}; it should be {expected}")

    def bind_table(self, seq: int, *, grown: bool = False) -> list[int]:
        """Learn the physical ids of a changed table, compare the rest of it; the new ids.

        Of a table that has only `grown`, nothing is asked for unless it has new blocks:
        decode appends to long tables all the time, and `compare_all` looks at all.
        """
        kept = self.oracle.tables[seq].kept
        if grown and kept[-1] in self.physical:
            return []
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
        if self._looks_up and table:
            last = len(self.oracle.tables[seq].blocks) - 1
            if (got := self.manager.lookup(seq, last)) != table[-1]:
                raise WrongAnswer(f"lookup({seq}, {last}) is {got!r}, not {table[-1]}")
        return taken

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
                raise WrongAnswer(f"block_table({seq}) is {shown(got)}, not {shown(wanted)}")
            if hasattr(manager, "num_tokens") and manager.num_tokens(seq) != table.tokens:
                raise WrongAnswer(
                    f"num_tokens({seq}) is {manager.num_tokens(seq)!r}, not {table.tokens}"
                )
        if self._counts:
            for block, refs in oracle.ref_counts.items():
                self._compare_ref_count(self.physical[block], refs)
        self._compared += 1
        if self._packs:
            # Every other time without a spare column: then a long row has no tail to hide in.
            seqs = list(oracle.tables)
            self._compare_packed(seqs if self._compared % 2 else seqs[::-1], self._compared % 2)
        if self.thorough:
            self._compare_what_is_not()

    def _compare_ref_count(self, block: int, refs: int) -> None:
        if (got := self.manager.ref_count(block)) != refs:
            raise WrongAnswer(f"ref_count({block}) is {got!r}, not {refs}")

    def _compare_what_is_not(self) -> None:
        """Blocks that are free again have no ref count; rows that don't fit are refused."""
        if self._counts:
            for block in self.reuse.free_again:
                self._compare_ref_count(block, 0)
        if not self._packs:
            return
        widest = max((len(table.blocks) for table in self.oracle.tables.values()), default=0)
        if widest > 1:
            rows = [(seq, ()) for seq in self.oracle.tables]
            _, error = _outcome(lambda: packed_fault(self.manager, rows, widest - 1))
            if type(error) is not ValueError:
                raise WrongAnswer(
                    f"write_block_tables with rows of {widest - 1} for a table of {widest} "
                    f"blocks {_says('', error) if error else 'raised nothing'} where the "
                    "contract says ValueError"
                )

    def _compare_packed(self, seqs: list[int], spare: int) -> None:
        rows = []
        for seq in seqs:
            blocks = self.oracle.tables[seq].blocks
            rows.append((seq, [0 if b is None else self.physical[b] for b in blocks]))
        width = max((len(row) for _, row in rows), default=0) + spare
        if fault := packed_fault(self.manager, rows, width):
            raise WrongAnswer(fault)


_GROWING = {"append_slot", "append_slots", "extend"}
_CHANGING = {*_GROWING, "allocate", "truncate", "drop_front", "fork"}


def _outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except MemoryError:
        raise
    except Exception as error:  # whatever a user's class raises is its answer
        return None, error


def _says(answer: Any, error: Exception | None) -> str:
    return f"returned {answer!r}" if error is None else f"{type(error).__name__}({error})"


def said(error: Exception) -> str:
    """A difference in its own words; any other error as what was raised."""
    return str(error) if isinstance(error, WrongAnswer) else f"raised {error!r}"


def _copies(answer: Any) -> list[Any]:
    if answer is None:
        return []
    return [answer] if isinstance(answer, tuple) and len(answer) == 2 else list(answer)


def lacking(manager: Any) -> frozenset[Op]:
    """Operation codes that a manager has no method for."""
    return frozenset(op for op, name in METHODS.items() if missing_operations(manager, [name]))


def check_state(manager: Any, config: PoolConfig, program: Program, steps: Iterable[int]) -> None:
    """That `manager`, which a replay drove, is where the oracle says it should be.

    Physical ids are learned from the tables: they must be distinct where the oracle's
    are, and equal where they are shared. Raises WrongAnswer.
    """
    checker = Checker(manager, config, "unspecified")
    oracle = checker.oracle
    for step in steps:
        for _, call in calls_of(program, step):
            if call.method != "write_block_tables":
                getattr(oracle, call.method)(*call.operands)
    oracle.released.clear()
    for seq in oracle.tables:
        checker.bind_table(seq)
    checker.compare_all()
