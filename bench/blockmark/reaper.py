"""However a command ends, its processes end with it and its temporary files are removed.

At its start a command forks a process that waits until the command is gone, and then ends
whatever the command has started and removes its temporary folder. So a kill that nothing can
catch leaves as little behind as an orderly end.

What a command has started is known by its environment: all of it has the command's token in
`TMPDIR`, whatever session or group it has put itself in.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A process that was killed is gone as soon as it runs again; on a busy machine that takes time.
_PATIENCE_S = 5.0
_LOOK_EVERY_S = 0.01
# Of one length: the environment lies at the top of the stack, and so decides where that begins.
TOKEN = f"blockmark-{os.urandom(4).hex()}"

_pipe = -1
_child = 0


def start() -> None:
    """Make the command's temporary folder and fork what cleans up after it.

    To be called once, before there are threads. Nothing on a system without /proc.
    """
    global _pipe, _child
    if _pipe >= 0 or not os.path.isdir("/proc/self"):
        return
    base = os.environ.get("TMPDIR", "/tmp")
    folder = os.path.join(os.path.abspath(base), TOKEN)
    reading, _pipe = os.pipe()
    try:
        _child = os.fork()
    except OSError:
        _child = -1  # no more processes may be started; the command will say so
    if not _child:
        try:
            os.close(_pipe)
            _outlive(reading, folder)
        finally:
            os._exit(0)
    os.close(reading)
    # Made when there is who removes it.
    with suppress(OSError):  # whoever needs a temporary folder says what is wrong with `base`
        os.mkdir(folder, 0o700)
        os.environ["TMPDIR"] = folder


def end() -> None:
    """End what the command has left and remove its files, now."""
    global _pipe, _child
    if _pipe < 0:
        return
    os.close(_pipe)
    _pipe = -1
    with suppress(ChildProcessError):
        if _child > 0:
            os.waitpid(_child, 0)
    _child = 0


def remove_at_end(path: str | os.PathLike[str]) -> None:
    """Have a file or folder removed, if it is still there when the command ends."""
    if _pipe >= 0:
        with suppress(OSError):
            os.write(_pipe, os.fsencode(os.path.abspath(path)) + b"\0")


def end_processes() -> None:
    """End all that this process has started, by its line of descent or by its token."""
    own = os.getpid()
    for _ in _looks():
        found = {*_descendants(own), *_marked(TOKEN)} - {own, _child}
        if not _kill(found):
            return


def end_marked(mark: str) -> None:
    """End every process that has `mark` in its environment. Nothing where none has."""
    for _ in _looks():
        if not _kill(_marked(mark)):
            return


def _outlive(reading: int, folder: str) -> None:
    """The other process: wait for the end of the command, then clean up."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    # Who reads the command's output waits for its end, not for this one's.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    told = b""
    while piece := os.read(reading, 65_536):
        told += piece
    paths = [*told.split(b"\0")[:-1], os.fsencode(folder)]
    for _ in _looks():
        # Again where one that was about to end has still written something.
        end_marked(TOKEN)
        paths = [path for path in paths if os.path.lexists(path)]
        if not paths:
            return
        for path in paths:
            _remove(path)


def _remove(path: bytes) -> None:
    from shutil import rmtree

    if os.path.isdir(path) and not os.path.islink(path):
        rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)


def _looks() -> Iterator[None]:
    end = time.monotonic() + _PATIENCE_S
    while True:
        yield
        if time.monotonic() > end:
            return
        time.sleep(_LOOK_EVERY_S)


def _kill(pids: set[int]) -> bool:
    """Whether there was one to end."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(pids)


def _marked(mark: str) -> set[int]:
    """The processes, this one left out, whose environment holds a text."""
    wanted = os.fsencode(mark)
    return {
        pid for pid in _all_pids() if wanted in _read(f"/proc/{pid}/environ") and pid != os.getpid()
    }


def _descendants(ancestor: int) -> set[int]:
    """The processes that come from one, those left out that have ended."""
    children: dict[int, list[int]] = {}
    for pid in _all_pids():
        # Behind the name, which may hold spaces and brackets: the state, and the parent.
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if len(fields) > 1 and fields[0] not in (b"Z", b"X"):
            children.setdefault(int(fields[1]), []).append(pid)
    found: set[int] = set()
    todo = [ancestor]
    while todo:
        below = children.get(todo.pop(), [])
        found.update(below)
        todo += below
    return found


def _all_pids() -> list[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []  # another system: then groups alone are ended
    return [int(name) for name in names if name.isdigit()]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
