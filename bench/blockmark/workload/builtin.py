"""Where the built-in scenarios lie: beside the packages, or inside a wheel."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import TYPE_CHECKING

from .keys import ConfigError, nearest
from .scenario import Scenario, load_scenario, parse_scenario

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Lies beside the scenarios and is none: it says in which of them published claims are judged.
CLAIMS_FILE = "claims.toml"


def scenario_folder() -> Traversable | Path:
    """The checkout's `scenarios/` where there is one, else the copy in the wheel.

    An editable install copies the folder once and would miss later files.
    """
    root = Path(__file__).resolve().parents[3]
    if (root / "pyproject.toml").is_file() and (root / "scenarios").is_dir():
        return root / "scenarios"
    return importlib.resources.files("blockmark") / "_scenarios"


def builtin_names() -> list[str]:
    """Names of the built-in scenarios, sorted."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in scenario_folder().iterdir()
        if entry.name.endswith(".toml") and entry.name != CLAIMS_FILE
    )


def find_scenario(target: str) -> Scenario:
    """A built-in name or the path of a TOML file. Raises ConfigError."""
    if target.endswith(".toml") or "/" in target:
        path = Path(target)
        if not path.is_file():
            raise ConfigError(f"{target}: no such scenario file")
        return load_scenario(path)
    names = builtin_names()
    if target not in names:
        raise ConfigError(
            f'unknown scenario "{target}"{nearest(target, names)}; '
            f"known: {', '.join(names)}, or the path of a .toml file"
        )
    text = (scenario_folder() / f"{target}.toml").read_text("utf-8")
    return parse_scenario(text, target, f"scenarios/{target}.toml")
