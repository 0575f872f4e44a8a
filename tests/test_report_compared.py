"""No sentence about two cells says more than their rounds show."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from blockmark.report.facts.sweep import Sweep
from blockmark.report.findings.compared import between, factor, shown_less
from blockmark.runs.metrics import METRICS
from blockmark.runs.model import Cell, MetricValue, Run, Setting
from blockmark.runs.summary import summarise
from blockmark.studies.contention import view as contention
from blockmark.studies.false_sharing import view as false_sharing
from blockmark.studies.layout_pack import view as layout_pack
from blockmark.studies.layout_rows import view as layout_rows
from blockmark.studies.mistakes import view as mistakes

PARAMS = {"threads": 2, "think_ns": 0, "batch": 1, "line_offset": 0, "table_rows": 256}
SETTING = Setting("s", PARAMS, {})


def cell(impl: str, **metrics: list[float]) -> Cell:
    values: dict[str, MetricValue] = {
        name: summarise(name, rounds) for name, rounds in metrics.items()
    }
    assert set(values) <= set(METRICS)
    return Cell("s", PARAMS, impl, "manager", "native", "ok", metrics=values)


def run_of(*cells: Cell) -> tuple[Run, Sweep]:
    """As much of a run as a view reads."""
    run = SimpleNamespace(cells_of=lambda key: cells, axes=lambda scenario: ())
    return cast(Run, run), cast(Sweep, SimpleNamespace(settings=(SETTING,), scenario="s", axes=()))


@pytest.mark.parametrize(
    ("rounds", "told"), [([10.0], ""), ([10.0] * 3, ""), ([10.0] * 4, ""), ([10.0] * 5, "2.00x")]
)
def test_a_factor_takes_five_rounds_a_side(rounds: list[float], told: str) -> None:
    cheap, dear = cell("a", step_ns=rounds), cell("b", step_ns=[2 * one for one in rounds])
    assert factor(dear, cheap, "step_ns") == told
    assert shown_less(cheap, dear, "step_ns") == bool(told)
    assert not shown_less(dear, cheap, "step_ns")


def test_a_factor_of_rounds_that_overlap_is_none() -> None:
    one = cell("a", step_ns=[10.0, 11.0, 12.0, 13.0, 14.0])
    other = cell("b", step_ns=[11.5, 12.5, 13.5, 14.5, 15.5])
    assert factor(other, one, "step_ns") == ""


def test_shares_have_names_where_rounds_give_them() -> None:
    low = cell("a", busy_share=[0.01] * 5)
    high = cell("b", busy_share=[0.08] * 5)
    assert between([high, low], "busy_share") == "1.00 % with a, and 8.00 % with b"
    assert between([high, low], "busy_share", "of a core ") == (
        "1.00 % of a core with a, and 8.00 % with b"
    )
    assert between([low], "busy_share") == "1.00 % with a"
    single = [cell("a", busy_share=[0.01]), cell("b", busy_share=[0.08])]
    assert between(single, "busy_share", "of a core ") == "1.00 % to 8.00 % of a core"


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_threads_have_a_first_only_where_rounds_show_it(rounds: int) -> None:
    fast, slow = [9e6] * rounds, [3e6] * rounds
    run, sweep = run_of(cell("mutex/cpp", pairs_per_s=slow), cell("spin/cpp", pairs_per_s=fast))
    said = contention.sentences(run, sweep)
    if rounds < 5:
        assert said == []
    else:
        assert said == [
            "2 threads, think time 0 ns: spin/cpp does most, 9.00 million pairs/s, 3.00x those "
            "of mutex/cpp."
        ]


@pytest.mark.parametrize("rounds", [3, 5])
def test_writes_rows_and_packed_forms_say_nothing_of_few_rounds(rounds: int) -> None:
    shown = rounds == 5
    run, sweep = run_of(
        cell("counter/cpp[stride=8]", write_ns=[40.0] * rounds),
        cell("counter/cpp[stride=64]", write_ns=[4.0] * rounds),
    )
    told = ["counter, 2 threads: 8 bytes apart a write takes 10.0x what it takes 64 bytes apart."]
    assert false_sharing.sentences(run, sweep) == (told if shown else [])
    run, sweep = run_of(
        cell("row-16/cpp", row_read_ns=[5.0] * rounds, lines_per_row=[1.0] * rounds),
        cell("row-64/cpp", row_read_ns=[15.0] * rounds, lines_per_row=[4.0] * rounds),
    )
    told = ["256 rows: beside 16-bit ids, a row of 64-bit ids 3.00x."]
    assert layout_rows.sentences(run, sweep) == (told if shown else [])
    run, sweep = run_of(
        cell("padded/cpp", pack_and_transfer_ns=[2000.0] * rounds),
        cell("one-per-sequence/cpp", pack_and_transfer_ns=[9000.0] * rounds),
    )
    told = ["padded is least by the model, 2.00 us; one copy a sequence 4.50x that."]
    assert layout_pack.sentences(run, sweep) == (told if shown else [])


def test_a_mistake_has_its_costs_and_a_factor_only_where_it_is_shown() -> None:
    for rounds, text in (
        (3, "x/cpp: 10.0 ns right, 30.0 ns wrong."),
        (5, "x/cpp: 3.00x the cost (10.0 ns right, 30.0 ns wrong)."),
    ):
        run, sweep = run_of(cell("x/cpp", right_ns=[10.0] * rounds, wrong_ns=[30.0] * rounds))
        assert mistakes.sentences(run, sweep) == [text]
