"""What known mistakes cost: a row a mistake, the right version beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockmark.report.facts.numbers import count, exact, significant, times, with_unit
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import load_line
from blockmark.report.facts.sweep import Sweep
from blockmark.report.tables.cells import study_table
from blockmark.report.tables.model import Table
from blockmark.runs.model import Cell, Run, Setting
from blockmark.verdict.pairs import ratio_of

QUESTION = "What does each known mistake cost beside the same done right?"
METHOD = (
    "A mistake and its right version run in one process, blocks in turns, the least block of "
    "each; the factor is taken round by round. An operation is an append, a whole step of "
    "decode, or packing the tables of a step, as the mistake concerns them. A mistake is "
    "proved to be wrong as it declares and in no other way. What a GPU step or a transfer "
    "would take is a model from keys of the scenario; nothing ran on a GPU."
)

_COLUMNS = (
    "right_ns", "wrong_ns", "mistake_factor", "copies_per_append", "right_copies_per_append",
    "heap_allocations_per_step", "searched_per_block", "lost_updates", "transfers_per_step",
    "peak_extra_blocks", "gpu_step_factor", "factor_with_transfer",
)  # fmt: skip
# From here on a share of an operation's time is worth a word.
_HALVED = 2.0


def load_words(settings: Sequence[Setting]) -> str:
    """`16,384 blocks x 16 tokens, 256 sequences, payload 0 to 262,144 bytes`."""
    parts = [load_line(*settings)]
    sizes = [value for setting in settings if isinstance(value := _payload(setting), int)]
    if any(sizes):
        ends = dict.fromkeys((min(sizes), max(sizes)))
        parts.append(f"payload {' to '.join(count(size) for size in ends)} bytes")
    return ", ".join(part for part in parts if part)


def tables(run: Run, sweep: Sweep) -> list[Table]:
    """One table: all mistakes, a group a setting."""
    caption = "ns of an append, a step or a packing; copies of an append; the rest of a step"
    return [study_table(run, sweep.settings, _COLUMNS, caption=caption)]


def sentences(run: Run, sweep: Sweep) -> list[str]:
    """What each mistake costs, and where a copy by number halves what."""
    if len(sweep.settings) == 1:
        cells = run.cells_of(sweep.settings[0].key)
        return [said for cell in cells if (said := _cost(cell))]
    return [said for info in run.implementations if (said := _along(run, sweep, info.name))]


def _cost(cell: Cell) -> str:
    right, wrong = value_of(cell, "right_ns"), value_of(cell, "wrong_ns")
    if not right or wrong is None:
        return ""
    costs = f"{with_unit(right, 'ns')} right, {with_unit(wrong, 'ns')} wrong"
    ratio = ratio_of("wrong_ns", cell.metrics["wrong_ns"], cell.metrics["right_ns"])
    if ratio.leaves_out_one:
        text = f"{cell.impl}: {times(ratio.value)} the cost ({costs})"
    else:
        text = f"{cell.impl}: {costs}"
    for address, said in (
        ("copies_per_append", "copies an append"),
        ("searched_per_block", "entries looked at for a block"),
        ("lost_updates", "of two mixed updates lost"),
        ("transfers_per_step", "transfers a step"),
    ):
        value = value_of(cell, address)
        if value is not None:
            text += f", {significant(value)} {said}"
    with_transfer = value_of(cell, "factor_with_transfer")
    if with_transfer is not None:
        text += f"; {times(with_transfer)} with the transfer, by the model"
    return f"{text}."


def _along(run: Run, sweep: Sweep, name: str) -> str:
    """From which payload on an append takes twice as long."""
    points = []
    for setting in sweep.settings:
        for cell in run.cells_of(setting.key):
            factor = value_of(cell, "mistake_factor") if cell.impl == name else None
            if factor is not None:
                points.append((setting, factor, value_of(cell, "gpu_step_factor")))
    if not points:
        return ""
    halved = [setting for setting, factor, _ in points if factor >= _HALVED]
    ends = " to ".join(times(factor) for _, factor, _ in (points[0], points[-1]))
    text = f"{name}: an append costs {ends} along {sweep.axis}"
    if halved and (size := _payload(halved[0])) is not None:
        payload = f"from a payload of {exact(size)} bytes on" if size else "without any payload"
        text += f", at least twice {payload}"
    elif not halved:
        text += ", nowhere twice"
    modelled = [model for _, _, model in points if model is not None]
    if modelled:
        text += f"; a GPU step {times(max(modelled))} by the model"
    return f"{text}."


def _payload(setting: Setting) -> int | None:
    value = setting.params.get("payload_bytes")
    return value if isinstance(value, int) else None


def draw(run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, Drawn]]:
    """The factor over the payload, where that is the axis."""
    if not sweep.is_line or sweep.axes != ("payload_bytes",):
        return
    from .charts import draw_factors

    title = f"Cost of copying by logical number: {sweep.scenario}"
    if (data := draw_factors(run, sweep, title)) is not None:
        caption = (
            "How many times an append costs with the wrong rule; at the line it is twice. The "
            "payload really is copied; the GPU step is a model and does not depend on it."
        )
        yield "mistake-factor", title, caption, data
