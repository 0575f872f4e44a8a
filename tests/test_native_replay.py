"""Programs, and their replay in the native loop."""

from __future__ import annotations

import gc
import mmap
import random
from array import array
from typing import Any

import numpy as np
import pytest

from blockmark_impls.contract import BlockManagerError, Copy, OutOfBlocks, UnknownSequence
from native_programs import (
    ALLOCATE,
    APPEND,
    CAN_ALLOCATE,
    COMPACT,
    DROP_FRONT,
    EXTEND,
    FIND,
    FORK,
    FREE,
    GIVE,
    LOOKUP,
    LOOKUP_CHAIN,
    PACK,
    REMOVE,
    TAKE,
    TRUNCATE,
    Run,
    Steps,
    columns,
    flat,
    program,
)

native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

COMBINATIONS = [row[:4] for row in native.combinations()]

Id = tuple[str, str, str, int]


def names(combination: Id) -> str:
    return "-".join(map(str, combination))


def one_by_one(manager: Any, steps: Steps) -> list[Copy]:
    """The same program through the contract's operations; the copies that they asked for."""
    copies: list[Copy] = []
    for _, runs in steps:
        for code, operations in runs:
            for a, b, c in ((*operation, 0, 0)[:3] for operation in operations):
                match code:
                    case 0:
                        manager.can_allocate(a)
                    case 1:
                        manager.allocate(a, b)
                    case 2:
                        copies += filter(None, [manager.append_slot(a)])
                    case 3:
                        copies += manager.extend(a, b)
                    case 4:
                        manager.truncate(a, b)
                    case 5:
                        manager.drop_front(a, b)
                    case 6:
                        manager.fork(a, b, c or None)
                    case 7:
                        manager.free(a)
                    case 8 | 9:
                        manager.lookup(a, b)
    return copies


def random_steps(
    rng: random.Random, shadow: Any, max_seqs: int, widest: int
) -> tuple[Steps, list[Copy]]:
    """Steps that `shadow` accepts, and their copies; it is left in their final state."""
    steps: list[tuple[int, list[Run]]] = []
    copies: list[Copy] = []
    tokens: dict[int, int] = {}
    for _ in range(60):
        runs: list[Run] = []
        for _ in range(6):
            seq, child = rng.randrange(max_seqs), rng.randrange(max_seqs)
            length = tokens.get(seq, 0)
            code, operands = rng.choice(
                [
                    (CAN_ALLOCATE, (rng.randint(0, 9),)),
                    (ALLOCATE, (seq, rng.randint(1, widest * 2))),
                    (APPEND, (seq,)),
                    (APPEND, (seq,)),
                    (EXTEND, (seq, rng.randint(0, 5))),
                    (TRUNCATE, (seq, rng.randint(1, max(1, length)))),
                    (DROP_FRONT, (seq, rng.randint(0, 2))),
                    (FORK, (seq, child, rng.choice([0, 0, 1, 2]))),
                    (FORK, (seq, child)),
                    (FREE, (seq,)),
                    (LOOKUP, (seq, rng.randint(0, widest))),
                    (LOOKUP_CHAIN, (seq, rng.randint(0, widest))),
                ]
            )
            run = (code, [operands])
            try:
                copies += one_by_one(shadow, [(0, [run])])
            except (BlockManagerError, ValueError):
                continue
            runs.append(run)
            for changed in (seq, child):
                try:
                    tokens[changed] = shadow.num_tokens(changed)
                except UnknownSequence:
                    tokens.pop(changed, None)
        runs.append((PACK, [(live,) for live in sorted(tokens)]))
        steps.append((rng.choice([0, 1, 2]), runs))
    return steps, copies


