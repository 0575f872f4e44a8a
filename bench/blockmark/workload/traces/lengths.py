"""Vidur and Sarathi, lengths only: no arrivals, so a scenario gives them a process.

CSV of microsoft/vidur, such as `arxiv_summarization_stats`, MIT.
"""

from __future__ import annotations

from .format import Format

LENGTHS = Format(
    name="lengths",
    title="Vidur or Sarathi, lengths only",
    kind="csv",
    prompt="num_prefill_tokens",
    output="num_decode_tokens",
    also=("num_total_tokens", "pd_ratio"),
)
