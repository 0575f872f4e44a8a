"""A load made slower on purpose: the same steps with more lookups in each.

Real work of the structure, as a careless change would add it; not a busy loop, which would
slow every implementation alike and leave the caches alone.
"""

from __future__ import annotations

from blockmark.workload.program import Op, Program, ProgramBuilder


def with_extra_lookups(program: Program, extra: int) -> Program:
    """`program` with `extra` lookups at the end of every step of its body.

    They repeat the step's own lookups from the first on, as often as needed. Raises
    ValueError if a step has none to repeat.
    """
    builder = ProgramBuilder()
    for step in range(program.num_steps):
        if step == program.setup_steps:
            builder.end_setup()
        builder.step(program.phases[step])
        own: list[tuple[int, int]] = []
        for code, first, end in program.runs(step):
            builder.run(code, program.a[first:end], program.b[first:end], program.c[first:end])
            if code is Op.LOOKUP:
                own += zip(program.a[first:end], program.b[first:end], strict=True)
        if step < program.setup_steps or not extra:
            continue
        if not own:
            raise ValueError(f"step {step} has no lookup to repeat")
        again = [own[i % len(own)] for i in range(extra)]
        builder.run(Op.LOOKUP, [a for a, _ in again], [b for _, b in again])
    return builder.build(
        period=program.period, units=program.units, width=program.width, probe=program.probe
    )
