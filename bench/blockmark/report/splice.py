"""Put generated text between two markers of a document, such as README.md.

The markers are HTML comments on lines of their own:

    <!-- BEGIN: decode -->
    <!-- END: decode -->

What stands between them is replaced, and the first line of the new text names
the command that made it, so that a table in a document can't go stale unseen.
"""

from __future__ import annotations

import re
from pathlib import Path

from blockmark.report.files import replace_file


class SpliceError(ValueError):
    """The document can't take the text; the message names the file and the mend."""


def splice(path: Path, name: str, text: str, command: str) -> bool:
    """Replace what stands between the markers `name` in the file at `path`.

    The file is replaced as a whole or not at all, and keeps its permissions and
    its kind of line ends. Returns whether it changed. Raises SpliceError if the
    file can't be read or written, if a marker is missing, double or in the wrong
    order, or if `text` holds the markers themselves.
    """
    try:
        # newline="" keeps "\r\n" as it is.
        with path.open(encoding="utf-8", newline="") as stream:
            before = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise SpliceError(f"{path}: can't be read: {_reason(error)}") from error
    after = spliced(before, name, text, command, where=str(path))
    if after == before:
        return False
    try:
        replace_file(path, after.encode("utf-8"))
    except OSError as error:
        raise SpliceError(f"{path}: can't be written: {_reason(error)}") from error
    return True


def spliced(document: str, name: str, text: str, command: str, where: str = "document") -> str:
    """`document` with the text in place; see `splice`. Pure."""
    begin, end = f"<!-- BEGIN: {name} -->", f"<!-- END: {name} -->"
    first = _only_line(document, begin, where)
    last = _only_line(document, end, where)
    if last.start() < first.end():
        raise SpliceError(f"{where}: '{end}' comes before '{begin}'; swap the two lines")
    if begin in text or end in text:
        raise SpliceError(f"{where}: the new text holds the marker '{name}' itself")
    # Only "-->" ends a comment, so options keep their dashes and can be copied.
    made_by = f"<!-- made by: {' '.join(command.split()).replace('-->', '-- >')} -->"
    newline = "\r\n" if "\r\n" in document else "\n"
    body = "\n".join((begin, made_by, "", text.strip("\n"), "", end)).replace("\n", newline)
    return document[: first.start()] + body + document[last.end() :]


def _only_line(document: str, marker: str, where: str) -> re.Match[str]:
    """The one line that is `marker`, without its line end."""
    found = list(re.finditer(rf"^{re.escape(marker)}[ \t]*(?=\r?$)", document, re.MULTILINE))
    if len(found) == 1:
        return found[0]
    if not found:
        raise SpliceError(f"{where}: no line '{marker}'; add it where the text belongs")
    raise SpliceError(f"{where}: {len(found)} lines '{marker}'; keep one")


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "not UTF-8 text"
