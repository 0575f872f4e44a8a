"""Mutants: structures of this package with one text in them replaced, as classes that
`--impl` takes.

A row of a TOML file is one: `[[mutant]]` with its `name`, `of` (a file below blockmark_impls),
`class` (what is offered), `was` (a text that stands once in the file), `becomes`, `fault` (its
family) and `text` (what it gets wrong).

In Python the mutant is a copy of the module. Where the class stands in another module of the
folder, such as a pool around a function that is mutated, `class` is `module:Class`. In C++ it
is a copy of the header in a namespace of its own, inside blockmark's, which finds there what
it does not define itself. `class` has its template arguments, and may be any class that the
header makes another one: `Manager<FlatTable<std::uint32_t>, ...>` for the manager's own code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import blockmark_impls
from blockmark.toml_text import TomlError, read_toml
from blockmark.workload.keys import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

_IMPLS = Path(blockmark_impls.__file__).parent
_NATIVE = _IMPLS / "native"
_KEYS = ("name", "of", "class", "was", "becomes", "fault", "text")
# Of so many classes a unit is made: a compiler reads the core's headers once for all of them.
_A_UNIT = 8
# Pools in Python that leave it to the registry to say in which order blocks come back.
_UNDECLARED = ("ListPool", "StackPool", "NumpyStackPool")
_PACKAGE = "blockmark_impls.python"
_RELATIVE = re.compile(r"^(\s*from )(\.+)(\w*)( import .*)$", re.M)
_INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]\n', re.M)
_BODY = re.compile(r"namespace blockmark \{\n(.*)\}  // namespace blockmark\n", re.S)
_WHOLE = "Manager<FlatTable<std::uint32_t>, StackPool<std::uint32_t>, ArrayRefCounts>"
_ALWAYS = (
    *('"blockmark.hpp"', '"batch.hpp"', '"manager.hpp"', '"ref_counts.hpp"'),
    *('"pools/list.hpp"', '"pools/stack.hpp"', '"tables/flat.hpp"', '"tables/hash.hpp"'),
    '"tables/two_level.hpp"',
)
_OFFERED = """
namespace blockmark::mutant_{name} {{
{body}
using Mutated = {base};
struct {name} : Mutated {{
  using Mutated::Mutated;
{names}}};
}}  // namespace blockmark::mutant_{name}
{check}BLOCKMARK_{kind}(blockmark::mutant_{name}::{name});
"""
_NAMES = """\
  static constexpr const char* name = "{name}";
  static constexpr const char* reuse_order = Mutated::pool_type::reuse_order;
"""
# The binding of managers makes a BatchCheck for each of them.
_CHECK = """\
namespace blockmark {{
template <>
class BatchCheck<Completed<mutant_{name}::{name}>>
    : public mutant_{name}::BatchCheck<Completed<mutant_{name}::{name}>> {{
 public:
  using mutant_{name}::BatchCheck<Completed<mutant_{name}::{name}>>::BatchCheck;
}};
}}  // namespace blockmark
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One structure with one text replaced; `offers` is its class, as a row's `class` says."""

    name: str
    of: str
    offers: str
    was: str
    becomes: str
    fault: str
    text: str

    def mutated(self) -> str:
        """The text of its file with the replacement. Raises ConfigError."""
        try:
            source = (_IMPLS / self.of).read_text("utf-8")
        except OSError as error:
            raise ConfigError(f"{self.name}: {self.of}: {error.strerror}") from None
        if (times := source.count(self.was)) != 1:
            raise ConfigError(
                f"{self.name}: {self.of} has its `was` {times} times, and it must stand there "
                f"once: {self.was.strip()!r}"
            )
        return source.replace(self.was, self.becomes)


def read_mutants(file: Path) -> list[Mutant]:
    """The rows of a file, each of which fits the structure as it is now. Raises ConfigError."""
    try:
        rows = read_toml(file).get("mutant")
    except TomlError as error:
        raise ConfigError(f"{file}: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{file}: it has no [[mutant]] tables")
    mutants = []
    for number, row in enumerate(rows, 1):
        if sorted(row) != sorted(_KEYS):
            raise ConfigError(f"{file}: row {number} must have {', '.join(_KEYS)}, and no more")
        if not all(isinstance(value, str) for value in row.values()):
            raise ConfigError(f"{file}: row {number}: every value must be text")
        mutant = Mutant(**{"offers" if key == "class" else key: row[key] for key in _KEYS})
        if not mutant.name.isidentifier() or mutant.was == mutant.becomes:
            raise ConfigError(
                f"{file}: row {number}: its name is no identifier, or it changes nothing"
            )
        try:
            mutant.mutated()
        except ConfigError as error:
            raise ConfigError(f"{file}: {error}") from None
        mutants.append(mutant)
    names = [mutant.name for mutant in mutants]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{file}: two mutants are called {twice[0]}; rename one")
    return mutants


