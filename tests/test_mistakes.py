"""Known mistakes: counts by hand, the fault that each declares, and no other."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from blockmark.measure.process.reading import Reading
from blockmark.measure.study import StudyTask
from blockmark.studies.mistakes import measure as study
from blockmark.studies.mistakes.append_blocks import PythonArena, measure_appends
from blockmark.studies.mistakes.proof import CopyingOracle, prove_mistake, same_place
from blockmark.workload.errors import ConfigError
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.contract import OutOfBlocks, PoolConfig
from blockmark_impls.registry import builtin_names, names_of, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from blockmark_impls.mistakes.rows import MistakeFacts
    from blockmark_impls.registry import Implementation

native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

CONFIG = PoolConfig(total_blocks=64, block_size=4, max_seqs=8, max_blocks_per_seq=12, id_bits=16)
BOTH_TIERS = pytest.mark.parametrize("name", ["copy-by-number/cpp", "copy-by-number/py"])


def one(name: str) -> Implementation:
    (found,) = resolve(name)
    return found


def manager_of(name: str, config: PoolConfig = CONFIG) -> Any:
    return one(name).make_manager(config)


def right_of(name: str) -> str:
    return "flat-stack/" + name.rpartition("/")[2]


def copies(manager: Any, seq: int, appends: int) -> int:
    return sum(manager.append_slot(seq) is not None for _ in range(appends))


def test_mistakes_are_in_no_default_set() -> None:
    found = set(names_of("mistake"))
    assert {"copy-by-number/cpp", "shared-table/cpp", "copy-per-sequence/cpp"} <= found
    assert not found & set(builtin_names())


# --- copies by hand -------------------------------------------------------------------------


@BOTH_TIERS
def test_a_lone_sequence_copies_on_all_appends_but_the_first_of_a_block(name: str) -> None:
    right, wrong = manager_of(right_of(name)), manager_of(name)
    for manager in (right, wrong):
        manager.allocate(0, 4)  # a full block of four
    # Of 40 appends ten begin a block.
    assert copies(right, 0, 40) == 0
    assert copies(wrong, 0, 40) == 30
    assert wrong.num_tokens(0) == 44
    assert len(wrong.block_table(0)) == 11
    assert wrong.num_free_blocks == 64 - 11


@BOTH_TIERS
def test_forks_of_a_partly_filled_block_copy_once_each_but_the_last(name: str) -> None:
    right, wrong = manager_of(right_of(name)), manager_of(name)
    made = []
    for manager in (right, wrong):
        manager.allocate(0, 6)  # two tokens in the second block
        for child in range(1, 5):
            manager.fork(0, child)
        made.append(sum(copies(manager, seq, 1) for seq in range(5)))
        last = [manager.block_table(seq)[-1] for seq in range(5)]
        assert len(set(last)) == 5
        assert all(manager.ref_count(block) == 1 for block in last)
        assert manager.num_free_blocks == 64 - 6  # a shared block and five of their own
    assert made == [4, 5]


@BOTH_TIERS
def test_an_extend_copies_once(name: str) -> None:
    wrong = manager_of(name)
    wrong.allocate(0, 6)
    old = wrong.block_table(0)[-1]
    ((src, dst),) = wrong.extend(0, 9)  # two in the copied block, seven in two more
    assert src == old
    assert wrong.block_table(0)[1] == dst
    assert len(wrong.block_table(0)) == 4
    assert wrong.num_free_blocks == 60


@BOTH_TIERS
def test_a_copy_needs_a_free_block_that_the_right_rule_does_not(name: str) -> None:
    full = dataclasses.replace(CONFIG, total_blocks=2)
    right, wrong = manager_of(right_of(name), full), manager_of(name, full)
    for manager in (right, wrong):
        manager.allocate(0, 4)
        manager.allocate(1, 1)
    assert right.append_slot(1) is None
    table = wrong.block_table(1)
    with pytest.raises(OutOfBlocks):
        wrong.append_slot(1)
    with pytest.raises(OutOfBlocks):
        wrong.extend(1, 2)
    assert wrong.block_table(1) == table
    assert wrong.num_tokens(1) == 1


def test_the_oracle_of_the_mistake_copies_as_the_seed_describes() -> None:
    oracle = CopyingOracle(CONFIG)
    oracle.allocate(0, 1)
    assert [oracle.append_slot(0) is not None for _ in range(8)] == [
        True, True, True, False, True, True, True, False,
    ]  # fmt: skip


# --- the other faults -----------------------------------------------------------------------


@pytest.mark.skipif(not native.allocation_counter_ok, reason="another operator new")
def test_each_append_allocates_once() -> None:
    def allocated(name: str) -> int:
        manager = manager_of(name)
        manager.allocate(0, 1)
        seqs = np.zeros(30, dtype=np.int32)
        before = native.heap_allocations()
        manager.append_slots(seqs)
        return int(native.heap_allocations() - before)

    assert allocated("allocating-append/cpp") - allocated("flat-stack/cpp") == 30


@pytest.mark.parametrize("name", ["searching-pool/cpp", "searching-pool/py"])
def test_a_search_looks_at_every_taken_block_below(name: str) -> None:
    manager = manager_of(name)
    assert manager.search_length == 1
    manager.allocate(0, 40)
    assert manager.search_length == 11
    manager.allocate(1, 4)
    manager.free(0)
    assert manager.search_length == 1
    manager.allocate(2, 40)
    assert manager.block_table(2) == list(range(10))  # the lowest first
    assert manager.search_length == 12
    for seq, blocks in ((3, 12), (4, 12), (5, 12), (6, 12), (7, 5)):
        manager.allocate(seq, 4 * blocks)
    assert manager.search_length == 64  # nothing is free


def test_each_packed_row_is_a_copy() -> None:
    manager, right = manager_of("copy-per-sequence/cpp"), manager_of("flat-stack/cpp")
    outs = []
    for each in (manager, right):
        for seq in range(5):
            each.allocate(seq, 4 * seq + 1)
        # Wider than any table: the tails have to be zero.
        out, lengths = np.full((5, 20), -7, np.int32), np.zeros(5, np.int32)
        each.write_block_tables(np.arange(5, dtype=np.int32), out, lengths)
        outs.append((out.tolist(), lengths.tolist()))
    assert outs[0] == outs[1]
    assert manager.copies_sent == 5


def test_mixed_updates_of_one_table_lose_an_entry() -> None:
    """What two threads without a lock may do, step by step: find, find, write, write."""
    table = native.SharedTable(512)
    first, second = same_place(native.SharedTable(512))
    place = table.find(*first)
    assert table.find(*second) == place
    table.put(place, *first, 7)
    table.put(place, *second, 9)
    assert table.get(*second) == 9
    assert table.get(*first) is None

    # One update behind the other loses nothing; nor does mixing with a table each.
    table = native.SharedTable(512)
    for key, block in ((first, 7), (second, 9)):
        table.put(table.find(*key), *key, block)
    assert (table.get(*first), table.get(*second)) == (7, 9)
    tables = native.SharedTable(512), native.SharedTable(512)
    places = [each.find(*key) for each, key in zip(tables, (first, second), strict=True)]
    tables[0].put(places[0], *first, 7)
    tables[1].put(places[1], *second, 9)
    assert (tables[0].get(*first), tables[1].get(*second)) == (7, 9)


def test_a_shared_table_refuses_what_is_no_place() -> None:
    table = native.SharedTable(4)
    for place in (-1, 1 << 40):
        with pytest.raises(ValueError, match="no such place"):
            table.put(place, 0, 0, 1)
    for seq in range(512):  # of 1,024 places
        table.put(table.find(seq, 0), seq, 0, 1)
    with pytest.raises(ValueError, match="half full"):
        table.put(table.find(512, 0), 512, 0, 1)


# --- proof ----------------------------------------------------------------------------------

_JOB: dict[str, Any] = {"random_programs": 12, "programs": [], "operations": 100, "seed": 3}


@pytest.mark.parametrize("name", names_of("mistake"))
def test_every_mistake_is_wrong_as_it_declares(name: str) -> None:
    impl = one(name)
    found = prove_mistake(impl, CONFIG, {**_JOB, "call_style": impl.call_style})
    assert found["status"] == "ok", found
    assert found["operations"] > 1000


def fault_of(impl: Implementation) -> str:
    return cast("MistakeFacts", impl.facts).fault


@pytest.mark.parametrize("name", names_of("mistake"))
def test_a_mistake_that_turns_out_right_is_wrong(name: str) -> None:
    impl = one(name)
    if fault_of(impl) == "shared-table":
        pytest.skip("its fault is shown on the table itself")
    healed = _Healed(impl)
    found = prove_mistake(healed, CONFIG, {**_JOB, "call_style": impl.call_style})  # type: ignore[arg-type]
    assert found["status"] == "wrong"


class _Healed:
    """A mistake's name over the right manager."""

    def __init__(self, impl: Implementation) -> None:
        self.facts, self.name = impl.facts, impl.name
        self._fault = fault_of(impl)
        self.reuse_order = "unspecified"

    def make_manager(self, config: PoolConfig) -> Any:
        made = manager_of("flat-stack/cpp", config)
        return _Counting(made) if self._fault in ("search", "transfers") else made


