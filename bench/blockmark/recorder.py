"""Recording a live manager's operations, so that a week in production is a benchmark.

    from blockmark.recorder import Recorder

    recorder = Recorder(manager, config)     # blockmark_impls.contract.PoolConfig
    manager = recorder.manager               # hand this to the engine
    ...                                      # and recorder.step() as each iteration begins
    recorder.save("monday.program")

An operation is noted by one call of an array's `append`, after it has succeeded; what is
refused is not noted. `tests/measure_recorder.py` prints what that costs. Nothing else is
imported until `save`, which needs NumPy.

`VllmManagerRecorder` and `VllmPoolRecorder` wrap vLLM's own objects. A recorded prefix hit
takes its blocks anew: a recording holds sizes and times of life, and no contents.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from .workload.words import (
    ALLOCATE,
    APPEND,
    CAN_ALLOCATE,
    DROP_FRONT,
    EXTEND,
    FORK,
    FREE,
    GIVE,
    LOOKUP,
    MOST_A,
    OPERAND_C,
    PACK,
    STEP,
    TAKE,
    TRUNCATE,
    A,
    B,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from blockmark_impls.contract import PoolConfig


class Log:
    """The words noted so far."""

    def __init__(self) -> None:
        self.words: array[int] = array("q")
        self.note = self.words.append

    def step(self) -> None:
        """A scheduler iteration begins."""
        self.note(STEP)


class _Watched:
    """The manager with some of its operations replaced; everything else is its own."""

    def __init__(self, manager: Any, operations: dict[str, Callable[..., Any]]) -> None:
        self.__dict__.update(operations)
        self.__dict__["_manager"] = manager

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_manager"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_manager"], name, value)


class Recorder:
    """Notes the operations of a manager with the contract's operations.

    Sequences that live when recording begins are part of the recording's start; blocks that
    they share are not known, and count as their own. Raises ValueError for more than
    67,108,863 sequences.
    """

    def __init__(self, manager: Any, config: PoolConfig) -> None:
        if config.max_seqs > MOST_A:
            raise ValueError(f"max_seqs = {config.max_seqs:,} is more than {MOST_A:,}")
        self.config = config
        self._log = Log()
        self._start = _live(manager, config)
        self.manager: Any = _Watched(manager, _watch(manager, self._log))
        self.step = self._log.step

    @property
    def operations(self) -> int:
        """Words noted so far; step marks are among them."""
        return len(self._log.words)

    def save(self, path: Path | str) -> None:
        """Write a Program. Raises ValueError if `step` was never called, OSError."""
        from blockmark.workload.recording import manager_program, write

        write(manager_program(self._log.words, self._start, self.config), path)


class VllmManagerRecorder:
    """Notes `allocate_slots` and `free` of a vLLM `KVCacheManager`.

    `block_size` in tokens; `max_blocks_per_seq` as the worker's block table has columns. A
    step begins where the scheduler says so (`new_step_starts`), else with `step()`. Requests
    get sequence numbers as they come; `prefix_hit_blocks` counts blocks that vLLM found in
    its cache.
    """

    def __init__(self, manager: Any, *, block_size: int, max_blocks_per_seq: int) -> None:
        self.block_size = block_size
        self.max_blocks_per_seq = max_blocks_per_seq
        self.prefix_hit_blocks = 0
        self._log = Log()
        self._seq_of: dict[str, int] = {}
        self._tokens: dict[str, int] = {}
        self._unused: list[int] = []
        self._total = int(manager.block_pool.num_gpu_blocks) - 1
        self.step = self._log.step
        operations = {"allocate_slots": self._allocate(manager), "free": self._free(manager)}
        if hasattr(manager, "new_step_starts"):
            operations["new_step_starts"] = self._new_step(manager.new_step_starts)
        self.manager: Any = _Watched(manager, operations)

    def _allocate(self, manager: Any) -> Callable[..., Any]:
        allocate_slots, note = manager.allocate_slots, self._log.note
        seq_of, tokens_of = self._seq_of, self._tokens

        def recorded(request: Any, num_new_tokens: int, *args: Any, **named: Any) -> Any:
            before = request.num_computed_tokens
            found = allocate_slots(request, num_new_tokens, *args, **named)
            if found is None:
                return None
            hit = named.get("num_new_computed_tokens", args[0] if args else 0)
            ahead = named.get("num_lookahead_tokens", args[2] if len(args) > 2 else 0)
            tokens = before + hit + num_new_tokens + ahead
            request_id = request.request_id
            known = tokens_of.get(request_id)
            if known is None:
                self.prefix_hit_blocks += hit // self.block_size
                seq = self._unused.pop() if self._unused else len(seq_of)
                seq_of[request_id] = seq
                note(ALLOCATE | seq << A | tokens << B)
            elif tokens > known:
                seq, more = seq_of[request_id], tokens - known
                note(APPEND | seq << A if more == 1 else EXTEND | seq << A | more << B)
            else:
                return found
            tokens_of[request_id] = tokens
            return found

        return recorded

    def _free(self, manager: Any) -> Callable[..., Any]:
        free, note = manager.free, self._log.note

        def recorded(request: Any) -> Any:
            answer = free(request)
            seq = self._seq_of.pop(request.request_id, None)
            if seq is not None:
                del self._tokens[request.request_id]
                self._unused.append(seq)
                note(FREE | seq << A)
            return answer

        return recorded

    def _new_step(self, starts: Callable[..., Any]) -> Callable[..., Any]:
        step = self._log.step

        def recorded(*args: Any, **named: Any) -> Any:
            step()
            return starts(*args, **named)

        return recorded

    def save(self, path: Path | str) -> None:
        """Write a Program. Raises ValueError if no step was marked, OSError."""
        from blockmark.workload.recording import manager_program, write
        from blockmark_impls.contract import PoolConfig

        config = PoolConfig(
            total_blocks=self._total,
            block_size=self.block_size,
            max_seqs=max(2, len(self._seq_of) + len(self._unused)),
            max_blocks_per_seq=self.max_blocks_per_seq,
            id_bits=16 if self._total <= 1 << 16 else 32,
        )
        write(manager_program(self._log.words, {}, config), path)


class PoolRecorder:
    """Notes `take` and `give` of a free pool. `total_blocks` is its size.

    A return that names blocks of several hand-outs is replayed as one for each of them.
    """

    take_name, give_name = "take", "give"

    def __init__(self, pool: Any, total_blocks: int) -> None:
        self.total_blocks = total_blocks
        self._log = Log()
        self.step = self._log.step
        self.pool: Any = _Watched(
            pool,
            {
                self.take_name: self._wrap(getattr(pool, self.take_name), TAKE),
                self.give_name: self._wrap_give(getattr(pool, self.give_name)),
            },
        )

    def ids_of(self, blocks: Iterable[Any]) -> list[int]:
        """The numbers of blocks that were taken or given back."""
        return list(blocks)

    def _wrap(self, method: Callable[..., Any], code: int) -> Callable[..., Any]:
        words, ids_of = self._log.words, self.ids_of

        def recorded(*args: Any) -> Any:
            blocks = method(*args)
            ids = ids_of(blocks)
            words.append(code | len(ids) << B)
            words.extend(ids)
            return blocks

        return recorded

    def _wrap_give(self, method: Callable[..., Any]) -> Callable[..., Any]:
        words, freed = self._log.words, self._freed

        def recorded(blocks: Any) -> Any:
            kept = list(blocks)
            answer = method(kept)
            ids = freed(kept)
            words.append(GIVE | len(ids) << B)
            words.extend(ids)
            return answer

        return recorded

    def _freed(self, blocks: list[Any]) -> list[int]:
        """Those that are free now."""
        return self.ids_of(blocks)

    def save(self, path: Path | str) -> None:
        """Write a Program of the pool alone. Raises ValueError if no step was marked, OSError."""
        from blockmark.workload.recording import pool_program, write

        write(pool_program(self._log.words, self.total_blocks), path)


class VllmPoolRecorder(PoolRecorder):
    """Notes `get_new_blocks` and `free_blocks` of a vLLM `BlockPool`.

    A block that others still hold is not given back yet. One that a prefix hit takes out
    of the free ones again (`touch`) was never given back, as far as the recording goes.
    """

    take_name, give_name = "get_new_blocks", "free_blocks"

    def __init__(self, pool: Any) -> None:
        super().__init__(pool, int(pool.num_gpu_blocks) - 1)

    def ids_of(self, blocks: Iterable[Any]) -> list[int]:
        return [block.block_id for block in blocks]

    def _freed(self, blocks: list[Any]) -> list[int]:
        return [block.block_id for block in blocks if not block.ref_cnt and not block.is_null]


def _live(manager: Any, config: PoolConfig) -> dict[int, int]:
    """Sequence -> tokens of those that have a table now."""
    from blockmark_impls.contract import UnknownSequence

    found = {}
    for seq in range(config.max_seqs):
        try:
            table = manager.block_table(seq)
        except UnknownSequence:
            continue
        counted = hasattr(manager, "num_tokens")
        found[seq] = manager.num_tokens(seq) if counted else len(table) * config.block_size
    return found


def _watch(manager: Any, log: Log) -> dict[str, Callable[..., Any]]:
    """Each operation of the contract that the manager has, noted when it succeeds."""
    note = log.note

    def one(code: int, method: Callable[[int], Any]) -> Callable[[int], Any]:
        def recorded(a: int) -> Any:
            answer = method(a)
            note(code | a << A)
            return answer

        return recorded

    def two(code: int, method: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
        def recorded(a: int, b: int) -> Any:
            answer = method(a, b)
            note(code | a << A | b << B)
            return answer

        return recorded

    def fork(method: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(parent: int, child: int, num_blocks: int | None = None) -> Any:
            answer = method(parent, child, num_blocks)
            note(FORK | parent << A | child << B)
            note(OPERAND_C | (num_blocks or 0) << B)
            return answer

        return recorded

    def many(code: int, method: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(seqs: Any, *others: Any) -> Any:
            answer = method(seqs, *others)
            second = others[0] if code == LOOKUP else None
            for at, seq in enumerate(seqs.tolist()):
                note(code | seq << A | (int(second[at]) << B if second is not None else 0))
            return answer

        return recorded

    makers: dict[str, tuple[Callable[..., Callable[..., Any]], int | None]] = {
        "can_allocate": (_blocks, None),
        "allocate": (two, ALLOCATE),
        "append_slot": (one, APPEND),
        "extend": (two, EXTEND),
        "truncate": (two, TRUNCATE),
        "drop_front": (two, DROP_FRONT),
        "free": (one, FREE),
        "lookup": (two, LOOKUP),
        "fork": (fork, None),
        "append_slots": (many, APPEND),
        "lookup_slots": (many, LOOKUP),
        "write_block_tables": (many, PACK),
    }
    watched = {}
    for name, (make, code) in makers.items():
        method = getattr(manager, name, None)
        if method is None:
            continue
        if make is _blocks:
            watched[name] = _blocks(method, note)
        else:
            watched[name] = make(method) if code is None else make(code, method)
    return watched


def _blocks(method: Callable[[int], Any], note: Callable[[int], None]) -> Callable[[int], Any]:
    """A question about more blocks than 26 bits count is asked for that many."""

    def recorded(num_blocks: int) -> Any:
        answer = method(num_blocks)
        note(CAN_ALLOCATE | (num_blocks if num_blocks < MOST_A else MOST_A) << A)
        return answer

    return recorded
