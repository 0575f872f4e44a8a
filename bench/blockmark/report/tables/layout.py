"""A table laid out in characters, for a screen of any width.

Numbers are never wrapped or cut. What gives way, in this order: the alignment at
the decimal point, the gap between columns, long names (folded over lines), and at
last the table itself, which is split into bands of columns stacked on each other,
each with the names again. On a screen too narrow for even that, every value gets a
line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from blockmark.report.tables.model import Column, Entry, Group, Row, Table

Role = Literal["plain", "head", "group", "name", "control", "message"]
# A line is pieces of text with their roles; the medium decides what a role looks like.
Line = tuple[tuple[str, Role], ...]

MISSING = "n/a"
_LEAST_NAME = 18
_LEAST_MESSAGE = 24
_INDENT = "  "
# Gap in front of a column, and whether numbers stand at the decimal point; best first.
_LOOKS = ((2, True), (2, False), (1, True), (1, False))
# `77 ns`, `0.243 %`, `1,024 blocks`: a number and the word that says of what.
_NUMBER_AND_UNIT = re.compile(r"^[(~<>+-]?\d[\d,.]*(?:-\d[\d,.]*)? (?:[a-z%]|[KMGT]iB\b)\S*\s*$")
# Where a name may be broken: flat-stack, /cpp, [row_pad=, 32]; open-hash, +lru, /cpp.
_BREAKS = re.compile(r"(?<=.)(?=[/\[+])|(?<=[=,])(?=.)")


def layout(table: Table, width: int, printable: Callable[[str], str]) -> list[Line]:
    """The lines of a table, none wider than `width` characters where that can be.

    `printable` makes any text safe for the medium before its width is taken.
    """
    lines = [_stripped(line) for line in _layout(_grid(table, printable), width)]
    if table.caption and lines:
        above = wrap(printable(table.caption), width)
        lines = [*(((line, "head"),) for line in above), *lines]
    return lines


def _layout(grid: _Grid, width: int) -> list[Line]:
    if not grid.columns:
        return _rows(grid, range(0), _name_width(grid, width // 2), width, 2, decimal=False)
    everything = range(len(grid.columns))
    for gap, decimal in _LOOKS:
        room = width - _span(grid, everything, gap, decimal)
        if grid.widest_name <= room:
            return _rows(grid, everything, grid.widest_name, width, gap, decimal)
    name_width = max(_LEAST_NAME, width - _span(grid, everything, 1, False))
    if name_width + _span(grid, everything, 1, False) <= width:
        return _rows(grid, everything, name_width, width, 1, decimal=False)
    return _bands(grid, width)


@dataclass(frozen=True, slots=True)
class _Grid:
    """A table as texts that can be printed, with what their widths are."""

    corner: str
    columns: tuple[Column, ...]
    heads: tuple[tuple[str, ...], ...]
    groups: tuple[Group, ...]
    texts: tuple[tuple[str, ...], ...]  # of each column, those of all rows with entries
    indent: str

    @property
    def widest_name(self) -> int:
        names = [self.corner]
        names += [self.indent + row.name for group in self.groups for row in group.rows]
        return max(map(cell_width, names))


def cell_width(text: str) -> int:
    """The number of character cells: two for CJK, none for a combining mark."""
    from rich.cells import cell_len

    return cell_len(text)


def _grid(table: Table, printable: Callable[[str], str]) -> _Grid:
    groups = tuple(
        Group(
            printable(group.title),
            tuple(
                Row(
                    printable(row.name),
                    tuple(Entry(printable(shown(entry))) for entry in row.entries),
                    printable(row.message),
                    row.control,
                )
                for row in group.rows
            ),
        )
        for group in table.groups
    )
    rows = [row for group in groups for row in group.rows if row.entries]
    return _Grid(
        printable(table.corner),
        table.columns,
        tuple(_head(column, printable) for column in table.columns),
        groups,
        tuple(
            tuple(row.entries[position].text for row in rows)
            for position in range(len(table.columns))
        ),
        _INDENT if any(group.title for group in groups) else "",
    )


def shown(entry: Entry) -> str:
    """The text of an entry on a screen."""
    return MISSING if entry.missing else entry.text + entry.mark


def _head(column: Column, printable: Callable[[str], str]) -> tuple[str, ...]:
    """The title, an implementation's name in its parts: flat-stack, /cpp, [row_pad=, 32]."""
    title = printable(column.title)
    return tuple(_BREAKS.split(title)) if column.is_name else (title,)


