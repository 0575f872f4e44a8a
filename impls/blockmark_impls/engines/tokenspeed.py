"""TokenSpeed's scheduler, in C++: it decides for itself what runs in a step.

There is no pool or manager to call. A step of ours tells it who ended and which tokens came
out (`advance`), submits the new requests, asks for the next plan (`next_execution_plan`)
and takes the plan's block tables. It includes admission, prefix hashing, ref counts and the
packing of the tables, which no manager's step does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tokenspeed_scheduler as engine

from ..contract import UnknownSequence
from ..entry import TargetError
from .fitting import must_have

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..contract import PoolConfig

_GROUP = "full"
_TOKEN = 7


class TokenSpeed:
    """A load's steps as the scheduler meets them; see `measure/proof/engines.py`.

    `allocate` and `free` are kept until `append_slots`, which is a whole step. A new
    request's prompt is computed in the step that admits it, so its tokens are one behind.
    Ids are told from 1 on, and are counted here from 0.
    """

    def __init__(self, config: PoolConfig) -> None:
        self._config = config
        self._scheduler = _scheduler(config)
        must_have(
            self._scheduler,
            ("submit_requests", "next_execution_plan", "advance", "available_lcm_blocks"),
            "TokenSpeed's Scheduler",
        )
        self._started = 0
        self._id_of: dict[int, str] = {}
        self._new: list[Any] = []
        self._ended: list[str] = []
        self._running: list[str] = []
        self._row_of: dict[str, int] = {}
        self._table: NDArray[np.int32] = np.zeros((0, 0), dtype=np.int32)

    @property
    def num_free_blocks(self) -> int:
        """Pages that nobody holds; those that only the prefix cache holds are among them."""
        return int(self._scheduler.available_lcm_blocks())

    def can_allocate(self, num_blocks: int) -> bool:
        """Of the free pages alone; its own admission looks further."""
        return num_blocks <= self.num_free_blocks

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._started += 1
        request = engine.RequestSpec()
        request.request_id = self._id_of[seq] = str(self._started)
        # Prompts that begin alike would share pages.
        request.tokens = [self._started] * num_tokens
        # The load says when a request ends. What is named here is set aside at admission,
        # and a load that fills the pool by design would not be let in.
        request.max_new_tokens = 1
        self._new.append(request)

    def free(self, seq: int) -> None:
        ended = self._id_of.pop(seq, None)
        if ended is None:
            raise UnknownSequence(f"sequence {seq}")
        waiting = [request for request in self._new if request.request_id != ended]
        if len(waiting) == len(self._new):
            self._ended.append(ended)
        self._new = waiting

    def append_slots(self, seqs: NDArray[np.int32]) -> None:
        """One scheduler step, for all requests that run."""
        event = engine.ExecutionEvent()
        # Those that end are told of too: their pages are held until their step is done.
        for request_id in self._running:
            result = engine.ForwardEvent.ExtendResult()
            result.request_id = request_id
            result.tokens = [_TOKEN]
            event.add_event(result)
        for request_id in self._ended:
            finish = engine.ForwardEvent.Finish()
            finish.request_id = request_id
            event.add_event(finish)
        self._ended.clear()
        scheduler = self._scheduler
        scheduler.advance(event)
        if self._new:
            scheduler.submit_requests(self._new)
            self._new = []
        forward = scheduler.next_execution_plan().forward
        running: list[str] = []
        if forward and (running := list(forward[0].request_ids)):
            self._table = forward[0].block_tables_arrays()[_GROUP]
        if running != self._running:
            self._running = running
            self._row_of = {request_id: row for row, request_id in enumerate(running)}

    def append_slot(self, seq: int) -> None:
        raise TargetError("TokenSpeed decides for itself: it has no append of one sequence")

    def lookup_slots(
        self, seqs: NDArray[np.int32], logicals: NDArray[np.int32], out: NDArray[np.int32]
    ) -> None:
        """Of the step's own tables, which came with its plan; negative past a table's end.

        The proof has seen that every sequence is in every plan.
        """
        ids, rows = self._id_of, self._row_of
        at = [rows.get(ids[seq], 0) for seq in seqs.tolist()]
        out[:] = self._table[at, np.minimum(logicals, self._table.shape[1] - 1)] - 1

    def lookup(self, seq: int, logical: int) -> int:
        return self.block_table(seq)[logical]

    def block_table(self, seq: int) -> list[int]:
        """Its pages in the last plan; none if it was not in it."""
        request_id = self._id_of.get(seq)
        if request_id is None:
            raise UnknownSequence(f"sequence {seq}")
        row = self._row_of.get(request_id)
        return [] if row is None else [page - 1 for page in self._table[row].tolist() if page > 0]

    def scheduled(self, seq: int) -> bool:
        """Whether the last plan has it."""
        return self._id_of.get(seq) in self._row_of


def _scheduler(config: PoolConfig) -> Any:
    group = engine.CacheGroupConfig()
    settings = engine.SchedulerConfig()
    wanted: list[tuple[Any, str, Any]] = [
        (group, "group_id", _GROUP),
        (group, "block_granularity", config.block_size),
        # One more, as the first is its own.
        (group, "total_pages", config.total_blocks + 1),
        (group, "attn_kind", engine.AttnKind.Full),
        (settings, "num_device_pages", config.total_blocks + 1),
        # It asks for one of each, though none is used.
        (settings, "num_host_pages", 1),
        (settings, "num_snapshot_pages", 1),
        (settings, "disable_l2_cache", True),
        (settings, "disable_prefix_cache", True),
        (settings, "prefix_granularity", config.block_size),
        # Those that end in a step still count in it.
        (settings, "max_batch_size", 2 * config.max_seqs),
        (settings, "max_scheduled_tokens", config.total_blocks * config.block_size),
        (settings, "enable_mixed_prefill_decode", True),
        (settings, "cache_groups", [group]),
    ]
    for target, name, value in wanted:
        if not hasattr(target, name):
            raise TargetError(f"TokenSpeed's {type(target).__name__} has no {name}")
        setattr(target, name, value)
    return engine.Scheduler(settings)
