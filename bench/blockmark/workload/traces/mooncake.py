"""Mooncake (FAST '25): requests to Kimi, with hashes of their prompts.

JSON lines of kvcache-ai/Mooncake, Apache-2.0. Times are milliseconds in buckets of
about 3 s, so most are equal. One hash id stands for 512 tokens and the whole prefix
before them, the last one for what is left (`len == ceil(input_length / 512)`); the
output has none.
"""

from __future__ import annotations

from .format import MILLISECOND, Format

MOONCAKE = Format(
    name="mooncake",
    title="Mooncake",
    kind="jsonl",
    arrival="timestamp",
    prompt="input_length",
    output="output_length",
    hash_ids="hash_ids",
    unit_ns=MILLISECOND,
    hash_block=512,
)
