"""What a run is called besides the number of its folder: a name, which moves to the newest run.

`--name main` names a run. Wherever a run's folder is asked for, `main` or `latest-main` means
the newest run of that name in `results/`, `DIR/main` that in another folder, and `latest` the
newest of all.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from blockmark.runs.errors import RunFileError

LATEST = "latest"
RESULTS = Path("results")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{0,63}")
_MOST_NAMES = 8


def is_name(text: str) -> bool:
    """Whether a run can be called so: a word that is no number and does not mean `latest`."""
    return bool(_NAME.fullmatch(text)) and text.partition("-")[0] != LATEST


def locate(path: Path) -> Path:
    """The folder or file of a run that a path or a name means; what is there is meant first.

    Raises RunFileError where it is neither, and says which names there are.
    """
    if path.exists():
        return path
    folder = path.parent if path.parent != Path() else RESULTS
    wanted = path.name.removeprefix(f"{LATEST}-")
    if path.suffix == ".json" or not (_NAME.fullmatch(path.name) and folder.is_dir()):
        return path
    named = _named(folder)
    found = [run for run, name in named if wanted in (name, LATEST)]
    if found:
        return found[-1]
    names = sorted({name for _, name in named if name})
    known = f"one of {', '.join(names[:_MOST_NAMES])} in {folder}" if names else "its run.json"
    raise RunFileError(
        path, "no such file, folder or name of a run", f"name a run folder or {known}"
    )


def _named(folder: Path) -> list[tuple[Path, str]]:
    """The runs of a folder that have a run.json, the newest last, each with its name."""
    found = []
    for plan in folder.glob("*/plan.json"):
        if not (plan.parent / "run.json").is_file():
            continue
        try:
            content = json.loads(plan.read_text(encoding="utf-8"))
            created, name = content["created"], content.get("name", "")
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(created, str) and isinstance(name, str):
            found.append((created, plan.parent, name))
    # Times of one zone compare as text; of two runs in a second the higher number is newer.
    return [(run, name) for created, run, name in sorted(found)]


def names_in_results() -> list[str]:
    """The names of the runs in `results/` below this folder, each once."""
    return sorted({name for _, name in _named(RESULTS) if name})
