"""A user's own C++ class as an implementation: `header.hpp`, `header.hpp:Class`, or the
same of a module that `blockmark build --output` wrote.

A header is built when something that only the class can say is first asked for.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, cast, get_args

from .contract import Profile, ReuseOrder
from .core import core_missing, sizes_of
from .entry import CALL_STYLES, MODELS, POOL_MODELS, Entry, Facts, LoadError, nearest

if TYPE_CHECKING:
    from .entry import Parameters
    from .offers import Offer

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


def user_native_entry(file: str, class_name: str) -> Entry:
    """The class `class_name` of `file`, a header or a built module.

    A pool is measured alone, and with the flat table; a table with the stack pool.
    """

    @cache
    def offer() -> Offer:
        found = {offer.class_name: offer for offer in offers_of(file)}
        if class_name not in found:
            hint = nearest(class_name, found) or f"; it offers {', '.join(found)}"
            raise LoadError(f"{file} offers no {class_name}{hint}")
        return found[class_name]

    @cache
    def classes() -> tuple[Any, Any]:
        """The class of the manager, and that of the pool alone or None."""
        from .coverage import module_of
        from .offers import load_module

        offer()
        *_, manager, pool = load_module(module_of(file)).offers[class_name]
        return manager, pool

    def facts() -> Facts:
        it = offer()
        if it.reuse_order not in get_args(ReuseOrder):
            raise LoadError(
                f'{file}:{class_name}: reuse_order = "{it.reuse_order}" is not one of '
                f"{', '.join(get_args(ReuseOrder))}"
            )
        models = MODELS if it.kind == "pool" else MODELS - POOL_MODELS
        order = cast("ReuseOrder", it.reuse_order)
        return Facts(models, CALL_STYLES, order, Profile(id_type=it.id_type))

    def make_pool(parameters: Parameters, total_blocks: int, id_bits: int) -> Any | None:
        pool = classes()[1]
        return None if pool is None else pool(total_blocks)

    return Entry(
        f"{file.rpartition('/')[2]}:{class_name}",
        "manager",
        f"your class {class_name}",
        facts,
        lambda parameters, config: classes()[0](*sizes_of(config)),
        make_pool,
        unavailable=core_missing,
        own=file,
    )
