"""A search for calls that show a fault, guided by the edges of the code that they take.

Programs that take an edge that none before them took are kept, and new ones are made of them:
cut, joined, repeated, with other operands or sizes, or gone on with. All is drawn from a seed
and the number of the program, so a search that is made again goes the same way; how far it
comes is a matter of time.
"""

from __future__ import annotations

import inspect
import random
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.calls import Call
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.oracle.moves import Moves, apply_to_oracle, small_config
from blockmark.workload.oracle.numbers import around
from blockmark_impls.contract import PoolConfig

from ..process.limits import extend_limit
from ..stated import own_code
from .checker import Checker
from .counterexample import Found, ManagerFault
from .edges import Edges, NativeEdges, PythonEdges
from .wrong import located

if TYPE_CHECKING:
    from .provable import Provable

_CALLS, _LONGEST, _LOOK = 60, 1_500, 6
_NEW, _LARGEST = 0.15, 1 << 12
# So many programs are drawn before any is made of others.
_FIRST = 24
_Made = tuple[PoolConfig, list[Call]]


@dataclass(slots=True)
class Search:
    """One target, the programs that are kept, and the edges that they take."""

    impl: Provable
    cell: PoolConfig
    seed: int
    left_out: Collection[str]
    edges: Edges
    kept: list[_Made] = field(default_factory=list)
    new: list[_Made] = field(default_factory=list)
    programs: int = 0
    _seen: set[int] = field(default_factory=set)

    @property
    def summary(self) -> str:
        """How far it came, for people."""
        return (
            f"search: {self.programs:,} programs, {len(self.kept):,} of them kept, "
            f"{len(self._seen):,} edges"
        )

    def replay(self, kept: Sequence[_Made]) -> None:
        """Programs that were kept before. Raises WrongAnswer."""
        for number, (config, made) in enumerate(kept):
            # A folder may serve several targets, of which some have more operations.
            calls = [call for call in made if call.method not in self.left_out]
            self._play(config, calls, f"kept program {number}")
            self.kept.append((config, calls))

    def run(self, seconds: float, most: int | None = None) -> None:
        """Search for so much CPU time, or so many programs. Raises WrongAnswer."""
        deadline = time.process_time() + seconds
        number = 0
        while time.process_time() < deadline and (most is None or number < most):
            rng = random.Random(f"{self.seed}/search/{number}")
            config, calls = self._drawn(rng, number)
            if self._play(config, calls, f"search, program {number}"):
                self.kept.append((config, calls))
                self.new.append((config, calls))
            number += 1
            self.programs += 1

    def _play(self, config: PoolConfig, calls: Sequence[Call], what: str) -> bool:
        """Whether it takes a new edge."""
        try:
            manager = self.impl.make_manager(config)
        except ValueError:
            return False  # a size that it refuses, and says so
        checker = Checker(manager, config, self.impl.reuse_order)
        made = 0
        shown = "the start"
        try:
            with self.edges:
                for made, call in enumerate(calls, 1):
                    shown = str(call)
                    checker.call(call)
                    if made % _LOOK == 0:
                        checker.look()
                shown = "the end"
                checker.look()
        except Exception as error:
            wrong = located(error, f"{what}, call {made}, ", shown)
            steps = [(0, call) for call in calls[:made]]
            fault = ManagerFault(self.impl.make_manager, self.impl.reuse_order, (config,), steps)
            raise Found(wrong, str(wrong), fault) from None
        extend_limit()
        taken = self.edges.taken()
        if taken <= self._seen:
            return False
        self._seen |= taken
        return True

    def _drawn(self, rng: random.Random, number: int) -> _Made:
        if number < _FIRST or not self.kept or rng.random() < _NEW:
            config = _some_config(rng, self.cell.id_bits)
            return config, list(self._going_on(config, [], rng))
        config, calls = self.kept[around(rng, len(self.kept), (len(self.kept),)) - 1]
        for _ in range(rng.randint(1, 3)):
            config, calls = self._changed(rng, config, calls)
        # Slots that are none are another question, which the proof asks.
        slots = range(config.max_seqs)
        within = [call for call in calls if all(seq in slots for seq in call.sequences)]
        return config, within[:_LONGEST]

    def _changed(self, rng: random.Random, config: PoolConfig, calls: list[Call]) -> _Made:
        if not calls:
            return config, list(self._going_on(config, [], rng))
        at = rng.randrange(len(calls))
        size = around(rng, len(calls))
        match rng.randrange(6):
            case 0:
                return config, [*calls[:at], *calls[at + size :]]
            case 1:
                times = around(rng, 40)
                return config, [*calls[:at], *calls[at : at + min(size, 12)] * times, *calls[at:]]
            case 2:
                other = rng.choice(self.kept)[1]
                return config, [*calls[:at], *other[rng.randrange(len(other) or 1) :]]
            case 3:
                return config, [
                    *calls[:at],
                    _other_operand(rng, config, calls[at]),
                    *calls[at + 1 :],
                ]
            case 4:
                name = rng.choice(("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq"))
                now = getattr(config, name)
                changed = replace(config, **{name: around(rng, max(2 * now, 64), (now,))})
                return (changed if _is_small(changed) else config), calls
            case _:
                return config, [*calls, *self._going_on(config, calls, rng)]

    def _going_on(
        self, config: PoolConfig, calls: Sequence[Call], rng: random.Random
    ) -> Iterator[Call]:
        """Random calls behind others."""
        oracle = Oracle(config)
        for call in calls:
            apply_to_oracle(oracle, call)
        moves = Moves(oracle, rng, left_out=self.left_out, swarm=True, slots_beyond=False)
        for call in moves.calls(_CALLS):
            apply_to_oracle(oracle, call)
            yield call