def write_mutants(mutants: Sequence[Mutant], folder: Path) -> list[tuple[Mutant, str]]:
    """Each mutant and its target, in their order. Raises ConfigError.

    Modules and headers are written into the folder. A header that is there and says the same
    is compiled once, so a folder that stays saves most of the time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    targets: dict[str, str] = {}
    native = [mutant for mutant in mutants if mutant.of.endswith(".hpp")]
    for mutant in mutants:
        if mutant not in native:
            targets[mutant.name] = _write_module(mutant, folder)
    for at in range(0, len(native), _A_UNIT):
        some = native[at : at + _A_UNIT]
        header = folder / f"mutants_{at // _A_UNIT}.hpp"
        _write(header, _header(some))
        targets.update((mutant.name, f"{header}:{mutant.name}") for mutant in some)
    return [(mutant, targets[mutant.name]) for mutant in mutants]


def _write(file: Path, content: str) -> None:
    if not file.is_file() or file.read_text("utf-8") != content:
        file.write_text(content, "utf-8")


def _write_module(mutant: Mutant, folder: Path) -> str:
    module, _, name = mutant.offers.rpartition(":")
    content = _absolute(mutant.mutated())
    if module:
        helper = Path(mutant.of).stem
        own = f"{mutant.name}_{helper}"
        _write(folder / f"{own}.py", content)
        content = _absolute((_IMPLS / "python" / f"{module}.py").read_text("utf-8"))
        content = content.replace(
            f"from {_PACKAGE} import {helper}\n", f"import {own} as {helper}\n"
        )
        content = content.replace(f"from {_PACKAGE}.{helper} import", f"from {own} import")
    if name in _UNDECLARED:
        content += f'\n\n{name}.reuse_order = "LIFO"\n'
    _write(folder / f"{mutant.name}.py", content)
    return f"{folder / mutant.name}.py:{name}"


def _absolute(source: str) -> str:
    """A module of the package of structures in Python, with imports that work anywhere."""

    def absolute(found: re.Match[str]) -> str:
        base = _PACKAGE.rsplit(".", len(found[2]) - 1)[0]
        return f"{found[1]}{base}{'.' if found[3] else ''}{found[3]}{found[4]}"

    return _RELATIVE.sub(absolute, source)


def _header(mutants: Sequence[Mutant]) -> str:
    includes = dict.fromkeys(_ALWAYS)
    parts = []
    for mutant in mutants:
        source = mutant.mutated()
        body = _BODY.search(source)
        if body is None:
            raise ConfigError(f"{mutant.name}: {mutant.of} has no namespace blockmark")
        for quote, path in _INCLUDE.findall(source):
            includes[f"<{path}>" if quote == "<" else f'"{_from_native(mutant.of, path)}"'] = None
        parts.append(_offered(mutant, body[1]))
    lines = [f"#include {include}" for include in includes]
    return "\n".join(["// Written by a program: mutants.\n#pragma once\n", *lines, *parts])


def _from_native(of: str, path: str) -> str:
    """What a header includes, as a path below the native folder."""
    return ((_IMPLS / of).parent / path).resolve().relative_to(_NATIVE.resolve()).as_posix()


def _offered(mutant: Mutant, body: str) -> str:
    is_check = mutant.offers == "BatchCheck"
    whole = is_check or mutant.offers.startswith("Manager<")
    kind = "POOL" if Path(mutant.of).parent.name == "pools" else "TABLE"
    return _OFFERED.format(
        name=mutant.name,
        body=body,
        base=_WHOLE if is_check else mutant.offers,
        names=_NAMES.format(name=mutant.name) if whole else "",
        check=_CHECK.format(name=mutant.name) if is_check else "",
        kind="MANAGER" if whole else kind,
    )