class _Counting:
    """A right manager with the counters that a mistake has."""

    search_length, copies_sent = 1, 1

    def __init__(self, made: Any) -> None:
        self._made = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


@pytest.mark.parametrize("declared", ["allocations", "search", "transfers"])
def test_a_mistake_that_is_wrong_in_another_way_is_wrong(declared: str) -> None:
    impl = one("copy-by-number/cpp")
    facts: Any = dataclasses.replace(cast("MistakeFacts", impl.facts), fault=declared)
    changed = dataclasses.replace(impl, entry=dataclasses.replace(impl.entry, facts=facts))
    found = prove_mistake(changed, CONFIG, {**_JOB, "call_style": "native"})
    assert found["status"] == "wrong"
    assert "copies" in found["reason"] or "OutOfBlocks" in found["reason"]


# --- measuring ------------------------------------------------------------------------------

_PARAMS: dict[str, Any] = {
    "payload_bytes": 0,
    "sharers": 1,
    "concurrency": 8,
    "block_size": 4,
    "total_blocks": 64,
    "max_blocks_per_seq": 12,
}


@pytest.mark.parametrize("tier", ["cpp", "py"])
@pytest.mark.parametrize(("sharers", "right_copies"), [(1, 0), (4, 6)])
def test_counts_of_timed_appends_are_exact(tier: str, sharers: int, right_copies: int) -> None:
    names = f"copy-by-number/{tier}", f"flat-stack/{tier}"
    wrong, right = measure_appends(
        tuple(manager_of(name) for name in names),
        {**_PARAMS, "sharers": sharers},
        periods=3,
        arena_bytes=4096,
        blocks=2,
    )
    # 8 sequences x 12 tokens; every fourth begins a block. Of two groups of four, three copy.
    assert wrong.copies_per_append == 72 / 96
    assert right.copies_per_append == right_copies / 96
    assert (wrong.most_extra, right.most_extra) == ((1, 0) if tier == "cpp" else (None, None))
    assert wrong.least_ns > 0


