"""A run as comma-separated values: the rows of `blockmark.load`, a line for each value."""

from __future__ import annotations

import csv
import io

from blockmark.runs.model import Run
from blockmark.runs.rows import rows_of


def render_csv(run: Run) -> str:
    """The long table with its names in the first line; what is missing is an empty field."""
    rows = rows_of(run)
    names = dict.fromkeys(name for row in rows for name in row)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
