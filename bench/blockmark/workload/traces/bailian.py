"""Qwen-Bailian: requests to one Qwen instance of Aliyun Bailian over two hours.

JSON lines of alibaba-edu/qwen-bailian-usagetraces-anon, Apache-2.0. Times are seconds
from 0. One hash id stands for 16 tokens; the data's README says of that block alone,
without its prefix, so an id may repeat inside a request.
"""

from __future__ import annotations

from .format import Format

BAILIAN = Format(
    name="bailian",
    title="Qwen-Bailian",
    kind="jsonl",
    arrival="timestamp",
    prompt="input_length",
    output="output_length",
    hash_ids="hash_ids",
    also=("chat_id", "parent_chat_id", "type", "turn"),
    marks=("chat_id",),
    hash_block=16,
)
