"""Small traces in every format, and where the slices of public ones lie."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

SLICES = Path(__file__).parents[2] / "shared" / "traces"

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens"
BURSTGPT = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"
BURSTGPT_3 = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type"
)
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens"
LENGTHS = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio"


def slice_of(name: str) -> Path:
    """A slice of a public trace; skips the test where it is not at hand."""
    path = SLICES / name
    if not path.is_file():
        pytest.skip(f"no {name} in {SLICES.name}/ beside the repository")
    return path


def save(path: Path, *lines: str, end: str = "\n") -> Path:
    """A file of these lines."""
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def pack(path: Path, content: bytes) -> Path:
    """A gzip file, whatever its name."""
    path.write_bytes(gzip.compress(content))
    return path


def mooncake(prompt: int, ids: Iterable[Any], at: Any = 0, output: Any = 5, **more: Any) -> str:
    """One record of Mooncake."""
    return json.dumps(
        {
            "timestamp": at,
            "input_length": prompt,
            "output_length": output,
            "hash_ids": list(ids),
            **more,
        }
    )


def bailian(prompt: int, ids: Iterable[Any], at: float = 0.0, output: int = 5) -> str:
    """One record of Qwen-Bailian."""
    return json.dumps(
        {
            "chat_id": 159,
            "parent_chat_id": -1,
            "timestamp": at,
            "input_length": prompt,
            "output_length": output,
            "type": "text",
            "turn": 1,
            "hash_ids": list(ids),
        }
    )