def test_a_payload_is_copied_from_slot_to_slot() -> None:
    arena = PythonArena(4, 16)
    arena._memory[:] = b"aaaabbbbccccdddd"
    arena.copy()
    arena.copy()
    assert bytes(arena._memory) == b"aaaaaaaacccccccc"
    arena.copy()
    assert bytes(arena._memory[:4]) == b"aaaa"


def test_an_arena_needs_two_slots() -> None:
    with pytest.raises(ValueError, match="two payloads"):
        native.PayloadArena(64, 100)
    assert native.PayloadArena(0, 0).bytes == 0
    assert native.PayloadArena(48, 1000).bytes == 960


def test_the_model_of_a_gpu_step_is_the_published_arithmetic() -> None:
    params = {
        "model_shape": "llama-2-13b",
        "block_size": 16,
        "gpu_bandwidth": 1940.0,
        "weight_gigabytes": 26.03,
        "copy_call_ns": 6000.0,
        "context_tokens": 128,
        "concurrency": 32,
        "calls_per_copy": 80,
    }
    # 30 copies: 30 x (2 x 13,107,200 / 1940 + 480,000) ns on (26.03e9 + 32 x 128 x 819,200) / 1940.
    copy, step = 2 * 13_107_200 / 1940 + 480_000, (26.03e9 + 4096 * 819_200) / 1940
    assert study.gpu_step_factor(30, params) == pytest.approx(1 + 30 * copy / step)
    assert study.gpu_step_factor(30, params) == pytest.approx(1.98, abs=0.005)
    assert study.gpu_step_factor(0, params) == 1


