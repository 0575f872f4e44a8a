"""A report as a folder: report.md and the pictures that it links."""

from __future__ import annotations

from pathlib import Path

from blockmark.report.files import replace_file
from blockmark.report.markdown import render_report
from blockmark.report.plots import draw_pictures
from blockmark.runs.errors import StoreError
from blockmark.runs.model import Run

REPORT_FILE = "report.md"


def write_report(run: Run, folder: Path) -> Path:
    """Write the report of a run into `folder`, made if missing; returns the path of report.md.

    Pictures are written first, so that report.md never links one that isn't there.
    Each file is replaced as a whole. Raises StoreError if the disk refuses.
    """
    pictures = draw_pictures(run)
    path = folder / REPORT_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for picture in pictures:
            replace_file(folder / picture.file, picture.data)
        replace_file(path, render_report(run, pictures).encode("utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(
            folder, f"the report can't be written: {reason}", "name another folder with --output"
        ) from error
    return path
