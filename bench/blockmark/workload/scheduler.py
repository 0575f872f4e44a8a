"""The reference scheduler: continuous batching over one pool of blocks.

It decides by lengths, arrival and priority alone, never by which implementation is
measured, and writes down what it asks of the block manager. A step is, in order:

1. Free the sequences that have their last token.
2. Make room for the running ones, each of which needs one more token: evict cached
   prefixes, then preempt the request of the lowest priority that arrived last.
3. Bring back swapped requests, then admit waiting ones, while slots, the token budget
   and free blocks allow it; one per cent of the pool is kept back, so that an
   admission is not undone a step later. A prompt goes in chunks.
4. Append a token to every sequence whose prompt is in; extend the others by a chunk.
5. Look up one slot for each generated token, and one for each block of a chunk.

A step takes 1 / step_rate seconds of the simulated clock; with nothing to do the clock
jumps to the next arrival.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .ledger import Blocks
from .lifecycle import State, move
from .program import Op, ProgramBuilder
from .tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from blockmark_impls.contract import PoolConfig

    from .prefix_cache import PrefixCache
    from .requests import Request


@dataclass(frozen=True, slots=True)
class Rules:
    """What the scheduler goes by; tokens, blocks and requests as in the scenario keys."""

    slots: int
    step_s: float
    token_budget: int
    prefill_chunk: int
    queue_limit: int
    swap: bool
    host_blocks: int


class Scheduler:
    """Runs requests to their end, and records every operation in a ProgramBuilder."""

    def __init__(self, config: PoolConfig, rules: Rules, cache: PrefixCache | None = None) -> None:
        self.rules = rules
        self.builder = ProgramBuilder()
        self.tally = Tally()
        self.blocks = Blocks(config, self.builder, self.tally, cache)
        self._waiting: list[tuple[tuple[int, int], Request]] = []
        self._swapped: deque[Request] = deque()
        self._running: list[Request] = []
        self._ended: list[Request] = []
        self._free_slots = list(range(rules.slots - 1, -1, -1))
        self._host_free = rules.host_blocks
        self._step = 0

    def run(self, arrivals: Iterable[Request]) -> None:
        """Serve all requests, which come in order of arrival, and end with an empty pool."""
        coming = iter(arrivals)
        following = next(coming, None)
        now = 0.0
        while following or self._busy():
            if following and not self._busy():
                now = max(now, following.arrival_s)
            while following and following.arrival_s <= now:
                self._arrive(following)
                following = next(coming, None)
            if self._busy():
                self._one_step(now)
                self._step += 1
            now += self.rules.step_s
        self.blocks.drop_cache()

    def _busy(self) -> bool:
        return bool(self._waiting or self._running or self._swapped or self._ended)

    def _arrive(self, request: Request) -> None:
        tally = self.tally
        tally.arrived += 1
        request.arrived_at = self._step
        if not self.blocks.could_ever_hold(request.prompt_tokens + request.output_tokens):
            request.state = move(request.state, State.REJECTED)
            tally.rejected_size += 1
        elif len(self._waiting) >= self.rules.queue_limit:
            request.state = move(request.state, State.REJECTED)
            tally.rejected_queue += 1
        else:
            # A preempted request keeps its rank, so it is again before those behind it.
            heapq.heappush(self._waiting, (request.rank, request))

    def _one_step(self, now: float) -> None:
        self.builder.step(phase=1)
        self._free_ended()
        self._make_room()
        budget = self.rules.token_budget - sum(r.decoding for r in self._running)
        written: list[tuple[Request, int]] = []  # prompt chunks: request, tokens before
        for request in sorted(self._running, key=lambda r: r.rank):
            if request.state is State.RUNNING and not request.decoding and budget > 0:
                budget -= self._prefill(request, budget, written)
        budget = self._swap_in(budget)
        if not self._swapped:
            self._admit(now, budget, written)
        self._decode(written)
        self.tally.occupied.append(self.blocks.used)
        # Of what is shared all blocks are full, so slots stay empty in last blocks alone.
        size, hold = self.blocks.block_size, (*self._running, *self._ended)
        empty = sum(self.blocks.length(each.slot) * size - each.held for each in hold)
        self.tally.filled.append(self.blocks.used * size - empty)
        self.tally.running.append(len(self._running))

    def _free_ended(self) -> None:
        for request in self._ended:
            self._leave(request)
        self._ended.clear()

    def _leave(self, request: Request) -> None:
        """The request's slot and blocks become free."""
        self.blocks.free(request.slot)
        self._free_slots.append(request.slot)
        request.slot = -1

    def _crossing(self) -> int:
        """Blocks that the next token of every decoding request takes."""
        return sum(r.decoding and self.blocks.at_boundary(r.held) for r in self._running)

    def _make_room(self) -> None:
        while not self.blocks.free_up(self._crossing()):
            self._preempt(max(self._running, key=lambda r: r.rank))

    def _preempt(self, victim: Request) -> None:
        self._running.remove(victim)
        held = self.blocks.count(victim.slot)
        self._leave(victim)
        if self.rules.swap and held <= self._host_free:
            victim.state = move(victim.state, State.SWAPPED)
            self._host_free -= held
            self.tally.preempted_swap += 1
            self.tally.swapped_blocks += held
            self._swapped.append(victim)
        else:
            victim.state = move(victim.state, State.WAITING)
            victim.held = 0
            self.tally.preempted_recompute += 1
            heapq.heappush(self._waiting, (victim.rank, victim))

    def _prefill(self, request: Request, budget: int, written: list[tuple[Request, int]]) -> int:
        """Extend a prompt by a chunk; the tokens of it."""
        wanted = min(self.rules.prefill_chunk, request.tokens - request.held, budget)
        while True:
            # What the decoding requests need for this step is theirs.
            self.blocks.free_up(self.blocks.more_for(request.held, wanted) + self._crossing())
            room = self.blocks.num_free - self._crossing()
            chunk = min(wanted, self.blocks.tokens_within(request.held, room))
            if chunk > 0:
                break
            lower = [r for r in self._running if r.rank > request.rank]
            if not lower:
                return 0
            self._preempt(max(lower, key=lambda r: r.rank))
        self.blocks.extend(request.slot, request.held, chunk)
        self._note_chunk(request, chunk, written)
        return chunk

    def _note_chunk(self, request: Request, chunk: int, written: list[tuple[Request, int]]) -> None:
        written.append((request, request.held))
        request.held += chunk
        self.tally.prefill_chunks += 1
        if request.held >= request.prompt_tokens and request.chain:
            self.blocks.remember(request.slot, request.chain)

    def _swap_in(self, budget: int) -> int:
        while self._swapped and self._free_slots and budget > 0:
            request = self._swapped[0]
            blocks = self.blocks.blocks_for(request.held)
            if not self._fits(blocks + self.blocks.at_boundary(request.held)):
                break
            self._swapped.popleft()
            self._enter(request)
            self.blocks.allocate(request.slot, request.held)
            self._host_free += blocks
            self.tally.swapped_blocks += blocks
            budget -= 1
        return budget

    def _fits(self, blocks: int) -> bool:
        """Room for `blocks` more, beside this step's tokens and, unless idle, the reserve."""
        spare = self.blocks.reserve if self._running else 0
        return self.blocks.free_up(blocks + self._crossing() + spare)

    def _enter(self, request: Request) -> None:
        request.state = move(request.state, State.RUNNING)
        request.slot = self._free_slots.pop()
        self._running.append(request)

    def _admit(self, now: float, budget: int, written: list[tuple[Request, int]]) -> None:
        while self._waiting and self._free_slots and budget > 0:
            request = self._waiting[0][1]
            known = self._room_for(request)
            if known is None:
                break
            heapq.heappop(self._waiting)
            if not request.admissions:
                waited = self._step - request.arrived_at, now - request.arrival_s
                self.tally.waits.append(waited)
            self._enter(request)
            more = self.blocks.blocks_for(request.tokens) - known
            hit = self.blocks.begin(request.slot, request.chain, known, more)
            self._count_hits(request, hit)
            request.admissions += 1
            self.tally.admitted += 1
            request.held = hit
            chunk = min(self.rules.prefill_chunk, request.tokens - hit, budget)
            if hit:
                self.blocks.extend(request.slot, hit, chunk)
            else:
                self.blocks.allocate(request.slot, chunk)
            self._note_chunk(request, chunk, written)
            budget -= chunk

    def _room_for(self, request: Request) -> int | None:
        """Make room for a whole prompt, though it comes in chunks.

        The full blocks of it that the cache has then, or None if it can't be had. Making
        room may cost some of those, so that more is needed than was thought.
        """
        known = self.blocks.known(request.chain, request.tokens)
        while self._fits(self.blocks.blocks_for(request.tokens) - known):
            left = self.blocks.known(request.chain, request.tokens)
            if left >= known:
                return known
            known = left
        return None

    def _count_hits(self, request: Request, hit: int) -> None:
        if request.admissions:
            self.tally.readmission_hit_tokens += hit
        else:
            self.tally.prompt_tokens += request.prompt_tokens
            self.tally.hit_tokens += hit

    def _decode(self, written: list[tuple[Request, int]]) -> None:
        """One token for every request whose prompt was in before this step; the lookups."""
        chunked = {request.number for request, _ in written}
        decoding = [r for r in self._running if r.decoding and r.number not in chunked]
        for request in decoding:
            if self.blocks.at_boundary(request.held):
                self.blocks.grow(request.slot)
            request.held += 1
            request.generated += 1
        slots = [request.slot for request in decoding]
        size = self.blocks.block_size
        logicals = [(request.held - 1) // size for request in decoding]
        self.builder.run(Op.APPEND, slots)
        for request, before in written:
            touched = range(before // size, (request.held - 1) // size + 1)
            slots += [request.slot] * len(touched)
            logicals += touched
        self.builder.run(Op.LOOKUP, slots, logicals)
        for request in decoding:
            if request.generated == request.output_tokens:
                request.state = move(request.state, State.FINISHED)
                self._running.remove(request)
                self._ended.append(request)
                self.tally.finished += 1
