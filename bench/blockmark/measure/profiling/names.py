"""C++ names made short enough to read.

`void blockmark::Replay<blockmark::Manager<...long...> >::loop<(blockmark::Op)2>(...)`
becomes `Replay<Manager<...>>::loop<append>`: no return type, no parameters, no namespace
of ours, template arguments one level deep, operation codes by name.
"""

from __future__ import annotations

import posixpath
import re

from blockmark.workload.program import Op

_OURS = re.compile(r"\b(?:blockmark|\(anonymous namespace\))::")
_ANONYMOUS = "(anonymous namespace)::"
_CODE = re.compile(r"\((?:blockmark::)?Op\)(\d+)")
_CLONE = re.compile(r"(?: \[clone [^\]]*\]|\.(?:isra|part|constprop|cold|lto_priv)(?:\.\d+)?)+$")
_OPERATOR = re.compile(
    r"operator(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|<=?|>=?| new(?:\[\])?| delete(?:\[\])?"
    r"| [\w:]+(?: ?[*&]+)?|[^\w\s(<>]+)"
)
_CLOSERS = {"<": ">", "(": ")", "{": "}", "[": "]"}
_MOST_ARGUMENTS = 2
# Stands for a blank inside of a name, until the return type has been cut at one.
_BLANK = "\0"


def readable(name: str) -> str:
    """A demangled C++ name in short; any other name as it is."""
    if name.startswith(("0x", "???", "[")):
        return name
    try:
        short = _shortened(_CLONE.sub("", name), deep=False)
    except ValueError:  # brackets that do not match: not a name of C++
        return name
    return short or name


def source_file(path: str) -> str:
    """A source file as debug information names it, without detours; empty if unknown."""
    if not path or path.startswith("?"):
        return ""
    return posixpath.normpath(path)


def _shortened(name: str, *, deep: bool) -> str:
    """`deep` is inside of template arguments, whose own arguments are left out."""
    out: list[str] = []
    at = 0
    while at < len(name):
        if name.startswith(_ANONYMOUS, at):
            at += len(_ANONYMOUS)
        elif name[at] == "{":
            end = _closed(name, at)
            inside = name[at + 1 : end]
            out.append("lambda" if inside.startswith("lambda") else "{" + inside + "}")
            at = end + 1
        elif (match := _OPERATOR.match(name, at)) and (at == 0 or not _in_word(name[at - 1])):
            out.append(match[0].replace(" ", _BLANK))
            at = match.end()
            # `operator<< <char>`: the blank is no end of a return type.
            at += name.startswith(" <", at)
        elif name[at] == "<":
            end = _closed(name, at)
            out.append("<...>" if deep else _arguments(name[at + 1 : end]))
            at = end + 1
        elif name[at] == "(":
            code = _CODE.match(name, at)
            at = code.end() if code else _closed(name, at) + 1
            if code:
                out.append(_operation(int(code[1])))
            elif name.startswith(" const", at):
                at += len(" const")
        else:
            out.append(name[at])
            at += 1
    text = "".join(out).strip().rpartition(" ")[2] if not deep else "".join(out).strip()
    return _OURS.sub("", text).replace("lambda::operator()", "lambda").replace(_BLANK, " ")


def _arguments(text: str) -> str:
    """Template arguments between their brackets, without blanks that a name could end at."""
    parts = [_shortened(part, deep=True) for part in _split(text)]
    shown = parts[:_MOST_ARGUMENTS] + ["..."] * (len(parts) > _MOST_ARGUMENTS)
    return f"<{', '.join(shown)}>".replace(" ", _BLANK)


def _operation(code: int) -> str:
    return Op(code).name.lower() if code in Op.__members__.values() else str(code)


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _split(text: str) -> list[str]:
    """Parts between commas outside of brackets."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] in _CLOSERS:
            at = _closed(text, at)
        elif text[at] == ",":
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _closed(text: str, start: int) -> int:
    """Where the bracket at `start` is closed. Raises ValueError if it is not."""
    wanted: list[str] = []
    at = start
    while at < len(text):
        if match := _OPERATOR.match(text, at):
            at = match.end()
            continue
        letter = text[at]
        if letter == "-" and text.startswith("->", at):
            at += 2
            continue
        if letter in _CLOSERS:
            wanted.append(_CLOSERS[letter])
        elif letter in ">)}]":
            if not wanted or wanted.pop() != letter:
                raise ValueError(text)
            if not wanted:
                return at
        at += 1
    raise ValueError(text)
