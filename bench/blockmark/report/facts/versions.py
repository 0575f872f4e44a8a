"""Which version of the code a run measured, in words, and what differs between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockmark.runs.model import Run

_COMMIT = 10  # letters of a commit, as reports print them
_DIGEST = 8


def run_title(run: Run) -> str:
    """`0007 main`: the number of its folder, and its name if it has one."""
    return f"{run.run_id} {run.name}".rstrip()


def origin_words(origin: Mapping[str, Any]) -> str:
    """`mine.py at 1a2b3c4d5e, changed since (content 0a1b2c3d)`; empty where nothing is known."""
    if not origin:
        return ""
    digest = str(origin.get("digest", ""))[:_DIGEST]
    return f"{origin.get('path', '')} {commit_words(origin)} (content {digest})"


def commit_words(facts: Mapping[str, Any]) -> str:
    """`at 1a2b3c4d5e, changed since`, or why no commit is known; empty where nothing is."""
    if commit := facts.get("commit"):
        return f"at {str(commit)[:_COMMIT]}{', changed since' if facts.get('dirty') else ''}"
    reason = facts.get("no_commit")
    return f"of no known commit: {reason}" if reason else ""


def version_lines(run: Run) -> list[str]:
    """A line for each implementation of the user's own."""
    return [
        f"{info.name}: {origin_words(info.origin)}" for info in run.implementations if info.origin
    ]


def changed_versions(before: Run, now: Run) -> list[str]:
    """What each implementation was and is, where both runs know and the content differs."""
    lines = []
    for name, info in now.implementation_by_name.items():
        old = before.implementation_by_name.get(name)
        if old is None or not (old.origin and info.origin):
            continue
        if old.origin.get("digest") != info.origin.get("digest"):
            lines.append(
                f"{name} is another version now. Before, {name}: {origin_words(old.origin)}. "
                f"Now, {name}: {origin_words(info.origin)}."
            )
    was, is_now = commit_words(before.checkout), commit_words(now.checkout)
    if was and is_now and (was != is_now or before.checkout.get("dirty")):
        lines.append(f"blockmark's own source was {was} before and is {is_now} now.")
    return lines
