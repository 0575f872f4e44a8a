"""`blockmark list`: what there is to run and to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import among, complete_impl, complete_metric, complete_scenario, complete_setting
from .lines import say, say_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from blockmark_impls.registry import Implementation

_WHAT = ("impls", "scenarios", "metrics", "keys", "engines", "reference")
_Rows = list[tuple[str, str]]


def _names(ctx: typer.Context, incomplete: str) -> list[str]:
    """What may stand behind the kind of list that was named."""
    complete: dict[str, Callable[[str], list[str]]] = {
        "impls": complete_impl,
        "scenarios": complete_scenario,
        "metrics": complete_metric,
        "keys": lambda begun: [key.rstrip("=") for key in complete_setting(begun)],
    }
    found = complete.get(ctx.params.get("what") or "")
    return found(incomplete) if found else []


def command(
    what: Annotated[str, typer.Argument(metavar="|".join(_WHAT), autocompletion=among(*_WHAT))],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Of one of them all that is known, such as a scenario's reason.",
            autocompletion=_names,
            show_default=False,
        ),
    ] = None,
    splice: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With reference: put it between this file's markers instead."
        ),
    ] = None,
) -> int:
    """List implementations, scenarios, metrics, keys or engines; one of them with NAME.

    `reference` is commands, scenarios, keys and metrics as one page of Markdown.
    """
    if what not in _WHAT:
        raise typer.BadParameter(f"list {what}: must be one of {', '.join(_WHAT)}")
    if what == "reference" and name is None:
        _reference(splice)
        return 0
    if what == "reference" or splice is not None:
        raise typer.BadParameter("--splice goes with reference, and reference with no NAME")
    if what == "scenarios" and name is not None:
        _tell_scenario(name)
        return 0
    lists = {
        "impls": _impls,
        "scenarios": scenarios,
        "metrics": metrics,
        "keys": keys,
        "engines": _engines,
    }
    rows = lists[what]()
    if name is not None:
        rows = _only(what, rows, name)
    say_pairs(rows, least=_COLUMN[what])
    if what == "metrics" and name is None:
        from blockmark.report.facts.counter_source import operations

        say(f"OPERATION is one of {', '.join(operations())}")
    return 0


def _reference(path: Path | None) -> None:
    from .reference import render_reference

    text = render_reference()
    if path is None:
        typer.echo(text)
        return
    from blockmark.report.splice import splice

    splice(path, "reference", text, f"blockmark list reference --splice {path}")
    typer.echo(path)


# Where the text stands, so that lists of few names look like those of many.
_COLUMN = {"impls": 22, "scenarios": 20, "metrics": 34, "keys": 22, "engines": 12}


def _only(what: str, rows: _Rows, name: str) -> _Rows:
    from blockmark.workload.errors import ConfigError
    from blockmark.workload.keys import nearest

    found = [row for row in rows if row[0] == name]
    if not found:
        hint = nearest(name, [row[0] for row in rows])
        raise ConfigError(f'list {what}: there is no "{name}"{hint}; see blockmark list {what}')
    return found


def _tell_scenario(name: str) -> None:
    """The title, the reason why it exists, what it runs, and over which values."""
    from blockmark.workload.builtin import find_scenario

    scenario = find_scenario(name)
    say(f"{scenario.name}: {scenario.title}")
    for paragraph in scenario.analysis.split("\n\n"):
        typer.echo()
        say(" ".join(paragraph.split()))
    typer.echo()
    rows = [(key, _shown(value)) for key, value in scenario.fixed.items()]
    rows += [(key, ", ".join(map(str, values))) for key, values in scenario.matrix.items()]
    rows.append(("implementations", ", ".join(scenario.implementations) or "all"))
    say_pairs(rows)


def _impls() -> _Rows:
    from blockmark_impls.registry import (
        LoadError,
        builtin_names,
        more_names,
        pair_names,
        plugin_names,
        resolve,
    )

    lines: _Rows = []
    for name in [*builtin_names(), *pair_names(), *plugin_names(), *more_names()]:
        try:
            lines.append((name, _about(resolve(name)[0])))
        except LoadError as error:
            # An installed package's class that can't be had keeps nobody from the list.
            lines.append((name, f"[unavailable: {error}]"))
    return lines


def _about(impl: Implementation) -> str:
    missing = f"  [unavailable: {impl.unavailable}]" if impl.unavailable else ""
    # What is no manager says what it is, since it runs in scenarios of its own alone.
    kind = "" if impl.kind in ("manager", "control") else f"{impl.kind.replace('-', ' ')}: "
    engine = f"{impl.engine}, " if impl.engine else ""
    return f"{kind}{engine}{impl.summary}{missing}"


def _engines() -> _Rows:
    from blockmark_impls.engines.rows import ENGINES, ROWS

    lines: _Rows = []
    for engine in ENGINES:
        version, tried = engine.version, ", ".join(engine.tried)
        if engine.unavailable:
            state = f"missing: {engine.unavailable}"
        elif version is None:
            state = f"here, of a version that it does not tell (tried: {tried})"
        else:
            known = version in engine.tried
            state = f"here: {version} ({'tried' if known else f'not tried; tried: {tried}'})"
        names = [row.name for row in ROWS if getattr(row.facts, "engine", None) is engine]
        lines.append((engine.name, f"{state}; {', '.join(names)}"))
    return lines


def scenarios() -> _Rows:
    """Name and title of every built-in scenario."""
    from blockmark.workload.builtin import builtin_names, find_scenario

    return [(name, find_scenario(name).title) for name in builtin_names()]


def metrics() -> _Rows:
    """Every metric with its unit, model and formula; one row for a counter of all operations."""
    from blockmark.report.facts.counter_source import parts_of
    from blockmark.runs.metrics import METRICS
    from blockmark.runs.metrics.counters import COUNTERS

    rows = [
        (metric.name, metric.unit, metric.model, metric.formula)
        for metric in METRICS.values()
        if parts_of(metric.name) is None
    ]
    # Each operation has each counter: a line for all of their names would be a wall.
    rows += [
        (
            f"OPERATION_{counter.name}",
            counter.unit,
            "counters",
            f"{counter.top} / {counter.bottom or 'what OPERATION_ns is divided by'}",
        )
        for counter in COUNTERS
    ]
    return [(name, f"{unit:6} {model:12} {formula}") for name, unit, model, formula in rows]


def keys() -> _Rows:
    """Every scenario key: meaning, values, default, and which workloads read it."""
    from blockmark.workload.keys import KEYS

    lines: _Rows = []
    for key in KEYS.values():
        if key.choices:
            values = " ".join(str(choice) for choice in key.choices)
        elif key.text:
            values = "text"
        else:
            values = f"{key.low:,.10g} to {key.high:,.10g} {key.unit}".rstrip()
        if key.spread:
            values += ", or a distribution such as lognormal:median=512,p99=4096"
        default = "chosen from the load" if key.default is None else _shown(key.default) or "none"
        names = (*key.workloads, *(f"models = {model}" for model in key.models))
        readers = f" [{', '.join(names)}]" if names else ""
        lines.append((key.name, f"{key.meaning}; {values} [default: {default}]{readers}"))
    return lines


def _shown(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
