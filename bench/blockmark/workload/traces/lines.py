"""The lines of a text file, plain or gzip, as a stream that needs little memory."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from blockmark.workload.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

# A row of Bailian with a prompt of a million tokens has half a megabyte of ids.
LONGEST_LINE = 16 << 20
_BUFFER = 1 << 18
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_OTHERS = {
    b"PK\x03\x04": "a zip archive",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"BZh": "a bzip2 file",
}


class DamagedFileError(Exception):
    """The file could not be read to its end; the text says why, without the name."""


class _Unpacked(io.RawIOBase):
    """What a gzip file holds, a piece at a time.

    A buffer right above GzipFile would ask for more until it is full, and lose all of it
    where the file breaks off. (GzipFile's own readline goes through Python for each line.)
    """

    def __init__(self, packed: gzip.GzipFile) -> None:
        self._packed = packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._packed.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class Lines:
    """Iterates (line number from 1, text without its end) over the lines with text in them.

    gzip is known by its first bytes, whatever the name. At most one line of
    `LONGEST_LINE` bytes and two buffers are held. Raises ConfigError, which names the
    file (and line), when it cannot be opened or a line is no text, and
    DamagedFileError where a file breaks off; every whole line before that has been
    given out by then.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._raw = _opened(path)
        self.size = os.fstat(self._raw.fileno()).st_size
        head = self._raw.peek(8)
        for magic, what in _OTHERS.items():
            if head.startswith(magic):
                self._raw.close()
                raise ConfigError(f"{path}: is {what}; unpack it, or give it as gzip")
        self._data: BinaryIO = self._raw
        if head.startswith(_GZIP):
            packed = gzip.GzipFile(fileobj=self._raw, mode="rb")
            self._data = io.BufferedReader(_Unpacked(packed), _BUFFER)

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._data is not self._raw:
            self._data.close()
        self._raw.close()

    @property
    def position(self) -> int:
        """Bytes of the file taken so far (of the packed ones, if it is packed)."""
        return min(self._raw.tell(), self.size)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        number = 0
        while line := self._next():
            number += 1
            if number == 1:
                line = line.removeprefix(_BOM)
            if len(line) > LONGEST_LINE:
                raise ConfigError(
                    f"{self.path}: line {number:,} is longer than {LONGEST_LINE >> 20} MiB; "
                    "this is no trace"
                )
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                raise ConfigError(
                    f"{self.path}: line {number:,}: byte {line[error.start]:#04x} at column "
                    f"{error.start + 1:,} is not UTF-8 text; convert the file"
                ) from None
            if text:
                yield number, text

    def _next(self) -> bytes:
        try:
            return self._data.readline(LONGEST_LINE + 1)
        except EOFError:
            raise DamagedFileError("the gzip data breaks off") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise DamagedFileError(f"the gzip data is damaged ({error})") from None
        except OSError as error:
            raise DamagedFileError(f"can't be read further ({error.strerror or error})") from None


def _opened(path: str) -> io.BufferedReader:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise ConfigError(f"{path}: is a folder, not a trace file")
        if not stat.S_ISREG(mode):
            # It is read more than once: to know the format, and each time it is replayed.
            raise ConfigError(f"{path}: is not a regular file; save the trace to one first")
        return io.BufferedReader(io.FileIO(path), _BUFFER)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such trace file") from None
    except OSError as error:
        raise ConfigError(f"{path}: can't be opened ({error.strerror or error})") from None
    except ConfigError:
        raise
    except ValueError:  # a NUL in the name
        raise ConfigError(f"{path!r}: is no name of a file") from None
