"""What stands behind a mistake: a manager, what is wrong with it, and the right one beside it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from ..contract import Profile, ReuseOrder
from ..python.sizes import id_type
from ..sources import MODELS, CallStyle, Parameter, TargetError, core, core_missing

if TYPE_CHECKING:
    from ..contract import PoolConfig
    from ..sources import Parameters

Fault = Literal["copies", "shared-table", "allocations", "search", "transfers"]
"""The one way in which a mistake may differ from the contract:

`copies`: copy-on-write also where nobody shares; `shared-table`: one table, so that mixed
updates lose entries; `allocations`: one in each append; `search`: over the free blocks;
`transfers`: one for each packed row.
"""

Work = Literal["append", "step", "pack"]
"""What the mistake makes slower: appends alone, whole steps, or packing."""


@dataclass(frozen=True)
class MistakeSource:
    """A manager with one mistake. `right` is the target that it is measured against."""

    fault: Fault
    work: Work
    right: str
    reuse_order: ReuseOrder = "LIFO"
    call_styles: tuple[CallStyle, ...] = ("native", "per-op")
    known_parameters: tuple[Parameter, ...] = ()
    missing_operations: tuple[str, ...] = ()
    # Whoever measures a pool alone has nothing to ask a mistake.
    models: frozenset[str] = MODELS - {"pool"}

    @property
    def default_style(self) -> CallStyle:
        return self.call_styles[0]

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        """It has no pool of its own that could be measured."""
        return None


@dataclass(frozen=True)
class NativeMistake(MistakeSource):
    """A class of the core, which stores ids of one width."""

    class_name: str = ""
    id_name: str = "uint16"

    @property
    def unavailable(self) -> str | None:
        return core_missing()

    def load(self) -> None:
        core()

    def profile(self, id_bits: int) -> Profile:
        return Profile(id_type=self.id_name)

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        if self.id_name == "uint16" and config.total_blocks > 1 << 16:
            raise TargetError(
                f"a mistake is compiled with 16-bit ids alone, too few for {config.total_blocks:,} "
                "blocks; set total_blocks to at most 65,536"
            )
        made = getattr(core(), self.class_name)
        return made(
            config.total_blocks, config.block_size, config.max_seqs, config.max_blocks_per_seq
        )


@dataclass(frozen=True)
class PythonMistake(MistakeSource):
    """A class of this package, named `module:Class`."""

    class_name: str = ""
    call_styles: tuple[CallStyle, ...] = ("per-op",)
    unavailable: str | None = None

    def load(self) -> None:
        self._class()

    def profile(self, id_bits: int) -> Profile:
        return Profile(id_type=id_type(id_bits))

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        return self._class()(config)

    def _class(self) -> Any:
        module, _, name = self.class_name.partition(":")
        return getattr(import_module(f"blockmark_impls.mistakes.{module}"), name)
