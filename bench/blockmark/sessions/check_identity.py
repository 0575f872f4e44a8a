"""Whether the two sides of a check run code of their own: what a side loads, not what it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blockmark.measure.sides.builds import cache_folder
from blockmark.measure.sides.side import HARNESS, INSTALLED, Side
from blockmark.workload.errors import ConfigError

_MEND = (
    "so both sides would run it, and nothing would be compared. It is found by an editable "
    "install, PYTHONPATH, CPATH or an absolute path: let it be found from the folder of the "
    "class or the header, or compare two environments with --baseline-env"
)


def refuse_shared_code(before: Side, loaded: Mapping[str, Any]) -> None:
    """Raise ConfigError if the baseline loads a file of the working tree beside its own.

    `loaded` is what `loaded_files` tells of a process of the baseline. A side that is not of
    a revision may load what it likes.
    """
    top = before.apart_from
    if top is None:
        return
    top = top.resolve()
    # Where the measured package is no part of what changed, both sides share the installed one.
    own = [HARNESS, cache_folder(), before.implementations or INSTALLED, before.root]
    apart = [folder.resolve() for folder in own if folder is not None]
    for name in loaded.get("files", ()):
        file = Path(name)
        if file.is_relative_to(top) and not any(map(file.is_relative_to, apart)):
            raise ConfigError(f"the baseline loads {file}, a file of the working tree, {_MEND}")
    for name, source in loaded.get("installed", {}).items():
        folder = Path(source).resolve()
        trees = [top] if before.root is None else [top, before.root.resolve()]
        if any(map(folder.is_relative_to, trees)) and not HARNESS.is_relative_to(folder):
            raise ConfigError(f"the baseline loads {name}, installed from {folder}, {_MEND}")