def _aligned(grid: _Grid, position: int, decimal: bool) -> tuple[str, ...]:
    """The texts of a column, padded behind so that their decimal points stand in line."""
    texts = grid.texts[position]
    if not decimal or grid.columns[position].kind != "number":
        return texts
    tails = [
        len(text) - len(text.rstrip("*")) if "." not in text else len(text) - text.index(".")
        for text in texts
    ]
    longest = max(tails, default=0)
    return tuple(
        text + " " * (longest - tail) if text[:1].isdigit() else text
        for text, tail in zip(texts, tails, strict=True)
    )


def _column_width(grid: _Grid, position: int, decimal: bool) -> int:
    texts = (*grid.heads[position], *_aligned(grid, position, decimal))
    return max(map(cell_width, texts))


def _span(grid: _Grid, positions: Sequence[int], gap: int, decimal: bool) -> int:
    """The width of these columns with the gap in front of each."""
    return sum(gap + _column_width(grid, position, decimal) for position in positions)


def _name_width(grid: _Grid, most: int) -> int:
    return min(grid.widest_name, max(_LEAST_NAME, most))


def _bands(grid: _Grid, width: int) -> list[Line]:
    """Columns in as few bands as can be; a list if bands would hold a column each."""
    name_width = _name_width(grid, width * 2 // 5)
    tries = [
        (gap, decimal, _split(grid, width - name_width, gap, decimal)) for gap, decimal in _LOOKS
    ]
    gap, decimal, bands = min(tries, key=lambda attempt: len(attempt[2]))
    widest = max(_span(grid, band, gap, decimal) for band in bands)
    # Bands of one column would tear each row into pieces far apart.
    if name_width + widest > width or min(map(len, bands[:-1]), default=1) == 1:
        return _list(grid, width)
    lines: list[Line] = []
    for number, band in enumerate(bands):
        if number:
            lines.append(())
        lines += _rows(grid, band, name_width, width, gap, decimal, messages=number == 0)
    return lines


def _split(grid: _Grid, room: int, gap: int, decimal: bool) -> list[list[int]]:
    """The columns in bands, each of which fits the room if it has more than one."""
    bands: list[list[int]] = [[]]
    for position in range(len(grid.columns)):
        if bands[-1] and _span(grid, [*bands[-1], position], gap, decimal) > room:
            bands.append([])
        bands[-1].append(position)
    return bands


def _rows(
    grid: _Grid,
    positions: Sequence[int],
    name_width: int,
    width: int,
    gap: int,
    decimal: bool,
    *,
    messages: bool = True,
) -> list[Line]:
    """The head and all rows with the columns at `positions`."""
    aligned = {position: iter(_aligned(grid, position, decimal)) for position in positions}
    widths = {position: _column_width(grid, position, decimal) for position in positions}
    lines: list[Line] = []
    if positions:
        lines += _heads(grid, positions, widths, name_width, gap)
    for group in grid.groups:
        if not messages and not any(row.entries for row in group.rows):
            continue
        if group.title:
            lines += [((line, "group"),) for line in wrap(group.title, width)]
        for row in group.rows:
            role: Role = "control" if row.control else "name"
            names = wrap(row.name, name_width, grid.indent)
            if row.message:
                if messages:
                    lines += _message(names, row.message, role, name_width, width)
                continue
            texts = [
                " " * gap + _justified(next(aligned[position]), widths[position], "right")
                for position in positions
            ]
            body: Role = "control" if row.control else "plain"
            # The numbers stand beside the last line of a folded name.
            lines += [((name, role),) for name in names[:-1]]
            lines.append(
                ((_justified(names[-1], name_width, "left"), role), ("".join(texts), body))
            )
    return lines


def _heads(
    grid: _Grid, positions: Sequence[int], widths: dict[int, int], name_width: int, gap: int
) -> list[Line]:
    """The titles, standing on the line above the first row."""
    height = max(len(grid.heads[position]) for position in positions)
    corner = wrap(grid.corner, name_width)
    height = max(height, len(corner))
    lines: list[Line] = []
    for line in range(height):
        text = _justified(_from_below(corner, height, line), name_width, "left")
        for position in positions:
            part = _from_below(grid.heads[position], height, line)
            text += " " * gap + _justified(part, widths[position], "right")
        lines.append(((text, "head"),))
    return lines


def _from_below(parts: Sequence[str], height: int, line: int) -> str:
    index = line - (height - len(parts))
    return parts[index] if index >= 0 else ""


def _message(names: list[str], message: str, role: Role, name_width: int, width: int) -> list[Line]:
    room = width - name_width - 2
    if room < _LEAST_MESSAGE:
        lines: list[Line] = [((name, role),) for name in names]
        return lines + [((text, "message"),) for text in wrap(message, width, "    ")]
    texts = wrap(message, room)
    height = max(len(names), len(texts))
    return [
        (
            (_justified(names[line] if line < len(names) else "", name_width + 2, "left"), role),
            (texts[line] if line < len(texts) else "", "message"),
        )
        for line in range(height)
    ]


def _list(grid: _Grid, width: int) -> list[Line]:
    """One line a value, for a screen on which no table fits."""
    lines: list[Line] = []
    if grid.corner:
        lines += [((text, "head"),) for text in wrap(grid.corner, width)]
    for group in grid.groups:
        if group.title:
            lines += [((text, "group"),) for text in wrap(group.title, width)]
        for row in group.rows:
            role: Role = "control" if row.control else "name"
            lines += [((text, role),) for text in wrap(row.name, width, grid.indent)]
            if row.message:
                lines += [((text, "message"),) for text in wrap(row.message, width, "    ")]
            for head, entry in zip(grid.heads, row.entries, strict=False):
                title = wrap("".join(head), width - cell_width(entry.text) - 1, "    ")
                lines += [((text, "plain"),) for text in title[:-1]]
                lines.append(((f"{title[-1]} {entry.text}", "plain"),))
    return lines


def _stripped(line: Line) -> Line:
    """The line without blanks at its end."""
    while line and not line[-1][0].rstrip():
        line = line[:-1]
    return (*line[:-1], (line[-1][0].rstrip(), line[-1][1])) if line else line


def _justified(text: str, width: int, side: Literal["left", "right"]) -> str:
    space = " " * (width - cell_width(text))
    return text + space if side == "left" else space + text


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """`text` in lines of at most `width` cells, `indent` in front of each; never empty.

    Broken at blanks, but not between a number and its unit; else between the parts of a
    name, else anywhere.
    """
    room = max(1, width - len(indent))
    lines, line = [], ""
    for word in _words(text, room):
        for piece in [word] if cell_width(word.rstrip()) <= room else _pieces(word, room):
            if line and cell_width((line + piece).rstrip()) > room:
                lines.append(line.rstrip())
                line = ""
            line += piece
    lines.append(line.rstrip())
    return [indent + line for line in lines]


def _words(text: str, room: int) -> list[str]:
    """What is not to be torn apart, with the blanks behind it: `48 s; `, `16 tokens, `."""
    words: list[str] = []
    for word in re.findall(r"\S+\s*", text) or [""]:
        joined = words[-1] + word if words else ""
        # Where even the two are too wide, a unit alone is better than a torn number.
        if _NUMBER_AND_UNIT.search(joined) and cell_width(joined.rstrip()) <= room:
            words[-1] = joined
        else:
            words.append(word)
    return words


def _pieces(word: str, room: int) -> list[str]:
    pieces = []
    for part in _BREAKS.split(word):
        piece = ""
        for letter in part:
            if piece and cell_width(piece + letter) > room:
                pieces.append(piece)
                piece = ""
            piece += letter
        pieces.append(piece)
    return [piece for piece in pieces if piece]
