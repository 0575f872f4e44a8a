"""The changes of a header in C++, found in its tokens.

Operators: the boundary and the negation of a comparison, `+ 1` and `- 1` dropped, arithmetic
and bits swapped, `++` and `--`, `&&` and `||`, a sign dropped, a condition that always or
never holds, a statement left out, a number changed, and 32-bit integers of 16 or 8 bits.

What is no C++ any more is dropped when it does not compile. The source is formatted, so an
operator with two operands has a space on each side, and a template's bracket has not. What
counts bytes is left alone, and the padding of rows: the proof compares neither.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from change import Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|^\#[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|\[\[[^\]]*\]\]|\s+)"
    r"|(?P<number>0x[0-9a-fA-F]+u?|\d[\d'.]*u?)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|->|\+\+|--|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|<<|>>|::|.)",
    re.M,
)
_OTHERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "<": ("comparison", ("<=", ">=")),
    "<=": ("comparison", ("<", ">")),
    ">": ("comparison", (">=", "<=")),
    ">=": ("comparison", (">", "<")),
    "==": ("comparison", ("!=",)),
    "!=": ("comparison", ("==",)),
    "+": ("arithmetic", ("-",)),
    "-": ("arithmetic", ("+",)),
    "*": ("arithmetic", ("/",)),
    "/": ("arithmetic", ("*",)),
    "%": ("arithmetic", ("/",)),
    "&": ("arithmetic", ("|",)),
    "|": ("arithmetic", ("&",)),
    "^": ("arithmetic", ("&",)),
    "<<": ("arithmetic", (">>",)),
    ">>": ("arithmetic", ("<<",)),
    "&&": ("logical", ("||",)),
    "||": ("logical", ("&&",)),
    "+=": ("assignment", ("-=", "=")),
    "-=": ("assignment", ("+=", "=")),
    "|=": ("assignment", ("&=",)),
    "&=": ("assignment", ("|=",)),
    "^=": ("assignment", ("&=",)),
}
_NARROW = ("std::int16_t", "std::int8_t")
_FUNCTION = re.compile(
    r"^ *static constexpr std::int64_t chosen_pad|^ *std::int64_t \w*bytes\(", re.M
)
_CHECKED = re.compile(
    r"static_assert\(.*?\);|^concept \w+ =.*?\n\};|using id_type = [^;]*;|template <[^\n]*>\n",
    re.M | re.S,
)
_NO_STATEMENT = {"using", "static", "static_assert", "template", "typename", "class", "struct"}
_KEPT = re.compile(r"return\b.|.*= (?:delete|default)$|friend\b|public\b|private\b|throw", re.S)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def changes(source: str) -> list[Change]:
    """Every change of a header's namespace."""
    begin = source.index("namespace blockmark {\n") + len("namespace blockmark {\n")
    end = source.rindex("}  // namespace blockmark")
    left_alone = [*_bodies(source), *_checks(source)]
    tokens = [
        _Token(str(m.lastgroup), m.group(), m.start(), m.end())
        for m in _TOKEN.finditer(source, begin, end)
        if m.lastgroup != "skip" and not any(a <= m.start() < b for a, b in left_alone)
    ]
    return [*_of_tokens(source, tokens), *_conditions(tokens), *_statements(source, tokens)]


def _bodies(source: str) -> Iterator[tuple[int, int]]:
    """Functions whose answers nobody proves, from their beginning to their end."""
    for found in _FUNCTION.finditer(source):
        first = source.index("{", found.end())
        depth, at = 1, first + 1
        while depth:
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 1
        yield found.start(), at


def _checks(source: str) -> Iterator[tuple[int, int]]:
    """What is checked as it compiles, and the type of ids, which is declared and not wrong."""
    for found in _CHECKED.finditer(source):
        yield found.span()


def _of_tokens(source: str, tokens: Sequence[_Token]) -> Iterator[Change]:
    for i, token in enumerate(tokens):
        kind, text, start, end = token
        before = tokens[i - 1].text if i else ""
        after = tokens[i + 1] if i + 1 < len(tokens) else token
        apart = source[start - 1].isspace() and source[end : end + 1].isspace()
        if kind == "sign" and apart and text in _OTHERS and before not in ("template", "operator"):
            operator, others = _OTHERS[text]
            for other in others:
                yield Change(start, end, operator, other)
            if text in "+-" and after.text == "1":
                yield Change(start, after.end, "one", "")
        elif text in ("++", "--"):
            yield Change(start, end, "step", "--" if text == "++" else "++")
        elif text in ("!", "~") and source[end] not in " =":
            yield Change(start, end, "sign", "")
        elif kind == "number" and not text.startswith("0x"):
            yield from (Change(start, end, "number", other) for other in _numbers(text, before))
        elif text == "int32_t" and before == "::":
            for narrow in _NARROW:
                yield Change(start - len("std::"), end, "narrow", narrow)


def _numbers(text: str, before: str) -> Iterator[str]:
    if text == "0":
        yield "1"
    elif text == "1":
        yield "2"
        if before not in "+-":
            yield "0"
    elif text.isdigit():
        yield str(int(text) + 1)


def _conditions(tokens: Sequence[_Token]) -> Iterator[Change]:
    for i, token in enumerate(tokens[:-1]):
        if token.text in ("if", "while") and tokens[i + 1].text == "(":
            last = _closing(tokens, i + 1)
            first, end = tokens[i + 2].start, tokens[last].start
            inside = {each.text for each in tokens[i + 2 : last]}
            if ";" in inside or inside == {"true"}:
                continue  # with a declaration
            if token.text == "if":
                yield Change(first, end, "condition", "true")
            yield Change(first, end, "condition", "false")


def _closing(tokens: Sequence[_Token], opening: int) -> int:
    depth = 0
    for i in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[i].text, 0)
        if depth == 0:
            return i
    raise ValueError("a bracket is not closed")


def _statements(source: str, tokens: Sequence[_Token]) -> Iterator[Change]:
    first = depth = 0
    for i, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text in ("{", "}"):
            first = i + 1
        if depth or token.text != ";":
            continue
        begin, first = _behind_heads(tokens, first), i + 1
        if begin >= i:
            continue
        text = source[tokens[begin].start : token.start]
        if tokens[begin].text not in _NO_STATEMENT and not _KEPT.match(text):
            yield Change(tokens[begin].start, token.start, "statement", "")


def _behind_heads(tokens: Sequence[_Token], at: int) -> int:
    """Behind `if (...)`, `for (...)`, `else` and the like, in front of what they govern."""
    while at < len(tokens) and tokens[at].text in ("if", "for", "while", "else", "do"):
        at += 1
        if at < len(tokens) and tokens[at].text == "constexpr":
            at += 1
        if at < len(tokens) and tokens[at].text == "(":
            at = _closing(tokens, at) + 1
    return at
