"""Chains of block hashes, against chains written out in full."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmark.workload.errors import ConfigError
from blockmark.workload.traces import Request, block_hashes, open_trace
from blockmark.workload.traces.quantiles import Distribution
from blockmark.workload.traces.summary import Sharing
from trace_files import bailian, mooncake, save, slice_of


def request(prompt: int, ids: tuple[int, ...], hash_block: int = 512) -> Request:
    return Request(0.0, prompt, 1, ids, hash_block)


def spelled_out(one: Request, size: int) -> list[tuple[object, ...]]:
    """The name of each full block as the whole prefix: the ids that reach into it,
    and where it ends."""
    names: list[tuple[object, ...]] = []
    covered = min(one.prompt_tokens, len(one.hash_ids) * one.hash_block)
    for end in range(size, covered + 1, size):
        ids = -(-end // one.hash_block)
        names.append((one.hash_ids[:ids], end))
    return names


def test_a_512_token_id_is_32_blocks_of_16() -> None:
    hashes = block_hashes(request(512 + 40, (8, 9)), 16)
    assert len(hashes) == 34
    assert len(set(hashes)) == 34
    longer = block_hashes(request(1000, (8, 9)), 16)
    assert longer[:34] == hashes
    other = block_hashes(request(1000, (7, 9)), 16)
    assert not set(other) & set(longer)


def test_small_ids_are_merged_into_large_blocks() -> None:
    one = request(16 * 5, (1, 2, 3, 4, 5), 16)
    assert len(block_hashes(one, 32)) == 2
    assert len(block_hashes(one, 16)) == 5
    assert block_hashes(one, 128) == []
    shifted = request(16 * 4, (9, 2, 3, 4), 16)
    assert not set(block_hashes(shifted, 32)) & set(block_hashes(one, 32))


def test_blocks_without_an_id_have_none() -> None:
    assert block_hashes(Request(0.0, 1000, 5), 16) == []
    assert len(block_hashes(request(2000, (1,)), 16)) == 32
    assert len(block_hashes(request(100, (1, 2, 3)), 16)) == 6
    assert block_hashes(request(15, (1,)), 16) == []


@pytest.mark.parametrize(("hash_block", "size"), [(512, 48), (16, 24), (512, 513), (16, 0)])
def test_sizes_that_do_not_go_together(hash_block: int, size: int) -> None:
    with pytest.raises(ConfigError, match=f"block_size = {size} does not go with the trace"):
        block_hashes(request(1000, (1, 2), hash_block), size)


def test_ids_repeated_in_a_request_are_counted_and_distinct(tmp_path: Path) -> None:
    path = save(tmp_path / "m", mooncake(2048, [5, 5, 7, 5]), mooncake(600, [1, 2]))
    trace = open_trace(path)
    first = next(iter(trace))
    assert trace.repeated_ids == 1
    assert len(set(block_hashes(first, 16))) == 128
    assert len(list(trace)) == 2
    assert trace.repeated_ids == 1


def test_more_or_fewer_ids_than_blocks_are_counted(tmp_path: Path) -> None:
    rows = [mooncake(600, ids) for ids in ([1, 2], [1], [], [1, 2, 3])]
    trace = open_trace(save(tmp_path / "m", *rows))
    list(trace)
    assert trace.odd_id_counts == 2  # with the id of the unfilled last block or without
    trace = open_trace(save(tmp_path / "q", bailian(33, [1, 2]), bailian(33, [1])))
    list(trace)
    assert trace.odd_id_counts == 1


SIZES = [(8, 2), (8, 8), (4, 8), (4, 12), (4, 1)]
requests = st.lists(
    st.tuples(st.integers(1, 60), st.lists(st.integers(0, 3), max_size=9)), min_size=1, max_size=12
)


@given(rows=requests, sizes=st.sampled_from(SIZES))
def test_equal_ids_mean_an_equal_prefix_and_hits_are_those_of_a_set(
    rows: list[tuple[int, list[int]]], sizes: tuple[int, int]
) -> None:
    hash_block, size = sizes
    sharing = Sharing(hash_block, size)
    names: dict[int, tuple[object, ...]] = {}
    known: set[tuple[object, ...]] = set()
    known_ids: set[tuple[int, ...]] = set()
    hits = blocks = id_hits = id_references = 0
    for prompt, ids in rows:
        one = request(prompt, tuple(ids), hash_block)
        hashes, spelled = block_hashes(one, size), spelled_out(one, size)
        assert len(hashes) == len(spelled) == len(set(hashes))
        for found, name in zip(hashes, spelled, strict=True):
            assert names.setdefault(found, name) == name
            hits += name in known
            known.add(name)
        blocks += prompt // size
        for count in range(1, len(ids) + 1):
            id_hits += tuple(ids[:count]) in known_ids
            known_ids.add(tuple(ids[:count]))
            id_references += 1
        sharing.add(one)
    assert len(set(names.values())) == len(names)
    summary = sharing.summary()
    assert (summary["block_hits"], summary["block_references"]) == (hits, blocks)
    assert (summary["id_hits"], summary["id_references"]) == (id_hits, id_references)
    assert summary["short_prompts"] == sum(prompt < size for prompt, _ in rows)


def test_the_mooncake_slice_shares_the_same_however_it_is_counted() -> None:
    seen: set[int] = set()
    hits = blocks = 0
    for one in open_trace(slice_of("mooncake_fast25_conversation.jsonl")):
        hashes = block_hashes(one, 16)
        assert len(hashes) == one.prompt_tokens // 16
        hits += sum(found in seen for found in hashes)
        blocks += len(hashes)
        seen.update(hashes)
    # Counted by hand with (id, sub-block) pairs.
    assert (hits, blocks) == (358_120, 1_329_974)


@given(st.lists(st.integers(0, 5000), min_size=1), st.floats(0.01, 1))
def test_quantiles_are_exact(values: list[int], share: float) -> None:
    counts = Distribution()
    for value in values:
        counts.add(value)
    (found,) = counts.quantiles(share)
    assert sum(value <= found for value in values) >= share * len(values)
    assert sum(value < found for value in values) < share * len(values)


def test_very_many_distinct_values_are_kept_in_bounded_memory() -> None:
    counts = Distribution()
    for value in range(0, 2_000_000, 5):
        counts.add(value)
    assert not counts.exact
    assert len(counts._counts) < 20_000
    (middle,) = counts.quantiles(0.5)
    assert middle == pytest.approx(1_000_000, rel=1e-3)
    assert counts.maximum == 1_999_995
    assert counts.total == sum(range(0, 2_000_000, 5))
