"""A block manager that is watched while it is used.

No oracle replays the calls. What the tables name is kept beside the manager, and ref counts,
the free count and the ids must agree with it after every call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from blockmark_impls.contract import Copy, PoolConfig

from .checked_rows import write_checked_rows
from .violation import ContractViolation, Fault

Answer = TypeVar("Answer")


class CheckedManager:
    """`manager` with every call checked; what is no operation of a table is passed on.

    After a call the sequences that it names are looked at, after every `every` calls and in
    `check` all of them. Every method raises ContractViolation; what the manager raises comes
    through. The manager must be new.
    """

    def __init__(self, manager: Any, config: PoolConfig, *, every: int = 64) -> None:
        self._manager = manager
        self._config = config
        self._usable = getattr(manager, "usable_blocks", config.total_blocks)
        self._every = every
        self._calls = 0
        self._tables: dict[int, list[int]] = {}  # of the live sequences, dropped blocks left out
        self._tokens: dict[int, int] = {}
        self._names: Counter[int] = Counter()  # how many tables name a block
        self._counts = hasattr(manager, "ref_count")
        self._knows_tokens = hasattr(manager, "num_tokens")
        self._check_free("a new manager")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def allocate(self, seq: int, num_tokens: int) -> None:
        """Start `seq`."""
        call = f"allocate({seq}, {num_tokens})"
        self._do(call, [seq], lambda: self._manager.allocate(seq, num_tokens))

    def append_slot(self, seq: int) -> Copy | None:
        """Make room for one more token."""
        made: Copy | None = self._do(
            f"append_slot({seq})", [seq], lambda: self._manager.append_slot(seq)
        )
        return made

    def append_slots(self, seqs: Any) -> list[Copy]:
        """`append_slot` for each, all or nothing."""
        named = [int(seq) for seq in seqs]
        return self._do(f"append_slots({named})", named, lambda: self._manager.append_slots(seqs))

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        """Make room for more tokens."""
        call = f"extend({seq}, {num_tokens})"
        return self._do(call, [seq], lambda: self._manager.extend(seq, num_tokens))

    def truncate(self, seq: int, num_tokens: int) -> None:
        """Shorten `seq`."""
        call = f"truncate({seq}, {num_tokens})"
        self._do(call, [seq], lambda: self._manager.truncate(seq, num_tokens))

    def drop_front(self, seq: int, num_blocks: int) -> None:
        """Give back the first logical blocks."""
        call = f"drop_front({seq}, {num_blocks})"
        self._do(call, [seq], lambda: self._manager.drop_front(seq, num_blocks))

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        """Share a table, or a prefix of it."""
        call = f"fork({parent}, {child}, {num_blocks})"
        self._do(call, [parent, child], lambda: self._manager.fork(parent, child, num_blocks))

    def free(self, seq: int) -> None:
        """End `seq`."""
        self._do(f"free({seq})", [seq], lambda: self._manager.free(seq))

    def lookup(self, seq: int, logical: int) -> int:
        """The physical block, which must be in the sequence's table."""
        call = f"lookup({seq}, {logical})"
        block: int = self._manager.lookup(seq, logical)
        if seq not in self._tables:
            raise ContractViolation("use after free", call, f"sequence {seq} does not exist")
        if block not in self._tables[seq]:
            text = f"returned block {block}, which is not in the table of sequence {seq}"
            raise ContractViolation("use after free", call, text)
        return block

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        """Write rows, between guards in a buffer of this wrapper's own, then into `out`."""
        call = f"write_block_tables({[int(seq) for seq in seqs]})"
        write_checked_rows(self._manager, call, self._tables, seqs, out, lengths)

    def check(self) -> None:
        """That no table, length or ref count has changed without a call."""
        self._check_same("check()", self._tables, "table changed")
        self._check_free("check()")

    def check_empty(self) -> None:
        """That every sequence has ended and every block is free: for the end of a test."""
        if self._tables:
            seqs = ", ".join(map(str, sorted(self._tables)[:8]))
            text = f"{len(self._tables)} sequences were not freed: {seqs}"
            raise ContractViolation("leak", "check_empty()", text)
        self._check_free("check_empty()")

    def _do(self, call: str, seqs: Sequence[int], act: Callable[[], Answer]) -> Answer:
        method = call.partition("(")[0]
        try:
            answer = act()
        except Exception as error:
            self._check_same(call, seqs, "error changed state", f"{type(error).__name__}: ")
            self._check_free(call, "error changed state")
            raise
        started = {"allocate": seqs[:1], "fork": seqs[1:]}.get(method, ())
        for seq in seqs:
            if seq not in self._tables and seq not in started:
                raise ContractViolation("use after free", call, f"sequence {seq} does not exist")
            if seq in self._tables and seq in started:
                raise ContractViolation("sequence live twice", call, f"sequence {seq} is live")
        touched: set[int] = set()
        for seq in dict.fromkeys(seqs):
            over = method == "free"
            shared = self._tables[seqs[0]] if method == "fork" else ()
            touched |= self._learn(call, seq, over, shared)
        self._check_counts(call, touched)
        self._check_free(call)
        self._calls += 1
        if self._calls % self._every == 0:
            self.check()
        return answer

    def _learn(self, call: str, seq: int, over: bool, shared: Sequence[int]) -> set[int]:
        """Read a sequence's table again; the blocks that are or were in it."""
        old = self._tables.get(seq, [])
        new = [] if over else [int(block) for block in self._manager.block_table(seq)]
        for block in new:
            if not 0 <= block < self._config.total_blocks:
                text = f"block {block} is none of the {self._config.total_blocks}"
                raise ContractViolation("id outside the pool", call, text)
        twice = [block for block, times in Counter(new).items() if times > 1]
        known = {*old, *shared}
        twice += [b for b in new if b not in known and self._names[b]]
        if twice:
            text = f"block {twice[0]} was given to sequence {seq} and is in use"
            raise ContractViolation("block live twice", call, text)
        self._names.subtract(old)
        self._names.update(new)
        if over:
            self._tables.pop(seq, None)
            self._tokens.pop(seq, None)
        else:
            self._tables[seq] = new
            if self._knows_tokens:
                self._tokens[seq] = self._manager.num_tokens(seq)
        return {*old, *new}

    def _check_counts(self, call: str, blocks: Iterable[int]) -> None:
        for block in blocks:
            names = self._names[block]
            if not names:
                del self._names[block]
            if not self._counts or (count := self._manager.ref_count(block)) == names:
                continue
            fault: Fault = "leak" if count > names else "ref count too low"
            if count < 0:
                fault = "ref count below zero"
            text = f"block {block} has a ref count of {count}, and {names} tables name it"
            raise ContractViolation(fault, call, text)

    def _check_same(self, call: str, seqs: Iterable[int], fault: Fault, why: str = "") -> None:
        for seq in seqs:
            if (wanted := self._tables.get(seq)) is None:
                continue
            try:
                now = [int(block) for block in self._manager.block_table(seq)]
            except Exception as error:
                text = f"{why}sequence {seq} is gone ({type(error).__name__})"
                raise ContractViolation(fault, call, text) from error
            if now != wanted:
                text = f"{why}the table of sequence {seq} is {now}; it was {wanted}"
                raise ContractViolation(fault, call, text)
            if self._knows_tokens and (tokens := self._manager.num_tokens(seq)) != (
                had := self._tokens[seq]
            ):
                text = f"{why}sequence {seq} has {tokens} tokens; it had {had}"
                raise ContractViolation(fault, call, text)
            if self._counts:
                for block in wanted:
                    if (count := self._manager.ref_count(block)) != (names := self._names[block]):
                        text = f"{why}block {block} has a ref count of {count}; it had {names}"
                        raise ContractViolation(fault, call, text)

    def _check_free(self, call: str, fault: Fault | None = None) -> None:
        free, wanted = self._manager.num_free_blocks, self._usable - len(self._names)
        if free != wanted:
            found: Fault = "leak" if free < wanted else "double free"
            text = f"{free} blocks are free; it should be {wanted}"
            raise ContractViolation(fault or found, call, text)
