"""The two errors of runs on disk. Each message is one line: file, key, problem, mend."""

from __future__ import annotations

from os import PathLike, fspath

_LONGEST_QUOTE = 60


class RunFileError(Exception):
    """A file that was read is not a run that can be used.

    `path` is the file as it was named, `key` where in it (such as
    `cells[3].metrics.step_ns.value`, or None), `problem` what is wrong and `mend`
    what to do about it.
    """

    def __init__(
        self, path: str | PathLike[str], problem: str, mend: str, key: str | None = None
    ) -> None:
        self.path = fspath(path)
        self.key = key
        self.problem = problem
        self.mend = mend
        where = self.path if key is None else f"{self.path}: {key}"
        super().__init__(one_line(f"{where}: {problem}; {mend}"))


class StoreError(Exception):
    """A run could not be written. `path` is the file or folder, `mend` what to do."""

    def __init__(self, path: str | PathLike[str], problem: str, mend: str) -> None:
        self.path = fspath(path)
        self.problem = problem
        self.mend = mend
        super().__init__(one_line(f"{self.path}: {problem}; {mend}"))


def one_line(text: str) -> str:
    """The text without line breaks or control characters: they become `?`."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def quote(value: object) -> str:
    """A value from a file, short enough for a one-line message."""
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "..."
