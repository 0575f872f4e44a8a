"""Starts a module of this harness in a process that measures another package.

Run as a file, `python -P side_start.py HARNESS PACKAGE MODULE`, by whichever interpreter a
side of a check has: `blockmark` then comes from the folder HARNESS and `blockmark_impls`
from the folder PACKAGE (`-`: from where the interpreter has it), whatever is installed.
An editable install answers for both names before the path is looked at, so finders of
their own go in front, and no part that a folder lacks may come from elsewhere.
"""

from __future__ import annotations

import runpy
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

AS_INSTALLED = "-"


class OnePlace:
    """Finds a package in one folder, and each of its parts where the package is."""

    def __init__(self, package: str, folder: str) -> None:
        self._package = package
        self._folder = folder

    def owns(self, name: str) -> bool:
        """Whether a module is the package or in it."""
        return name == self._package or name.startswith(self._package + ".")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """What the import system asks."""
        if not self.owns(name):
            return None
        return PathFinder.find_spec(name, [self._folder] if name == self._package else path)


class Elsewhere:
    """A finder that was there before; it is not asked for what has one place."""

    def __init__(self, finder: Any, places: list[OnePlace]) -> None:
        self._finder = finder
        self._places = places

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What the import system asks."""
        if any(place.owns(name) for place in self._places):
            return None
        return self._finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        # Such as find_distributions, by which installed packages are listed.
        return getattr(self._finder, name)


def put_in_front(packages: dict[str, str]) -> None:
    """From now on each of `packages` is imported from its folder and from nowhere else."""
    places = [OnePlace(name, folder) for name, folder in packages.items()]
    before: list[Any] = list(sys.meta_path)
    sys.meta_path[:] = [*places, *(Elsewhere(finder, places) for finder in before)]


def main() -> None:
    """Become the module that the command line names."""
    harness, package, module = sys.argv[1:4]
    packages = {"blockmark": harness}
    if package != AS_INSTALLED:
        packages["blockmark_impls"] = package
    put_in_front(packages)
    del sys.argv[1:4]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
