"""One manager beside the oracle: call by call the same answers, the same errors, the same
tables up to a renaming of physical ids, the same ref counts and free count; and the order in
which freed blocks come back, as the manager declares it.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.calls import Call, call_of, calls_of
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.oracle.numbers import around
from blockmark.workload.program import Op, Program
from blockmark_impls.contract import Copy, UnknownSequence

from .packed_rows import Arrays, packed_fault, refused_fault, shown
from .reuse import ReuseOrderChecker
from .wrong import WrongAnswer, located, outcome, says

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from blockmark_impls.contract import PoolConfig

BATCHES = ("append_slots", "lookup_slots")
# All is compared where no more than so many tables and blocks are in use.
_SMALL_TABLES, _SMALL_BLOCKS = 12, 200
# Of a large manager a look compares what was touched, and so many others.
_OTHERS, _MOST_TOUCHED, _MOST_ENTRIES, _MOST_CELLS = 3, 24, 2_000, 40_000
_MOST_ROWS, _ASKED_FOR_BYTES = 300, 16.0
_SCRIBBLE = -77


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
    """One manager beside its oracle. Its own choices of where to look are drawn from `seed`."""

    def __init__(self, manager: Any, config: PoolConfig, reuse_order: str, seed: int = 0) -> None:
        self.manager = manager
        self.config = config
        self.usable_blocks = getattr(manager, "usable_blocks", config.total_blocks)
        self.oracle = Oracle(config, self.usable_blocks)
        self.physical: dict[int, int] = {}  # the oracle's block -> physical id
        self.holder: dict[int, int] = {}  # and back, for blocks in use
        self.reuse = ReuseOrderChecker(reuse_order, self.usable_blocks)
        self.done = Verified()
        self.batches = tuple(n for n in BATCHES if hasattr(manager, n))
        self._has = frozenset(n for n in _READS if hasattr(manager, n))
        self.seed = seed
        self._rng = random.Random(seed)
        self._arrays = Arrays(self._rng)
        self._touched: dict[int, None] = {}
        self._dead: deque[int] = deque(maxlen=8)
        # Answers that the caller has kept, and what they were.
        self._answers: deque[tuple[str, Any, list[Any]]] = deque(maxlen=6)

    def replay(
        self,
        program: Program,
        steps: Iterable[int],
        compare_every: int = 1,
        batches: Sequence[str] | None = None,
    ) -> None:
        """Do the steps' operations one by one, and look at what they changed.

        Runs of `batches`, of all that the manager has unless given, are one call. Raises
        WrongAnswer.
        """
        for number, step in enumerate(steps):
            at, what = -1, "the state"
            try:
                for index, call in calls_of(
                    program, step, self.batches if batches is None else batches
                ):
                    at, what = index, str(call)
                    self.call(call)
                    self.done.operations += 1
                what = "the state after it"
                if number % compare_every == 0:
                    self.look()
            except Exception as error:
                raise located(error, f"step {step}, operation {at}, ", what) from None
            self.done.steps += 1

    def operation(self, code: Op, a: int, b: int, c: int) -> None:
        """One operation of a Program. Raises WrongAnswer."""
        self.call(call_of(code, a, b, c))

    def call(self, call: Call) -> bool:
        """One call on both sides, and what it changed; whether the contract serves it.

        Raises WrongAnswer.
        """
        oracle, method = self.oracle, call.method
        expected, expected_error = outcome(getattr(oracle, method), call.operands)
        if method == "write_block_tables":
            self._compare_packing(call.operands[0], expected_error)  # type: ignore[arg-type]
            return expected_error is None
        got, got_error = self._answer(call)
        if expected_error is None:
            if got_error is not None:
                raise WrongAnswer(
                    f"{says(got, got_error)} where the contract says {says(expected, None)}",
                    kind=f"raised {type(got_error).__name__}",
                )
        elif not isinstance(got_error, type(expected_error)):
            raise WrongAnswer(
                f"{says(got, got_error)} where the contract says {says(None, expected_error)}",
                kind=f"no {type(expected_error).__name__}",
            )
        else:
            # After an error the state must be as before.
            self._touched.update(dict.fromkeys(s for s in call.sequences if s in oracle.tables))
            self.look()
            return False
        if method in _READING:
            self._compare_answer(method, expected, got)
            return True
        self._collect_released()
        changed = call.sequences
        if method == "free":
            self._touched.pop(changed[0], None)
            self._dead.append(changed[0])
        else:
            changed = changed[1:] if method == "fork" else changed
            self._touched.update(dict.fromkeys(changed))
        if method in _TAKING:
            taken = [block for seq in changed for block in self._bind_new(seq)]
            self.reuse.taken(taken, _wrong_order)
        if method in _GROWING:
            self._compare_answer(method, expected, got)
            if isinstance(got, list):
                self._answers.append((f"{call}", got, list(got)))
        self._compare_free()
        return True

    def _answer(self, call: Call) -> tuple[Any, Exception | None]:
        method = getattr(self.manager, call.method)
        if call.method not in BATCHES:
            return outcome(method, call.operands)
        import numpy as np

        arrays = [
            self._arrays.of(f"{call.method} {place}", operand)  # type: ignore[arg-type]
            for place, operand in enumerate(call.operands)
        ]
        out = np.full(len(arrays[0]), _SCRIBBLE, dtype=np.int32)
        more = () if call.method == "append_slots" else (out,)
        got, error = outcome(method, (*arrays, *more))
        if any(tuple(a.tolist()) != o for a, o in zip(arrays, call.operands, strict=True)):
            raise WrongAnswer("changed an array that it was given", kind="arguments")
        for array in arrays:
            array[:] = _SCRIBBLE  # the caller's, who does with it as he likes
        answer = out.tolist() if more else got
        if more:
            self._arrays.done_with(call.method, out)
        return answer, error

    def _compare_answer(self, method: str, expected: Any, got: Any) -> None:
        if method in _GROWING:
            wanted = _copies(expected)
            renamed = [Copy(self.physical[s], self.physical[d]) for s, d in wanted]
            if [tuple(copy) for copy in _copies(got)] != [tuple(copy) for copy in renamed]:
                raise WrongAnswer(
                    f"returned {got!r}; it should name the copies {renamed!r}", kind="copies"
                )
        elif method == "lookup":
            if got != self.physical[expected]:
                raise WrongAnswer(
                    f"returned {got!r}; it should be {self.physical[expected]}", kind="returned"
                )
        elif method == "lookup_slots":
            if got != (wanted := [self.physical[block] for block in expected]):
                at = next(i for i, (x, y) in enumerate(zip(got, wanted, strict=True)) if x != y)
                raise WrongAnswer(
                    f"wrote {shown(got[at:])} from place {at} on; it should be "
                    f"{shown(wanted[at:])}",
                    kind="returned",
                )
        elif method == "can_allocate" and bool(got) != expected:
            raise WrongAnswer(f"returned {got!r}; it should be {expected}", kind="returned")

    def _bind_new(self, seq: int) -> list[int]:
        """Learn the physical ids of a sequence's new blocks, which are its last ones."""
        blocks, physical = self.oracle.tables[seq].blocks, self.physical
        first = len(blocks)
        while first and blocks[first - 1] not in physical:
            first -= 1
        first = max(first, self.oracle.tables[seq].first_kept)
        new = blocks[first:]
        if not new:
            return []
        if len(new) <= 2 and "lookup" in self._has:
            ids = [self.manager.lookup(seq, first + i) for i in range(len(new))]
            if any(block in self.holder for block in ids):
                # Which of the two is wrong, the table says.
                named = self._block_table(seq)[-len(new) :]
                for at, (block, right) in enumerate(zip(ids, named, strict=False), first):
                    if block != right:
                        text = f"lookup({seq}, {at}) is {block}, not {right}"
                        raise WrongAnswer(text, kind="lookup")
        else:
            table = self._block_table(seq)
            ids = table[len(table) - len(new) :] if len(table) >= len(new) else table
            kept = len(blocks) - self.oracle.tables[seq].first_kept
            if len(table) != kept:
                raise WrongAnswer(
                    f"sequence {seq} has {len(table)} blocks; it should have {kept}", kind="table"
                )
        for ours, theirs in zip(new, ids, strict=True):
            self._bind(seq, ours, theirs)
        return ids

    def bind_tables(self) -> None:
        """Learn the physical ids of all tables, of a manager that others have driven."""
        for seq, table in self.oracle.tables.items():
            ids = self._block_table(seq)
            if len(ids) != len(table.kept):
                raise WrongAnswer(
                    f"sequence {seq} has {len(ids)} blocks; it should have {len(table.kept)}",
                    kind="table",
                )
            for ours, theirs in zip(table.kept, ids, strict=True):
                if ours not in self.physical:
                    self._bind(seq, ours, theirs)

    def _bind(self, seq: int, ours: int, theirs: int) -> None:
        if not isinstance(theirs, int) or not 0 <= theirs < self.config.total_blocks:
            raise WrongAnswer(
                f"block_table({seq}) names {theirs!r}, which is no block of a pool of "
                f"{self.config.total_blocks}",
                kind="ids",
            )
        if theirs in self.holder:
            raise WrongAnswer(
                f"sequence {seq} was given block {theirs}, which is in use", kind="live twice"
            )
        self.physical[ours] = theirs
        self.holder[theirs] = ours

    def _collect_released(self) -> None:
        released = self.oracle.released
        if not released:
            return
        ids = [self.physical.pop(block) for block in released]
        released.clear()
        for physical in ids:
            del self.holder[physical]
        self.reuse.given(ids)

    def look(self) -> None:
        """Compare what was touched since the last look, and some of the rest; all of a small
        manager. Raises WrongAnswer.
        """
        oracle = self.oracle
        few = len(oracle.tables) <= _SMALL_TABLES and len(oracle.ref_counts) <= _SMALL_BLOCKS
        if few:
            self.compare_all()
            return
        touched = [seq for seq in self._touched if seq in oracle.tables]
        self._touched.clear()
        if len(touched) > _MOST_TOUCHED:
            touched = [*touched[-3:], *self._rng.sample(touched, _MOST_TOUCHED)]
        live = list(oracle.tables)
        chosen = dict.fromkeys(touched)
        chosen.update(dict.fromkeys(self._rng.choices(live, k=_OTHERS) if live else ()))
        self._compare(list(chosen))

    def compare_all(self) -> None:
        """Every table, length, ref count and packed row, and the free count."""
        self._touched.clear()
        self._compare(list(self.oracle.tables), whole=True)

    def _compare(self, seqs: list[int], *, whole: bool = False) -> None:
        self._compare_free()
        self._compare_kept_answers()
        entries = 0
        seen: list[int] = []
        for seq in seqs:
            entries += len(self.oracle.tables[seq].blocks)
            if entries > _MOST_ENTRIES and not whole and seen:
                break
            self._compare_table(seq)
            seen.append(seq)
        self._compare_lookups(seen, whole=whole)
        self._compare_ref_counts(seen, whole=whole)
        self._compare_numbers(whole=whole)
        if "write_block_tables" in self._has:
            self._compare_rows(seen)

    def _compare_table(self, seq: int) -> None:
        table = self.oracle.tables[seq]
        wanted = [self.physical[block] for block in table.kept]
        answer = self.manager.block_table(seq)
        if (got := list(answer)) != wanted:
            at = next((i for i, (x, y) in enumerate(zip(got, wanted, strict=False)) if x != y), 0)
            at = at if at > 4 else 0
            raise WrongAnswer(
                f"block_table({seq}) is {shown(got[at:])}, not {shown(wanted[at:])}"
                + (f", from its block {at} on" if at else "")
                + (f" ({len(got)} blocks, not {len(wanted)})" if len(got) != len(wanted) else ""),
                kind="table",
            )
        if self._rng.random() < 0.1:
            self._answers.append((f"block_table({seq})", answer, got))
        if "num_tokens" in self._has and (n := self.manager.num_tokens(seq)) != table.tokens:
            raise WrongAnswer(f"num_tokens({seq}) is {n!r}, not {table.tokens}", kind="length")

    def _block_table(self, seq: int) -> list[int]:
        return list(self.manager.block_table(seq))

    def _compare_free(self) -> None:
        if (free := self.manager.num_free_blocks) != (wanted := self.oracle.num_free_blocks):
            raise WrongAnswer(f"{free} blocks are free; it should be {wanted}", kind="free count")

    def _compare_kept_answers(self) -> None:
        """Lists that were handed out are the caller's: they stay, and he may change them."""
        if fault := self._arrays.late_fault():
            raise WrongAnswer(fault, kind="arguments")
        for what, answer, was in self._answers:
            if list(answer) != was:
                raise WrongAnswer(
                    f"what {what} returned has changed since: it is {shown(list(answer))}, and was "
                    f"{shown(was)}",
                    kind="kept answer",
                )
        if len(self._answers) == self._answers.maxlen:
            _, answer, was = self._answers.popleft()
            if isinstance(answer, list):
                answer[:] = [_SCRIBBLE] * (len(was) + 1)

    def _compare_lookups(self, seqs: list[int], *, whole: bool) -> None:
        if "lookup" not in self._has:
            return
        rng, manager, tables, physical = self._rng, self.manager, self.oracle.tables, self.physical
        for seq in seqs:
            table = tables[seq]
            length, first = len(table.blocks), table.first_kept
            if whole and length <= 12:
                places = set(range(first, length))
            else:
                places = {first, length - 1, around(rng, length) - 1, around(rng, length) - 1}
            for logical in places:
                if logical < first:
                    continue
                wanted = physical[table.blocks[logical]]
                if (got := manager.lookup(seq, logical)) != wanted:
                    raise WrongAnswer(
                        f"lookup({seq}, {logical}) is {got!r}, not {wanted}", kind="lookup"
                    )
        if seqs:
            seq = rng.choice(seqs)
            table = tables[seq]
            self._refuse_lookup(seq, rng.choice((-1, len(table.blocks), table.first_kept - 1)))
        for seq in list(self._dead)[-2:]:
            if seq not in tables:
                self._refuse_lookup(seq, 0)
        if "lookup_slots" in self._has and seqs:
            self._compare_lookup_slots(seqs)

    def _refuse_lookup(self, seq: int, logical: int) -> None:
        got, error = outcome(self.manager.lookup, (seq, logical))
        if not isinstance(error, UnknownSequence):
            raise WrongAnswer(
                f"lookup({seq}, {logical}) {says(got, error)} where the contract says "
                "UnknownSequence",
                kind="lookup refused",
            )

    def _compare_lookup_slots(self, seqs: list[int]) -> None:
        pairs = []
        for seq in seqs:
            table = self.oracle.tables[seq]
            pairs += [(seq, at) for at in range(table.first_kept, len(table.blocks))][:200]
        width = around(self._rng, len(pairs), (len(pairs),))
        pairs = self._rng.choices(pairs, k=width) if self._rng.random() < 0.5 else pairs[:width]
        if not pairs:
            return
        columns = tuple(zip(*pairs, strict=True))
        call = Call("lookup_slots", (tuple(columns[0]), tuple(columns[1])))
        got, error = self._answer(call)
        if error is not None:
            raise WrongAnswer(f"lookup_slots of {len(pairs)} pairs raised {error!r}", kind="lookup")
        try:
            self._compare_answer(call.method, self.oracle.lookup_slots(*columns), got)
        except WrongAnswer as wrong:
            raise WrongAnswer(
                f"lookup_slots of {len(pairs)} pairs {wrong}", kind="lookup"
            ) from None

    def _compare_ref_counts(self, seqs: list[int], *, whole: bool) -> None:
        """Of blocks in tables, of those that are free again, and of those that never were taken."""
        if "ref_count" not in self._has:
            return
        counts, rng = self.oracle.ref_counts, self._rng
        if whole:
            ours: Iterable[int] = counts
        else:
            named = [block for seq in seqs for block in self.oracle.tables[seq].kept]
            ours = named if len(named) <= 32 else [*named[-4:], *rng.sample(named, 28)]
        for block in ours:
            self._compare_ref_count(self.physical[block], counts[block])
        free = list(self.reuse.free_again) if whole and len(self.holder) < 200 else []
        # Where blocks are kept from use, nobody knows which: look at none that never was out.
        if self.usable_blocks == self.config.total_blocks:
            free += [self.config.total_blocks - 1, *rng.choices(range(self.usable_blocks), k=4)]
        for block in free:
            if block not in self.holder:
                self._compare_ref_count(block, 0)

    def _compare_ref_count(self, block: int, refs: int) -> None:
        if (got := self.manager.ref_count(block)) != refs:
            raise WrongAnswer(f"ref_count({block}) is {got!r}, not {refs}", kind="ref count")

    def _compare_numbers(self, *, whole: bool) -> None:
        """Bytes are numbers of bytes; what can be allocated is what is free."""
        manager, free = self.manager, self.oracle.num_free_blocks
        # To count them may take a walk through all tables.
        asked = whole and self._rng.random() * self.config.max_seqs < _ASKED_FOR_BYTES
        for name in ("table_bytes", "pool_bytes") if asked else ():
            if name in self._has:
                held = getattr(manager, name)()
                if not isinstance(held, int) or held < 0:
                    raise WrongAnswer(f"{name}() is {held!r}, no number of bytes", kind="bytes")
                if (again := getattr(manager, name)()) != held:
                    text = f"{name}() is {held!r}, and {again!r} when it is asked again"
                    raise WrongAnswer(text, kind="bytes")
        if "can_allocate" in self._has:
            for blocks in (free, free + 1):
                if bool(got := manager.can_allocate(blocks)) != (blocks <= free):
                    raise WrongAnswer(
                        f"can_allocate({blocks}) is {got!r} where {free} are free", kind="returned"
                    )

    def _compare_rows(self, seqs: list[int]) -> None:
        """Rows in one order or another, now and then twice or within wider ones; and rows that
        don't fit, or of sequences that are none, are refused.
        """
        rng, tables = self._rng, self.oracle.tables
        if len(seqs) > _MOST_ROWS:
            seqs = rng.sample(seqs, _MOST_ROWS)
        style = rng.randrange(4)
        if style == 1:
            seqs = seqs[::-1]
        elif style == 2 and seqs:
            # Some twice and more, in batches of every width.
            most = min(_MOST_ROWS, self.config.max_seqs)
            seqs = rng.choices(seqs, k=around(rng, most, (len(seqs),)))
        rows = self._rows(seqs)
        widest = max((len(row) for _, row in rows), default=0)
        while rows and len(rows) * widest > _MOST_CELLS and len(rows) > 1:
            rows = rows[: len(rows) // 2]
            widest = max(len(row) for _, row in rows)
        # A long row has no tail to hide in where there is no spare column.
        spare = rng.choice((0, 0, 1, around(rng, 64)))
        self._raise_rows(
            packed_fault(
                self.manager, rows, widest + spare, self._arrays, margin=3 if style == 3 else 0
            )
        )
        if not rows:
            return
        longest = max(rows, key=lambda row: len(row[1]))[0]
        others = [seq for seq, row in rows[:3] if len(row) < widest]
        if widest > 1:
            told = refused_fault(self.manager, [*others, longest], widest - 1, ValueError)
            self._raise_rows(told)
        dead = [seq for seq in self._dead if seq not in tables]
        unknown = rng.choice((*dead[-2:], -1, self.config.max_seqs))
        first = [seq for seq, _ in rows[:2]]
        self._raise_rows(
            refused_fault(self.manager, [*first, unknown], widest + 1, UnknownSequence)
        )

    def _rows(self, seqs: Iterable[int]) -> list[tuple[int, list[int]]]:
        rows = []
        for seq in seqs:
            table = self.oracle.tables[seq]
            rows.append(
                (seq, [0] * table.first_kept + [self.physical[block] for block in table.kept])
            )
        return rows

    def _raise_rows(self, fault: str | None) -> None:
        if fault:
            raise WrongAnswer(fault, kind="rows")

    def _compare_packing(self, seqs: Sequence[int], error: Exception | None) -> None:
        if error is None:
            rows = self._rows(seqs)
            width = max((len(row) for _, row in rows), default=0) + self._rng.randrange(2)
            self._raise_rows(packed_fault(self.manager, rows, width, self._arrays))
            return
        width = max((len(t.blocks) for t in self.oracle.tables.values()), default=1)
        known = [seq for seq in seqs if seq in self.oracle.tables][:4]
        unknown = next(seq for seq in seqs if seq not in self.oracle.tables)
        self._raise_rows(refused_fault(self.manager, [*known, unknown], width, type(error)))


_READS = (
    "lookup", "lookup_slots", "ref_count", "num_tokens", "write_block_tables",
    "table_bytes", "pool_bytes", "can_allocate",
)  # fmt: skip
_READING = {"can_allocate", "lookup", "lookup_slots"}
_GROWING = {"append_slot", "append_slots", "extend"}
_TAKING = {*_GROWING, "allocate"}


def _wrong_order(text: str) -> WrongAnswer:
    return WrongAnswer(text, kind="order")


def _copies(answer: Any) -> list[Any]:
    if answer is None:
        return []
    return [answer] if isinstance(answer, tuple) and len(answer) == 2 else list(answer)


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
    checker.bind_tables()
    checker.compare_all()
