"""Words for the operations that an implementation lacks."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import BlockManager

if TYPE_CHECKING:
    from collections.abc import Sequence


def name_missing(candidate: Any, missing: Sequence[str], *, near_only: bool = False) -> str:
    """The missing operations, each with a name of the candidate's own that is like it.

    Such as `lookup (it has look_up), fork`: a misspelt operation is the usual reason. With
    `near_only`, those alone that have such a name.
    """
    known = vars(BlockManager)
    own = [name for name in dir(candidate) if not name.startswith("_") and name not in known]
    parts = []
    for name in missing:
        near = get_close_matches(name, own, n=1, cutoff=0.75)
        if near or not near_only:
            parts.append(f"{name} (it has {near[0]})" if near else name)
    return ", ".join(parts)