def state(manager: Any, max_seqs: int, total: int) -> list[Any]:
    found: list[Any] = [manager.num_free_blocks, [manager.ref_count(b) for b in range(total)]]
    for seq in range(max_seqs):
        try:
            found.append((manager.num_tokens(seq), manager.block_table(seq)))
        except UnknownSequence:
            found.append(None)
    return found


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_a_replay_leaves_what_the_operations_leave(combination: Id) -> None:
    cls = native.manager_class(*combination)
    copied: list[Copy] = []
    for seed in range(6):
        rng = random.Random(seed)
        shadow = cls(20, 2, 5, 6)
        steps, copies = random_steps(rng, shadow, 5, 6)
        copied += copies
        replayed, as_setup = cls(20, 2, 5, 6), cls(20, 2, 5, 6)
        replayed.replay(program(steps), 0, len(steps))
        as_setup.replay_setup(program([(0, runs) for _, runs in steps], len(steps)))
        # Ids agree block by block, so every copy of a replay went to the same block.
        expected = state(shadow, 5, 20)
        assert state(replayed, 5, 20) == expected
        assert state(as_setup, 5, 20) == expected
    assert len(copied) > 10


Answer = tuple[int, list[int]]


def records(answers: Any) -> list[Answer]:
    """(operation, values) of each that answered."""
    flat_row, found, at = list(answers), [], 0
    while at < len(flat_row):
        operation, count = flat_row[at : at + 2]
        found.append((operation, flat_row[at + 2 : at + 2 + count]))
        at += 2 + count
    assert at == len(flat_row)
    return found


def answered_one_by_one(manager: Any, steps: Steps, width: int) -> list[Answer]:
    found: list[Answer] = []
    index = 0
    for _, runs in steps:
        for code, operations in runs:
            if code == PACK and operations:
                seqs = np.array([a for (a,) in operations], np.int32)
                out = np.full((len(seqs), width), -1, np.int32)
                lengths = np.full(len(seqs), -1, np.int32)
                manager.write_block_tables(seqs, out, lengths)
                rows = zip(lengths.tolist(), out.tolist(), strict=True)
                found.append((index, [item for length, row in rows for item in (length, *row)]))
            for at, operation in enumerate(operations if code != PACK else (), index):
                a, b = (*operation, 0)[:2]
                if code == CAN_ALLOCATE:
                    found.append((at, [int(manager.can_allocate(a))]))
                elif code in (LOOKUP, LOOKUP_CHAIN):
                    found.append((at, [manager.lookup(a, b)]))
                else:
                    copies = one_by_one(manager, [(0, [(code, [operation])])])
                    if code in (APPEND, EXTEND):
                        found.append((at, [block for copy in copies for block in copy]))
                    else:
                        assert copies == []
            index += len(operations)
    return found


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_the_answers_of_a_replay_are_those_of_the_operations(combination: Id) -> None:
    cls = native.manager_class(*combination)
    copied = 0
    for seed in range(4):
        rng = random.Random(seed)
        steps, copies = random_steps(rng, cls(20, 2, 5, 6), 5, 6)
        expected = answered_one_by_one(cls(20, 2, 5, 6), steps, 6)
        replayed, timed = cls(20, 2, 5, 6), cls(20, 2, 5, 6)
        made = program(steps)
        assert records(replayed.replay_answers(made, 0, len(steps))) == expected
        timed.replay(made, 0, len(steps))
        assert state(replayed, 5, 20) == state(timed, 5, 20)
        copied += len(copies)
    assert copied > 6


def test_the_answers_of_steps_around_the_end_of_the_body() -> None:
    grown: Steps = [
        (0, [(ALLOCATE, [(0, 3), (1, 1)]), (LOOKUP, [(0, 0)])]),
        (1, [(APPEND, [(0,), (1,)]), (PACK, [])]),
        (2, [(PACK, [(1,), (0,)]), (CAN_ALLOCATE, [(1,), (7,)])]),
        (0, [(TRUNCATE, [(0, 3), (1, 1)])]),
    ]
    manager, made = flat(8, 2, 2, 3), program(grown, 1)
    manager.replay_setup(made)
    appends, packed = [(3, []), (4, [])], (5, [1, 2, 0, 0, 2, 0, 1, 0])
    asked = [(7, [1]), (8, [0])]
    answers = manager.replay_answers(made, 4, 4)
    assert answers.typecode == "q"
    assert records(answers) == [packed, *asked, *appends, packed, *asked]
    assert records(manager.replay_answers(made, 1, 0)) == []
    with pytest.raises(ValueError, match="negative"):
        manager.replay_answers(made, -1, 1)
    with pytest.raises(UnknownSequence, match=r"operation 1 \(LOOKUP\): sequence 1 does not"):
        flat(8, 2, 2, 3).replay_answers(
            program([(1, [(ALLOCATE, [(0, 1)]), (LOOKUP, [(1, 0)])])]), 0, 1
        )


