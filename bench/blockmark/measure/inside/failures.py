"""The reason of a result that an error ended, in one line."""

from __future__ import annotations

import resource
from pathlib import Path

from ..process.limits import memory_is_short

_OURS = "a fault of blockmark's own, not of what it measures; please report it: "
# What no call of a class or of native code raises: whatever else ends in a file of ours may be
# the answer of one to how it was called.
_OF_NO_CALL = (AssertionError, NameError, ImportError, ZeroDivisionError)


def why_failed(error: BaseException) -> str:
    """The reason of a job that an implementation's error ended."""
    if isinstance(error, MemoryError) and memory_is_short():
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return f"out of memory: over the limit of {limit:,} bytes for one process"
    return f"{_OURS if _is_ours(error) else ''}{one_line(error)}"


def _is_ours(error: BaseException) -> bool:
    """Whether an error was raised by a line of blockmark itself."""
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    own = Path(__file__).parents[2]
    return (
        isinstance(error, _OF_NO_CALL)
        and frame is not None
        and own in Path(frame.tb_frame.f_code.co_filename).parents
    )


def one_line(error: BaseException) -> str:
    """What an implementation raised, and where, for a reason."""
    text = " ".join(str(error).split())[:400]
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = ""
    if frame:
        code = frame.tb_frame.f_code
        where = f" (in {Path(code.co_filename).name}:{frame.tb_lineno} {code.co_name})"
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
