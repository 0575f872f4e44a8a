"""The loop that is timed, held against the oracle: what it answers, and what it leaves.

Lookups, copies and rows of a timed replay go nowhere. Here the same loop is asked for them,
off the clock. Physical ids are learned as they are met: one block of the oracle has one id
for as long as it is in use, and no two have the same.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.calls import calls_of_run
from blockmark.workload.oracle.model import Oracle, Table
from blockmark.workload.program import Op, Program

from .checker import Checker
from .packed_rows import shown
from .wrong import WrongAnswer, located

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from blockmark_impls.contract import PoolConfig

    from ..replay import Replay

# A dropped block or a tail in a row, and a number that is no block.
_Plain = tuple[str, int]
_Wanted = int | _Plain


class ReplayChecker:
    """A replay beside the oracle, from the program's first step on."""

    def __init__(
        self, replay: Replay, config: PoolConfig, program: Program, usable_blocks: int | None = None
    ) -> None:
        self._replay = replay
        self._config = config
        self._program = program
        self._oracle = Oracle(config, usable_blocks)
        self._theirs: dict[int, int] = {}
        self._ours: dict[int, int] = {}

    def setup(self) -> None:
        """The set-up steps, on both sides. Raises WrongAnswer."""
        self._asked("the set-up", self._replay.setup)
        for step in range(self._program.setup_steps):
            for _ in self._wanted(step, {}):
                pass

    def body(self, first: int, steps: int) -> int:
        """Steps of the body from `first` on, their answers compared; how many answers.

        Raises WrongAnswer.
        """
        records = self._asked("the loop", lambda: self._replay.answers(first, steps))
        got = _by_run(self._program, records)
        compared = 0
        for step in range(first, first + steps):
            number = self._program.setup_steps + step
            for run, what, wanted in self._wanted(number, got):
                if wanted or run in got:
                    self._compare(step, what, wanted, got.get(run, []))
                compared += len(wanted)
        return compared

    def check_state(self, manager: Any) -> None:
        """That the manager's tables are the oracle's. Raises WrongAnswer."""
        checker = Checker(manager, self._config, "unspecified")
        checker.oracle = self._oracle
        # What the answers have said of blocks holds of the tables, too.
        checker.physical, checker.holder = dict(self._theirs), dict(self._ours)
        self._oracle.released.clear()
        try:
            checker.bind_tables()
            checker.compare_all()
        except Exception as error:
            raise located(error, "", "the state after it") from None

    def _asked(self, what: str, act: Any) -> Any:
        try:
            return act()
        except Exception as error:
            raise located(error, "", what) from None

    def _wanted(
        self, step: int, got: Mapping[int, Sequence[int]]
    ) -> Iterator[tuple[int, str, list[_Wanted]]]:
        """(first operation, call, answers in the oracle's numbers) of each run of a step.

        Rows are as wide as those in `got`.
        """
        oracle, program = self._oracle, self._program
        for code, first, end in program.runs(step):
            wanted: list[_Wanted] = []
            what = code.name.lower()
            for _, call in calls_of_run(program, code, first, end):
                answer = getattr(oracle, call.method)(*call.operands)
                if call.method == "write_block_tables":
                    width = len(got.get(first, ())) // len(answer) - 1
                    for table in answer:
                        wanted += _row(table, width)
                elif call.method == "can_allocate":
                    wanted.append(("", int(answer)))
                elif call.method == "lookup":
                    wanted.append(answer)
                elif code is Op.APPEND:
                    wanted += answer or ()
                elif code is Op.EXTEND:
                    wanted += [block for copy in answer for block in copy]
            yield first, what, wanted
            for block in oracle.released:
                if block in self._theirs:
                    del self._ours[self._theirs.pop(block)]
            oracle.released.clear()

    def _compare(self, step: int, what: str, wanted: Sequence[_Wanted], got: Sequence[int]) -> None:
        kind = f"replayed {what}"
        if len(wanted) != len(got):
            raise WrongAnswer(
                f"step {step}, {what}: {len(got)} numbers were answered where there are "
                f"{len(wanted)}",
                kind=kind,
            )
        for at, (ours, theirs) in enumerate(zip(wanted, got, strict=True)):
            if not self._same(ours, theirs):
                raise WrongAnswer(
                    f"step {step}, {what}: answered {shown(got[at:])}"
                    f"{f' from place {at} on' if at else ''}; the first {self._wrong_in(ours)}",
                    kind=kind,
                )

    def _wrong_in(self, ours: _Wanted) -> str:
        right = ours[1] if isinstance(ours, tuple) else self._theirs.get(ours)
        return "is another block" if right is None else f"should be {right}"

    def _same(self, ours: _Wanted, theirs: int) -> bool:
        if isinstance(ours, tuple):
            return theirs == ours[1]
        if (known := self._theirs.get(ours)) is not None:
            return known == theirs
        if theirs in self._ours or not 0 <= theirs < self._config.total_blocks:
            return False
        self._theirs[ours], self._ours[theirs] = theirs, ours
        return True


def _row(table: Table, width: int) -> list[_Wanted]:
    """A packed row: its length, then its columns."""
    kept = table.kept
    tail = width - table.first_kept - len(kept)
    zero: _Plain = ("", 0)
    return [("", len(table.blocks)), *[zero] * table.first_kept, *kept, *[zero] * tail]


def _by_run(program: Program, records: Sequence[int]) -> dict[int, list[int]]:
    """The answered numbers by the first operation of the run that they are of."""
    starts = program.run_start
    found: dict[int, list[int]] = {}
    at = 0
    while at < len(records):
        index, count = records[at], records[at + 1]
        run = starts[bisect_right(starts, index) - 1]
        found.setdefault(run, []).extend(records[at + 2 : at + 2 + count])
        at += 2 + count
    return found
