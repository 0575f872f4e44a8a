"""What a load was about, out of the facts of its settings: in words, and where it changes.

Facts are a workload's own account of itself: numbers, text, and flat lists or tables
of them, any of which may be missing. What is not known here is told in a report with
its own name, so that a new workload needs no line in this file to be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockmark.report.facts.numbers import (
    count,
    counted,
    exact,
    merged,
    percent,
    same_words,
    with_unit,
)
from blockmark.report.facts.setting import number, word
from blockmark.report.facts.sweep import Sweep, ranges
from blockmark.report.tables.model import Column, Entry, Group, Row, Table
from blockmark.runs.model import Setting

_WORKLOADS = {
    "beam": "beam search",
    "parallel-sampling": "parallel samples of one prompt",
    "speculative": "speculative lookahead",
    "sliding-window": "sliding window",
    "serving": "serving",
}
# Facts that other parts of a report tell.
_TOLD_ELSEWHERE = (
    "workload",
    "period_steps",
    "body_steps",
    "operations_per_step",
    "operations_per_sequence_step",
    "blocks_taken_per_step",
    "admitted_per_step",
    "ended_per_step",
    "occupancy_mean",
    "occupancy_p95",
    "token_occupancy_mean",
    "token_occupancy_p95",
    "program_digest",
    "pack_rows",
)
# Facts that decode has too.
_OF_DECODE = ("prompt_tokens", "output_tokens", "running_mean")
_NOTES = ("scheduler_notes", "notes")


def _bytes(value: float) -> str:
    return with_unit(value, "bytes")


def _seconds(value: float) -> str:
    return with_unit(value * 1e9, "ns") if value else "0 s"


def _steps(value: float) -> str:
    return counted(value, "step")


def _plain(value: float) -> str:
    """A mean that the program fixes: no zeros behind it that would pretend a measurement."""
    # Above a thousand a fraction says nothing, and an exponent would hide the size.
    if value == int(value) or abs(value) >= 1000:
        return count(round(value))
    return f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class _Fact:
    """A number among the facts: where it is, what it is called, how it is written.

    `sentence` puts the written number (`{}`) into words for a screen; empty for what only
    a report has room for. `dull` is the value that a screen has no word for.
    """

    path: tuple[str, ...]
    label: str
    sentence: str
    write: Callable[[float], str] = _plain
    dull: float | None = 0.0


_FACTS = (
    _Fact(("trace", "rows"), "rows of the trace", "{} rows", count),
    _Fact(("trace", "requests"), "requests of the trace", "", count),
    _Fact(("trace", "prompt_tokens_mean"), "prompt tokens, mean", "{} tokens in on average"),
    _Fact(("trace", "output_tokens_mean"), "output tokens, mean", "{} out"),
    _Fact(("trace", "speedup"), "speed-up", "{}x as fast", exact, dull=1.0),
    _Fact(("requests", "arrived"), "requests arrived", "{} requests", count),
    _Fact(("requests", "finished"), "requests finished", "", count),
    _Fact(("requests", "rejected"), "requests rejected", "{} rejected", count),
    _Fact(("requests", "rejected_queue_full"), "rejected, queue full", "", count),
    _Fact(("requests", "rejected_too_long"), "rejected, too long", "", count),
    _Fact(
        ("requests", "preempted_recompute"),
        "preemptions by recompute",
        "{} preempted to be computed again",
        count,
    ),
    _Fact(("requests", "preempted_swap"), "preemptions by swap", "{} preempted by swap", count),
    _Fact(("requests", "swapped_blocks"), "blocks swapped", "{} blocks swapped", count),
    _Fact(("requests", "waiting_steps_p50"), "waiting, p50", "p50 waited {}", _steps),
    _Fact(("requests", "waiting_steps_p99"), "waiting, p99", "p99 waited {}", _steps),
    _Fact(("requests", "waiting_s_p50"), "waiting, p50 in time", "p50 waited {}", _seconds),
    _Fact(("requests", "waiting_s_p99"), "waiting, p99 in time", "p99 waited {}", _seconds),
    _Fact(("prefill_chunks",), "prefill chunks", "", count),
    _Fact(("prompt_tokens",), "prompt tokens, median", "", count),
    _Fact(("output_tokens",), "output tokens", "", count),
    _Fact(("running_mean",), "running sequences, mean", ""),
    _Fact(("forks_per_step",), "forks a step", "{} forks a step"),
    _Fact(("copies_per_step",), "copies a step", "{} copies a step"),
    _Fact(("copy_bytes_per_step",), "bytes copied a step", "{} copied a step", _bytes),
    _Fact(("shared_blocks_share",), "table entries shared", "{} of the entries shared", percent),
    _Fact(("drafts_accepted_per_step",), "drafts accepted a step", ""),
    _Fact(("tokens_per_sequence_step",), "tokens a sequence and step", "{} tokens a sequence"),
    _Fact(
        ("tokens_rejected_share",),
        "tokens rejected",
        "{} of the tokens taken ahead rejected",
        percent,
    ),
    _Fact(
        ("blocks_given_back_per_step",), "blocks given back a step", "{} blocks given back a step"
    ),
    _Fact(("blocks_dropped_per_step",), "blocks dropped a step", "{} blocks dropped a step"),
    _Fact(("cache", "prompt_tokens"), "prompt tokens in all", "{} prompt tokens", count),
    _Fact(("cache", "hit_tokens"), "tokens from the cache", "{} from the cache", count),
    _Fact(
        ("cache", "hit_share"),
        "cache hits",
        "{} of the prompt tokens from the cache",
        percent,
        dull=None,
    ),
    _Fact(
        ("cache", "blocks_shared_live"),
        "blocks shared with live sequences",
        "{} blocks shared live",
        count,
    ),
    _Fact(("cache", "blocks_revived"), "blocks revived", "{} revived", count),
    _Fact(
        ("cache", "readmission_hit_tokens"),
        "tokens hit by re-admissions",
        "",
        count,
    ),
    _Fact(("cache", "evicted_blocks"), "blocks evicted", "{} evicted", count),
)
_KNOWN = {path.path for path in _FACTS}
# What a screen says before it has no more room, in the order of a reader's interest. Where
# the second is there, the first says nothing more.
_BRIEF: dict[tuple[str, ...], tuple[str, ...]] = {
    ("cache", "prompt_tokens"): ("cache", "hit_share"),
    ("cache", "hit_tokens"): ("cache", "hit_share"),
    ("requests", "waiting_steps_p50"): ("requests", "waiting_steps_p99"),
    ("requests", "waiting_s_p50"): ("requests", "waiting_s_p99"),
    ("requests", "waiting_steps_p99"): ("requests", "waiting_s_p99"),
}


def workload_name(setting: Setting) -> str:
    """`beam search`; empty for decode, the case of which nothing more is to be said."""
    name = word(setting.facts, "workload") or word(setting.params, "workload") or ""
    return "" if name == "decode" else _WORKLOADS.get(name, name)


def load_sentence(setting: Setting) -> str:
    """What the load was about, for a screen: `Beam search: 12 forks a step, ...`; may be empty.

    Zeros are left to the report, unless they are an answer.
    """
    return _composed(workload_name(setting), _parts(setting), notes(setting))


def common_sentence(sweep: Sweep) -> str:
    """What the loads of all settings have in common; `load_table` has what they differ in.

    Settings that were refused have no facts, and no say.
    """
    settings = [setting for setting in sweep.settings if setting.facts]
    if not settings:
        return ""
    names = dict.fromkeys(workload_name(setting) for setting in settings)
    parts = [_parts(setting) for setting in settings]
    common = [part for part in parts[0] if all(part in other for other in parts)]
    return _composed(" or ".join(filter(None, names)), common, notes_along(sweep))


def _parts(setting: Setting) -> list[str]:
    parts = [trace_name(setting)]
    for fact in _FACTS:
        value = _value(setting, fact.path)
        better = _BRIEF.get(fact.path)
        if not fact.sentence or (better is not None and _value(setting, better) is not None):
            continue
        if value is not None and value != fact.dull:
            parts.append(fact.sentence.format(fact.write(value)))
    rows, reasons = skipped(setting)
    if rows:
        parts.append(f"{counted(rows, 'row')} skipped ({reasons})")
    return [part for part in parts if part]


def _composed(name: str, parts: Sequence[str], said: Sequence[str]) -> str:
    sentence = ": ".join(part for part in (name, ", ".join(parts)) if part)
    if sentence:
        sentence = f"{sentence[:1].upper()}{sentence[1:]}."
    return " ".join([sentence, *said]).strip()


def notes(setting: Setting) -> list[str]:
    """What the workload has to say in sentences of its own."""
    found: list[str] = []
    cache = setting.facts.get("cache")
    if isinstance(cache, Mapping) and (said := word(cache, "note")):
        found.append(said)
    for name in _NOTES:
        said_list = setting.facts.get(name)
        if isinstance(said_list, str):
            said_list = [said_list]
        if isinstance(said_list, Sequence):
            found += [said for said in said_list if isinstance(said, str) and said]
    return [_sentence(said) for said in found]


def trace_name(setting: Setting) -> str:
    """`azure.csv (azure-2023)`; empty without a trace."""
    trace = setting.facts.get("trace")
    if isinstance(trace, str):
        return trace
    if not isinstance(trace, Mapping):
        return ""
    name = word(trace, "file") or word(trace, "name") or ""
    form = word(trace, "format")
    return f"{name} ({form})".strip() if form else name


def skipped(setting: Setting) -> tuple[float, str]:
    """How many rows of a trace were left out, and why: `zero tokens 17, too long 3`."""
    trace = setting.facts.get("trace")
    counts = trace.get("skipped") if isinstance(trace, Mapping) else None
    if not isinstance(counts, Mapping):
        return 0.0, ""
    known = {str(reason): number(counts, reason) for reason in counts}
    reasons = ", ".join(f"{reason} {count(value)}" for reason, value in known.items() if value)
    return sum(value or 0.0 for value in known.values()), reasons


def load_rows(setting: Setting) -> list[tuple[str, str]]:
    """(what, value) pairs for a report: everything that the facts say, zeros included.

    Empty for a load without facts of its own, such as decode.
    """
    if not _is_special(setting):
        return []
    rows = [("workload", workload_name(setting)), ("trace", trace_name(setting))]
    for fact in _FACTS:
        value = _value(setting, fact.path)
        if value is not None:
            rows.append((fact.label, fact.write(value)))
    left_out, reasons = skipped(setting)
    if left_out:
        rows.append(("rows skipped", f"{count(left_out)} ({reasons})"))
    rows += _others(setting)
    rows += [("note", said) for said in notes(setting)]
    return [(name, text) for name, text in rows if text]


def load_table(sweep: Sweep, *, short: bool = False) -> Table | None:
    """What the loads differ in, a column a setting; None if it is nothing."""
    rows = []
    for fact in _FACTS:
        values = [_value(setting, fact.path) for setting in sweep.settings]
        if len(set(values)) > 1:
            texts = ("-" if value is None else fact.write(value) for value in values)
            rows.append(Row(fact.label, tuple(Entry(text) for text in texts)))
    if not rows:
        return None
    columns = tuple(Column(title, "right") for title in sweep.titles(short=short))
    return Table("the load", columns, (Group("", tuple(rows)),))


def notes_along(sweep: Sweep) -> list[str]:
    """The notes of all settings, and where each holds if that is not everywhere.

    Those that differ only in their numbers are one.
    """
    told: dict[str, list[str]] = {}
    places: dict[str, list[str]] = {}
    with_facts = [
        pair for pair in zip(sweep.titles(), sweep.settings, strict=True) if pair[1].facts
    ]
    for title, setting in with_facts:
        for said in notes(setting):
            told.setdefault(same_words(said), []).append(said)
            places.setdefault(same_words(said), []).append(title)
    titles = [title for title, _ in with_facts]
    lines = []
    for words, found in told.items():
        chosen = [title in places[words] for title in titles]
        where = "" if all(chosen) else f"At {sweep.axis} {ranges(titles, chosen)}: "
        lines.append(f"{where}{merged(found)}")
    return lines


def _value(setting: Setting, path: Sequence[str]) -> float | None:
    facts: Any = setting.facts
    for name in path[:-1]:
        facts = facts.get(name)
        if not isinstance(facts, Mapping):
            return None
    return number(facts, path[-1])


def _is_special(setting: Setting) -> bool:
    """Whether the facts tell more than that sequences were decoded."""
    names = {fact.path[0] for fact in _FACTS}.union(_NOTES).difference(_OF_DECODE)
    return bool(workload_name(setting)) or any(name in setting.facts for name in names)


def _others(setting: Setting) -> list[tuple[str, str]]:
    """Facts that have no line above, under their own names."""
    rows = []
    for name, value in setting.facts.items():
        if name in _TOLD_ELSEWHERE or name in _NOTES:
            continue
        if isinstance(value, Mapping):
            for inner in value:
                told = (name, inner) in (("cache", "note"), ("trace", "skipped"))
                told = told or (name == "trace" and inner in ("file", "name", "format"))
                if (name, inner) not in _KNOWN and not told:
                    rows.append((f"{_words(name)}, {_words(inner)}", _text(value, inner)))
        elif (name,) not in _KNOWN and name != "trace":
            rows.append((_words(name), _text(setting.facts, name)))
    return rows


def _text(facts: Mapping[str, Any], name: str) -> str:
    value = number(facts, name)
    if value is not None:
        return percent(value) if name.endswith("share") else _plain(value)
    said: Any = facts[name]
    if isinstance(said, Mapping):
        return ", ".join(f"{_words(str(inner))} {_text(said, inner)}" for inner in said)
    if isinstance(said, Sequence) and not isinstance(said, str):
        return ", ".join(map(str, said))
    return "" if said is None else str(said)


def _words(name: str) -> str:
    return str(name).replace("_", " ")


def _sentence(said: str) -> str:
    text = f"{said[:1].upper()}{said[1:]}".strip()
    return text if text[-1:] in ".!?" else f"{text}."
