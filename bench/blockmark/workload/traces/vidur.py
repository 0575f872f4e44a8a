"""Vidur and Sarathi, with arrivals: CSV of seconds from 0 and lengths.

microsoft/vidur, `data/processed_traces`, MIT; its `splitwise_conv` is made from the
Azure trace of 2023 (CC-BY-4.0).
"""

from __future__ import annotations

from .format import Format

VIDUR = Format(
    name="vidur",
    title="Vidur or Sarathi",
    kind="csv",
    arrival="arrived_at",
    prompt="num_prefill_tokens",
    output="num_decode_tokens",
    also=("num_total_tokens", "pd_ratio"),
)
