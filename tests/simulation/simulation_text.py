"""The Markdown of a simulation: what was recorded, what the rules said, each with its counts."""

from __future__ import annotations

import math
import statistics

from recording import EQUAL, Recording
from verdict_counts import Counts, Improvements, OurCounts
from worst_case import CELLS

from blockmark.verdict.gate import Rule
from blockmark.verdict.leap import LEAP


def render_counts(recording: Recording, counts: Counts, rule: Rule) -> str:
    """The section without its heading."""
    parts = [
        _setting(recording, counts, rule),
        _our_table(recording, counts.ours),
        _findings(counts.ours, counts.apart, counts.improvements, rule),
        _large_changes(counts),
        _assumptions(recording, counts),
    ]
    if counts.rivals:
        parts.append(_rival_table(recording, counts, rule))
    return "\n\n".join(parts)


def _setting(recording: Recording, counts: Counts, rule: Rule) -> str:
    facts, load = recording.facts, recording.facts.get("load_average") or []
    machine = facts.get("machine", {})
    where = f"{machine.get('cpu_model', 'a machine')}, {machine.get('cores', '?')} cores"
    busy = f", load average {min(load):.1f} to {max(load):.1f}" if load else ""
    return (
        f"{recording.rounds} recorded rounds ({where}{busy}), {len(recording.cells)} cells; "
        f"{counts.suites:,} suites drawn with seed {counts.seed}, each a window of "
        f"{rule.looks[-1]} rounds with the labels of equal programs swapped at random. "
        "Windows overlap: "
        f"{recording.rounds // rule.looks[-1]} of them share no round."
    )


def _our_table(recording: Recording, ours: OurCounts) -> str:
    lines = [
        "| cell | truly slower | found | rounds to find it | equal: false verdicts "
        "| inconclusive | rounds |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in recording.cells:
        slowed = ours.slowed[name]
        change = f"{recording.true_change(name):+.1%}".replace("%", " %") if slowed else "-"
        found = _of(ours.found[name], slowed) if slowed else "-"
        took = f"{ours.slowed_rounds[name] / slowed:.1f}" if slowed else "-"
        lines.append(
            f"| {name} | {change} | {found} | {took} "
            f"| {_of(ours.false_cells[name], ours.suites)} "
            f"| {_of(ours.inconclusive[name], ours.suites)} "
            f"| {ours.equal_rounds[name] / ours.suites:.1f} |"
        )
    return "\n".join(lines)


def _findings(ours: OurCounts, apart: OurCounts, better: Improvements, rule: Rule) -> str:
    found, slowed = ours.found.total(), ours.slowed.total()
    return (
        f"Suites of equal programs with any false verdict: {_of(ours.false_suites, ours.suites)}. "
        f"Slower steps found: {_of(found, slowed)}; called unchanged: "
        f"{_of(ours.called_unchanged, slowed)}. Those found were decided by the turns "
        f"{ours.found_by['turns']:,} times, by the rounds {ours.found_by['rounds']:,} times. "
        "In the windows that share no round, with labels "
        f"as recorded: {_of(apart.false_suites, apart.suites)} suites with a false verdict, "
        f"{_of(apart.found.total(), apart.slowed.total())} slower steps found.\n\n"
        f"A step that became as much faster, at the first look ({rule.looks[0]} rounds), which is "
        "too early to call it improved: called unchanged by the ranks of rounds "
        f"{_of(better.two_sided, better.cells)} times; without the lower end of the ratio, as the "
        f"rule was first designed, {_of(better.one_sided, better.cells)} times."
    )


def _large_changes(counts: Counts) -> str:
    parts = [
        f"{factor:g} times as long: {_of(ours.found.total(), ours.slowed.total())} in "
        f"{sum(ours.slowed_rounds.values()) / ours.slowed.total():.1f} rounds"
        for factor, ours in counts.factors.items()
    ]
    return f"Steps of equal programs, made to take longer, that were found: {'; '.join(parts)}."


def _assumptions(recording: Recording, counts: Counts) -> str:
    """What the ranks of rounds and the leaps assume of equal programs, counted."""
    likeness = sorted(recording.likeness(name) for name in recording.cells)
    shifts = [one for kinds in recording.shifts.values() for one in kinds[EQUAL]]
    hits = sum(abs(shift) > math.log(LEAP) for shift in shifts)
    return (
        "Of equal programs: the rank correlation between the two sides of a round is "
        f"{likeness[0]:+.2f} to {likeness[-1]:+.2f} over the cells (median "
        f"{statistics.median(likeness):+.2f}); rounds whose change lies beyond the leap, a factor "
        f"of {LEAP:g}, in either direction: {_of(hits, len(shifts))}. Of rounds that were made up "
        "so that each disturbs one side by 5 to 50 %, never both: "
        f"{_of(counts.one_sided, counts.suites)} suites of {CELLS} equal cells have a false "
        "regression."
    )


def _rival_table(recording: Recording, counts: Counts, rule: Rule) -> str:
    steps, ours = recording.steps, counts.ours
    false = sum(ours.false_cells[name] for name in steps)
    looks = ", ".join(map(str, rule.looks))
    lines = [
        f"The same suites, the {len(steps)} cells of the step alone. A false verdict is a change, "
        "in either direction, that a rule finds between equal programs. asv's own factor of "
        "1.1 is wider than the slowdown.",
        "",
        "| rule | rounds a side | equal cells: false verdicts | suites with any | slower found |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {one.name} | {one.rounds} | {_of(found.false_cells, found.cells)} "
        f"| {_of(found.false_suites, found.suites)} | {_of(found.found, found.slowed)} |"
        for one, found in counts.rivals
    ]
    lines.append(
        f"| **this gate** ({len(recording.cells)} cells planned) | {looks} "
        f"| **{_of(false, ours.suites * len(steps))}** "
        f"| **{_of(ours.false_suites, ours.suites)}**, all cells "
        f"| **{_of(ours.found.total(), ours.slowed.total())}** |"
    )
    return "\n".join(lines)


def _of(count: int, total: int) -> str:
    """`3 of 1,200 (0.25 %)`: a share without its count can't be judged."""
    return f"{count:,} of {total:,} ({count / total:.2%})".replace("%", " %") if total else "-"
