"""What an implementation states of itself, also one of an older package as a side of a check:
there it stands in the implementation's source.
"""

from __future__ import annotations

from typing import Any


def proof_of(implementation: Any) -> str:
    """How it is proved: `contract`, `hand-outs` or `invariants`."""
    stated = getattr(implementation, "facts", None) or getattr(implementation, "source", None)
    return str(getattr(stated, "proof", "contract"))


def own_code(implementation: Any) -> str:
    """A user's code: `module:Class`, or the file of a header or of a module in C++; else empty."""
    if source := getattr(implementation, "source", None):
        return str(getattr(source, "file", "") or getattr(source, "target", ""))
    entry = getattr(implementation, "entry", None)
    return str(getattr(entry, "own", ""))
