"""null: answers every operation with nothing, to show what the loop and the calls cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..contract import Profile, ReuseOrder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ..contract import Copy, PoolConfig


class NullManager:
    """The contract's methods without a structure behind them; a control, never right."""

    reuse_order: ClassVar[ReuseOrder] = "unspecified"
    profile: ClassVar[Profile] = Profile(ref_counts=False, id_type="none")

    def __init__(self, config: PoolConfig) -> None:
        self._total = config.total_blocks

    @property
    def usable_blocks(self) -> int:
        return self._total

    @property
    def num_free_blocks(self) -> int:
        return self._total

    def can_allocate(self, num_blocks: int) -> bool:
        return True

    def allocate(self, seq: int, num_tokens: int) -> None:
        pass

    def append_slot(self, seq: int) -> Copy | None:
        return None

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        return []

    def truncate(self, seq: int, num_tokens: int) -> None:
        pass

    def drop_front(self, seq: int, num_blocks: int) -> None:
        pass

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        pass

    def free(self, seq: int) -> None:
        pass

    def lookup(self, seq: int, logical: int) -> int:
        return logical

    def ref_count(self, block: int) -> int:
        return 0

    def num_tokens(self, seq: int) -> int:
        return 0

    def block_table(self, seq: int) -> list[int]:
        return []

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        pass

    def append_slots(self, seqs: NDArray[np.int32]) -> list[Copy]:
        return []

    def lookup_slots(
        self, seqs: NDArray[np.int32], logicals: NDArray[np.int32], out: NDArray[np.int32]
    ) -> None:
        pass

    def table_bytes(self) -> int:
        return 0

    def pool_bytes(self) -> int:
        return 0


class NullPool:
    """A pool that hands out nothing."""

    def __init__(self, total_blocks: int) -> None:
        self._total = total_blocks

    def take(self, k: int) -> Sequence[int]:
        return ()

    def give(self, ids: Sequence[int]) -> None:
        pass

    @property
    def num_free(self) -> int:
        return self._total
