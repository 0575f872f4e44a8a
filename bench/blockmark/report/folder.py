"""A report as a folder: report.md and the pictures that it links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blockmark.report.facts.picture import Picture
from blockmark.report.files import replace_file
from blockmark.report.markdown import render_comparison, render_report
from blockmark.report.plots import draw_changes, draw_pictures
from blockmark.report.tables.comparison import runs_sheet
from blockmark.runs.errors import StoreError
from blockmark.runs.model import Run
from blockmark.verdict.compare import RunComparison

REPORT_FILE = "report.md"


def write_report(run: Run, folder: Path) -> Path:
    """Write the report of a run into `folder`, made if missing; returns the path of report.md.

    Pictures are written first, so that report.md never links one that isn't there.
    Each file is replaced as a whole. Raises StoreError if the disk refuses.
    """
    pictures = draw_pictures(run)
    return _write(folder, render_report(run, pictures), pictures)


def write_comparison(comparison: RunComparison, folder: Path) -> Path:
    """Write two runs side by side, as `write_report` writes one."""
    pictures = draw_changes(comparison)
    text = render_comparison(runs_sheet(comparison), pictures)
    return _write(folder, text, pictures)


def _write(folder: Path, text: str, pictures: Sequence[Picture]) -> Path:
    path = folder / REPORT_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for picture in pictures:
            for name, data in picture.files.items():
                replace_file(folder / name, data)
        replace_file(path, text.encode("utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(
            folder, f"the report can't be written: {reason}", "name another folder with --output"
        ) from error
    return path
