"""What a policy is asked, and what it answers.

Time is counted in scheduler steps. In a step the ended requests leave, then every running
one grows by a token, then waiting ones start with their whole prompt. A request that
starts in step `a` with `held` tokens has held + (t - a) tokens in step t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt that other requests may have too.

    Equal keys mean equal tokens from the start of the prompt to the end of the piece.
    """

    key: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Request:
    """`prompt` and `output` in tokens; `segments` lie one behind the other from the start."""

    prompt: int
    output: int
    segments: tuple[Segment, ...] = ()

    @property
    def final(self) -> int:
        """Tokens that it has when it ends."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True)
class Usage:
    """The memory in one step, in tokens; the five parts add up to all of it.

    `live`: written, shared ones once. `reserved`: will be written by the request that holds
    them. `internal`: held by a request and never written, or the rest of a last block.
    `external`: free, and together enough for the request at the head of the queue, but in no
    hole that it fits. `free`: free, and too few.
    """

    live: int
    reserved: int
    internal: int
    external: int
    free: int


class MemoryPolicy(Protocol):
    """One way to divide `tokens` tokens of memory."""

    tokens: int

    def fits(self, request: Request) -> bool:
        """Whether the request could run if it were alone."""

    def start(self, number: int, request: Request, held: int, now: int) -> bool:
        """Let request `number` start with `held` tokens; False, and nothing taken, if it can't."""

    def end(self, number: int, now: int) -> None:
        """Take back what request `number` held; it has not grown in step `now` yet."""

    def grow(self, now: int) -> bool:
        """A token more for every running request; False, and none grown, if there is no room."""

    def usage(self, now: int, head: Request | None) -> Usage:
        """The memory in step `now`, when `head` waits first; None if none does."""

    @property
    def table_entries(self) -> int:
        """Entries of all block tables; 0 where requests lie in one piece."""

    @property
    def blocks_saved(self) -> tuple[int, int]:
        """Blocks that sharing among running requests saves now, and blocks without sharing."""