@pytest.mark.parametrize(("name", "bits"), [("bitmap", 16), ("lru", 32), ("stack", 64)])
def test_the_answers_of_a_pool(name: str, bits: int) -> None:
    runs: list[Run] = [(TAKE, [(0, 2), (1, 3)]), (FIND, [(7,), (8,)]), (GIVE, [(0,)])]
    runs.append((TAKE, [(2, 0), (0, 1)]))
    again = native.pool_class(name, bits)(12)
    first, second = again.take(2), again.take(3)
    find = [again.find_contiguous(k) for k in (7, 8)]
    again.give(first)
    pool = native.pool_class(name, bits)(12)
    assert records(pool.replay_answers(program([(1, runs)]), 0, 1)) == [
        (0, first),
        (1, second),
        *((2 + i, [-1 if answer is None else answer]) for i, answer in enumerate(find)),
        (5, []),
        (6, again.take(1)),
    ]
    assert pool.num_free == again.num_free


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("codes", array("B", [16, 8]), "run 0 has the unknown code 16"),
        ("codes", array("b", [1, 8]), "codes must be a one-dimensional buffer of uint8"),
        ("run_start", array("q", [0, 2, 1]), "run_start falls at index 2"),
        ("run_start", array("q", [1, 1, 2]), "run_start must begin with 0"),
        ("run_start", array("q", [0, 1, 9]), "run_start ends at 9, not at 2"),
        ("run_start", array("q", [0, 2]), "run_start has 2 items, not 3"),
        ("run_start", array("i", [0, 1, 2]), "buffer of int64"),
        ("a", array("i", [0]), "run_start ends at 2|b has 2 items"),
        ("a", array("i", [0, -1]), r"operation 1 \(LOOKUP\): a is negative"),
        ("a", array("f", [0, 0]), "a must be a one-dimensional buffer of int32"),
        ("b", array("i", [1, -1]), "the logical block is negative"),
        ("b", np.zeros((2, 1), dtype=np.int32), "one-dimensional"),
        ("c", array("i", [0]), "c has 1 items, not 2"),
        ("step_runs", array("q", [0, 3, 2]), "step_runs falls"),
        ("step_runs", array("q", [0, 1]), "step_runs has 2 items, not 3"),
        ("phases", array("B", [0, 3]), "step 1 has phase 3"),
        ("phases", array("B", [1, 1]), "step 0 is set-up and has a clock"),
        ("setup_steps", 3, "setup_steps is 3, of 2 steps"),
        ("setup_steps", -1, "setup_steps is -1"),
        ("setup_steps", 10**30, "absurdly large"),
    ],
)
def test_a_damaged_program_is_refused(column: str, value: Any, message: str) -> None:
    made = {**columns([(0, [(ALLOCATE, [(0, 5)])]), (1, [(LOOKUP, [(0, 0)])])]), "setup_steps": 1}
    assert native.Program(**made).num_operations == 2
    with pytest.raises(ValueError, match=message):
        native.Program(**{**made, column: value})


def test_a_program_keeps_mapped_columns_alive() -> None:
    steps = [(0, [(ALLOCATE, [(0, 12)])]), (1, [(LOOKUP, [(0, i) for i in range(6)])])]
    made = columns(steps)
    with mmap.mmap(-1, 4096) as mapped:
        mapped[: len(made["a"]) * 4] = made["a"].tobytes()
        view = memoryview(mapped)[: len(made["a"]) * 4].cast("i")
        mapped_program = native.Program(**{**made, "a": view}, setup_steps=1)
        del view
        gc.collect()
        with pytest.raises(BufferError):
            mapped.close()
        manager = flat(8, 2, 1, 8)
        manager.replay_setup(mapped_program)
        manager.replay(mapped_program, 0, 3)
        assert (mapped_program.num_steps, mapped_program.setup_steps) == (2, 1)
        del mapped_program


