"""Exit codes, and which error gets which.

0 fine; 1 regression, or an assertion that does not hold; 2 usage or configuration; 3 nothing
measured, nothing in common, a cell failed, or nothing known of what was asserted; 4 wrong
answer; 5 inconclusive; 130 interrupted. Where several hold: 130, 2, 4, 1, 3, 5.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockmark.runs.model import Run

EXIT_REGRESSION = 1
EXIT_USAGE = 2
EXIT_NOTHING = 3
EXIT_WRONG = 4
EXIT_INTERRUPTED = 130
_WORST_FIRST = (EXIT_INTERRUPTED, EXIT_USAGE, EXIT_WRONG, EXIT_REGRESSION, EXIT_NOTHING, 5)


# Of it, for what stands at the end: the mend.
_LONGEST_MESSAGE, _ITS_END = 500, 200


def one_message(text: str) -> str:
    """A message as it is printed: one line of at most 500 letters, none of them invisible.

    What a message quotes may be of any length and hold anything.
    """
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    if len(line) <= _LONGEST_MESSAGE:
        return line
    return f"{line[: _LONGEST_MESSAGE - _ITS_END - 5]} ... {line[-_ITS_END:]}"


def worst(*codes: int) -> int:
    """The code of a command for which several hold."""
    return next((code for code in _WORST_FIRST if code in codes), 0)


def known_errors(error: Exception) -> int | None:
    """The exit code of an error that a user can mend; None for a fault of ours."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return EXIT_USAGE  # whichever option the name was given to
    from blockmark.runs.errors import RunFileError, StoreError
    from blockmark.verdict.errors import CompareError, NothingInCommon

    if isinstance(error, NothingInCommon):
        return EXIT_NOTHING
    if isinstance(error, (RunFileError, StoreError, CompareError)):
        return EXIT_USAGE
    from blockmark.report.splice import SpliceError
    from blockmark.workload.keys import ConfigError
    from blockmark_impls.registry import TargetError

    return EXIT_USAGE if isinstance(error, (ConfigError, TargetError, SpliceError)) else None


def exit_code_of(run: Run) -> int:
    """The exit code of a finished run, by its worst cell."""
    states = {cell.status for cell in run.cells}
    if "wrong" in states:
        return EXIT_WRONG
    if states & {"failed", "timeout"}:
        return EXIT_NOTHING
    measured = any(cell.ok and cell.kind != "control" for cell in run.cells)
    return 0 if measured else EXIT_NOTHING
