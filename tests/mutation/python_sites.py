"""The changes of a module in Python, found in its syntax tree.

The operators are those that the documentation of mutmut and of Cosmic Ray names, as far as
they fit this code: comparisons, arithmetic, bits and assignments with an operator, `and` and
`or`, `not` and signs, numbers, True and False, `break` and `continue`, loops without a turn;
and from the literature, conditions that always or never hold and statements left out.

Texts, annotations and what counts bytes are left alone: nothing that the proof compares
depends on them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from change import Change

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPARISONS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_ARITHMETIC: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_SIGNS: dict[type[ast.AST], str] = {ast.Not: "not ", ast.USub: "-", ast.Invert: "~"}
_REMOVED = (ast.Assign, ast.AugAssign, ast.Delete, ast.Expr, ast.Continue, ast.Break)


def changes(source: str) -> list[Change]:
    """Every change of a module."""
    return list(_Finder(source).found(ast.parse(source)))


class _Finder:
    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def found(self, node: ast.AST) -> Iterator[Change]:
        """The changes of a node and of all below it."""
        if _left_alone(node):
            return
        yield from self._of(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "keywords", "bases"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.found(child)

    def _of(self, node: ast.AST) -> Iterator[Change]:
        match node:
            case ast.Compare():
                places = [node.left, *node.comparators]
                for left, op, right in zip(places, node.ops, places[1:], strict=False):
                    old, *new = _COMPARISONS[type(op)]
                    yield from self._between(left, right, "comparison", old, new)
            case ast.BinOp():
                old, *new = _ARITHMETIC[type(node.op)]
                yield from self._between(node.left, node.right, "arithmetic", old, new)
            case ast.BoolOp():
                old, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between(left, right, "logical", old, [other])
            case ast.AugAssign():
                old, *new = _ARITHMETIC[type(node.op)]
                swapped = [f"{each}=" for each in new]
                yield from self._between(
                    node.target, node.value, "assignment", f"{old}=", [*swapped, "="]
                )
            case ast.UnaryOp():
                start, _ = self._span(node)
                yield Change(start, start + len(_SIGNS[type(node.op)]), "sign", "")
            case ast.Constant(value=bool()):
                yield self._whole(node, "truth", str(not node.value))
            case ast.Constant(value=int()):
                for other in {0: (1,), 1: (0, 2)}.get(node.value, (node.value + 1,)):
                    yield self._whole(node, "number", str(other))
            case ast.If() | ast.While() | ast.IfExp():
                for always in ("True", "False"):
                    yield self._whole(node.test, "condition", always)
            case ast.For() | ast.comprehension():
                yield self._whole(node.iter, "loop", "()")
        if isinstance(node, (ast.Break, ast.Continue)):
            yield self._whole(node, "loop", "continue" if isinstance(node, ast.Break) else "break")
        if isinstance(node, _REMOVED):
            yield self._whole(node, "statement", "pass")
        if isinstance(node, ast.Return) and node.value is None:
            yield self._whole(node, "statement", "pass")

    def _span(self, node: Any) -> tuple[int, int]:
        return self._at(node.lineno, node.col_offset), self._at(
            node.end_lineno, node.end_col_offset
        )

    def _at(self, line: int, column: int) -> int:
        start, end = self._lines[line - 1], self._lines[line]
        return start + len(self._source[start:end].encode()[:column].decode())

    def _whole(self, node: Any, operator: str, becomes: str) -> Change:
        return Change(*self._span(node), operator, becomes)

    def _between(
        self, left: Any, right: Any, operator: str, old: str, new: list[str]
    ) -> Iterator[Change]:
        """The operator that stands between two operands, in each other form."""
        start = self._source.index(old, self._span(left)[1])
        assert start < self._span(right)[0]
        for other in new:
            yield Change(start, start + len(old), operator, other)


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.AnnAssign, ast.Assert)):
        # A declared attribute of a class, and what is assigned with a type.
        return not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute))
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name.endswith("_bytes")
    if isinstance(node, ast.Assign):
        return any(getattr(name, "id", "").endswith("_BYTES") for name in node.targets)
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
