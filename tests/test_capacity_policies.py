"""Policies that divide a memory: small cases by hand, and a plain model token by token."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmark.studies.capacity.simulation import Simulation
from blockmark_impls.capacity.buddy import Buddy
from blockmark_impls.capacity.contract import Request, Segment, Usage
from blockmark_impls.capacity.first_fit import FirstFit
from blockmark_impls.capacity.paged import Paged
from blockmark_impls.capacity.reserve import Reserve


def request(prompt: int, output: int) -> Request:
    return Request(prompt, output, (Segment(f"{prompt}", prompt),))


def test_a_slot_of_the_longest_length_loses_what_a_request_does_not_reach() -> None:
    policy = Reserve(100, 30)  # three slots and ten tokens over
    assert [policy.start(i, request(10, 5), 10, 0) for i in range(4)] == [True, True, True, False]
    # 3 x 10 written, 3 x 5 to come, 3 x 15 never; ten tokens are no slot.
    assert policy.usage(0, request(10, 5)) == Usage(30, 15, 45, 0, 10)
    assert policy.usage(4, None) == Usage(42, 3, 45, 0, 10)
    policy.end(1, 5)
    assert policy.start(9, request(30, 0), 30, 5)
    assert not policy.fits(request(30, 1))


def test_first_fit_leaves_holes_that_together_would_do() -> None:
    policy = FirstFit(100, None)
    for number, size in enumerate((30, 30, 40)):
        assert policy.start(number, request(size - 1, 1), size - 1, 0)
    assert policy.usage(0, None) == Usage(97, 3, 0, 0, 0)
    policy.end(0, 1)
    policy.end(2, 1)
    assert policy.pieces() == [(30, 30)]
    # 70 are free, and the holes have 30 and 40.
    wanted = request(49, 1)
    assert policy.usage(1, wanted) == Usage(30, 0, 0, 70, 0)
    assert policy.usage(1, request(70, 1)) == Usage(30, 0, 0, 0, 70)
    assert not policy.start(3, wanted, 49, 1)
    assert policy.start(4, request(30, 5), 30, 1)
    assert policy.pieces() == [(30, 30), (60, 35)]
    # The first hole that is large enough, not the one that fits best.
    assert policy.start(5, request(4, 1), 4, 1)
    assert policy.pieces() == [(0, 5), (30, 30), (60, 35)]


def test_an_engine_without_an_oracle_reserves_what_may_come() -> None:
    policy = FirstFit(100, 20)
    assert policy.start(0, request(10, 5), 10, 0)
    assert policy.pieces() == [(0, 30)]
    assert policy.usage(0, None) == Usage(10, 5, 15, 0, 70)
    assert not policy.fits(request(10, 21))


def test_buddies_are_halved_and_joined() -> None:
    policy = Buddy(64 + 16 + 4)
    assert policy.start(0, request(5, 0), 5, 0)  # 8 of the 16 behind the 64
    assert policy.pieces() == [(64, 8)]
    assert policy.start(1, request(33, 0), 33, 0)
    assert policy.pieces() == [(0, 64), (64, 8)]
    # 8 + 4 are free; 9 tokens need a piece of 16.
    assert policy.usage(0, request(9, 0)) == Usage(38, 0, 34, 0, 12)
    policy.end(0, 1)
    assert policy.start(2, request(16, 0), 16, 1)
    assert policy.pieces() == [(0, 64), (64, 16)]


def test_paging_loses_the_rest_of_the_last_block() -> None:
    policy = Paged(64, 16, sharing=False, watermark=0.0)
    assert policy.start(0, request(17, 40), 17, 0)  # two blocks, 15 places left
    assert policy.usage(0, None) == Usage(17, 0, 15, 0, 32)
    for step in range(1, 16):
        assert policy.grow(step)
    assert policy.usage(15, None) == Usage(32, 0, 0, 0, 32)
    assert policy.grow(16)  # the 33rd token takes a block
    assert policy.usage(16, None) == Usage(33, 0, 15, 0, 16)
    assert policy.table_entries == 3
    policy.end(0, 17)
    assert policy.usage(17, None) == Usage(0, 0, 0, 0, 64)


def test_a_full_memory_lets_nobody_grow() -> None:
    policy = Paged(32, 16, sharing=False, watermark=0.0)
    assert policy.start(0, request(16, 5), 16, 0)
    assert policy.start(1, request(16, 5), 16, 0)
    assert not policy.grow(1)
    assert policy.usage(0, None) == Usage(32, 0, 0, 0, 0)
    policy.end(1, 1)
    assert policy.grow(1)


def test_the_watermark_holds_back_all_but_the_first() -> None:
    policy = Paged(160, 16, sharing=False, watermark=0.2)  # two of ten blocks
    assert policy.start(0, request(112, 1), 112, 0)
    assert not policy.start(1, request(17, 1), 17, 0)
    assert policy.start(1, request(16, 1), 16, 0)
    alone = Paged(160, 16, sharing=False, watermark=0.2)
    assert alone.start(0, request(160, 0), 160, 0)


def test_full_blocks_of_a_prompt_are_shared_and_the_last_holder_frees_them() -> None:
    policy = Paged(320, 16, sharing=True, watermark=0.0)
    common, own = Segment("system", 40), 10
    for number in range(3):
        # 50 tokens: two full common blocks, one block with the rest of both, one more.
        prompt = Request(50, 5, (common, Segment(f"own {number}", own)))
        assert policy.start(number, prompt, 50, 0)
    assert policy.blocks_saved == (2 * 2, 3 * 4)
    # 12 blocks without sharing, 8 with.
    assert policy.usage(0, None).free == 320 - 8 * 16
    assert policy.usage(0, None).live == 3 * 50 - 2 * 32
    policy.end(0, 1)
    assert policy.blocks_saved == (2, 8)
    policy.end(1, 1)
    assert policy.usage(1, None).free == 320 - 4 * 16
    policy.end(2, 1)
    assert policy.usage(1, None) == Usage(0, 0, 0, 0, 320)


class Plain:
    """A paged memory token by token: a table a request, a set of holders a block."""

    def __init__(self, tokens: int, size: int, sharing: bool) -> None:
        self.tokens, self.size, self.sharing = tokens, size, sharing
        self.total = tokens // size
        self.held: dict[int, tuple[int, list[Any]]] = {}
        self.holders: dict[Any, set[int]] = {}
        self.fresh = 0

    def names(self, number: int, request: Request, held: int) -> list[Any]:
        content: list[Any] = []
        for segment in request.segments:
            content += [(segment.key, at) for at in range(segment.tokens)]
        blocks: list[Any] = []
        for first in range(0, held, self.size):
            piece = tuple(content[first : first + self.size])
            whole = len(piece) == self.size and first + self.size <= held
            if self.sharing and whole:
                # Which block it is in the prompt, and what is in it.
                blocks.append((first, piece))
            else:
                self.fresh += 1
                blocks.append(self.fresh)
        return blocks

    def fits(self, request: Request) -> bool:
        return -(-request.final // self.size) <= self.total

    def start(self, number: int, request: Request, held: int, now: int) -> bool:
        blocks = self.names(number, request, held)
        new = [block for block in blocks if block not in self.holders]
        if len(new) > self.total - len(self.holders):
            return False
        for block in blocks:
            self.holders.setdefault(block, set()).add(number)
        self.held[number] = (held, blocks)
        return True

    def end(self, number: int, now: int) -> None:
        for block in self.held.pop(number)[1]:
            self.holders[block].discard(number)
            if not self.holders[block]:
                del self.holders[block]

    def grow(self, now: int) -> bool:
        at_boundary = [n for n, (held, _) in self.held.items() if held % self.size == 0]
        if len(at_boundary) > self.total - len(self.holders):
            return False
        for number, (held, blocks) in self.held.items():
            if number in at_boundary:
                self.fresh += 1
                blocks.append(self.fresh)
                self.holders[self.fresh] = {number}
            self.held[number] = held + 1, blocks
        return True

    def usage(self, now: int, head: Request | None) -> Usage:
        live = 0
        seen: set[Any] = set()
        for held, blocks in self.held.values():
            for index, block in enumerate(blocks):
                if block not in seen:
                    live += min(self.size, held - index * self.size)
                seen.add(block)
        used = len(self.holders) * self.size
        return Usage(live, 0, used - live, 0, self.tokens - used)

    @property
    def table_entries(self) -> int:
        return sum(len(blocks) for _, blocks in self.held.values())

    @property
    def blocks_saved(self) -> tuple[int, int]:
        return self.table_entries - len(self.holders), self.table_entries


@st.composite
def loads(draw: st.DrawFn) -> list[tuple[int, Request]]:
    load, now = [], 0
    for number in range(draw(st.integers(1, 14))):
        now += draw(st.integers(0, 9))
        shared = draw(st.sampled_from((0, 3, 8, 20)))
        own = draw(st.integers(1, 30))
        pieces = (Segment(f"common {shared}", shared),) if shared else ()
        # Samples of one prompt have its key; its length is a part of it.
        key = f"own {number % draw(st.sampled_from((1, 3, 20)))} {own} after {shared}"
        load.append(
            (now, Request(shared + own, draw(st.integers(1, 40)), (*pieces, Segment(key, own))))
        )
    return load


@settings(deadline=None, max_examples=150)
@given(loads(), st.integers(1, 9), st.integers(30, 300), st.booleans(), st.booleans())
def test_paging_is_what_a_plain_model_says(
    load: list[tuple[int, Request]], size: int, tokens: int, sharing: bool, saturated: bool
) -> None:
    fast = Simulation(Paged(tokens, size, sharing=sharing, watermark=0.0), load, saturated).run()
    slow = Simulation(Plain(tokens, size, sharing), load, saturated).run()
    assert fast == slow
    assert fast.finished + fast.not_served == len(load)


@settings(deadline=None, max_examples=100)
@given(loads(), st.integers(60, 300))
def test_pieces_never_overlap_and_everything_ends(
    load: list[tuple[int, Request]], tokens: int
) -> None:
    exact, limit = FirstFit(tokens, None), FirstFit(tokens, 40)
    for policy in (exact, limit, Buddy(tokens), Reserve(tokens, 60)):
        counts = Simulation(policy, load, True).run()
        assert counts.finished + counts.not_served == len(load)
        assert policy.pieces() == []
        assert policy.usage(10**6, None) == Usage(0, 0, 0, 0, tokens)
        # Nobody gives way, so every token is computed once.
        assert counts.preempted == counts.recomputed == 0
        assert counts.computed == sum(r.final for _, r in load if policy.fits(r))


def test_who_gives_way_is_the_last_that_started_and_it_is_computed_again() -> None:
    # Four blocks of 4: two requests of 8 tokens; both want a fifth block in step 1.
    load = [(0, request(8, 4)), (0, request(8, 4))]
    counts = Simulation(Paged(16, 4, sharing=False, watermark=0.0), load, True).run()
    # The second waits from step 1, starts again with its 8 tokens when the first ends in
    # step 4, and ends in step 8.
    assert (counts.preempted, counts.recomputed) == (1, 8)
    assert counts.all_steps == 9
    assert counts.finished == 2
    # It waited in steps 1, 2 and 3, while the first held 9, 10 and 11 tokens.
    assert (counts.steps, counts.live, counts.running) == (3, 9 + 10 + 11, 3)


def test_tokens_generated_before_giving_way_are_computed_again() -> None:
    # The second is a step further in its block, so that it has generated one token.
    load = [(0, request(7, 5)), (0, request(8, 5))]
    counts = Simulation(Paged(20, 4, sharing=False, watermark=0.0), load, True).run()
    # 7 + 8 tokens take 4 blocks; the second takes the fifth in step 1, the first finds none
    # in step 2, and the second, with 9 tokens, gives way.
    assert counts.preempted == 1
    assert counts.recomputed == 9
    assert counts.computed == 7 + 5 + 8 + 5 + 9


@pytest.mark.parametrize("block_size", [1, 16, 128])
def test_requests_of_one_length_against_arithmetic(block_size: int) -> None:
    """claims: n_paged(final) = floor(T / b) / ceil((P + O) / b) is a floor of the mean."""
    tokens, prompt, output = 8192, 256, 64
    load = [(0, request(prompt, output)) for _ in range(200)]
    counts = Simulation(Paged(tokens, block_size, sharing=False), load, True).run()
    whole = tokens // block_size // -(-(prompt + output) // block_size)
    most = tokens / prompt
    assert whole <= counts.running / counts.steps <= most
    reserved = Simulation(Reserve(tokens, 512), load, True).run()
    assert reserved.running == reserved.steps * (tokens // 512)
    # (P + O / 2) / max_len, less half a token: a step ends before its token is counted.
    share = reserved.live / reserved.steps / (tokens // 512 * 512)
    assert share == pytest.approx((prompt + (output - 1) / 2) / 512, rel=0.02)
