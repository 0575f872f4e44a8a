"""A run as tidy rows, one for each value: for pandas, polars, DuckDB, or plain Python.

    import blockmark, pandas
    frame = pandas.DataFrame(blockmark.load("results/0001"))

None of them is needed, or imported, here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blockmark.runs.floors import standing
from blockmark.runs.model import Cell, ImplementationInfo, MetricValue, Quantile, Run, canonical
from blockmark.runs.store import load_run

Row = dict[str, Any]


def load_rows(path: str | Path, *, rounds: bool = False) -> list[Row]:
    """`rows_of` a run on disk: its folder or its `run.json`. Raises RunFileError."""
    return rows_of(load_run(path), rounds=rounds)


def rows_of(run: Run, *, rounds: bool = False) -> list[Row]:
    """One row a value, all with the same keys; a missing one is None.

    `run_id uid name tags` (joined by blanks) `created` (ISO 8601 with zone) `quick complete
    cpu cores load` (one-minute averages of the system before and after, the higher)
    `blockmark_commit blockmark_dirty` of the run;
    `scenario impl scheme tier profile kind call_style status reason` of the cell, and its
    params as `param_NAME`, those with parts as JSON; `path digest commit dirty` of a user's
    own code;
    `metric quantile unit source value low high approximate rounds unavailable floor` of the
    value. `low` and `high` are the range of the rounds; `floor` is how a cost stands to that
    of the empty loop, or of the same work on a plain array: `above`, `in its noise` (less
    than three times the loop's spread above it) or `below`, None where there is none. Units
    are those of the run file: ns, bytes, share (of one), count, 1/s.

    A distribution has a row for each of its quantiles (`p50` ... `max`), other metrics one
    with quantile None. What is unavailable has value None and the reason; a cell that was
    not measured has one row without a metric. With `rounds`, `values` lists the value of
    each round.
    """
    infos = run.implementation_by_name
    names = {name: None for cell in run.cells for name in cell.params}
    params = {name: _column([cell.params.get(name) for cell in run.cells]) for name in names}
    front_of_all = _of_run(run)
    found: list[Row] = []
    for place, cell in enumerate(run.cells):
        info = infos[cell.impl]
        front: Row = {
            **front_of_all,
            "scenario": cell.scenario,
            "impl": cell.impl,
            "scheme": info.scheme,
            "tier": info.tier,
            "profile": info.profile,
            **{key: info.origin.get(key) for key in ("path", "digest", "commit", "dirty")},
            "kind": cell.kind,
            "call_style": cell.call_style,
            "status": cell.status,
            "reason": cell.reason or None,
            **{f"param_{name}": column[place] for name, column in params.items()},
        }
        cells = run.cells_of(cell.key.setting)
        found += [
            front | value | {"floor": _floor(value, cell, cells, infos)}
            for value in _values(cell, rounds)
        ]
    return found


def _of_run(run: Run) -> Row:
    loads = [run.machine.get(f"load_{when}") for when in ("before", "after")]
    known = [float(load) for load in loads if isinstance(load, int | float)]
    return {
        "run_id": run.run_id,
        "uid": run.uid or None,
        "name": run.name or None,
        "tags": " ".join(run.tags) or None,
        "created": run.created,
        "quick": run.quick,
        "complete": run.complete,
        "cpu": run.machine.get("cpu_model"),
        "cores": run.machine.get("cores"),
        "load": max(known, default=None),
        "blockmark_commit": run.checkout.get("commit"),
        "blockmark_dirty": run.checkout.get("dirty"),
    }


def _values(cell: Cell, rounds: bool) -> list[Row]:
    rows = []
    for metric, value in cell.metrics.items():
        if value.quantiles:
            rows += [
                _value(metric, label, value, quantile, rounds)
                for label, quantile in value.quantiles.items()
            ]
        else:
            rows.append(_value(metric, None, value, value, rounds))
    return rows or [_nothing(rounds)]


def _value(
    metric: str,
    label: str | None,
    value: MetricValue,
    estimate: MetricValue | Quantile,
    rounds: bool,
) -> Row:
    row: Row = {
        "metric": metric,
        "quantile": label,
        "unit": value.unit,
        "source": value.source,
        "value": _float(estimate.value),
        "low": _float(estimate.low),
        "high": _float(estimate.high),
        "approximate": value.approximate if estimate.value is not None else None,
        "rounds": estimate.rounds,
        "unavailable": estimate.unavailable,
    }
    if rounds:
        row["values"] = [float(each) for each in estimate.values]
    return row


def _floor(
    value: Row,
    cell: Cell,
    cells: tuple[Cell, ...],
    infos: Mapping[str, ImplementationInfo],
) -> str | None:
    if value["metric"] is None or value["value"] is None:
        return None
    address = ".".join(filter(None, (value["metric"], value["quantile"])))
    return standing(cell, address, cells, infos)


def _nothing(rounds: bool) -> Row:
    """What stands in the place of a value in a cell that has none."""
    empty = MetricValue(None, "", "")
    row = _value("", None, empty, empty, rounds)
    return row | {"metric": None, "unit": None, "source": None}


def _float(value: float | None) -> float | None:
    """A column of numbers is one of floats, whatever JSON made of `7000`."""
    return None if value is None else float(value)


def _column(values: Sequence[Any]) -> list[Any]:
    """A param of all cells in one type, as a column has: as it is, or else all as text."""
    known = [value for value in values if value is not None]
    for kinds in ((bool,), (int,), (int, float), (str,)):
        # `type` and not `isinstance`, for which True is a number.
        if all(type(value) in kinds for value in known):
            widen = float in kinds
            return [float(value) if widen and value is not None else value for value in values]
    return [None if value is None else _text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return canonical(value) if isinstance(value, Mapping) else canonical({"": value})[4:-1]
