"""`blockmark list reference`: commands, scenarios, keys and metrics as one Markdown page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer


def render_reference() -> str:
    """Tables that are the same on every machine: nothing in them depends on what is installed."""
    from . import app
    from .listing import keys, metrics, scenarios

    parts = ["## Commands"]
    # typer's own types say nothing of a group's commands.
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        parts += [f"### blockmark {name}", " ".join((command.help or "").split())]
        rows = [
            (
                " ".join([*parameter.opts, *parameter.secondary_opts])
                if parameter.param_type_name == "option"
                else parameter.metavar or parameter.name,
                parameter.help or "",
            )
            for parameter in command.params
            if not getattr(parameter, "hidden", False)
        ]
        if rows:
            parts.append(_table(("", ""), rows))
    named = (("Scenarios", scenarios()), ("Keys", keys()), ("Metrics", metrics()))
    for title, rows in named:
        parts += [f"## {title}", _table((title.lower()[:-1], ""), rows)]
    return "\n\n".join(parts)


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    from blockmark.report.facts.escape import cell

    lines = [f"| {head[0]} | {head[1]} |", "|:--|:--|"]
    lines += [f"| {cell(name)} | {cell(' '.join(text.split()))} |" for name, text in rows]
    return "\n".join(lines)
