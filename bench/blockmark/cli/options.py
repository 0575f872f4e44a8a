"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--impl",
        metavar="[NAME=]TARGET",
        help="An implementation: a name of `blockmark list impls`, a table+pool pair, "
        "module:Class or path.py:Class. May be given several times.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE[,VALUE...]",
        help="Set a scenario key, such as concurrency=512; several values make an axis.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed.")]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1.0,
        max=86400.0,
        help="The most time that one measured process may take.",
    ),
]
Output = Annotated[
    Path, typer.Option("--output", metavar="DIR", help="Where the run's folder is made.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the run as JSON instead of tables.")]
