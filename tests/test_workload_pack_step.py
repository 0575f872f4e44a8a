"""The Program behind `pack_step_ns`: who grows, who shrinks, and what is packed."""

from __future__ import annotations

from blockmark.measure.proof.checker import Checker
from blockmark.measure.replay import bind
from blockmark.workload.models import model_programs
from blockmark.workload.program import Op
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.registry import resolve


def test_one_row_in_a_block_size_grows_before_each_packing() -> None:
    cell = parse_scenario(
        'models = ["pack_step"]\ntotal_blocks = 256\nblock_size = 4\nmax_blocks_per_seq = 8\n'
        "concurrency = 32\n",
        "s",
        "s",
    ).cells()[0]
    (made,) = model_programs("pack_step", cell)
    program = made.program
    assert made.metrics == {1: "pack_step_ns"}
    # 32 rows, 8 of them grow in a step, so after 4 steps all have.
    body = range(program.setup_steps, program.num_steps)
    grown = [
        [a for _, code, a, b, _ in program.operations(step) if code is Op.EXTEND and b == 4]
        for step in body
    ]
    assert [len(rows) for rows in grown] == [8, 0, 8, 0, 8, 0, 8, 0, 0]
    assert sorted(row for rows in grown for row in rows) == list(range(32))
    packed = [sum(1 for _, code, *_ in program.operations(s) if code is Op.PACK) for s in body]
    assert packed == [0, 32, 0, 32, 0, 32, 0, 32, 0]
    assert [program.phases[step] for step in body] == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert (program.units, program.period) == ({1: 4.0}, 9)
    # A second turn starts where the first did, and every row of it is right.
    impl = resolve("vector/py")[0]
    checker = Checker(impl.make_manager(cell.pool_config), cell.pool_config, impl.reuse_order)
    checker.replay(program, [*range(program.num_steps), *body])
    manager = impl.make_manager(cell.pool_config)
    replay = bind(manager, program, "per-op")
    replay.setup()
    replay.run(0, 2 * program.body_steps)
    assert [len(manager.block_table(seq)) for seq in range(32)] == [7] * 32
