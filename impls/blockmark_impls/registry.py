"""From a name to an implementation.

A target is one of

* a scheme in a tier, `flat-stack/cpp`, or a scheme in all its tiers, `flat-stack`;
* a table and a pool of the C++ core, `open-hash+lru/cpp` (the tier may be left out);
* a class of one's own, `module:Class` or `path/to/file.py:Class`;
* a C++ class of one's own, `path/to/file.hpp:Class`, or a header with all that it offers;
* the name of an entry point in the group `blockmark.impls`,

with parameters in brackets, `flat-stack/cpp[row_pad=32,call_style=per-op]`, and a name
of one's own in front, `NAME=TARGET`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .builtin import MANAGERS, native
from .core import NATIVE_MISSING
from .entry import (
    ANY_WIDTH,
    CALL_STYLES,
    POOL_MODELS,
    CallStyle,
    Entry,
    Facts,
    Kind,
    LoadError,
    TargetError,
    nearest,
)
from .python.sizes import id_type
from .structures import POOLS, TABLES
from .target_text import parse_target
from .user import user_entry
from .user_native import native_target, offered_names, user_native_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .contract import PoolConfig, Profile, ReuseOrder

__all__ = [
    "NATIVE_MISSING",
    "Implementation",
    "Kind",
    "LoadError",
    "OwnTarget",
    "TargetError",
    "builtin_names",
    "more_names",
    "names_of",
    "own_target",
    "pair_names",
    "plugin_names",
    "resolve",
]

# Rows of no default set: pools alone, serving engines, those of each study, and mistakes. They
# are read when a name is in no row of builtin.py.
_MORE: tuple[tuple[str, str], ...] = (
    ("builtin", "POOLS_ALONE"),
    ("engines.rows", "ROWS"),
    ("contention.shared_pools", "ROWS"),
    ("contention.line_sharing", "ROWS"),
    ("capacity.rows", "ROWS"),
    ("mistakes.rows", "ROWS"),
    ("layouts.rows", "ROWS"),
)
ENTRY_POINTS = "blockmark.impls"


@dataclass(frozen=True)
class Implementation:
    """An entry as a target names it, with its parameters.

    `name` is what tables print. `target` is what `resolve` takes to find this very
    implementation again, in another process too. A user's class is loaded (in C++, built) when
    something that only the class can say is first asked for.
    """

    entry: Entry
    name: str
    target: str
    scheme: str
    parameters: Mapping[str, int | str] = field(default_factory=dict, hash=False)

    @property
    def tier(self) -> str:
        """`cpp`, `py`, `numpy`, or empty for a user's class in Python."""
        if self.entry.own:
            return "cpp" if native_target(self.entry.own) else ""
        return self.entry.name.partition("/")[2]

    @property
    def kind(self) -> Kind:
        """What it makes."""
        return self.entry.kind

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        return self.entry.summary

    @cached_property
    def facts(self) -> Facts:
        """What is known of it. Raises LoadError where a user's class can't be loaded."""
        facts = self.entry.facts
        return facts if isinstance(facts, Facts) else facts()

    @property
    def profile(self) -> Profile:
        """What its operations include, with 16-bit ids where there is a choice."""
        return self._profile(16)

    def profile_for(self, config: PoolConfig) -> Profile:
        """What its operations include in a manager of that size."""
        return self._profile(config.id_bits)

    def _profile(self, id_bits: int) -> Profile:
        profile = self.facts.profile
        any_width = profile.id_type == ANY_WIDTH
        return replace(profile, id_type=id_type(id_bits)) if any_width else profile

    @property
    def reuse_order(self) -> ReuseOrder:
        """The order in which freed blocks are handed out again."""
        return self.facts.reuse_order

    @property
    def models(self) -> frozenset[str]:
        """The models that it serves, if it has the operations that their programs need."""
        return self.facts.models

    @property
    def call_styles(self) -> tuple[CallStyle, ...]:
        """Every call style that it can be driven by."""
        return self.facts.call_styles

    @property
    def call_style(self) -> CallStyle:
        """The call style that it is driven by: its own, or the parameter."""
        return cast("CallStyle", self.parameters.get("call_style", self.entry.call_style))

    @property
    def unavailable(self) -> str | None:
        """Why it can't be used here, and the mend; None if it can."""
        return self.entry.unavailable()

    @property
    def missing_operations(self) -> tuple[str, ...]:
        """Operations of the contract (of a pool's, for a pool alone) that it lacks."""
        return self.facts.missing_operations

    @property
    def pool_alone(self) -> bool:
        """Whether it is a free pool and no manager. Loads a user's class."""
        return bool(self.models) and self.models <= POOL_MODELS

    @property
    def engine(self) -> str:
        """The serving engine whose own code it is, with its release; empty if none."""
        engine = getattr(self.facts, "engine", None)
        return str(engine.label) if engine else ""

    def make(self, *given: Any) -> Any:
        """What its kind says; raises as `make_manager`. Nothing for a pool alone."""
        assert self.entry.make is not None
        return self.entry.make(self.parameters, *given)

    def make_manager(self, config: PoolConfig) -> Any:
        """A new manager.

        Raises TargetError if it can't be made, ValueError for bad sizes and for more
        blocks than its ids can number.
        """
        if self.pool_alone:
            raise TargetError(f"{self.name} is a pool alone; it has no tables")
        return self.make(config)

    def make_pool(self, total_blocks: int, id_bits: int) -> Any | None:
        """A new pool, or None if it has no pool of its own. Raises as `make_manager`."""
        made = self.entry.make_pool
        return None if made is None else made(self.parameters, total_blocks, id_bits)


