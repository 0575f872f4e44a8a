"""What happened while a load was scheduled, in exact counts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What happened, in exact counts."""

    arrived: int = 0
    admitted: int = 0  # those that were preempted to be computed again once more each time
    finished: int = 0
    rejected_queue: int = 0
    rejected_size: int = 0
    preempted_recompute: int = 0
    preempted_swap: int = 0
    swapped_blocks: int = 0
    prefill_chunks: int = 0
    blocks_taken: int = 0
    prompt_tokens: int = 0
    hit_tokens: int = 0
    readmission_hit_tokens: int = 0
    blocks_shared_live: int = 0
    blocks_revived: int = 0
    evicted_blocks: int = 0
    waits: list[tuple[int, float]] = field(default_factory=list)  # steps, seconds
    occupied: list[int] = field(default_factory=list)  # blocks, after each step
    filled: list[int] = field(default_factory=list)  # token slots that hold a token, then
    running: list[int] = field(default_factory=list)
