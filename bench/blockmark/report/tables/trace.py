"""What a serving trace holds, on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from blockmark.report.console import Screen
from blockmark.report.facts.numbers import ABSENT, counted, percent, significant
from blockmark.report.tables.model import Column, Entry, Group, Row, Table

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def print_trace(
    facts: Mapping[str, Any], *, stream: IO[str] | None = None, width: int | None = None
) -> None:
    """Print the summary of a trace, as `blockmark trace --json` writes it.

    `stream` and `width` as for `print_run`.
    """
    screen = Screen.of(stream, width)
    screen.say(facts["file"], "head")
    screen.say(f"{facts['title']} (format {facts['format']}): {_arrivals(facts)}")
    screen.table(_lengths_table(facts))
    screen.table(_waste_table(facts))
    screen.blank()
    if not facts["quantiles_exact"]:
        screen.say("Very many different lengths: p50, p90 and p99 are within 0.05 %.")
    screen.say(_sharing(facts))
    for sentence in facts["oddities"]:
        screen.say(sentence)
    if facts["stopped"]:
        screen.say("The file could not be read to its end; this is what was read.", "message")


def _arrivals(facts: Mapping[str, Any]) -> str:
    requests = counted(facts["requests"], "request")
    arrivals = facts["arrivals"]
    if arrivals is None:
        text = f"{requests}, no arrival times"
    elif arrivals["rate_per_s"] is None:
        text = f"{requests}, all at one time"
    else:
        text = (
            f"{requests} in {_duration(arrivals['duration_s'])}, "
            f"{significant(arrivals['rate_per_s'])} requests/s, "
            f"CV of gaps {significant(arrivals['gap_cv'])}"
        )
    return f"{text}{_cut(facts)}."


def _cut(facts: Mapping[str, Any]) -> str:
    """What part of the file it is, and how fast."""
    parts = []
    if facts["window"] is not None:
        start, end = facts["window"]
        until = "" if end is None else f" to {end:,.10g} s"
        parts.append(f"; window from {start:,.10g} s{until}")
    if facts["limit"] is not None:
        parts.append(f"; at most {facts['limit']:,} requests")
    if facts["speedup"] != 1.0:
        parts.append(f"; sped up {facts['speedup']:,.6g} times")
    return "".join(parts)


def _duration(seconds: float) -> str:
    for unit, name in ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "min")):
        if seconds >= 2 * unit:
            return f"{significant(seconds / unit)} {name}"
    return f"{significant(seconds)} s"


def _lengths_table(facts: Mapping[str, Any]) -> Table:
    names = {
        "prompt_tokens": "prompt tokens",
        "output_tokens": "output tokens",
        "blocks_per_request": f"blocks of {facts['block_size']:,}",
    }
    rows = []
    for key, name in names.items():
        values = facts[key]
        entries = [Entry(f"{values['mean']:,.1f}")]
        entries += [Entry(f"{values[place]:,}") for place in ("p50", "p90", "p99", "max")]
        rows.append(Row(name, tuple(entries)))
    titles = ("mean", "p50", "p90", "p99", "max")
    columns = tuple(Column(title, "right") for title in titles)
    return Table("of a request", columns, (Group("", tuple(rows)),))


def _waste_table(facts: Mapping[str, Any]) -> Table:
    requests = facts["requests"]
    rows = [
        Row(
            f"paged, blocks of {facts['block_size']:,}",
            (Entry(percent(facts["last_block_waste"])), Entry(f"{requests:,}")),
        )
    ]
    for place in facts["reservations"]:
        # None fits: nothing could be wasted, which is not the same as 0 %.
        waste = ABSENT if place["waste"] is None else percent(place["waste"])
        rows.append(
            Row(
                f"{place['tokens']:,} tokens reserved",
                (Entry(waste), Entry(f"{place['fit']:,}")),
            )
        )
    columns = (Column("unused", "right"), Column("requests that fit", "right"))
    return Table("memory at the last token", columns, (Group("", tuple(rows)),))


def _sharing(facts: Mapping[str, Any]) -> str:
    sharing = facts["sharing"]
    if sharing is None:
        return "Prefix sharing: not known, the trace has no hashes of prompts."
    size = facts["block_size"]
    text = (
        f"Prefix sharing, a cache without bound, requests in order: "
        f"{percent(sharing['id_share'])} of {sharing['id_references']:,} references to ids of "
        f"{sharing['hash_block']:,} tokens are hits; at blocks of {size:,}, "
    )
    if sharing["block_share"] is None:
        return f"{text}no prompt fills a block, so none can hit."
    text = (
        f"{text}{percent(sharing['block_share'])} of {sharing['block_references']:,} full blocks "
        f"of prompts, {percent(sharing['block_share_with_output'])} of "
        f"{sharing['blocks_with_output']:,} with those of outputs."
    )
    if short := sharing["short_prompts"]:
        are = "prompt is" if short == 1 else "prompts are"
        text += f" {short:,} {are} shorter than a block and can't hit."
    return text
