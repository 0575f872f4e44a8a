"""What stands in a claim's `values`: arithmetic on numbers and on what a run measured.

`({decode hash-map/cpp step_ns} + {decode hash-map/cpp pack_ns}) / 1e6` - in braces stands
the address of something measured: the setting's name in the claims file, the
implementation, and the metric; or the setting and a fact of its program, which is an
exact count. Intervals are carried through by interval arithmetic, which is conservative:
it widens them, and never makes two values look further apart than they are.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_ADDRESS = re.compile(r"\{([^{}]*)\}")
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {"floor": math.floor, "ceil": math.ceil}
# An expression of a claims file is a line; a longer one is a mistake.
_MOST_LETTERS = 1000
# No published number is larger, and all that is made of such ones fits a float.
_LARGEST = 1e30


class ValueSyntaxError(ValueError):
    """An expression that can't be read; the message says what is wrong with it."""


class Unmeasured(Exception):  # noqa: N818 - the name says it all
    """A value that an expression needs was not measured; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its interval, and where it comes from.

    `low` and `high` equal `value` where there is no interval. `sources` are those of the
    metrics in it (`clock`, `count`, `pmu`, `callgrind`, ...); empty for plain arithmetic.
    `rounds` is the fewest of an estimate in it, None where all of it is exact.
    """

    value: float
    low: float
    high: float
    sources: frozenset[str] = frozenset()
    rounds: int | None = None

    @classmethod
    def exact(cls, value: float) -> Measured:
        """A number that nobody measured."""
        return cls(value, value, value)

    @property
    def has_interval(self) -> bool:
        """Whether the value is an estimate with an interval around it."""
        return self.low != self.high


@dataclass(frozen=True, slots=True)
class Address:
    """Where a number is found: a metric of an implementation, or a fact (`impl` empty)."""

    setting: str
    impl: str
    name: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.setting, self.impl, self.name) if part)


@dataclass(frozen=True)
class Value:
    """An expression, read. `addresses` are in the order in which they stand."""

    text: str
    addresses: tuple[Address, ...]
    _tree: ast.expr = field(repr=False, compare=False)

    def compute(self, look_up: Callable[[Address], Measured]) -> Measured:
        """The number. Raises Unmeasured if `look_up` does, and for a division by zero."""
        found = [look_up(address) for address in self.addresses]
        try:
            result = _compute(self._tree, found)
        except OverflowError:  # of an infinity that is to be rounded
            raise Unmeasured("the value is beyond all numbers") from None
        if not all(map(math.isfinite, (result.value, result.low, result.high))):
            raise Unmeasured("the value is beyond all numbers")
        return result

    def renamed(self, rename: Callable[[Address], Address]) -> Value:
        """The same expression about something else; itself where that changes nothing."""
        changed = tuple(map(rename, self.addresses))
        if changed == self.addresses:
            return self
        names = iter(changed)
        text = _ADDRESS.sub(lambda _: f"{{{next(names)}}}", self.text)
        return Value(text, changed, self._tree)


def parse_value(text: str) -> Value:
    """Read an expression. Raises ValueSyntaxError."""
    if len(text) > _MOST_LETTERS:
        raise ValueSyntaxError(f"has {len(text):,} letters; at most {_MOST_LETTERS:,}")
    addresses: list[Address] = []

    def name(match: re.Match[str]) -> str:
        words = match.group(1).split()
        if len(words) == 3:
            addresses.append(Address(*words))
        elif len(words) == 2:
            addresses.append(Address(words[0], "", words[1]))
        else:
            raise ValueSyntaxError(
                f"{match.group()} must be {{SETTING IMPLEMENTATION METRIC}} or {{SETTING FACT}}"
            )
        return f" _{len(addresses) - 1} "

    plain = _ADDRESS.sub(name, text).strip()
    try:
        tree = ast.parse(plain, mode="eval").body
        _check(tree, len(addresses))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, ValueSyntaxError) else "is no arithmetic"
        raise ValueSyntaxError(reason) from None
    return Value(text, tuple(addresses), tree)


def _check(node: ast.expr, addresses: int) -> None:
    """Refuse whatever is not arithmetic. Raises ValueSyntaxError."""
    parts: tuple[ast.expr, ...] | None = None
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            parts = () if abs(value) < _LARGEST else None
        case ast.Name(id=name) if name[:1] == "_" and name[1:].isdecimal():
            parts = () if int(name[1:]) < addresses else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            parts = (operand,)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            parts = (left, right)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            parts = (argument,)
    if parts is None:
        raise ValueSyntaxError(
            "may hold numbers, {addresses}, + - * / ( ), floor() and ceil(), and nothing else"
        )
    for part in parts:
        _check(part, addresses)


def _compute(node: ast.expr, found: list[Measured]) -> Measured:
    match node:
        case ast.Constant(value=value):
            return Measured.exact(float(value))  # type: ignore[arg-type]
        case ast.Name(id=name):
            return found[int(name[1:])]
        case ast.UnaryOp(operand=operand):
            one = _compute(operand, found)
            return Measured(-one.value, -one.high, -one.low, one.sources, one.rounds)
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            one, step = _compute(argument, found), _FUNCTIONS[name]
            ends = step(one.low), step(one.high)
            return Measured(step(one.value), *ends, one.sources, one.rounds)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(_compute(left, found), op, _compute(right, found))
    raise AssertionError(node)


def _binary(left: Measured, op: ast.operator, right: Measured) -> Measured:
    if isinstance(op, ast.Div) and right.low <= 0.0 <= right.high:
        raise Unmeasured("what it is divided by is zero, or not told apart from it")
    apply: Callable[[float, float], float]
    match op:
        case ast.Add():
            apply = float.__add__
        case ast.Sub():
            apply = float.__sub__
        case ast.Mult():
            apply = float.__mul__
        case _:
            apply = float.__truediv__
    ends = [apply(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    rounds = [side.rounds for side in (left, right) if side.rounds is not None]
    return Measured(
        apply(left.value, right.value),
        min(ends),
        max(ends),
        left.sources | right.sources,
        min(rounds, default=None),
    )
