"""Where a memory budget goes, and by how much paging serves more than reserving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockmark.report.facts.numbers import count, significant, with_unit
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import number
from blockmark.report.plots.style import INK, WIDTH, drawn, new_figure
from blockmark.runs.metrics import label_of
from blockmark.runs.model import Run, Setting

from .memory import paged_requests, reserved_requests

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Metric and colour: what is used stands out, what is lost is warm, what is free is pale.
_PARTS = (
    ("memory_utilisation", "#0072B2"),
    ("reserved_share", "#9ecae9"),
    ("internal_waste_share", "#D55E00"),
    ("external_waste_share", "#E69F00"),
    ("free_share", "#e4e4e4"),
)
_LENGTHS = (80, 128, 256, 512, 1024, 2048, 4096, 8192)
_BLOCK = 16
_CLAIMED = 3.0
_LEAST_SEEN = 0.001  # of a bar; less is no pixel


def draw_memory(run: Run, setting: Setting, title: str) -> Drawn | None:
    """A bar for each policy, ; None if none was simulated."""
    cells = [
        cell
        for cell in run.cells_of(setting.key)
        if cell.ok and (value := cell.metric("memory_utilisation")) and value.value is not None
    ]
    if not cells:
        return None
    height = 1.75 + 0.34 * len(cells)
    figure = new_figure(height, title)
    _subtitle(figure, setting)
    axes = figure.add_axes((0.27, 0.62 / height, 0.62, (height - 1.75) / height))
    starts = [0.0] * len(cells)
    places = range(len(cells))
    for metric, color in _PARTS:
        widths = []
        for cell in cells:
            value = cell.metric(metric)
            widths.append(0.0 if value is None or value.value is None else value.value)
        # No name for what no bar has.
        if max(widths) < _LEAST_SEEN:
            continue
        axes.barh(places, widths, left=starts, color=color, label=label_of(metric), height=0.72)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    for place, cell in zip(places, cells, strict=True):
        value = cell.metric("concurrent_requests_mean")
        if value is not None and value.value is not None:
            axes.annotate(
                significant(value.value),
                (1.0, place),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                size=9,
                color=INK,
            )
    axes.annotate(
        "requests\nat once",
        (1.0, 1.0),
        xycoords="axes fraction",
        xytext=(5, 3),
        textcoords="offset points",
        size=8,
        color=INK,
    )
    axes.set_yticks(list(places), [cell.impl for cell in cells])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25", "50", "75", "100 %"])
    axes.set_xlabel("share of the memory for KV entries")
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.42, 1.0), ncol=5, frameon=False, fontsize=8,
        columnspacing=1.1, handlelength=1.1,
    )  # fmt: skip
    return drawn(figure)


def _subtitle(figure: Figure, setting: Setting) -> None:
    """The model and its memory, which every number depends on."""
    model, tokens = setting.params.get("model_shape"), number(setting.facts, "kv_tokens")
    memory = setting.params.get("kv_memory")
    budget = with_unit(memory, "bytes") if isinstance(memory, int | float) else memory
    # What is left beside the weights is told by the room.
    budget = None if budget == "auto" else budget
    told = [str(part) for part in (model, budget) if part]
    if tokens:
        told.append(f"room for {count(tokens)} tokens")
    height = figure.get_figheight()
    figure.text(
        0.1 / WIDTH, 1 - 0.32 / height, ", ".join(told), va="top", size=8.5, parse_math=False
    )


def draw_gain(tokens: int, setting: Setting, title: str) -> Drawn:
    """Paged over reserved, for lengths of requests and of slots; the setting is marked."""
    import numpy as np
    from matplotlib.lines import Line2D

    figure = new_figure(5.2, title)
    _subtitle(figure, setting)
    axes = figure.add_axes((0.11, 0.2, 0.74, 0.68))
    slots = [length for length in _LENGTHS if length >= 256] + [16384]
    grid = np.full((len(slots), len(_LENGTHS)), np.nan)
    for row, slot in enumerate(slots):
        for column, length in enumerate(_LENGTHS):
            reserved = reserved_requests(tokens, slot)
            if length <= slot and reserved:
                grid[row, column] = paged_requests(tokens, length, 0, _BLOCK) / reserved
    shown = axes.pcolormesh(np.log2(grid), cmap="viridis", vmin=0)
    for row in range(len(slots)):
        for column in range(len(_LENGTHS)):
            ratio = grid[row, column]
            if np.isfinite(ratio):
                axes.text(
                    column + 0.5, row + 0.5, significant(float(ratio), 2), ha="center", va="center",
                    size=8, color="white" if ratio < 12 else INK,
                )  # fmt: skip
    filled = np.where(np.isfinite(grid), grid, 1.0)
    axes.contour(
        np.arange(len(_LENGTHS)) + 0.5, np.arange(len(slots)) + 0.5, filled, levels=[_CLAIMED],
        colors="#D55E00", linewidths=1.8,
    )  # fmt: skip
    prompt, output = (
        number(setting.params, "prompt_tokens"),
        number(setting.params, "output_tokens"),
    )
    longest = number(setting.params, "max_len")
    told = [Line2D([], [], color="#D55E00", linewidth=1.8, label=f"{_CLAIMED:g} times as many")]
    if prompt and output and longest:
        x = float(np.interp(np.log2(prompt + output), np.log2(_LENGTHS), np.arange(len(_LENGTHS))))
        y = float(np.interp(np.log2(longest), np.log2(slots), np.arange(len(slots))))
        axes.plot(x + 0.5, y + 0.5, marker="o", markersize=13, markerfacecolor="none",
                  markeredgecolor="#D55E00", markeredgewidth=1.8)  # fmt: skip
        where = f"this setting: {count(prompt + output)} tokens in slots of {count(longest)}"
        told.append(
            Line2D([], [], linestyle="none", marker="o", markersize=10, markerfacecolor="none",
                   markeredgecolor="#D55E00", markeredgewidth=1.8, label=where)
        )  # fmt: skip
    figure.legend(handles=told, loc="lower left", bbox_to_anchor=(0.1, 0.0), ncols=2)
    axes.set_xticks(np.arange(len(_LENGTHS)) + 0.5, [count(each) for each in _LENGTHS])
    axes.set_yticks(np.arange(len(slots)) + 0.5, [count(each) for each in slots])
    axes.set_xlabel("tokens of a request, at its end")
    axes.set_ylabel("max_len: tokens of a slot")
    bar = figure.colorbar(shown, cax=figure.add_axes((0.88, 0.2, 0.025, 0.68)))
    bar.set_ticks([0, 2, 4, 6], labels=["1x", "4x", "16x", "64x"])
    return drawn(figure)
