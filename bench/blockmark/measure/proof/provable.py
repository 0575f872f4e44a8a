"""What the proof asks of what it proves: an implementation, or what a test of a user's makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from blockmark_impls.contract import PoolConfig


class Provable(Protocol):
    """A name, a kind, and how a manager and a pool are made."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def pool_alone(self) -> bool: ...
    @property
    def reuse_order(self) -> str: ...
    @property
    def make_manager(self) -> Callable[[PoolConfig], Any]: ...
    @property
    def make_pool(self) -> Callable[[int, int], Any]: ...
