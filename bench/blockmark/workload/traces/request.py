"""One request of a trace, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """What a scheduler needs to know of a request, in order of arrival.

    `arrival_s`: seconds from the first row of the file (from the start of the window
    where there is one), divided by the speed-up; None where the trace has no arrivals.
    `hash_ids`: ids of the prompt's blocks of `hash_block` tokens as the file has them,
    of any size; empty, with `hash_block` 0, where it has none. `block_hashes` makes
    chains of them.
    """

    arrival_s: float | None
    prompt_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...] = ()
    hash_block: int = 0
