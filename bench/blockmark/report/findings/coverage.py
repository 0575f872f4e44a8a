"""The table of what the proof's programs cover, for docs/verify.md."""

from __future__ import annotations

from collections.abc import Iterable

Row = tuple[str, int, int, int, int, int]


def coverage_table(rows: Iterable[Row]) -> str:
    """Markdown: (dimension, edges reached, edges, the limit, the largest value, values)."""
    lines = [
        "| dimension | edges reached | of | up to | largest | different values |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {what} | {reached} | {edges} | {limit:,} | {largest:,} | {values:,} |"
        for what, reached, edges, limit, largest, values in rows
    ]
    return "\n".join(lines)
