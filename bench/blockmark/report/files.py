"""Replacing a file as a whole: a reader sees the old one or the new one, never half."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from blockmark.runs.errors import StoreError


def replace_file(path: Path, data: bytes) -> None:
    """Write beside the file, then move over it. A link stays one; permissions stay.

    Raises OSError, and then the old file is as it was.
    """
    target = path.resolve()
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_file(path: Path, data: bytes, what: str) -> None:
    """Replace a file that the user named. Raises StoreError, which calls it `what`."""
    try:
        replace_file(path, data)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(path, f"{what} can't be written: {reason}", "name another file") from error


def ensure_writable(path: Path, what: str) -> None:
    """Find out before hours of work that a file can't be written. Raises StoreError."""
    reason = ""
    if path.is_dir():
        reason = "it is a folder"
    else:
        try:
            with tempfile.TemporaryFile(dir=path.resolve().parent):
                pass
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
    if reason:
        raise StoreError(path, f"{what} can't be written: {reason}", "name another file")


def append_file(path: Path, data: bytes, what: str) -> None:
    """Add to the end of a file that others add to as well. Raises StoreError as above."""
    try:
        with path.open("ab") as stream:
            stream.write(data)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(path, f"{what} can't be written: {reason}", "name another file") from error


def _mode(target: Path) -> int:
    """The permissions of the old file, or those that a new file gets."""
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