def test_only_the_timed_phases_are_timed() -> None:
    long_run: Run = (LOOKUP, [(0, 0)] * 20_000)
    steps: list[tuple[int, list[Run]]] = [
        (0, [(ALLOCATE, [(0, 1)])]),
        (0, [long_run]),
        (1, [long_run]),
        (1, [long_run]),
    ]
    steps.append((2, [(LOOKUP, [(0, 0)])]))
    made, manager = program(steps, 1), flat(4, 1, 1, 1)
    manager.replay_setup(made)
    assert manager.replay(made, 0, 1) == (0, 0)
    assert manager.replay(made, 0, 0) == (0, 0)
    one, two = manager.replay(made, 0, 4)
    assert one > two > 0
    # Body steps count around the end: step 5 is step 1, step 3 is the one of phase 2.
    assert manager.replay(made, 5, 1)[0] > 0
    assert manager.replay(made, 7, 1)[0] == 0
    phase1, phase2 = native.Histogram(), native.Histogram()
    manager.replay_each(made, 2, 8, phase1, phase2)
    assert (phase1.samples, phase2.samples) == (4, 2)
    assert len(manager.replay_cold(made, 0, 8, native.Evictor(1 << 16))) == 6
    with pytest.raises(ValueError, match="negative"):
        manager.replay(made, -1, 1)
    with pytest.raises(ValueError, match="no steps after its set-up"):
        manager.replay(program(steps[:1], 1), 0, 1)


def test_an_error_names_its_operation() -> None:
    steps: Steps = [(1, [(ALLOCATE, [(0, 4), (1, 4)]), (APPEND, [(0,), (1,), (0,), (2,)])])]
    with pytest.raises(UnknownSequence, match=r"operation 5 \(APPEND\): sequence 2 does not"):
        flat(16, 2, 3, 4).replay(program(steps), 0, 1)
    manager = flat(3, 2, 3, 4)
    with pytest.raises(OutOfBlocks, match=r"operation 1 \(ALLOCATE\): 2 blocks needed, 1 are free"):
        manager.replay(program(steps), 0, 1)
    assert manager.num_free_blocks == 1
    with pytest.raises(UnknownSequence, match=r"operation 0 \(PACK\): sequence 1"):
        flat(3, 2, 3, 4).replay(program([(1, [(PACK, [(1,)])])]), 0, 1)


def decode_like(blocks: int, seqs: int) -> Any:
    """Each step: every sequence grows by a whole block; at the end all start again."""
    steps: list[tuple[int, list[Run]]] = [(0, [(ALLOCATE, [(seq, 1) for seq in range(seqs)])])]
    for _ in range(blocks - 1):
        runs: list[Run] = [(EXTEND, [(seq, 1) for seq in range(seqs)])]
        runs.append((LOOKUP, [(seq, 0) for seq in range(seqs)]))
        steps.append((1, [*runs, (PACK, [(seq,) for seq in range(seqs)])]))
    again: list[Run] = [(FREE, [(seq,) for seq in range(seqs)]), steps[0][1][0]]
    return program([*steps, (2, again)], 1)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_allocations_in_a_steady_step(combination: Id) -> None:
    assert native.allocation_counter_ok
    blocks, seqs = 32, 8
    manager, made = native.manager_class(*combination)(512, 1, seqs, 40), decode_like(blocks, seqs)
    manager.replay_setup(made)
    before = native.heap_allocations()
    for period in range(3):
        grown, restarted = manager.count_allocations(made, period * blocks, blocks)
        new_blocks = (blocks - 1) * seqs
        match combination[0]:
            case "flat" | "two-level":
                assert (grown, restarted) == (0, 0)
            case "hash":
                # A node for each block, and now and then more buckets.
                assert new_blocks <= grown <= 2 * new_blocks
                assert restarted >= seqs
            case _:
                # Doubling: from 1 block to 32, at least five times.
                assert 2 * seqs <= grown <= 6 * seqs
                assert restarted == seqs
    assert native.heap_allocations() >= before


