"""Requests in a memory that a policy divides, step by step; everything is counted exactly.

First come, first served: the request at the head of the queue waits until it fits, and
nobody overtakes it. A request that must give way (the one that started last) goes back to
the head, and what it had is computed again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark_impls.capacity.contract import MemoryPolicy, Request


@dataclass(slots=True)
class Counts:
    """Sums over the `steps` that count, and over the whole simulation.

    The sums of token-steps are of Usage's parts; `logical` counts shared tokens for each
    request that has them.
    """

    steps: int = 0
    all_steps: int = 0
    live: int = 0
    reserved: int = 0
    internal: int = 0
    external: int = 0
    free: int = 0
    logical: int = 0
    running: int = 0
    running_peak: int = 0
    blocked: int = 0  # steps with room for the head in all, but in no hole
    entries: int = 0
    entries_peak: int = 0
    saved: int = 0
    unshared: int = 0
    finished: int = 0
    not_served: int = 0
    preempted: int = 0
    computed: int = 0  # tokens, those computed again included
    recomputed: int = 0


@dataclass(slots=True)
class _Waiting:
    number: int
    request: Request
    done: int = 0  # tokens generated before it had to give way
    again: bool = False  # whether it had to

    @property
    def held(self) -> int:
        """Tokens that it starts with."""
        return self.request.prompt + self.done


@dataclass(slots=True)
class _Running:
    waiting: _Waiting
    since: int
    ends: int


@dataclass(slots=True)
class Simulation:
    """`requests` with the step in which each arrives, in that order.

    With `saturated`, the steps that count are those in which a request waits: the memory is
    then as full as the policy gets it. Without, those in which one runs.
    """

    policy: MemoryPolicy
    requests: Sequence[tuple[int, Request]]
    saturated: bool
    counts: Counts = field(default_factory=Counts)
    _queue: deque[_Waiting] = field(default_factory=deque)
    # In the order in which they started.
    _running: dict[int, _Running] = field(default_factory=dict)
    _ends: dict[int, list[int]] = field(default_factory=dict)
    _logical_base: int = 0

    def run(self) -> Counts:
        """Until the last request has ended."""
        now, arrived = 0, 0
        while arrived < len(self.requests) or self._queue or self._running:
            if not self._running and not self._queue:
                now = max(now, self.requests[arrived][0])
            self._end(now)
            self._grow(now)
            while arrived < len(self.requests) and self.requests[arrived][0] <= now:
                self._arrive(arrived)
                arrived += 1
            self._start(now)
            self._count(now)
            now += 1
        self.counts.all_steps = now
        return self.counts

    def _arrive(self, number: int) -> None:
        request = self.requests[number][1]
        if self.policy.fits(request):
            self._queue.append(_Waiting(number, request))
        else:
            self.counts.not_served += 1

    def _start(self, now: int) -> None:
        while self._queue:
            first = self._queue[0]
            if not self.policy.start(first.number, first.request, first.held, now):
                return
            self._queue.popleft()
            ends = now + first.request.output - first.done
            self._running[first.number] = _Running(first, now, ends)
            self._ends.setdefault(ends, []).append(first.number)
            self._logical_base += first.held - now
            self.counts.computed += first.held
            self.counts.recomputed += first.held if first.again else 0

    def _end(self, now: int) -> None:
        for number in self._ends.pop(now, ()):
            # One that gave way in the meantime ends in another step.
            found = self._running.get(number)
            if found is not None and found.ends == now:
                self._leave(number, now)
                self.counts.finished += 1
                self.counts.computed += found.waiting.request.output - found.waiting.done

    def _grow(self, now: int) -> None:
        while self._running and not self.policy.grow(now):
            number = next(reversed(self._running))
            gone = self._leave(number, now)
            # In this step it has not grown any more.
            grown = now - 1 - gone.since
            self.counts.preempted += 1
            self.counts.computed += grown
            self._queue.appendleft(
                _Waiting(number, gone.waiting.request, gone.waiting.done + grown, again=True)
            )

    def _leave(self, number: int, now: int) -> _Running:
        gone = self._running.pop(number)
        self.policy.end(number, now)
        self._logical_base -= gone.waiting.held - gone.since
        return gone

    def _count(self, now: int) -> None:
        if not (self._queue if self.saturated else self._running):
            return
        counts, policy, running = self.counts, self.policy, len(self._running)
        head = self._queue[0] if self._queue else None
        usage = policy.usage(now, head.request if head else None)
        counts.steps += 1
        counts.live += usage.live
        counts.reserved += usage.reserved
        counts.internal += usage.internal
        counts.external += usage.external
        counts.free += usage.free
        counts.blocked += usage.external > 0
        counts.logical += self._logical_base + now * running
        counts.running += running
        counts.running_peak = max(counts.running_peak, running)
        entries = policy.table_entries
        counts.entries += entries
        counts.entries_peak = max(counts.entries_peak, entries)
        saved, unshared = policy.blocks_saved
        counts.saved += saved
        counts.unshared += unshared
