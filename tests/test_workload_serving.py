"""The reference scheduler: states, admission, preemption, swap, the prefix cache."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from blockmark.measure.proof.checker import Checker
from blockmark.workload.distributions import canonical, draw
from blockmark.workload.errors import ConfigError
from blockmark.workload.lifecycle import IllegalMoveError, State, move
from blockmark.workload.prefix_cache import PrefixCache
from blockmark.workload.program import Op, Program
from blockmark.workload.requests import Request, made_up_requests
from blockmark.workload.scenario import Cell, parse_scenario
from blockmark.workload.scheduler import Rules, Scheduler
from blockmark.workload.serving import serving_load
from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.vector import VectorManager
from blockmark_impls.registry import resolve

TIGHT: dict[str, Any] = {
    "total_blocks": 400,
    "max_blocks_per_seq": 64,
    "concurrency": 32,
    "requests": 120,
    "arrival_rate": 500.0,
}
SWAP: dict[str, Any] = {**TIGHT, "preemption": "swap", "host_blocks": 300}
CACHED: dict[str, Any] = {
    **TIGHT,
    "prefix_cache": "on",
    "shared_prefix_tokens": 200,
    "priority_levels": 3,
    "prompt_tokens": "lognormal:median=50,p99=300",
}
WIDE: dict[str, Any] = {"total_blocks": 4096, "max_blocks_per_seq": 2048}


def cell(**params: Any) -> Cell:
    text = "workload = 'serving'\n"
    text += "\n".join(f"{key} = {value!r}" for key, value in params.items())
    return parse_scenario(text, "serving", "test").cells()[0]


@pytest.mark.parametrize("params", [TIGHT, SWAP, CACHED, {**CACHED, "block_size": 1, **WIDE}])
@pytest.mark.parametrize("target", ["vector/py", "flat-stack/cpp"])
def test_every_operation_succeeds_and_the_pool_ends_empty(
    params: dict[str, Any], target: str
) -> None:
    this = cell(**params)
    load = serving_load(this)
    impl = resolve(target)[0]
    checker = Checker(impl.make_manager(this.pool_config), this.pool_config, impl.reuse_order)
    refused = []
    for step in range(load.program.num_steps):
        for _, code, a, b, c in load.program.operations(step):
            before = len(checker.oracle.tables)
            checker.operation(code, a, b, c)
            if code in (Op.ALLOCATE, Op.FORK) and len(checker.oracle.tables) == before:
                refused.append((step, code))
    assert refused == []
    assert checker.oracle.tables == {}
    assert checker.oracle.num_free_blocks == this["total_blocks"]


def requests_of(facts: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = facts["requests"]
    return found


def test_counts_add_up_and_do_not_depend_on_an_implementation() -> None:
    for params in (TIGHT, SWAP, CACHED):
        load = serving_load(cell(**params))
        counts = requests_of(load.facts)
        assert counts["arrived"] == 120
        assert counts["finished"] + counts["rejected"] == 120
        # By hand: everyone who ended was admitted, and once more for each computing anew.
        admitted = counts["finished"] + counts["preempted_recompute"]
        ended_per_step = load.facts["ended_per_step"]
        assert load.facts["admitted_per_step"] * counts["finished"] == pytest.approx(
            ended_per_step * admitted
        )
        assert ended_per_step * load.program.body_steps == pytest.approx(
            counts["finished"], rel=0.01
        )
        assert load.facts["program_digest"] == serving_load(cell(**params)).facts["program_digest"]
    assert requests_of(serving_load(cell(**TIGHT)).facts)["preempted_recompute"] > 0
    swapped = requests_of(serving_load(cell(**SWAP)).facts)
    assert swapped["preempted_swap"] > 0
    assert swapped["swapped_blocks"] > 0


def decoded(program: Program) -> int:
    return sum(
        code is Op.APPEND
        for step in range(program.num_steps)
        for _, code, *_ in program.operations(step)
    )


def test_every_request_gets_exactly_its_tokens() -> None:
    this = cell(**SWAP)
    wanted = sum(request.output_tokens for request in made_up_requests(this))
    # Swapped requests lose nothing; nobody is rejected here.
    assert requests_of(serving_load(this).facts)["rejected"] == 0
    assert decoded(serving_load(this).program) == wanted


def simulate(
    requests: list[Request], *, total: int = 100, slots: int = 4, cache: bool = False, **rules: Any
) -> Scheduler:
    config = PoolConfig(total, 4, slots + 8, 64)
    settings = {
        "step_s": 0.001,
        "token_budget": 64,
        "prefill_chunk": 64,
        "queue_limit": 1000,
        "swap": False,
        "host_blocks": 0,
        **rules,
    }
    kept = PrefixCache(range(slots, slots + 8)) if cache else None
    scheduler = Scheduler(config, Rules(slots=slots, **settings), kept)
    scheduler.run(requests)
    return scheduler


def operations(scheduler: Scheduler) -> list[list[tuple[str, int, int, int]]]:
    program = scheduler.builder.build(units={})
    return [
        [(code.name, a, b, c) for _, code, a, b, c in program.operations(step)]
        for step in range(program.num_steps)
    ]


def test_one_request_by_hand() -> None:
    # Six prompt tokens in blocks of four: two blocks; three tokens are generated.
    steps = operations(simulate([Request(0, 0.0, 6, 3)]))
    assert steps == [
        [
            ("CAN_ALLOCATE", 2, 0, 0),
            ("ALLOCATE", 0, 6, 0),
            ("LOOKUP", 0, 0, 0),
            ("LOOKUP", 0, 1, 0),
        ],
        [("APPEND", 0, 0, 0), ("LOOKUP", 0, 1, 0)],
        [("APPEND", 0, 0, 0), ("LOOKUP", 0, 1, 0)],
        [("APPEND", 0, 0, 0), ("LOOKUP", 0, 2, 0)],
        [("FREE", 0, 0, 0)],
    ]


def test_a_prompt_goes_in_chunks() -> None:
    steps = operations(simulate([Request(0, 0.0, 10, 1)], prefill_chunk=4))
    assert [op for step in steps for op in step if op[0] in ("ALLOCATE", "EXTEND")] == [
        ("ALLOCATE", 0, 4, 0),
        ("EXTEND", 0, 4, 0),
        ("EXTEND", 0, 2, 0),
    ]


def test_the_queue_rejects_past_its_limit_and_what_never_fits() -> None:
    crowd = [Request(i, 0.0, 4, 4) for i in range(6)]
    tally = simulate(crowd, slots=1, queue_limit=2).tally
    assert (tally.finished, tally.rejected_queue) == (2, 4)
    giant = [Request(0, 0.0, 4 * 64 + 1, 1), Request(1, 0.0, 4, 1)]
    tally = simulate(giant).tally
    assert (tally.finished, tally.rejected_size) == (1, 1)
    assert giant[0].state is State.REJECTED


def test_a_lower_class_waits_and_is_preempted_first() -> None:
    # Both fit at first; growing, they need 2 x 7 blocks of 10.
    first, second = Request(0, 0.0, 12, 16, priority=1), Request(1, 0.0, 12, 16, priority=0)
    tally = simulate([first, second], total=10).tally
    assert tally.preempted_recompute == 1
    assert first.admissions == 2
    assert second.admissions == 1


def test_swap_needs_host_blocks_and_loses_no_token() -> None:
    def two() -> list[Request]:
        return [Request(0, 0.0, 12, 16), Request(1, 0.0, 12, 16)]

    swapped = simulate(two(), total=10, swap=True, host_blocks=100).tally
    assert (swapped.preempted_swap, swapped.preempted_recompute) == (1, 0)
    # What goes out comes back: an even number of block copies.
    assert swapped.swapped_blocks % 2 == 0
    full = simulate(two(), total=10, swap=True, host_blocks=1).tally
    assert (full.preempted_swap, full.preempted_recompute) == (0, 1)


def test_waits_are_counted_from_arrival() -> None:
    crowd = [Request(0, 0.0, 4, 3), Request(1, 0.0, 4, 3)]
    tally = simulate(crowd, slots=1).tally
    # The second is admitted when the first, of four steps, has been freed.
    assert [steps for steps, _ in tally.waits] == [0, 4]
    assert tally.waits[1][1] == pytest.approx(0.004)


CHAIN = [("system", i) for i in range(3)]


def with_system(number: int, arrival: float, own: int = 2) -> Request:
    """Three shared blocks of four tokens, then `own` tokens."""
    return Request(number, arrival, 12 + own, 2, chain=list(CHAIN))


def test_a_second_request_shares_the_prefix_of_the_first() -> None:
    # Apart in time: the first has ended, so its blocks are revived.
    tally = simulate([with_system(0, 0.0), with_system(1, 1.0)], cache=True).tally
    assert (tally.prompt_tokens, tally.hit_tokens) == (28, 12)
    assert (tally.blocks_shared_live, tally.blocks_revived) == (0, 3)
    # At once: the second comes a step later, while the first runs.
    tally = simulate([with_system(0, 0.0), with_system(1, 0.001)], cache=True).tally
    assert tally.hit_tokens == 12
    assert (tally.blocks_shared_live, tally.blocks_revived) == (3, 0)


def test_one_token_of_a_prompt_is_always_computed() -> None:
    exact = [with_system(0, 0.0, own=0), with_system(1, 1.0, own=0)]
    # All twelve tokens are known, but eight are taken.
    assert simulate(exact, cache=True).tally.hit_tokens == 8


def test_cached_blocks_give_way_when_the_pool_runs_low() -> None:
    giant = Request(2, 2.0, 30, 2)
    scheduler = simulate([with_system(0, 0.0), with_system(1, 1.0), giant], total=9, cache=True)
    assert scheduler.tally.finished == 3
    assert scheduler.tally.evicted_blocks > 0
    assert scheduler.tally.preempted_recompute == 0


def test_a_prefix_shorter_than_a_block_never_hits_and_the_facts_say_so() -> None:
    facts = serving_load(cell(**{**CACHED, "shared_prefix_tokens": 15})).facts
    assert facts["cache"]["hit_tokens"] == 0
    assert "shorter than a block of 16" in facts["cache"]["note"]
    longer = serving_load(cell(**{**CACHED, "shared_prefix_tokens": 16})).facts
    assert longer["cache"]["hit_tokens"] > 0
    assert "note" not in longer["cache"]


def test_moves_that_are_not_allowed_raise() -> None:
    allowed = {
        ("waiting", "running"),
        ("waiting", "rejected"),
        ("running", "finished"),
        ("running", "waiting"),
        ("running", "swapped"),
        ("swapped", "running"),
    }
    for one, other in itertools.product(State, State):
        if (one.value, other.value) in allowed:
            assert move(one, other) is other
        else:
            with pytest.raises(IllegalMoveError):
                move(one, other)


def test_arrivals_have_the_rate_and_the_variation() -> None:
    for cv in (0.0, 1.0, 3.0):
        requests = made_up_requests(cell(requests=20_000, arrival_rate=50.0, arrival_cv=cv))
        gaps = np.diff([request.arrival_s for request in requests])
        assert requests[0].arrival_s == 0.0
        assert gaps.mean() == pytest.approx(1 / 50, rel=0.1)
        assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.1, abs=1e-9)


def test_distributions_have_the_stated_quantiles() -> None:
    rng = np.random.default_rng(1)
    drawn = draw(canonical({"kind": "lognormal", "median": 512, "p99": 4096}, "x"), 200_000, rng)
    assert np.quantile(drawn, 0.5) == pytest.approx(512, rel=0.02)
    assert np.quantile(drawn, 0.99) == pytest.approx(4096, rel=0.05)
    drawn = draw(canonical("uniform:low=3,high=5", "x"), 10_000, rng)
    assert set(drawn.tolist()) == {3, 4, 5}
    assert draw(canonical("geometric:mean=20", "x"), 100_000, rng).mean() == pytest.approx(
        20, rel=0.03
    )
    assert draw(7, 3, rng).tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("normal:mean=3", "is not one of constant, uniform"),
        ("lognormal:median=512", "needs p99"),
        ("lognormal:median=512,p99=100", "p99 must not be below median"),
        ("uniform:low=0,high=5", "low = 0.0 must be between 1"),
        ("uniform:low=a,high=5", "must be KIND:NAME=NUMBER"),
        ("constant:value=5,mean=3", "constant has no mean"),
        ({"kind": "constant", "value": "many"}, "must be a number"),
    ],
)
def test_a_bad_distribution_is_told(value: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        canonical(value, "s.toml: prompt_tokens")


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"arrival_rate": 0}, "arrival_rate = 0 is out of range"),
        ({"prompt_tokens": 100_000, "requests": 5}, "none of 5 requests fits"),
        ({"step_token_budget": 10}, "is below concurrency = 256"),
        ({"requests": 100_000, "output_tokens": 4000}, "lower requests or output_tokens"),
        ({"beam_width": 4}, "has no effect on workload"),
        ({"trace": "none.csv"}, "none.csv"),
        ({"trace": "x", "trace_window": "9:3"}, "trace_window"),
    ],
)
def test_a_load_that_cannot_be_is_told(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        serving_load(cell(**params))


def test_decode_does_not_take_a_distribution() -> None:
    from blockmark.workload.decode import decode_load

    this = parse_scenario('prompt_tokens = "uniform:low=3,high=5"', "s", "s").cells()[0]
    with pytest.raises(ConfigError, match="is a distribution"):
        decode_load(this)


def test_the_whole_thing_on_a_bare_manager() -> None:
    """No checker in between: the programs run on a manager as they will be timed."""
    this = cell(**CACHED)
    manager = VectorManager(this.pool_config)
    program = serving_load(this).program
    methods = {
        Op.ALLOCATE: manager.allocate,
        Op.EXTEND: manager.extend,
        Op.TRUNCATE: manager.truncate,
        Op.LOOKUP: manager.lookup,
    }
    for step in range(program.num_steps):
        for _, code, a, b, c in program.operations(step):
            if code is Op.FORK:
                manager.fork(a, b, c or None)
            elif code is Op.APPEND:
                manager.append_slot(a)
            elif code is Op.FREE:
                manager.free(a)
            elif code is Op.CAN_ALLOCATE:
                assert manager.can_allocate(a)
            else:
                methods[code](a, b)
    assert manager.num_free_blocks == this["total_blocks"]
