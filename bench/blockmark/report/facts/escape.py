"""One escape for text that goes into Markdown, wherever it goes."""

from __future__ import annotations

import re

from blockmark.runs.errors import one_line

# What starts something inside a line. Underscores inside a word do not, and stay
# readable; a `]` or `>` means nothing without its opening half.
_INLINE = re.compile(r"[\\`*\[<|~$]|&(?=#?\w+;)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# What starts a heading, a quotation or a list at the beginning of a line.
_BLOCK = re.compile(r"^(?:(#+|[-+])(?=\s|$)|(>)|(\d{1,9})(?=[.)](?:\s|$)))")


def cell(text: str) -> str:
    """`text` so that Markdown shows it as it is, in a table's cell or in a paragraph.

    Pipes, markup and HTML are escaped; line breaks and control characters, which
    would end a row, become `?`.
    """
    escaped = _INLINE.sub(lambda found: f"\\{found.group()}", one_line(text).strip())
    return _BLOCK.sub(_break_block, escaped)


def _break_block(found: re.Match[str]) -> str:
    # A digit can't be escaped, but the dot behind it, which follows the match, can.
    start = found.group()
    return f"{start}\\" if start[0].isdigit() else f"\\{start}"
