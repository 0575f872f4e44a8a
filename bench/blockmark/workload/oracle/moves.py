"""Random calls on a manager, drawn from what the oracle holds when each is made.

Slots, tokens and blocks lie around powers of two and around the sizes that bound them
(`numbers`), so that a manager of any size is brought to its edges in few calls. Some calls
break one rule of the contract or two; each program leaves some operations out, so that what
one operation hides from another shows (swarm testing: Groce et al., ISSTA 2012).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import BlockManagerError, PoolConfig

from ..program import METHODS, Op, Program
from .calls import Call, program_of
from .model import Oracle
from .numbers import around

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# Weights make growth and sharing common enough to exhaust a small pool again and again.
_WEIGHTS = {
    "can_allocate": 1,
    "allocate": 4,
    "append_slot": 8,
    "append_slots": 3,
    "extend": 5,
    "truncate": 3,
    "drop_front": 2,
    "fork": 5,
    "free": 3,
    "lookup": 3,
    "lookup_slots": 2,
    "write_block_tables": 2,
}
OPERATIONS = tuple(_WEIGHTS)
# Without these a program goes nowhere.
_ALWAYS = ("allocate", "append_slot", "free")
_WIDEST_BATCH = 70
_BREAKS_RULES = 0.08


class Moves:
    """Calls for one manager. `oracle` is followed, not changed: whoever makes a call makes it
    there too, before the next is drawn.
    """

    def __init__(
        self,
        oracle: Oracle,
        rng: random.Random,
        *,
        left_out: Collection[str] = (),
        swarm: bool = False,
        slots_beyond: bool = True,
    ) -> None:
        """`left_out`: operations that the manager lacks. With `swarm`, some others are left
        out as well. `slots_beyond`: whether sequences are started in slots that are none.
        """
        self.oracle = oracle
        self.config = oracle.config
        self.rng = rng
        self._slots_beyond = slots_beyond
        # Whether the calls that come are many of one kind, so that few of them need a look.
        self.in_bulk = False
        self.weights = {name: w for name, w in _WEIGHTS.items() if name not in left_out}
        if swarm:
            for name in [n for n in self.weights if n not in _ALWAYS]:
                if rng.random() < 0.3:
                    del self.weights[name]
        self._live: list[int] = []
        self._live_at = -1

    def calls(self, count: int) -> Iterator[Call]:
        """`count` random calls."""
        self.in_bulk = False
        names, weights = list(self.weights), list(self.weights.values())
        for _ in range(count):
            yield self.random_call(self.rng.choices(names, weights)[0])

    def random_call(self, name: str) -> Call:
        """A call of one operation."""
        if self.rng.random() < _BREAKS_RULES:
            return self._broken(name)
        return getattr(self, f"_{name}")()  # type: ignore[no-any-return]

    # Moves that go somewhere: what random calls would need too long for.

    def crowd(self, number: int) -> Iterator[Call]:
        """Sequences until `number` are live, as far as slots and blocks go."""
        self.in_bulk = True
        rng, tables = self.rng, self.oracle.tables
        parent = self._slot()
        for seq in range(self.config.max_seqs):
            if len(tables) >= number:
                return
            if seq in tables:
                continue
            if "fork" in self.weights and parent in tables and rng.random() < 0.5:
                yield Call("fork", (parent, seq, None))
            elif self.oracle.num_free_blocks:
                yield Call("allocate", (seq, rng.randint(1, self.config.block_size)))
            elif "fork" not in self.weights or parent not in tables:
                return

    def readers(self, number: int) -> Iterator[Call]:
        """Forks of one sequence until `number` tables name its first block; then some of them
        are written and end.
        """
        self.in_bulk = True
        if "fork" not in self.weights or not (parent := self._some_live()):
            return
        rng, tables = self.rng, self.oracle.tables
        free = [s for s in range(self.config.max_seqs) if s not in tables][: number - 1]
        for seq in free:
            yield Call("fork", (parent[0], seq, None))
        for seq in rng.sample(free, min(len(free), 3)):
            yield Call("append_slot", (seq,))
        for seq in rng.sample(free, min(len(free), 4)):
            yield Call("free", (seq,))

    def refused_batches(self) -> Iterator[Call]:
        """Batches of some widths in which the last entry alone breaks a rule: who looks at the
        first entries alone serves them.
        """
        self.in_bulk = False
        slots, rng = self.config.max_seqs, self.rng
        for width in (around(rng, _WIDEST_BATCH), rng.choice((33, 65, _WIDEST_BATCH))):
            if not (live := self._some_live()):
                return
            seqs = rng.choices(live, k=width - 1)
            gone = self._free_slot()
            wrong = rng.choice((slots, -1)) if gone is None or rng.random() < 0.3 else gone
            if "lookup_slots" in self.weights:
                places = [rng.choice((0, self._logical(seq))) for seq in seqs]
                yield Call("lookup_slots", ((*seqs, wrong), (*places, 0)))
                far = self.config.max_blocks_per_seq
                yield Call("lookup_slots", ((*seqs, live[0]), (*places, far)))
            if "append_slots" in self.weights:
                yield Call("append_slots", ((*seqs[: slots - 1], wrong),))
            if "write_block_tables" in self.weights:
                yield Call("write_block_tables", ((*seqs[: self._most_rows() - 1], wrong),))

    def lengthen(self, blocks: int) -> Iterator[Call]:
        """A sequence of so many blocks, cut and dropped at its edges on the way down."""
        self.in_bulk = False
        size, seq = self.config.block_size, self._free_slot()
        blocks = min(blocks, self.config.max_blocks_per_seq, self.oracle.num_free_blocks)
        if seq is None or blocks < 1:
            return
        yield Call("allocate", (seq, blocks * size - self.rng.randrange(size)))
        for _ in range(4):
            if seq in self.oracle.tables:
                for name in ("extend", "drop_front", "lookup", "truncate"):
                    if name in self.weights:
                        yield getattr(self, f"_{name}")(seq)

    def flood(self, left: int) -> Iterator[Call]:
        """Sequences until no more than `left` blocks are free."""
        self.in_bulk = True
        size, widest = self.config.block_size, self.config.max_blocks_per_seq
        for seq in range(self.config.max_seqs):
            if (surplus := self.oracle.num_free_blocks - left) < 1:
                return
            if seq not in self.oracle.tables:
                yield Call("allocate", (seq, size * min(surplus, widest)))

    def appends(self, count: int) -> Iterator[Call]:
        """So many tokens one by one, to each sequence in its turn; one that is full ends, and
        another begins.
        """
        oracle, most = self.oracle, self.config.max_blocks_per_seq * self.config.block_size
        slots = max(1, min(self.config.max_seqs, 8))
        for number in range(count):
            seq = number % slots
            table = oracle.tables.get(seq)
            if table is not None and (table.tokens >= most or oracle.num_free_blocks < 2):
                yield Call("free", (seq,))
                table = None
            if table is None:
                if not oracle.num_free_blocks:
                    return
                yield Call("allocate", (seq, 1))
            yield Call("append_slot", (seq,))

    def lives(self, count: int) -> Iterator[Call]:
        """So many short lives, each with all that changes a table: what shows at every
        thousandth copy, drop or cut. No sequence may be live before, and none is behind.
        """
        size, slots = self.config.block_size, self.config.max_seqs
        for number in range(count):
            seq, child, other = ((3 * number + place) % slots for place in range(3))
            life = [
                Call("allocate", (seq, 3 * size - 1)),
                Call("fork", (seq, child, None)),
                Call("append_slot", (child,)),
                Call("fork", (seq, other, 2 if size > 1 else 1)),
                Call("free", (child,)),
                Call("free", (other,)),
                Call("extend", (seq, size)),
                Call("drop_front", (seq, 1)),
                Call("truncate", (seq, 2 * size)),
                Call("free", (seq,)),
            ]
            for call in life:
                lives = call.method == "allocate" or call.operands[0] in self.oracle.tables
                if lives and call.method in (*_ALWAYS, *self.weights):
                    yield call

    def ebb(self, kept: int) -> Iterator[Call]:
        """Sequences end, in one order or another, until `kept` are left."""
        self.in_bulk = True
        live = list(self.oracle.tables)
        order = self.rng.randrange(3)
        if order == 0:
            self.rng.shuffle(live)
        elif order == 1:
            live.reverse()
        for seq in live[: max(0, len(live) - kept)]:
            yield Call("free", (seq,))

    # One operation each.

    def _can_allocate(self) -> Call:
        free = self.oracle.num_free_blocks
        beside = (free, free + 1)
        return Call("can_allocate", (around(self.rng, self.config.total_blocks + 1, beside) - 1,))

    def _allocate(self) -> Call:
        config, rng = self.config, self.rng
        seq = self._free_slot()
        if seq is None or rng.random() < 0.1:
            seq = rng.randrange(config.max_seqs)
        blocks = self._blocks((config.max_blocks_per_seq, self.oracle.num_free_blocks))
        return Call("allocate", (seq, self._tokens(blocks)))

    def _append_slot(self) -> Call:
        return Call("append_slot", (self._slot(),))

    def _append_slots(self) -> Call:
        return Call("append_slots", (self._batch(self.config.max_seqs),))

    def _extend(self, seq: int | None = None) -> Call:
        config, rng = self.config, self.rng
        seq = self._slot() if seq is None else seq
        table = self.oracle.tables.get(seq)
        room = -table.tokens % config.block_size if table else 0
        if rng.random() < 0.3:
            return Call("extend", (seq, rng.randint(0, room + 1)))
        length = len(table.blocks) if table else 0
        most = max(1, config.max_blocks_per_seq - length)
        blocks = around(rng, most + 1, (most, self.oracle.num_free_blocks))
        # So many new blocks, the last of them full, a token short of it, or with one token.
        return Call("extend", (seq, room + self._tokens(blocks)))

    def _truncate(self, seq: int | None = None) -> Call:
        seq = self._slot() if seq is None else seq
        table = self.oracle.tables.get(seq)
        tokens = table.tokens if table else self.config.block_size
        length, size = self.oracle.blocks_for(tokens), self.config.block_size
        if self.rng.random() < 0.3:
            return Call("truncate", (seq, max(1, tokens - self.rng.randrange(size + 1))))
        dropped = table.first_kept if table else 0
        blocks = around(self.rng, length, (dropped + 1, length))
        return Call("truncate", (seq, min(self._tokens(blocks), tokens)))

    def _drop_front(self, seq: int | None = None) -> Call:
        seq = self._slot() if seq is None else seq
        table = self.oracle.tables.get(seq)
        length, dropped = (len(table.blocks), table.first_kept) if table else (1, 0)
        if self.rng.random() < 0.5:
            return Call("drop_front", (seq, dropped + self.rng.randint(0, 2)))
        return Call("drop_front", (seq, around(self.rng, length, (dropped, length))))

    def _fork(self) -> Call:
        parent, rng = self._slot(), self.rng
        child = self._free_slot()
        if child is None or rng.random() < 0.1:
            child = rng.randrange(self.config.max_seqs)
        table = self.oracle.tables.get(parent)
        full = table.tokens // self.config.block_size if table else 0
        if rng.random() < 0.6 or not full:
            return Call("fork", (parent, child, None))
        # One more than are full may be the last block, partly filled, which is no prefix.
        return Call("fork", (parent, child, around(rng, full + (rng.random() < 0.15), (full,))))

    def _free(self) -> Call:
        return Call("free", (self._slot(),))

    def _lookup(self, seq: int | None = None) -> Call:
        seq = self._slot() if seq is None else seq
        return Call("lookup", (seq, self._logical(seq)))

    def _lookup_slots(self) -> Call:
        seqs = self._batch()
        return Call("lookup_slots", (seqs, tuple(self._logical(seq) for seq in seqs)))

    def _write_block_tables(self) -> Call:
        return Call("write_block_tables", (self._batch(self._most_rows()),))

    def _most_rows(self) -> int:
        """Rows are as wide as the widest: few of the long ones are packed at a time."""
        widest = max((len(t.blocks) for t in self.oracle.tables.values()), default=1)
        return min(self.config.max_seqs, max(2, 4096 // widest))

    def _broken(self, name: str) -> Call:
        """A call that breaks a rule, or several at once: each operand is right or wrong."""
        rng, beyond = self.rng, (-1, self.config.max_seqs, self.config.max_seqs + 7, -(2**31))
        table = self.oracle.tables.get(live := self._slot())
        tokens, length = (table.tokens, len(table.blocks)) if table else (0, 0)
        far = self.config.max_blocks_per_seq * self.config.block_size + 1
        unknown = rng.choice(beyond) if rng.random() < 0.5 else rng.randrange(self.config.max_seqs)
        taken = rng.choice((live, rng.choice(beyond) if self._slots_beyond else live))
        fresh = self._free_slot()
        fresh = live if fresh is None else fresh

        def broken(*operands: tuple[Any, Any]) -> tuple[Any, ...]:
            # Of (right, wrong): mostly one wrong, sometimes any.
            one, any_ = rng.randrange(len(operands)), rng.random() < 0.4
            return tuple(
                wrong if place == one or (any_ and rng.random() < 0.5) else right
                for place, (right, wrong) in enumerate(operands)
            )

        bad = rng.choice((0, 0, -1))
        match name:
            case "allocate":
                return Call(name, broken((fresh, taken), (1, rng.choice((bad, far)))))
            case "fork":
                prefix = rng.choice((bad, far, length + 1))
                return Call(name, broken((live, unknown), (fresh, taken), (None, prefix)))
            case "extend":
                return Call(name, broken((live, unknown), (1, rng.choice((-1, far)))))
            case "truncate" | "drop_front":
                # One more than there are is the edge that is easily missed.
                one_more = tokens + 1 if name == "truncate" else length
                wrong = rng.choice((bad, -1, far, one_more, one_more))
                return Call(name, broken((live, unknown), (1, wrong)))
            case "append_slot" | "free":
                return Call(name, (unknown,))
            case "lookup":
                logical = self._logical(live)
                return Call(
                    name, broken((live, unknown), (logical, rng.choice((-1, far, -far, length))))
                )
            case "append_slots" | "write_block_tables":
                seqs = [*self._batch(min(8, max(1, self.config.max_seqs - 1))), unknown]
                rng.shuffle(seqs)
                return Call(name, (tuple(seqs),))
            case "lookup_slots":
                seqs = [*self._batch(8), live]
                places = [self._logical(seq) for seq in seqs]
                at = rng.randrange(len(seqs))
                seqs[at], places[at] = broken(
                    (seqs[at], unknown), (places[at], rng.choice((-1, far)))
                )
                return Call(name, (tuple(seqs), tuple(places)))
            case _:
                return self._can_allocate()

    # What operands are made of.

    def _some_live(self) -> list[int]:
        # A list of what is live, made anew when the number of sequences has changed; one that
        # is out of date costs a call that names a sequence that ended.
        if self._live_at != len(self.oracle.tables):
            self._live, self._live_at = list(self.oracle.tables), len(self.oracle.tables)
        return self._live

    def _slot(self) -> int:
        """A sequence: mostly one that is live, sometimes any."""
        live = self._some_live()
        if live and self.rng.random() < 0.93:
            return live[around(self.rng, len(live), (len(live),)) - 1]
        return around(self.rng, self.config.max_seqs) - 1

    def _free_slot(self) -> int | None:
        """A slot that no sequence has, near a power of two where there are many; or None."""
        tables, slots = self.oracle.tables, self.config.max_seqs
        if len(tables) >= slots:
            return None
        for _ in range(4):
            seq = around(self.rng, slots, (len(tables),)) - 1
            if seq not in tables:
                return seq
        first = self.rng.randrange(slots)
        return next(
            (seq for seq in (*range(first, slots), *range(first)) if seq not in tables), None
        )

    def _blocks(self, beside: Sequence[int]) -> int:
        free = self.oracle.num_free_blocks
        most = min(self.config.max_blocks_per_seq, free) if free and self.rng.random() < 0.8 else 0
        return around(self.rng, most or self.config.max_blocks_per_seq + 1, beside)

    def _tokens(self, blocks: int) -> int:
        """Tokens that take just so many blocks."""
        size, rng = self.config.block_size, self.rng
        empty = rng.choice((0, 0, 1, size - 1, rng.randrange(size)))
        return blocks * size - min(empty, size - 1)

    def _logical(self, seq: int) -> int:
        table = self.oracle.tables.get(seq)
        if table is None:
            return 0
        length, dropped = len(table.blocks), table.first_kept
        logical = around(self.rng, length, (dropped + 1, length)) - 1
        # Dropped ones and the one behind the last now and then.
        if self.rng.random() < 0.93:
            return max(logical, dropped)
        return self.rng.choice((logical, length, dropped - 1))

    def _batch(self, widest: int = _WIDEST_BATCH) -> tuple[int, ...]:
        """Sequences that are live, some of them more than once."""
        live, rng = self._some_live(), self.rng
        if not live:
            return (self._slot(),)
        width = around(rng, min(widest, _WIDEST_BATCH), (min(len(live), widest),))
        if rng.random() < 0.5:
            return tuple(rng.sample(live, min(width, len(live))))
        return tuple(rng.choices(live, k=width))


def apply_to_oracle(oracle: Oracle, call: Call) -> bool:
    """Do one call; False if the contract refuses it."""
    try:
        getattr(oracle, call.method)(*call.operands)
    except (BlockManagerError, ValueError):
        return False
    return True


def small_config(rng: random.Random, id_bits: int) -> PoolConfig:
    """A tiny manager: block sizes from 1, a pool that its tables can exhaust."""
    max_seqs = rng.randint(2, 8)
    max_blocks = rng.randint(1, 9)
    return PoolConfig(
        total_blocks=rng.randint(2, max(3, max_seqs * max_blocks)),
        block_size=rng.choice((1, 2, 3, 4, 5, 8, 12, 16)),
        max_seqs=max_seqs,
        max_blocks_per_seq=max_blocks,
        id_bits=id_bits,
    )


def random_program(
    config: PoolConfig,
    rng: random.Random,
    operations: int,
    *,
    left_out: frozenset[Op] = frozenset(),
    failing: bool = True,
    usable_blocks: int | None = None,
) -> Program:
    """`operations` random calls as a Program, a step each.

    `left_out`: operations that the implementation lacks. With `failing` false, only calls
    that succeed are kept, so that a replay can run to its end.
    """
    oracle = Oracle(config, usable_blocks)
    lacking: dict[str, Any] = dict.fromkeys(METHODS[op] for op in left_out)
    batches = {"append_slots": Op.APPEND, "lookup_slots": Op.LOOKUP}
    lacking.update(dict.fromkeys(name for name, op in batches.items() if op in left_out))
    calls = Moves(oracle, rng, left_out=lacking, slots_beyond=False).calls(operations)
    kept = [call for call in calls if apply_to_oracle(oracle, call) or failing]
    return program_of(kept, config.max_blocks_per_seq)
