"""BurstGPT 1 to 3: requests to ChatGPT and GPT-4 of a campus, over months.

CSV of HPMLL/BurstGPT, CC-BY-4.0. Times are seconds, whole ones in the first file, so
that equal stamps are common. A failed request has 0 output tokens and often 0 of
everything. BurstGPT_3 puts two columns behind the first, so columns go by name. The
first file begins with a ramp: about one request in 100 s.
"""

from __future__ import annotations

from .format import Format

BURSTGPT = Format(
    name="burstgpt",
    title="BurstGPT",
    kind="csv",
    arrival="Timestamp",
    prompt="Request tokens",
    output="Response tokens",
    also=("Session ID", "Elapsed time", "Model", "Total tokens", "Log Type"),
)
