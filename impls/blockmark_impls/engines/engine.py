"""A serving engine that can be driven, and which distribution it needs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ..entry import TargetError, member


@dataclass(frozen=True)
class Engine:
    """A distribution that an adapter drives.

    `module` is what is looked for; `tried` are the releases on which the adapter was run
    for real; `needs` are modules that it imports and its distribution may not bring.
    """

    name: str
    distribution: str
    module: str
    tried: tuple[str, ...]
    install: str
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Modules that are not here; nothing is imported to find out."""
        return tuple(name for name in (self.module, *self.needs) if find_spec(name) is None)

    @property
    def version(self) -> str | None:
        """The release that is here, None if there is none or it doesn't say."""
        if find_spec(self.module) is None:
            return None
        from importlib import metadata

        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    @property
    def unavailable(self) -> str | None:
        """Why it can't be driven here, and the mend; None if it may be."""
        missing = self.missing
        if not missing:
            return None
        what = self.distribution if missing[0] == self.module else " and ".join(missing)
        return f"{what} is not installed: {self.install}"

    @property
    def label(self) -> str:
        """Its name, with the release that is here."""
        version = self.version
        return f"{self.name} {version}" if version else self.name

    def adapter(self, path: str) -> Any:
        """The class `module:Class` beside this file, which drives it. Raises TargetError."""
        if reason := self.unavailable:
            raise TargetError(reason)
        try:
            return member(f"engines.{path}")
        except (ImportError, AttributeError) as error:
            said = " ".join(str(error).split())
            raise TargetError(
                f"{self.label} can't be imported as this adapter does ({said}); it was "
                f"tried on {', '.join(self.tried)}: {self.install}"
            ) from None
