"""Texts that are kept as files and compared whole.

A change of a golden file is a change of what users see: look at it before it is
committed. `BLOCKMARK_UPDATE_GOLDEN=1 pytest` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """Assert that `text` is what the file `golden/<name>` holds."""
    path = FOLDER / name
    if os.environ.get("BLOCKMARK_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
