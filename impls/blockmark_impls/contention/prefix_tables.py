"""The tables of the locked engine with the path that its flow chart adds: shared prompts.

A system prompt that was seen before is not stored again: its full blocks are named by the
new request's table too, and their ref counts go up. Where prompts are kept the description
does not say. Here the engine itself holds a reference to each, so that a prompt outlives
its first request; nothing drops it again, which is one more fault to know.
"""

from __future__ import annotations

from typing import ClassVar

from .dict_tables import KNOWN_FAULTS, DictTables


class PrefixTables(DictTables):
    """`DictTables` in which requests with one prompt share its full blocks.

    A prompt is named by any number; comparing its tokens is the caller's part.
    """

    known_faults: ClassVar[tuple[str, ...]] = (*KNOWN_FAULTS, "prompts-never-dropped")

    def __init__(self, total_blocks: int, block_size: int) -> None:
        super().__init__(total_blocks, block_size)
        self.prompts: dict[int, list[int]] = {}
        self.hits = 0

    def take_shared(
        self, request: int, num_tokens: int, prompt: int, prompt_tokens: int
    ) -> list[int] | None:
        """As `take`, with the full blocks of the request's first `prompt_tokens` shared."""
        full = min(prompt_tokens, num_tokens) // self.block_size
        shared = self.prompts.get(prompt, [])[:full]
        if not shared:
            blocks = self.take(request, num_tokens)
            if blocks is not None and full > 0:
                self._keep(prompt, blocks[:full])
            return blocks
        own = self.blocks_for(num_tokens) - len(shared)
        if len(self.free) < own:
            return None
        self.hits += 1
        for block in shared:
            self.ref_counts[block] += 1
        blocks = [*shared, *(self.free.pop() for _ in range(own))]
        for block in blocks[len(shared) :]:
            self.ref_counts[block] = 1
        self.tables[request] = blocks
        return blocks

    def _keep(self, prompt: int, blocks: list[int]) -> None:
        for block in blocks:
            self.ref_counts[block] += 1
        self.prompts[prompt] = blocks
