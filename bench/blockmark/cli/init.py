"""`blockmark init`: a manager, a table or a pool to start from, written into a folder."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import among
from .lines import say

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Kind: the file, how it is named behind --impl, and what it is.
_KINDS = {
    "python": ("my_manager.py", "my_manager.py:Manager", "a whole manager in Python"),
    "pool": ("my_pool.py", "my_pool.py:Pool", "a pool of free blocks in Python"),
    "table": ("my_table.hpp", "my_table.hpp", "a block table in C++"),
    "manager": ("my_manager.hpp", "my_manager.hpp", "a whole manager in C++"),
}
_SCENARIO = "small.toml"


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where the files go; made if missing.")
    ] = Path(),
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            metavar="|".join(_KINDS),
            help="; ".join(f"{kind}: {row[2]}" for kind, row in _KINDS.items()) + ".",
            autocompletion=among(*_KINDS),
        ),
    ] = "python",
) -> int:
    """Write a manager to start from, and a small scenario; it passes `verify` as it is.

    No file is written over. docs/bring-your-own.md says what the class must have.
    """
    from blockmark.report.files import write_file
    from blockmark.workload.errors import ConfigError

    if kind not in _KINDS:
        raise typer.BadParameter(f"--kind {kind}: must be one of {', '.join(_KINDS)}")
    file, target, _ = _KINDS[kind]
    if (folder / file).exists():
        raise ConfigError(f"{folder / file} is there already; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: can't be made: {error.strerror}") from None
    for name in (file, _SCENARIO):
        # A scenario of before is one that was changed; it goes with any of the kinds.
        if not (folder / name).exists():
            write_file(folder / name, (_examples() / name).read_bytes(), "the file")
            say(f"written  {folder / name}")
    where = "" if folder == Path() else f"cd {folder} && "
    say(f"prove    {where}blockmark verify --impl mine={target}", hanging="  ")
    beside = "vector/py" if target.endswith(("Manager", "Pool")) else "flat-stack/cpp"
    say(f"measure  blockmark run {_SCENARIO} --impl mine={target} --impl {beside}", hanging="  ")
    return 0


def _examples() -> Path | Traversable:
    """The checkout's examples where there is one, else the copies in the wheel."""
    root = Path(__file__).resolve().parents[3]
    if (root / "pyproject.toml").is_file() and (root / "docs" / "bring-your-own").is_dir():
        return root / "docs" / "bring-your-own"
    return importlib.resources.files("blockmark") / "_examples"