def _named(entry: Entry) -> Implementation:
    return Implementation(entry, entry.name, entry.name, entry.name.partition("/")[0])


_BUILTIN = {entry.name: _named(entry) for entry in MANAGERS}


def builtin_names() -> list[str]:
    """The built-in implementations, in the order of every table."""
    return list(_BUILTIN)


def names_of(kind: Kind) -> list[str]:
    """Implementations of one kind, in the order of tables."""
    return [each.name for each in (*_BUILTIN.values(), *_more().values()) if each.kind == kind]


def more_names() -> list[str]:
    """Implementations of no default set: those of studies, mistakes, and pools alone."""
    return list(_more())


def pair_names() -> list[str]:
    """Every table of the C++ core with every pool that it is compiled with."""
    return [
        f"{table}+{name}/cpp"
        for table in TABLES
        for name, pool in POOLS.items()
        if table in pool.tables
    ]


def plugin_names() -> list[str]:
    """Implementations that installed packages offer as entry points."""
    return sorted(_entry_points())


@dataclass(frozen=True, slots=True)
class OwnTarget:
    """A target that names code of the user's own; `name` is what tables will call it.

    `native_file` is the header or the module in C++; empty for a class in Python.
    """

    name: str
    native_file: str


def own_target(target: str) -> OwnTarget | None:
    """What a target says of the user's own code, of which nothing is loaded; None for any
    other target. Raises TargetError where it is not well formed.
    """
    alias, body, parameters = parse_target(target.strip())
    native, _ = native_target(body) or ("", "")
    by_path = bool(native) or ":" in body
    # An entry point hides no name of ours.
    ours = not by_path and body in (*_BUILTIN, *_schemes(), *_more())
    if ours or not (by_path or body in _entry_points()):
        return None
    brackets = ",".join(f"{key}={value}" for key, value in parameters.items())
    own = body.rpartition("/")[2] if by_path else body
    return OwnTarget(alias or own + (f"[{brackets}]" if brackets else ""), native)


def resolve(target: str) -> list[Implementation]:
    """The implementations that a target names; several for a scheme in all its tiers.

    Raises TargetError, also for a parameter that none of them takes, and LoadError for a
    user's code that can't be had. Of several, those that don't take a parameter are left out.
    """
    alias, body, parameters = parse_target(target.strip())
    found = _find(body)
    known = {key for each in found for key in _known(each)}
    for key in parameters:
        if key not in known:
            hint = nearest(key, known) or f"; it has {', '.join(sorted(known))}"
            raise TargetError(f"{body} has no parameter {key}{hint}")
    chosen, errors = [], []
    for each in found:
        try:
            chosen.append(_with_parameters(each, parameters))
        except TargetError as error:
            errors.append(error)
    if not chosen:
        raise errors[0]
    return chosen if alias is None else _renamed(alias, chosen)


def _renamed(alias: str, chosen: list[Implementation]) -> list[Implementation]:
    if alias in (*_BUILTIN, *_schemes(), *_more()):
        raise TargetError(f"{alias} is the name of a built-in implementation; choose another")
    if len(chosen) > 1 and chosen[0].entry.own:
        names = ", ".join(each.name.partition(":")[2].partition("[")[0] for each in chosen)
        raise TargetError(
            f"{alias} can be the name of one class, and {chosen[0].entry.own} offers "
            f"{names}; name one behind a colon"
        )
    renamed = []
    for each in chosen:
        name = alias if len(chosen) == 1 else f"{alias}/{each.tier}"
        scheme = alias if each.entry.own else each.scheme
        target = f"{name}={each.target}"
        renamed.append(replace(each, name=name, scheme=scheme, target=target))
    return renamed


