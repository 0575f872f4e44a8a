"""Azure LLM inference traces, 2023 (code, conversation) and 2024 (one week).

CSV of AzurePublicDataset, CC-BY-4.0. In 2023 the time has no zone and seven digits
behind the point (one more than Python's %f takes), lines end in CRLF and the last
one in nothing; in 2024 it has six digits and an offset. Lengths only: no ids, no
hashes.
"""

from __future__ import annotations

from .format import Format

AZURE = Format(
    name="azure",
    title="Azure LLM inference trace",
    kind="csv",
    arrival="TIMESTAMP",
    prompt="ContextTokens",
    output="GeneratedTokens",
)
