"""An implementation as a run names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .origin import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from blockmark.workload.scenario import Cell
    from blockmark_impls.registry import Implementation


@dataclass(frozen=True, slots=True)
class Subject:
    """An implementation as a run names it; `target` is what a worker resolves.

    `broken` is why it can't even be loaded, and its result then; nothing else is known of
    it but its name.
    """

    name: str
    target: str
    scheme: str
    tier: str
    kind: str
    summary: str
    profile: str = ""
    id_type: str = ""
    reuse_order: str = "unspecified"
    call_style: str = "per-op"
    call_styles: tuple[str, ...] = ("per-op",)
    fixed_style: bool = False  # the name itself says who loops
    models: tuple[str, ...] = ()
    unavailable: str | None = None
    broken: str = ""
    engine: str = ""  # whose own code it is, with the release
    # Where a user's code comes from; see origin.py. Two equal classes are equal all the same.
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, impl: Implementation, cell: Cell) -> Subject:
        """What the registry says of an implementation, for a manager of the cell's size.

        Raises LoadError where a user's class can't be loaded.
        """
        profile = impl.profile if cell.study else impl.profile_for(cell.pool_config)
        return cls(
            name=impl.name,
            target=impl.target,
            scheme=impl.scheme,
            tier=impl.tier,
            kind=impl.kind,
            summary=impl.summary,
            profile="control" if impl.kind == "control" else profile.letters,
            id_type=profile.id_type,
            reuse_order=impl.reuse_order,
            call_style=impl.call_style,
            call_styles=impl.call_styles,
            fixed_style="call_style" in impl.parameters,
            models=tuple(sorted(impl.models)),
            unavailable=impl.unavailable,
            engine=impl.engine,
            origin=origin_of(impl),
        )

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Subject:
        """A subject that was plain JSON. Raises TypeError if the facts are not its own."""
        lists = ("call_styles", "models")
        own: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in facts.items()}
        return cls(**own)
