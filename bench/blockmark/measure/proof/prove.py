"""The whole proof of one implementation: what is played, in which order, and how far.

Tiny managers first, since what they find is shown by few calls; then managers of all sizes,
one that is used for long, the load, and every replay that will be timed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from blockmark.workload.oracle.calls import Call, program_of
from blockmark.workload.oracle.corners import corners
from blockmark.workload.oracle.moves import OPERATIONS, Moves, small_config
from blockmark.workload.oracle.sized import sized
from blockmark.workload.oracle.written import read_calls, write_calls
from blockmark.workload.program import Program
from blockmark_impls.contract import BlockManagerError, PoolConfig, missing_operations

from ..inside.setup import as_the_load_asks
from ..missing import name_missing
from ..process.limits import extend_limit
from ..replay import MissingOperationsError, bind
from ..stated import proof_of
from .checker import Checker, Verified
from .clock import move_on
from .counterexample import Found, ManagerFault, ReplayFault
from .long_use import DAY_S, LONG_USE, loop_program, play_for_long
from .pools import program_numbers, prove_pool
from .replayed import ReplayChecker
from .wrong import WrongAnswer, located, raise_if_short

if TYPE_CHECKING:
    from blockmark_impls.registry import Implementation

    from .provable import Provable

# A manager that lacks these can't be driven at all.
_NEEDED = ("allocate", "append_slot", "free", "block_table", "num_free_blocks")
# What is said to be left out where it is missing; the rest is looked at where it is.
_SAID = (*(n for n in OPERATIONS if n not in ("append_slots", "lookup_slots")), "ref_count")
_BATCHES = ("append_slots", "lookup_slots")
_CALLS = 160
# How often a program looks at what its calls changed; some faults hide from constant looks.
_LOOKS = (1, 1, 4, 16)
_MOST_PACKED = 4_096
_SIZED_LOOK, _LONG_LOOK, _BULK_LOOK, _LOAD_LOOKS = 8, 200, 512, 6
# Where every other size is refused, so many programs are played at the cell's own.
_AT_THE_CELL, _AT_LEAST = 2, 20
# Calls of one program that are progress: no limit of time is held against what comes before.
_PROGRESS = 4_096


def prove(impl: Provable, config: PoolConfig, job: dict[str, Any]) -> dict[str, Any]:
    """Verify an implementation; the result is `ok`, `wrong` or `unavailable`.

    The job is an Effort's numbers (`random_programs` from number `first_program` on; the rest
    goes with the first), a `seed`, the `call_style`, and the paths of loads, `programs` and
    `pool_programs`. With `only`, no other operations are called. With `shrink`, a `wrong`
    result has `shown_by`: the shortest list of calls that shows it, a line each; with
    `brief`, its reason is the call and the difference alone. An `ok` result has `notes`: what
    could not be called, and the sizes that were refused.
    """
    if impl.kind == "control":
        return {"status": "ok", "operations": 0, "steps": 0}
    if impl.kind == "mistake":
        from blockmark.rooms import part_of

        found: dict[str, Any] = part_of("mistakes", "proof").prove_mistake(impl, config, job)
        return found
    if (own := proof_of(impl)) != "contract":
        from .engines import prove_engine

        return prove_engine(cast("Implementation", impl), own, config, job)
    proof = Proof(impl, config, job)
    try:
        if not impl.pool_alone:
            try:
                manager = impl.make_manager(config)
            except ValueError as error:
                return {"status": "unavailable", "reason": f"it refuses the sizes: {error}"}
            if missing := missing_operations(manager, _NEEDED):
                return {
                    "status": "unavailable",
                    "reason": f"{impl.name} lacks {name_missing(manager, missing)}, "
                    "which every model needs",
                }
            proof.manager(manager)
        if lacks := prove_pool(impl, config, job, proof.done, proof.notes):
            return {"status": "unavailable", "reason": lacks}
        kept = proof.search()
    except WrongAnswer as wrong:
        answer: dict[str, Any] = {"status": "wrong", "reason": str(wrong)}
        if job.get("brief"):
            answer["reason"] = wrong.brief
        if job.get("shrink") and isinstance(wrong, Found):
            answer["shown_by"] = wrong.fault.shortest()
        return answer
    done = proof.done
    answer = {
        "status": "ok",
        "operations": done.operations,
        "steps": done.steps,
        "notes": proof.notes,
    }
    return {**answer, "kept": kept} if kept else answer


@dataclass(slots=True)
class Proof:
    """The proof of a manager, and how far it has come."""

    impl: Provable
    cell: PoolConfig
    job: dict[str, Any]
    done: Verified = field(default_factory=Verified)
    notes: list[str] = field(default_factory=list)
    _left_out: frozenset[str] = frozenset()
    _slots_beyond: bool = True
    _refused: list[str] = field(default_factory=list)

    def manager(self, manager: Any) -> None:
        """All of it; `manager` is one of the cell's size. Raises WrongAnswer."""
        only = self.job.get("only", OPERATIONS)
        self._left_out = frozenset(
            name for name in OPERATIONS if name not in only or not hasattr(manager, name)
        )
        if lacks := missing_operations(manager, _SAID):
            self.notes.append(f"without {name_missing(manager, lacks)}")
        if near := name_missing(manager, missing_operations(manager, _BATCHES), near_only=True):
            self.notes.append(f"without {near}")
        numbers = program_numbers(self.job)
        seed = self.job["seed"]
        if 0 in numbers:
            self._try_slots_beyond()
        for number in numbers:
            self._tiny(number, random.Random(f"{seed}/{number}"))
        if self._refused and not self.done.operations and not self.job.get("rows", 0):
            # It takes hardly any size but the cell's: so there.
            self._at_the_cell(_AT_LEAST)
        if 0 in numbers:
            if self.job.get("rows", 0):
                self._all_sizes(seed)
                self._corners()
            if calls := self.job.get("long_use", 0):
                self._long_use(calls, random.Random(f"{seed}/long use"))
        for path in self.job["programs"]:
            self._load(Program.load(Path(path)), self.job["operations"])
        if self._refused:
            self.notes.append(
                f"{len(self._refused)} of the sizes were refused, such as {self._refused[0]}"
            )

    def search(self) -> list[str]:
        """The programs that were kept before, and a search for others (job: `kept`, `search_s`,
        `search_programs`); those that are new, as text. Raises WrongAnswer.
        """
        seconds, files = self.job.get("search_s", 0.0), self.job.get("kept", [])
        if self.impl.pool_alone or not (seconds or files):
            return []
        from .fuzz import search_of

        manager = self.impl.make_manager(self.cell)
        search = search_of(self.impl, self.cell, self.job["seed"], self._left_out, manager)
        search.replay([read_calls(Path(f).read_text("utf-8-sig"), f) for f in files])
        if seconds:
            search.run(seconds, self.job.get("search_programs"))
        self.notes = [search.summary]
        return [write_calls(*made) for made in search.new]

    def _make(self, config: PoolConfig) -> Any | None:
        """A manager, or None where it refuses a size that the cell does not have."""
        try:
            return self.impl.make_manager(config)
        except ValueError as error:
            if config == self.cell:
                raise
            if len(self._refused) < 1_000:
                self._refused.append(f"{_sizes(config)} ({' '.join(str(error).split())[:80]})")
            return None

    def _fitting(self, config: PoolConfig) -> tuple[Any, PoolConfig] | None:
        """A manager of these sizes, or with the cell's block size; None if both are refused."""
        for size in dict.fromkeys((config.block_size, self.cell.block_size)):
            sizes = replace(config, block_size=size)
            if (made := self._make(sizes)) is not None:
                return made, sizes
        return None

    def _moves(self, checker: Checker, rng: random.Random, *, swarm: bool = True) -> Moves:
        return Moves(
            checker.oracle,
            rng,
            left_out=self._left_out,
            swarm=swarm,
            slots_beyond=self._slots_beyond,
        )

    def _try_slots_beyond(self) -> None:
        """A sequence in a slot that is none must be refused, or be a sequence like any other."""
        config = replace(self.cell, total_blocks=min(8, self.cell.total_blocks))
        if (fitting := self._fitting(replace(config, max_seqs=4))) is None:
            return
        manager, config = fitting
        free = manager.num_free_blocks
        for seq in (config.max_seqs, -1):
            try:
                manager.allocate(seq, 1)
            except ValueError:
                continue
            except Exception as error:
                raise_if_short(error)
                raise WrongAnswer(
                    f"allocate({seq}, 1) raised {error!r} where the contract says ValueError: "
                    f"there are slots 0 to {config.max_seqs - 1}",
                    kind="no ValueError",
                ) from None
            others = [s for s in range(config.max_seqs) if _has_table(manager, s)]
            if others or len(manager.block_table(seq)) != 1:
                raise WrongAnswer(
                    f"allocate({seq}, 1) was accepted, and changed sequence {others[0]}"
                    if others
                    else f"allocate({seq}, 1) was accepted, and made no block table",
                    kind="slots",
                )
            manager.free(seq)
            if manager.num_free_blocks != free:
                raise WrongAnswer(f"allocate({seq}, 1) and free({seq}) lost a block", kind="slots")
            self._slots_beyond = False
        if not self._slots_beyond:
            self.notes.append("starts sequences beyond max_seqs, where the contract refuses them")

    def _tiny(self, number: int, rng: random.Random) -> None:
        """Random calls on a tiny manager, on every third beside another that is alive."""
        wanted = [small_config(rng, self.cell.id_bits)]
        if number % 3 == 1:
            # What managers of one shape share shows on no others.
            same = rng.random() < 0.5
            wanted.append(wanted[0] if same else small_config(rng, self.cell.id_bits))
        fitting = [found for config in wanted if (found := self._fitting(config))]
        if fitting:
            self._programs(fitting, f"random program {number}", rng, rng.choice(_LOOKS))

    def _programs(
        self, made: Sequence[tuple[Any, PoolConfig]], what: str, rng: random.Random, look: int
    ) -> None:
        order = self.impl.reuse_order
        checkers = [
            Checker(manager, config, order, rng.randrange(1 << 30)) for manager, config in made
        ]
        sources = [self._moves(checker, rng).calls(_CALLS) for checker in checkers]

        def steps() -> Iterator[tuple[int, Call]]:
            for _ in range(_CALLS):
                who = rng.randrange(len(sources))
                yield who, next(sources[who])

        served = self._play(checkers, steps(), what, look)
        self._replay(made[0][1], served, f"replay of {what}")

    def _all_sizes(self, seed: int) -> None:
        played = 0
        for one in sized(self.cell.id_bits, seed)[: self.job.get("rows", 0)]:
            if (fitting := self._fitting(one.config)) is None:
                continue
            rng = random.Random(f"{seed}/size {one.number}")
            checker = Checker(fitting[0], fitting[1], self.impl.reuse_order, one.number)
            moves = self._moves(checker, rng)
            calls = ((0, call) for call in one.calls(moves))
            played += 1
            served = self._play([checker], calls, f"size {one.number}", _SIZED_LOOK, moves)
            if one.number % 2:
                self._replay(fitting[1], served, f"replay of size {one.number}")
        self._at_the_cell(_AT_THE_CELL if played or not self._refused else _AT_LEAST)

    def _at_the_cell(self, programs: int) -> None:
        """Random calls on managers of the cell's own size."""
        for number in range(programs):
            rng = random.Random(f"{self.job['seed']}/cell {number}")
            made = self.impl.make_manager(self.cell)
            self._programs([(made, self.cell)], f"program {number} of the cell's size", rng, 16)

    def _corners(self) -> None:
        reserved = 0
        manager = self.impl.make_manager(self.cell)
        reserved = self.cell.total_blocks - getattr(
            manager, "usable_blocks", self.cell.total_blocks
        )
        del manager
        for corner in corners(self.cell.id_bits, self._left_out, reserved):
            if (made := self._make(corner.config)) is None:
                continue
            checker = Checker(made, corner.config, self.impl.reuse_order)
            self._play([checker], ((0, call) for call in corner.calls), corner.name, corner.look)

    def _long_use(self, calls: int, rng: random.Random) -> None:
        if (fitting := self._fitting(replace(LONG_USE, id_bits=self.cell.id_bits))) is None:
            return
        manager, config = fitting
        for what, some in (("long use", 2 * calls // 3), ("use after long use", calls // 3)):
            checker = Checker(manager, config, self.impl.reuse_order, 1)
            moves = self._moves(checker, rng, swarm=False)

            def steps(moves: Moves = moves, some: int = some) -> Iterator[tuple[int, Call]]:
                yield from ((0, call) for call in moves.calls(some))
                yield from ((0, call) for call in moves.ebb(0))
                yield from ((0, call) for call in moves.appends(5 * some))
                yield from ((0, call) for call in moves.ebb(0))
                yield from ((0, call) for call in moves.lives(some // 8))
                yield from ((0, call) for call in moves.ebb(0))

            self._play([checker], steps(), what, _LONG_LOOK)
            if what == "long use":
                self._loop_for_long(manager, config, checker.usable_blocks, rng)
                move_on(DAY_S)

    def _loop_for_long(
        self, manager: Any, config: PoolConfig, usable: int, rng: random.Random
    ) -> None:
        program = loop_program(config, usable, self._left_out, rng)
        self._bind_and(
            lambda replay: play_for_long(replay, manager, config, program),
            manager, program, config, "a loop for long",
        )  # fmt: skip

    def _play(
        self,
        checkers: Sequence[Checker],
        steps: Iterator[tuple[int, Call]],
        what: str,
        look: int,
        moves: Moves | None = None,
    ) -> list[Call]:
        """A program call by call, on one manager or two; the calls of the first that the
        contract serves. A difference comes with the calls that led to it.

        Every `look` calls what they changed is looked at; less often while `moves` makes
        many of one kind.
        """
        made: list[tuple[int, Call]] = []
        served: list[Call] = []
        shown = "the start"
        try:
            for number, (who, call) in enumerate(steps):
                made.append((who, call))
                shown = str(call)
                if checkers[who].call(call) and who == 0:
                    served.append(call)
                if number % (_BULK_LOOK if moves and moves.in_bulk else look) == 0:
                    checkers[who].look()
                if number % _PROGRESS == _PROGRESS - 1:
                    extend_limit()
            shown = "the end"
            for checker in checkers:
                checker.compare_all()
        except Exception as error:
            sizes = tuple(checker.config for checker in checkers)
            where = f"{what} ({_sizes(sizes[0])}{', beside another' * (len(sizes) > 1)}), "
            wrong = located(error, f"{where}call {len(made)}, ", _cut(shown))
            fault = ManagerFault(
                self.impl.make_manager,
                self.impl.reuse_order,
                sizes,
                made,
                [checker.seed for checker in checkers],
                look,
            )
            raise Found(wrong, str(wrong), fault) from None
        self.done.operations += len(made)
        self.done.steps += 1
        extend_limit()
        return served

    def _replay(self, config: PoolConfig, calls: Sequence[Call], what: str) -> None:
        """Calls that succeed, by the loop that is timed, on a new manager."""
        width = config.max_blocks_per_seq
        calls = [call for call in calls if not _packs_much(call, width)]
        if not calls:
            return
        program = program_of(calls, width)
        manager = self.impl.make_manager(config)
        try:
            self._bind_and(
                lambda replay: self._check(replay, manager, config, program, program.num_steps),
                manager, program, config, what,
            )  # fmt: skip
        except WrongAnswer as wrong:
            fault = ReplayFault(self.impl.make_manager, self._style, config, calls)
            raise Found(wrong, str(wrong), fault) from None
        self._refuses_in_the_loop(manager, config)

    @property
    def _style(self) -> str:
        return str(self.job["call_style"])

    def _bind_and(
        self, act: Any, manager: Any, program: Program, config: PoolConfig, what: str
    ) -> None:
        try:
            replay = bind(manager, program, self._style)
        except MissingOperationsError:
            return  # the models that need them will say so
        try:
            act(replay)
        except WrongAnswer as wrong:
            raise WrongAnswer(
                f"{what} ({self._style}; {_sizes(config)}): {wrong}",
                f"replayed in one go: {wrong}",
                wrong.kind,
            ) from None
        extend_limit()

    def _check(
        self, replay: Any, manager: Any, config: PoolConfig, program: Program, last: int
    ) -> None:
        usable = getattr(manager, "usable_blocks", config.total_blocks)
        checker = ReplayChecker(replay, config, program, usable)
        checker.setup()
        checker.body(0, last - program.setup_steps)
        checker.check_state(manager)

    def _refuses_in_the_loop(self, manager: Any, config: PoolConfig) -> None:
        """The loop's lookups refuse what single ones refuse."""
        if "lookup" in self._left_out:
            return
        live = [seq for seq in range(min(config.max_seqs, 8)) if _has_table(manager, seq)]
        dead = [seq for seq in range(min(config.max_seqs, 8)) if seq not in live]
        asked = [(seq, config.max_blocks_per_seq) for seq in live[:1]]
        for seq, logical in [*asked, *((seq, 0) for seq in dead[:1])]:
            call = Call("lookup", (seq, logical))
            program = program_of([call], config.max_blocks_per_seq)
            try:
                bind(manager, program, self._style).run(0, 1)
            except (BlockManagerError, IndexError, KeyError, ValueError):
                continue
            raise WrongAnswer(
                f"{call} in the loop that is timed ({self._style}; {_sizes(config)}) was answered "
                "where the contract says UnknownSequence",
                kind="replayed lookup",
            )

    def _load(self, program: Program, operations: int) -> None:
        manager = as_the_load_asks(self.impl.make_manager(self.cell))
        try:
            bind(manager, program, self._style)
        except MissingOperationsError:
            return  # the models that need them will say so
        checker = Checker(manager, self.cell, self.impl.reuse_order)
        last = program.steps_with(operations)
        where = f"the load ({_sizes(self.cell)}), "
        # All tables are compared some times on the way, and at the end.
        every = max(1, last // _LOAD_LOOKS)
        for first in range(0, last, every):
            steps = range(first, min(first + every, last))
            try:
                checker.replay(program, steps, len(steps), batches=())
                checker.compare_all()
            except WrongAnswer as wrong:
                raise WrongAnswer(where + str(wrong), wrong.brief, wrong.kind) from None
            extend_limit()
        self.done.add(checker.done)
        fresh = as_the_load_asks(self.impl.make_manager(self.cell))
        self._bind_and(
            lambda replay: self._check(replay, fresh, self.cell, program, last),
            fresh, program, self.cell, "replay of the load",
        )  # fmt: skip


def _packs_much(call: Call, width: int) -> bool:
    """Whether a call packs so many columns that to compare them takes longer than the rest."""
    rows = call.operands[0]
    packs = call.method == "write_block_tables" and isinstance(rows, tuple)
    return packs and len(rows) * width > _MOST_PACKED  # type: ignore[arg-type]


def _has_table(manager: Any, seq: int) -> bool:
    try:
        return bool(len(manager.block_table(seq)))
    except Exception:  # whatever says that there is none
        return False


def _sizes(config: PoolConfig) -> str:
    blocks = "block" if config.total_blocks == 1 else "blocks"
    return (
        f"{config.total_blocks} {blocks} of {config.block_size}, {config.max_seqs} sequences "
        f"of at most {config.max_blocks_per_seq} blocks"
    )


def _cut(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."
