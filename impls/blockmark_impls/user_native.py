"""A user's own C++ class as an implementation: `header.hpp`, `header.hpp:Class`, or the
same of a module that `blockmark build --output` wrote.

A header is built when something that only the class can say is first asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, get_args

from .contract import Profile, ReuseOrder
from .sources import (
    CALL_STYLES,
    MODELS,
    POOL_MODELS,
    CallStyle,
    LoadError,
    Parameter,
    core_missing,
    nearest,
    sizes_of,
)

if TYPE_CHECKING:
    from .contract import PoolConfig
    from .offers import Offer
    from .sources import Parameters

_TARGET = re.compile(r"(?P<file>[^:]+\.(?:h|hh|hpp|hxx|so))(?::(?P<name>.+))?")


def native_target(body: str) -> tuple[str, str] | None:
    """The file and the class (empty if none is named) of a target in C++, else None."""
    match = _TARGET.fullmatch(body)
    return (match["file"], match["name"] or "") if match else None


def offered_names(file: str) -> list[str]:
    """The classes that a header or a module offers. Builds the header. Raises LoadError."""
    return [offer.class_name for offer in offers_of(file)]


def offers_of(file: str) -> tuple[Offer, ...]:
    """What a header or a module offers. Builds the header. Raises LoadError."""
    from .build import BuildError
    from .coverage import module_of
    from .offers import read_offers

    module = module_of(file)
    try:
        return read_offers(module)
    except BuildError as error:
        # The user named the header, not the module in the cache.
        raise BuildError(str(error).replace(str(module), file)) from None


@dataclass(frozen=True)
class UserNativeSource:
    """The class `class_name` of `file`, a header or a built module.

    A pool is measured alone, and with the flat table; a table with the stack pool.
    """

    file: str
    class_name: str
    known_parameters: tuple[Parameter, ...] = ()
    default_style: CallStyle = "native"
    call_styles: tuple[CallStyle, ...] = CALL_STYLES
    missing_operations: tuple[str, ...] = ()

    @property
    def unavailable(self) -> str | None:
        return core_missing()

    @cached_property
    def _offer(self) -> Offer:
        found = {offer.class_name: offer for offer in offers_of(self.file)}
        if self.class_name not in found:
            hint = nearest(self.class_name, found) or f"; it offers {', '.join(found)}"
            raise LoadError(f"{self.file} offers no {self.class_name}{hint}")
        return found[self.class_name]

    @cached_property
    def _classes(self) -> tuple[Any, Any]:
        """The class of the manager, and that of the pool alone or None."""
        from .coverage import module_of
        from .offers import load_module

        _ = self._offer
        *_, manager, pool = load_module(module_of(self.file)).offers[self.class_name]
        return manager, pool

    @property
    def reuse_order(self) -> ReuseOrder:
        order = self._offer.reuse_order
        if order not in get_args(ReuseOrder):
            raise LoadError(
                f'{self.file}:{self.class_name}: reuse_order = "{order}" is not one of '
                f"{', '.join(get_args(ReuseOrder))}"
            )
        return cast("ReuseOrder", order)

    @property
    def models(self) -> frozenset[str]:
        return MODELS if self._offer.kind == "pool" else MODELS - POOL_MODELS

    def load(self) -> None:
        _ = self._classes

    def profile(self, id_bits: int) -> Profile:
        return Profile(id_type=self._offer.id_type)

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        return self._classes[0](*sizes_of(config))

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        pool = self._classes[1]
        return None if pool is None else pool(total_blocks)
