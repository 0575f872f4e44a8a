"""The text of source lines, where the sources are on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark.runs.profile import HotLine

_LARGEST = 10_000_000


def with_text(lines: Sequence[HotLine]) -> list[HotLine]:
    """The lines with their text, stripped; empty where the file can't be read."""
    known: dict[str, list[str]] = {}
    found = []
    for line in lines:
        if line.file not in known:
            known[line.file] = _read(line.file)
        texts = known[line.file]
        text = texts[line.line - 1].strip() if 0 < line.line <= len(texts) else ""
        found.append(replace(line, text=text))
    return found


def _read(file: str) -> list[str]:
    # Names such as `<string>` and relative paths of another build are no files of ours.
    path = Path(file)
    try:
        if not path.is_absolute() or not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