def test_pool_programs() -> None:
    steps: Steps = [
        (0, [(TAKE, [(3, 4)])]),
        (1, [(TAKE, [(0, 2), (1, 3)])]),
        (2, [(GIVE, [(0,), (1,)])]),
    ]
    for pool, bits in (
        ("list", 16),
        ("stack", 16),
        ("stack", 64),
        ("lru", 32),
        ("linked-list", 32),
        ("linked-list-64", 32),
        ("bitmap", 16),
        ("bitmap", 64),
    ):
        free, made = native.pool_class(pool, bits)(12), program(steps, 1)
        free.replay_setup(made)
        assert free.num_free == 8
        free.replay(made, 0, 1)
        assert free.num_free == 3
        with pytest.raises(ValueError, match=r"operation 1 \(TAKE\): handle 0 already holds"):
            free.replay(made, 0, 1)
        free.replay(made, 1, 1)
        # Handle 0 gave back 4 and 5, then handle 1 gave back 6, 7 and 8.
        expected = {"LIFO": [8, 7, 6, 5, 4, 9], "FIFO": [9, 10, 11, 4, 5, 6]}
        expected["next-fit"] = [9, 10, 11, 4, 5, 6]
        taken = free.take(6)
        assert taken == expected[free.reuse_order]
        free.give(taken)
        one, two = free.replay(made, 0, 20)
        assert one > 0
        assert two > 0
        assert free.count_allocations(made, 0, 2) == (0, 0)
        with pytest.raises(ValueError, match="another program still hold"):
            free.replay(program(steps, 1), 0, 2)
        with pytest.raises(ValueError, match="LOOKUP, which this target does not serve"):
            free.replay(program([(1, [(LOOKUP, [(0, 0)])])]), 0, 1)
    with pytest.raises(ValueError, match="TAKE, which this target does not serve"):
        flat(4, 1, 1, 4).replay(program(steps, 1), 0, 1)
    with pytest.raises(OutOfBlocks, match="4 blocks needed, 3 are free"):
        native.pool_class("stack", 16)(3).replay_setup(program(steps, 1))


def test_free_blocks_by_number_in_a_program() -> None:
    """Handle 0 is given back and taken again by its ids; 8 of 12 blocks are free meanwhile."""
    asked: list[Run] = [(FIND, [(8,), (9,)]), (COMPACT, [(8,), (0,)])]
    steps: Steps = [
        (0, [(TAKE, [(1, 4), (0, 3)]), (GIVE, [(0,)])]),
        (1, asked),
        (2, [(REMOVE, [(0, 3)]), (GIVE, [(0,)])]),
    ]
    for pool in ("lru", "linked-list", "linked-list-64", "bitmap"):
        free, made = native.pool_class(pool, 32)(12), program(steps, 1)
        free.replay_setup(made)
        assert (free.num_free, free.find_contiguous(8), free.find_contiguous(9)) == (8, 4, None)
        assert [tuple(move) for move in free.plan_compaction(8)] == []
        free.replay(made, 0, 1)
        assert free.count_allocations(made, 0, 20) == (0, 0)
        assert free.num_free == 8
        # Removed and given back, they are the last of a list; a bitmap goes on behind block 6.
        assert free.take(8) == [*range(7, 12), 4, 5, 6]
        with pytest.raises(ValueError, match=r"operation 7 \(REMOVE\): block 4 is not free"):
            free.replay(made, 1, 1)
    again = program([(1, [(TAKE, [(0, 3)]), (REMOVE, [(0, 3)])])])
    with pytest.raises(ValueError, match=r"\(REMOVE\): handle 0 already holds blocks"):
        native.pool_class("bitmap", 16)(12).replay(again, 0, 1)
    for pool in ("list", "stack"):
        free = native.pool_class(pool, 16)(12)
        free.replay(program([(1, asked)]), 0, 1)
        with pytest.raises(ValueError, match="REMOVE, which this target does not serve"):
            free.replay(program(steps), 0, 1)
    with pytest.raises(OutOfBlocks, match=r"\(COMPACT\): 13 blocks needed, 12 are free"):
        native.pool_class("stack", 16)(12).replay(program([(1, [(COMPACT, [(13,)])])]), 0, 1)
    with pytest.raises(ValueError, match=r"\(FIND\): k must be at least 1"):
        native.pool_class("stack", 16)(12).replay(program([(1, [(FIND, [(0,)])])]), 0, 1)


