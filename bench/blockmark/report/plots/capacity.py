"""Where a memory budget goes, and by how much paging serves more than reserving."""

from __future__ import annotations

from blockmark.report.numbers import count, significant
from blockmark.report.plots.style import INK, new_figure, png
from blockmark.report.setting import number
from blockmark.runs.model import Run, Setting
from blockmark.verdict.capacity import paged_requests, reserved_requests

# Metric, word, colour: what is used stands out, what is lost is warm, what is free is pale.
_PARTS = (
    ("memory_utilisation", "written", "#0072B2"),
    ("reserved_share", "reserved, will be written", "#9ecae9"),
    ("internal_waste_share", "lost inside", "#D55E00"),
    ("external_waste_share", "lost in holes", "#E69F00"),
    ("free_share", "free", "#e4e4e4"),
)
_LENGTHS = (80, 128, 256, 512, 1024, 2048, 4096, 8192)
_BLOCK = 16
_CLAIMED = 3.0


def draw_memory(run: Run, setting: Setting, title: str) -> bytes | None:
    """A bar for each policy, as PNG; None if none was simulated."""
    cells = [
        cell
        for cell in run.cells_of(setting.key)
        if cell.ok and (value := cell.metric("memory_utilisation")) and value.value is not None
    ]
    if not cells:
        return None
    height = 1.5 + 0.34 * len(cells)
    figure = new_figure(8.6, height, title)
    axes = figure.add_axes((0.27, 0.62 / height, 0.62, (height - 1.5) / height))
    starts = [0.0] * len(cells)
    places = range(len(cells))
    for metric, label, color in _PARTS:
        widths = []
        for cell in cells:
            value = cell.metric(metric)
            widths.append(0.0 if value is None or value.value is None else value.value)
        axes.barh(places, widths, left=starts, color=color, label=label, height=0.72)
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
    return png(figure)


def draw_gain(tokens: int, setting: Setting, title: str) -> bytes:
    """Paged over reserved, for lengths of requests and of slots; the setting is marked."""
    import numpy as np

    figure = new_figure(7.2, 4.9, title)
    axes = figure.add_axes((0.13, 0.13, 0.72, 0.72))
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
    if prompt and output and longest:
        x = float(np.interp(np.log2(prompt + output), np.log2(_LENGTHS), np.arange(len(_LENGTHS))))
        y = float(np.interp(np.log2(longest), np.log2(slots), np.arange(len(slots))))
        axes.plot(x + 0.5, y + 0.5, marker="o", markersize=13, markerfacecolor="none",
                  markeredgecolor="#D55E00", markeredgewidth=1.8)  # fmt: skip
    axes.set_xticks(np.arange(len(_LENGTHS)) + 0.5, [count(each) for each in _LENGTHS])
    axes.set_yticks(np.arange(len(slots)) + 0.5, [count(each) for each in slots])
    axes.set_xlabel("tokens of a request, at its end")
    axes.set_ylabel("max_len: tokens of a slot")
    bar = figure.colorbar(shown, cax=figure.add_axes((0.88, 0.13, 0.025, 0.72)))
    bar.set_ticks([0, 2, 4, 6], labels=["1x", "4x", "16x", "64x"])
    return png(figure)
