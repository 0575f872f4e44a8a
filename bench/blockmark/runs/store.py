"""A run on disk: a numbered folder that survives a kill, a crash and a full disk.

results/0001/plan.json     what the run is going to do; written first, once
             cells.jsonl   one line a finished measurement, on the disk before the
                           next one starts; a torn last line is dropped on resume
             run.json      the whole; replaced in one move, never half written.
                           The only file that comparing and reporting read
             lock          held while a process writes here
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from blockmark.reaper import remove_at_end
from blockmark.runs.codec import check_schema, dump_run, parse_run
from blockmark.runs.errors import RunFileError, StoreError
from blockmark.runs.model import Run
from blockmark.runs.names import locate
from blockmark.runs.reading import read_json_object

PLAN_SCHEMA = "blockmark.plan"
PLAN_VERSION = 1
PLAN_FILE = "plan.json"
CELLS_FILE = "cells.jsonl"
RUN_FILE = "run.json"
LOCK_FILE = "lock"


def load_run(path: str | Path) -> Run:
    """The run in a folder or in a `run.json` file, or the newest of a name (`names.locate`).

    Raises RunFileError if there is none, if it is unfinished (and says how to go
    on), or if anything in the file is not as it should be.
    """
    named = locate(Path(path))
    file = named / RUN_FILE if named.is_dir() else named
    if named.is_dir() and not file.exists():
        _explain_missing_run(named)
    content = read_json_object(file).content
    if content.get("schema") == PLAN_SCHEMA:
        raise RunFileError(file, "this is the plan of a run", f"name {file.parent}")
    return parse_run(content, file)


def folder_of(path: str | Path) -> Path:
    """The folder that a run lies in, however it is named. Raises RunFileError as `load_run`."""
    named = locate(Path(path))
    return named if named.is_dir() else named.parent


def render_json(content: Mapping[str, Any]) -> str:
    """The text of a run file: indented, but a list of plain values stays on one line.

    Raises ValueError for NaN, an infinity, or a value that is not plain JSON.
    """
    try:
        return _render(content, "\n") + "\n"
    except TypeError as error:
        raise ValueError(str(error)) from None


class RunWriter:
    """The one process that writes a run. Use as a context manager, or `close()` it.

    `folder` is the run's folder, `run_id` its number, `plan` the content of
    `plan.json`, and `finished` what `cells.jsonl` held when a run was resumed.
    Every method that writes raises StoreError, and then what was written before
    is still there.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        """For `create` and `resume` only: `lock` is the open lock file."""
        self.folder = folder
        self.run_id = folder.name
        self.plan: Mapping[str, Any] = {}
        self.finished: list[dict[str, Any]] = []
        self._lock = lock
        self._cells = -1
        # The part of cells.jsonl that is whole, its lines, and whether more may
        # be there: a write that failed or was interrupted.
        self._size = 0
        self._kept = 0
        self._torn = False

    @classmethod
    def create(cls, output_dir: str | Path, plan: Mapping[str, Any]) -> Self:
        """Start a run in the next numbered folder of `output_dir`, which is made if missing.

        Two processes that start at once get two folders. Raises StoreError, with no
        folder left behind, and ValueError if the plan is not plain JSON.
        """
        folder = _new_folder(Path(output_dir))
        writer: Self | None = None
        header = {"schema": PLAN_SCHEMA, "schema_version": PLAN_VERSION, "run_id": folder.name}
        try:
            writer = cls(folder, _take_lock(folder))
            writer.plan = header | dict(plan)
            _replace_file(folder / PLAN_FILE, render_json(writer.plan))
            writer._open_cells()
        except BaseException:
            if writer is not None:
                writer.close()
            _remove_new_folder(folder)
            raise
        return writer

    @classmethod
    def resume(cls, folder: str | Path) -> Self:
        """Go on with a run: `plan` and `finished` say what is done.

        A last line that was torn by a crash is dropped from the file. Raises
        RunFileError if the folder holds no usable plan or a damaged line before the
        last one, StoreError if another process writes there or the disk refuses.
        """
        path = Path(folder)
        if not (path / PLAN_FILE).exists():
            raise RunFileError(path, f"no {PLAN_FILE} to go on from", "start a new run")
        plan = read_json_object(path / PLAN_FILE)
        check_schema(plan, PLAN_SCHEMA, PLAN_VERSION)
        writer = cls(path, _take_lock(path))
        try:
            writer.plan = plan.content
            writer._open_cells()
        except BaseException:
            writer.close()
            raise
        return writer

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one finished measurement; it is on the disk when this returns.

        Raises ValueError, with nothing written, if the record is not plain JSON.
        """
        try:
            text = json.dumps(record, allow_nan=False, separators=(",", ":"))
        except TypeError as error:
            raise ValueError(str(error)) from None
        line = text.encode() + b"\n"
        try:
            if self._torn:
                os.ftruncate(self._cells, self._size)
            self._torn = True
            _write_all(self._cells, line)
            os.fsync(self._cells)
        except OSError as error:
            # Cutting a file needs no space. If even that fails, resuming cuts it.
            _ignore_errors(os.ftruncate, self._cells, self._size)
            raise _store_error(
                self.folder / CELLS_FILE,
                error,
                f"the {self._kept} measurements before are kept; mend this, then "
                f"`blockmark run --resume {self.folder}`",
            ) from None
        self._size += len(line)
        self._kept += 1
        self._torn = False

    def publish(self, run: Run) -> Path:
        """Write `run.json` in one move, over an older one. Returns its path.

        Raises RunFileError if the run would not be read back.
        """
        content = dump_run(run)
        path = self.folder / RUN_FILE
        text = render_json(content)
        parse_run(json.loads(text), path)
        try:
            _replace_file(path, text)
        except StoreError as error:
            mend = f"{error.mend}, then `blockmark run --resume {self.folder}`"
            raise StoreError(path, error.problem, mend) from None
        return path

    def close(self) -> None:
        """Let go of the files and of the lock. Closing twice does no harm."""
        for descriptor in (self._cells, self._lock):
            if descriptor >= 0:
                _ignore_errors(os.close, descriptor)
        self._cells = self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open_cells(self) -> None:
        path = self.folder / CELLS_FILE
        try:
            self._cells = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            data = path.read_bytes()
            self.finished, self._size = _read_lines(path, data)
            if self._size < len(data):
                os.ftruncate(self._cells, self._size)
                os.fsync(self._cells)
            _sync_folder(self.folder)
        except OSError as error:
            raise _store_error(path, error, _OTHER_FOLDER) from None
        self._kept = len(self.finished)


_OTHER_FOLDER = "make room or name another folder with --output"
_PROBLEMS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "no permission to write here",
    errno.EPERM: "no permission to write here",
    errno.ENOTDIR: "a file is where a folder should be",
    errno.EFBIG: "the file may not grow further",
}


def _store_error(path: Path, error: OSError, mend: str) -> StoreError:
    problem = _PROBLEMS.get(error.errno or 0, error.strerror or str(error))
    return StoreError(path, problem, mend)


def _explain_missing_run(folder: Path) -> None:
    """Raise RunFileError for a folder without `run.json`, by what is there instead."""
    if (folder / CELLS_FILE).exists() or (folder / PLAN_FILE).exists():
        try:
            kept = (folder / CELLS_FILE).read_bytes().count(b"\n")
        except OSError:
            kept = 0
        raise RunFileError(
            folder,
            f"this run is unfinished ({kept} measurements, no {RUN_FILE})",
            f"go on with `blockmark run --resume {folder}`",
        )
    runs = sorted(file.parent for file in folder.glob(f"*/{RUN_FILE}"))
    mend = f"name a run in it, such as {runs[-1]}" if runs else "name a run folder"
    raise RunFileError(folder, f"no {RUN_FILE} in this folder", mend)


def _read_lines(path: Path, data: bytes) -> tuple[list[dict[str, Any]], int]:
    """The records in `cells.jsonl`, and the size of the part that is whole."""
    records: list[dict[str, Any]] = []
    size = 0
    # What follows the last line break is a line that was torn, or nothing.
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines, start=1):
        record = _read_line(line)
        if record is None:
            if number < len(lines):
                raise RunFileError(
                    path, f"line {number} is damaged", "remove that line, or start a new run"
                )
            break
        records.append(record)
        size += len(line) + 1
    return records, size


def _read_line(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _new_folder(output_dir: Path) -> Path:
    """Make the folder after the highest number there; nobody else gets the same one."""
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        names = (entry.name for entry in output_dir.iterdir())
        taken = [int(name) for name in names if re.fullmatch("[0-9]{4,9}", name)]
        number = max(taken, default=0) + 1
        while True:
            folder = output_dir / f"{number:04d}"
            try:
                folder.mkdir()
            except FileExistsError:
                number += 1
                continue
            _sync_folder(output_dir)
            return folder
    except FileExistsError:
        raise StoreError(output_dir, _PROBLEMS[errno.ENOTDIR], _OTHER_FOLDER) from None
    except OSError as error:
        raise _store_error(output_dir, error, _OTHER_FOLDER) from None


def _remove_new_folder(folder: Path) -> None:
    for name in (CELLS_FILE, PLAN_FILE, LOCK_FILE):
        _ignore_errors(os.unlink, folder / name)
    _ignore_errors(os.rmdir, folder)


def _take_lock(folder: Path) -> int:
    """The open lock file of a folder. The kernel lets go of it when the process ends."""
    path = folder / LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise _store_error(path, error, _OTHER_FOLDER) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise StoreError(
                folder,
                "another blockmark is writing this run",
                "wait for it to end, or start a new run",
            ) from None
        raise _store_error(path, error, _OTHER_FOLDER) from None
    return descriptor


def _replace_file(path: Path, text: str) -> None:
    """Write a file in one move: it holds the old text or the new, whatever happens."""
    temporary = path.with_name(path.name + ".tmp")
    remove_at_end(temporary)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            _write_all(descriptor, text.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        _ignore_errors(os.unlink, temporary)
        raise _store_error(path, error, _OTHER_FOLDER) from None


def _write_all(descriptor: int, data: bytes) -> None:
    """Write all of it: a disk that fills up takes a part first and fails then."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_folder(folder: Path) -> None:
    """Put the folder's own list of names on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ignore_errors(action: Any, *arguments: Any) -> None:
    try:
        action(*arguments)
    except OSError:
        return


def _render(value: Any, newline: str) -> str:
    if isinstance(value, Mapping) and value:
        inner = newline + " "
        members = (f"{json.dumps(str(key))}: {_render(value[key], inner)}" for key in value)
        return "{" + inner + ("," + inner).join(members) + newline + "}"
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        inner = newline + " "
        items = (_render(item, inner) for item in value)
        return "[" + inner + ("," + inner).join(items) + newline + "]"
    return json.dumps(value, allow_nan=False)
