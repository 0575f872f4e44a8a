"""What the words of the step table mean, for a screen that no document stands beside."""

from __future__ import annotations

from blockmark.report.tables.model import Table

_TITLES = {
    "step": "step: the block manager's calls of one scheduler iteration",
    "p99": "p99: 99 % of steps, timed one by one, took less",
    "pack": "pack: all block tables written into the array for the GPU, not part of a step",
    "allocs": "allocs: heap allocations in a step",
    "at": "at a rate: the share of one core that the steps take",
}
_PROFILE = {
    "R": "R: keeps reference counts",
    "C": "C: keeps a prefix cache",
    "D": "D: gives blocks back later",
    "S": "S: also decides what runs",
    "control": "control: does nothing, or the same work on a plain array",
}


def words_of(table: Table) -> list[str]:
    """One note on the columns that the step table has, and one on its profiles."""
    first = [column.title.partition(" ")[0] for column in table.columns]
    titles = [text for word, text in _TITLES.items() if word in first]
    notes = [f"{'; '.join(titles)}."] if titles else []
    if "profile" in first:
        place = first.index("profile")
        shown = {row.entries[place].text for row in table.rows if row.entries}
        shown |= {letter for text in shown if text.isupper() for letter in text}
        known = [text for word, text in _PROFILE.items() if word in shown]
        if known:
            notes.append(f"profile: what the operations include. {'; '.join(known)}.")
    return notes