def search_of(
    impl: Provable, cell: PoolConfig, seed: int, left_out: Collection[str], manager: Any
) -> Search:
    """A search in the code of `manager`, which is one of the target's."""
    return Search(impl, cell, seed, left_out, _edges_of(impl, manager))


def _edges_of(impl: Provable, manager: Any) -> Edges:
    file = own_code(impl)
    if file and ":" not in file:
        from blockmark_impls.coverage import native_coverage

        return NativeEdges(native_coverage(file))
    # The files of the class and of those that it is made of, ours and the user's.
    files = set()
    for each in type(manager).__mro__:
        module = sys.modules.get(each.__module__)
        if each is not object and module is not None:
            files |= {inspect.getsourcefile(module) or ""}
            files |= set(_beside(module))
    return PythonEdges(files - {""})


def _beside(module: Any) -> Iterator[str]:
    """Files of the same folder that a module has imported names from."""
    folder = (getattr(module, "__file__", None) or "").rpartition("/")[0]
    for value in vars(module).values():
        other = sys.modules.get(getattr(value, "__module__", None) or "")
        file = getattr(other, "__file__", None) or ""
        if file.rpartition("/")[0] == folder:
            yield file


def _some_config(rng: random.Random, id_bits: int) -> PoolConfig:
    if rng.random() < 0.5:
        return small_config(rng, id_bits)
    return PoolConfig(
        around(rng, _LARGEST), around(rng, 64), around(rng, 300), around(rng, 600), id_bits
    )


def _is_small(config: PoolConfig) -> bool:
    """Whether a manager of these sizes takes no more memory than any that is drawn anew."""
    entries = config.max_seqs * config.max_blocks_per_seq
    tokens = config.max_blocks_per_seq * config.block_size
    return max(entries, config.total_blocks, config.block_size, tokens >> 8) <= _LARGEST * 64


def _other_operand(rng: random.Random, config: PoolConfig, call: Call) -> Call:
    places = [place for place, x in enumerate(call.operands) if isinstance(x, int)]
    if not places:
        return call
    place = rng.choice(places)
    most = config.max_seqs if place == 0 else config.max_blocks_per_seq * config.block_size
    operands = list(call.operands)
    operands[place] = around(rng, most, (config.block_size, config.max_seqs)) - (place == 0)
    return Call(call.method, tuple(operands))
