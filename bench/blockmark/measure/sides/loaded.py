"""Which files a process has loaded: modules, shared libraries, headers of what was compiled.

A class is found in the folder of its side, but what it imports or includes may come from
elsewhere: an editable install, PYTHONPATH, CPATH. Only the files tell.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_SITES = {"site-packages", "dist-packages"}
_MAPS = Path("/proc/self/maps")


def loaded_files(headers: Iterable[Path] = ()) -> dict[str, Any]:
    """`files` that this process has loaded, and those of them that were `installed` from a
    folder, with that folder.

    Neither those of the standard library nor what is installed from elsewhere: they are no
    code of a user's repository. `headers` are further files that went into what is loaded.
    """
    found = {*_modules(), *_libraries()}
    for library in list(found):
        found |= included_in(library)
    found |= {file.resolve() for file in headers}
    standard = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    outside = {
        file
        for file in found
        if not _SITES & set(file.parts) and not any(map(file.is_relative_to, standard))
    }
    return {
        "files": sorted(map(str, outside)),
        "installed": dict(sorted(_installed(found - outside).items())),
    }


def included_in(module: Path) -> set[Path]:
    """The files that a header's module was compiled from; nothing for any other library."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads((module.parent / "build.json").read_text("utf-8"))
        return {Path(file).resolve() for file in record["files"]}
    return set()


def _modules() -> set[Path]:
    names = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {Path(name).resolve() for name in names if isinstance(name, str)}


def _libraries() -> set[Path]:
    """What is mapped into memory and looks like a library; nothing where that is not told."""
    with suppress(OSError):
        paths = (line.split(maxsplit=5)[5:] for line in _MAPS.read_text().splitlines())
        return {Path(path[0]) for path in paths if path and ".so" in path[0]}
    return set()


def _installed(files: Collection[Path]) -> dict[str, str]:
    """File -> the folder that it was installed from (PEP 610), of copies alone: what an
    editable install loads lies in that folder itself.
    """
    found: dict[str, str] = {}
    for dist in distributions():
        with suppress(OSError, ValueError, KeyError, TypeError):
            told = json.loads(dist.read_text("direct_url.json") or "")
            url = urlparse(told["url"])
            if url.scheme != "file" or told["dir_info"].get("editable"):
                continue
            for part in dist.files or ():
                if (path := Path(str(part.locate())).resolve()) in files:
                    found[str(path)] = unquote(url.path)
    return found
