"""Telling that the compiler is at work, where somebody watches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence


def announce_builds(targets: Sequence[str], *, coverage: bool = False) -> None:
    """On a terminal, a line for each header that will be compiled now: it can take a minute.

    With `coverage` also for one that is compiled to count its edges.

    Raises TargetError for a target that is not well formed.
    """
    if not targets or not sys.stderr.isatty():
        return
    from blockmark_impls.build import will_compile
    from blockmark_impls.registry import own_target

    for target in targets:
        own = own_target(target)
        file = own.native_file if own else ""
        if not file or file.endswith(".so"):
            continue
        if will_compile(Path(file)):
            typer.echo(f"compiling {file}", err=True)
        if coverage and will_compile(Path(file), coverage=True):
            typer.echo(f"compiling {file} once more, to count the edges of its code", err=True)