def _find(body: str) -> list[Implementation]:
    if native := native_target(body):
        file, class_name = native
        names = [class_name] if class_name else offered_names(file)
        return [_own(user_native_entry(file, name), f"{file}:{name}") for name in names]
    if ":" in body:
        return [_user(body)]
    if body.endswith(".py"):
        raise TargetError(_which_class(body))
    if body in _BUILTIN:
        return [_BUILTIN[body]]
    scheme, slash, tier = body.partition("/")
    if body in (more := _more()):
        return [more[body]]
    known_rows = (*_BUILTIN.values(), *more.values())
    tiers = [each for each in known_rows if each.scheme == scheme]
    if tiers and not slash:
        return tiers
    if tiers:
        known = ", ".join(each.tier for each in tiers)
        raise TargetError(
            f'"{body}": {scheme} has no tier {tier or "of that name"}; it has {known}'
        )
    if "+" in scheme:
        return [_pair(body, scheme, tier)]
    plugins = _entry_points()
    if body in plugins:
        return [replace(_user(plugins[body]), name=body, target=body, scheme=body)]
    names = [*_BUILTIN, *_schemes(), *more, *pair_names(), *plugins]
    hint = (
        nearest(body, names)
        or f"; there are {', '.join(_schemes())}, file.py:Class and module:Class"
    )
    raise TargetError(f'unknown implementation "{body}"{hint}')


def _which_class(file: str) -> str:
    """What to write instead of a file alone; the file is read and not run."""
    import ast

    try:
        tree = ast.parse(Path(file).read_bytes())
    except OSError as error:
        return f'"{file}": {error.strerror}; a class of your own is {file}:Class'
    except (SyntaxError, ValueError, RecursionError) as error:
        return f'"{file}" is no Python: {str(error)[:80]}'
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    if not names:
        return f'"{file}" has no class; a class of your own is file.py:Class'
    *most, last = [f"{file}:{name}" for name in names[:4]]
    return f'"{file}": which class? Name {", ".join(most) + " or " if most else ""}{last}'


def _pair(body: str, scheme: str, tier: str) -> Implementation:
    table, _, pool = scheme.partition("+")
    paired = [name for name, each in POOLS.items() if each.tables]
    for kind, part, known in (("table", table, list(TABLES)), ("pool", pool, paired)):
        if part not in known:
            hint = nearest(part, known) or f"; there are {', '.join(known)}"
            raise TargetError(f'"{body}": unknown {kind} "{part}"{hint}')
    if tier not in ("", "cpp"):
        raise TargetError(f'"{body}": a table with a pool is in the tier cpp alone')
    if table not in (tables := POOLS[pool].tables):
        others = " and ".join(f"{name}+{pool}" for name in tables)
        raise TargetError(f'"{body}": the pool {pool} is compiled with other tables; use {others}')
    summary = f"the table of {table} with the pool {pool}"
    return _named(native(f"{scheme}/cpp", summary, table, pool))


def _user(body: str) -> Implementation:
    where, _, class_name = body.rpartition(":")
    if not where or not class_name:
        raise TargetError(f'"{body}": a class of your own is module:Class or path/file.py:Class')
    return _own(user_entry(body), body)


def _own(entry: Entry, target: str) -> Implementation:
    return Implementation(entry, entry.name, target, entry.name)


def _known(implementation: Implementation) -> tuple[str, ...]:
    return (*(each.name for each in implementation.entry.parameters), "call_style")


def _with_parameters(base: Implementation, given: Mapping[str, str]) -> Implementation:
    values: dict[str, int | str] = {}
    own = {each.name: each for each in base.entry.parameters}
    for key, text in given.items():
        if key not in _known(base):
            raise TargetError(f"{base.name} has no parameter {key}")
        values[key] = own[key].parse(base.name, text) if key in own else _style(base, text)
    if values.get("call_style") == base.entry.call_style:
        del values["call_style"]
    if not values:
        return base
    ordered = {key: values[key] for key in _known(base) if key in values}
    brackets = "[" + ",".join(f"{key}={value}" for key, value in ordered.items()) + "]"
    return replace(
        base, name=base.name + brackets, target=base.target + brackets, parameters=ordered
    )


def _style(base: Implementation, value: str) -> str:
    if value not in CALL_STYLES:
        hint = nearest(value, CALL_STYLES) or f"; there are {', '.join(CALL_STYLES)}"
        raise TargetError(f'{base.name}: unknown call_style "{value}"{hint}')
    if value not in base.call_styles:
        styles = " or ".join(base.call_styles)
        raise TargetError(f"{base.name} can't be driven {value}; it can be driven {styles}")
    return value


@cache
def _more() -> dict[str, Implementation]:
    tables = (getattr(import_module(f"{__package__}.{module}"), rows) for module, rows in _MORE)
    return {entry.name: _named(entry) for table in tables for entry in table}


def _schemes() -> list[str]:
    return list(dict.fromkeys(each.scheme for each in _BUILTIN.values()))


def _entry_points() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
