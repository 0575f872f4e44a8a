"""What a recorded program holds, in lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockmark.report.facts.numbers import significant

_OF_A_MANAGER = ("block_size", "max_seqs", "max_blocks_per_seq")


def recording_lines(facts: Mapping[str, Any]) -> list[str]:
    """The lines of `blockmark record`; `facts` as its `--json` prints them."""
    config = facts["config"]
    of_pool = "handouts" in facts
    sizes = f"{config['total_blocks']:,} blocks"
    if not of_pool:
        size, most, width = (config[name] for name in _OF_A_MANAGER)
        sizes += f" x {size:,} tokens, at most {most:,} sequences of {width:,} blocks"
    kind = "a pool alone" if of_pool else "a manager"
    lines = [
        f"{facts['file']}: {kind}, {sizes}",
        f"{'runs of calls  ' if of_pool else 'steps          '}      {facts['steps']:,}",
        f"blocks at the peak   {facts['blocks_peak']:,}",
    ]
    if of_pool:
        largest = facts["blocks_per_handout_max"]
        lines.append(f"hand-outs            {facts['handouts']:,}, the largest {largest:,} blocks")
    else:
        lines += [
            f"sequences            {facts['sequences_ended']:,} ended, "
            f"{facts['running_peak']:,} at the peak, "
            f"{significant(facts['running_mean'])} on average",
            f"blocks taken         {significant(facts['blocks_taken_per_step'])} a step",
        ]
        if tokens := facts.get("tokens_at_end"):
            said = ", ".join(f"{name} {value:,.0f}" for name, value in tokens.items())
            lines.append(f"tokens at the end    {said}")
    lines.append("operations a step, on average:")
    for name, number in facts["operations_per_step"].items():
        lines.append(f"  {name:18} {significant(number)}")
    return lines
