"""The source of an engine's implementations, and which distribution they need."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from ..contract import Profile, ReuseOrder
from ..sources import CallStyle, Parameter, TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contract import PoolConfig
    from ..sources import Parameters

# How an implementation is proved. `contract`: like any manager, against the oracle.
# `hand-outs`: a pool whose hand-outs are objects of its own, compared by their ids.
# `invariants`: it decides for itself, so only what must always hold can be checked.
Proof = Literal["contract", "hand-outs", "invariants"]

_NONE: Mapping[str, int | str] = MappingProxyType({})


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


@dataclass(frozen=True)
class EngineSource:
    """A class of this package, named `module:Class`, that drives an engine.

    A pool is made by `Class(total_blocks, **options)`, a manager by `Class(config,
    **options)`. `includes` says what one operation does besides naming blocks.
    """

    engine: Engine
    adapter: str
    what: Literal["pool", "manager"]
    includes: str
    own_profile: Profile
    models: frozenset[str]
    reuse_order: ReuseOrder = "unspecified"
    proof: Proof = "contract"
    default_style: CallStyle = "per-op"
    call_styles: tuple[CallStyle, ...] = ("per-op",)
    options: Mapping[str, int | str | bool] = field(default_factory=dict, hash=False)
    known_parameters: tuple[Parameter, ...] = ()
    missing_operations: tuple[str, ...] = ()

    @cached_property
    def unavailable(self) -> str | None:
        return self.engine.unavailable

    @property
    def engine_label(self) -> str:
        """The engine, with the release that is here."""
        return self.engine.label

    def load(self) -> None:
        self._class()

    def profile(self, id_bits: int) -> Profile:
        return self.own_profile

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        if self.what != "manager":
            raise TargetError(f"{self.engine.name}'s pool is a pool alone; it has no tables")
        return self._class()(config, **self.options, **parameters_of_its_own(parameters))

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters = _NONE) -> Any | None:
        if self.what != "pool":
            return None
        return self._class()(total_blocks, **self.options)

    def _class(self) -> Any:
        if reason := self.unavailable:
            raise TargetError(reason)
        module, _, name = self.adapter.partition(":")
        try:
            return getattr(import_module(f"{__package__}.{module}"), name)
        except (ImportError, AttributeError) as error:
            said = " ".join(str(error).split())
            raise TargetError(
                f"{self.engine.label} can't be imported as this adapter does ({said}); it was "
                f"tried on {', '.join(self.engine.tried)}: {self.engine.install}"
            ) from None


def parameters_of_its_own(parameters: Parameters) -> dict[str, int | str]:
    """Without the call style, which is the loop's."""
    return {key: value for key, value in parameters.items() if key != "call_style"}
