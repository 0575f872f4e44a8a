"""Programs that a search has kept, in a folder: a text file each, named by its content."""

from __future__ import annotations

import hashlib
import os
import tempfile
from typing import TYPE_CHECKING

from blockmark.workload.keys import ConfigError
from blockmark.workload.oracle.written import WrittenError, read_calls

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SUFFIX = ".calls"


def kept_files(folder: Path) -> list[Path]:
    """The programs of a folder, all of them readable; none if there is no folder yet.

    Raises ConfigError.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: not a folder; --keep names one")
    if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
        raise ConfigError(f"{folder}: can't be read; --keep names a folder")
    files = sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else []
    for file in files:
        try:
            read_calls(file.read_text("utf-8-sig"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: can't be read: {error}") from None
        except WrittenError as error:
            raise ConfigError(str(error)) from None
    return files


def check_writable(folder: Path) -> None:
    """Make the folder that programs will be kept in. Raises ConfigError where none can be.

    Before the proof, which takes minutes.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(f"{folder}: can't be written: {error.strerror}") from None


def keep(folder: Path, programs: Iterable[str]) -> int:
    """Write programs that the folder does not have yet; how many. Raises ConfigError."""
    new = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for text in programs:
            name = hashlib.sha256(text.encode()).hexdigest()[:16]
            file = folder / f"{name}{_SUFFIX}"
            if not file.exists():
                file.write_text(text, "utf-8")
                new += 1
    except OSError as error:
        raise ConfigError(f"{folder}: can't be written: {error.strerror}") from None
    return new