def cell_of(**values: object) -> Any:
    text = "\n".join(f"{key} = {value!r}" for key, value in values.items())
    small = "total_blocks = 64\nblock_size = 4\nmax_blocks_per_seq = 12\nconcurrency = 4"
    kept = [line for line in small.split("\n") if line.split(" ")[0] not in values]
    (cell,) = parse_scenario(
        "\n".join(['workload = "mistakes"', *kept, text]), "mine", "mine.toml"
    ).cells()
    return cell


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"total_blocks": 65_537}, "16-bit ids"),
        ({"sharers": 3}, "no multiple of sharers"),
        ({"total_blocks": 7}, "do not fit"),
        ({"payload_bytes": 1 << 28, "model_shape": "no-such"}, "model_shape"),
    ],
)
def test_a_cell_that_cannot_be_measured_is_told_why(
    tmp_path: Path, values: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        study.prepare(cell_of(**values), tmp_path / "cell")


def test_a_study_of_each_mistake_proves_and_counts(tmp_path: Path) -> None:
    cell = cell_of()
    made, facts = study.prepare(cell, tmp_path / "cell")
    assert facts["operations_per_step"]["append"] == 4
    task = StudyTask(cell.values, made, quick=True)
    found = {}
    for name in names_of("mistake"):
        impl = one(name)
        assert study.prove(impl, task)["status"] == "ok"
        found[name] = study.measure(impl, task)
    by_number = found["copy-by-number/cpp"]
    assert by_number["copies_per_append"] == Reading(0.75)
    assert by_number["right_copies_per_append"] == Reading(0)
    assert by_number["peak_extra_blocks"] == Reading(1)
    assert found["copy-by-number/py"]["peak_extra_blocks"].unavailable
    if native.allocation_counter_ok:
        allocating = found["allocating-append/cpp"]
        assert allocating["heap_allocations_per_step"] == Reading(4)
        assert allocating["right_heap_allocations_per_step"] == Reading(0)
    packed = found["copy-per-sequence/cpp"]
    assert packed["transfers_per_step"] == Reading(4)
    # 4 rows of 12 ids and a length in int32, at 25 bytes a ns and 6 us a copy.
    assert packed["right_transfer_ns"].number == pytest.approx(6000 + 4 * 13 * 4 / 25)
    assert packed["wrong_transfer_ns"].number == pytest.approx(24_000 + 4 * 13 * 4 / 25)
    for metrics in found.values():
        ratio = metrics["wrong_ns"].number / metrics["right_ns"].number
        assert metrics["mistake_factor"].number == pytest.approx(ratio)