def test_controls() -> None:
    every: list[Run] = [(ALLOCATE, [(0, 8), (1, 3)]), (EXTEND, [(1, 5)]), (LOOKUP, [(0, 3)])]
    every += [(LOOKUP_CHAIN, [(1, 0), (0, 1)]), (PACK, [(0,), (1,)]), (CAN_ALLOCATE, [(3,)])]
    every += [(APPEND, [(1,)]), (TRUNCATE, [(1, 4)])]
    every += [(TAKE, [(0, 5)]), (GIVE, [(0,)])]
    made = program([(0, every), (1, [(FREE, [(0,), (1,)])])], 1)
    for bits in (16, 32, 64):
        raw = native.RawArray(16, 2, 2, 8, id_bits=bits)
        raw.replay_setup(made)
        # 8 tokens in 4 blocks; 9 in 5, cut to 4 in 2.
        assert raw.num_free_blocks == 16 - 4 - 2
        raw.replay(made, 0, 1)
        assert raw.num_free_blocks == 16
    refused: list[tuple[Steps, str]] = [
        ([(1, [(LOOKUP, [(2, 0)])])], "sequence 2 is not one of the 2 slots"),
        ([(1, [(LOOKUP_CHAIN, [(0, 8)])])], "looks up block 8, rows have 8"),
        ([(1, [(FORK, [(0, 1)])])], "FORK, which this target does not serve"),
    ]
    for steps, message in refused:
        with pytest.raises(ValueError, match=message):
            native.RawArray(16, 2, 2, 8, id_bits=16).replay(program(steps), 0, 1)
    with pytest.raises(ValueError, match="id_bits"):
        native.RawArray(16, 2, 2, 8, id_bits=8)
    # A floor packs what it has of a row, zeros behind it, and writes no length (-1). It takes
    # ids as they lie, which is from the back.
    steps = [(1, [(ALLOCATE, [(1, 2)]), (PACK, [(1,)]), (TAKE, [(0, 2)])])]
    for bits in (16, 32, 64):
        raw = native.RawArray(4, 2, 2, 2, id_bits=bits)
        rows = dict(records(raw.replay_answers(program(steps), 0, 1)))
        assert rows[1] == [-1, 0, 0]
        assert rows[2] == [2, 1]
    null = native.null_manager_class(16, 2, 2, 8)
    answered = records(null.replay_answers(program([(1, every)]), 0, 1))
    assert [index for index, _ in answered] == [2, 3, 4, 5, 6, 8, 9, 11]
    null.replay_setup(made)
    assert null.replay(made, 0, 2)[0] > 0
    assert null.lookup(0, 5) == 5
    assert null.append_slot(77) is None
    assert null.can_allocate(1000)


def test_an_empty_loop_takes_a_batch_in_one_call_as_a_pool_does() -> None:
    """What no pool can be below: many blocks cost the empty loop hardly more than one."""
    single: list[Run] = [(TAKE, [(handle, 1) for handle in range(512)])]
    single += [(GIVE, [(handle,) for handle in range(512)])]
    batch: list[Run] = [(TAKE, [(0, 512)]), (GIVE, [(0,)])]
    ns = {}
    for name, asked in (("single", single), ("batch", batch)):
        made = program([(1, asked)])
        for target, make in (
            ("null", lambda: native.null_manager_class(512, 1, 1, 1)),
            ("stack", lambda: native.pool_class("stack", 16)(512)),
        ):
            pool = make()
            ns[name, target] = min(pool.replay(made, 0, 20)[0] for _ in range(20))
    assert ns["batch", "null"] * 3 < ns["batch", "stack"]
    assert ns["batch", "null"] * 20 < ns["single", "null"]


def test_a_flat_chain_is_much_faster_than_a_hash_chain() -> None:
    rng = np.random.default_rng(1)
    entries = rng.permutation(64 * 256)
    chain = [(int(i) // 256, int(i) % 256) for i in entries]
    steps = [(0, [(ALLOCATE, [(seq, 256) for seq in range(64)])]), (1, [(LOOKUP_CHAIN, chain)])]
    made, best = program(steps, 1), {}
    for combination in (("flat", "stack", "array", 16), ("hash", "list", "hash", 32)):
        manager = native.manager_class(*combination)(64 * 256, 1, 64, 256)
        manager.replay_setup(made)
        best[combination[0]] = min(manager.replay(made, 0, 1)[0] for _ in range(30))
    assert best["hash"] > 3 * best["flat"]
