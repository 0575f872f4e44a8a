"""`blockmark claims`: published numbers against measured ones."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import EXIT_INTERRUPTED, EXIT_NOTHING, exit_code_of
from .options import Caches, Output, Seed, Timeout

if TYPE_CHECKING:
    from blockmark.runs.model import Run
    from blockmark.verdict.claims import ClaimsFile

CLAIMS_TABLE = "claims"


def command(
    claims: Annotated[
        Path | None,
        typer.Option("--claims", metavar="FILE", help="Another file of claims [built in]."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Judge by this run and measure nothing."),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Fresh processes per implementation [default: 5]."),
    ] = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Also vary heap, pool, cache, order, block size and language: exploration "
            "after the fact, which changes no verdict.",
        ),
    ] = False,
    counters: Annotated[
        str | None,
        typer.Option(
            show_default="auto",
            metavar="auto|pmu|callgrind|software|none",
            help="Where cache misses come from, as for run; miss rates need a source.",
        ),
    ] = None,
    cache: Caches = None,
    output: Output = Path("results"),
    splice: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also put the verdicts between this file's markers."),
    ] = None,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print the verdicts as JSON instead of text.")
    ] = False,
) -> int:
    """Measure what published claims need, and say which of them hold here.

    Every claim, and the condition under which it is judged, stands in a file; a run
    chooses none of them by its outcome.
    """
    from blockmark.report.splice import splice as splice_into
    from blockmark.report.tables.claims import claims_json, print_claims, render_claims
    from blockmark.runs.store import load_run, render_json
    from blockmark.sessions.claims import find_claims
    from blockmark.verdict.claims import explore, judge_claims

    if run is not None and (rounds or seed is not None or counters or cache):
        raise typer.BadParameter("--run judges what was measured; name nothing that measures")
    file = find_claims(claims)
    said = shlex.join(["blockmark", *sys.argv[1:]])
    interrupted, saved = False, ""
    if run is not None:
        found: Run | None = load_run(run)
    else:
        found, interrupted, saved = _measure(
            file,
            said,
            sensitivity=sensitivity,
            rounds=rounds,
            seed=seed,
            timeout=timeout,
            counters=counters,
            cache=cache,
            output=output,
        )
    verdicts = judge_claims(file, found)
    varied = explore(file, found) if sensitivity and found is not None else None
    if json:
        typer.echo(render_json(claims_json(file, verdicts, found, varied)), nl=False)
    else:
        print_claims(file, verdicts, found, sensitivity=varied, saved=saved)
    if interrupted:
        typer.echo(
            f"interrupted: go on with blockmark run --resume {saved}, then blockmark claims "
            f"--run {saved}",
            err=True,
        )
        return EXIT_INTERRUPTED
    if splice is not None:
        text = render_claims(file, verdicts, found, sensitivity=varied)
        splice_into(splice, CLAIMS_TABLE, text, said)
        typer.echo(splice, err=True)
    judged = any(case.measured for verdict in verdicts for case in verdict.cases)
    if found is not None and (code := exit_code_of(found)):
        return code
    return 0 if judged else EXIT_NOTHING


def _measure(
    file: ClaimsFile,
    said: str,
    *,
    sensitivity: bool,
    rounds: int | None,
    seed: int | None,
    timeout: float,
    counters: str | None,
    cache: list[str] | None,
    output: Path,
) -> tuple[Run | None, bool, str]:
    """The run, whether it was cut short, and where it lies; no run if nothing is needed."""
    from blockmark.measure.run.counting import choose_counters
    from blockmark.sessions.claims import measure_claims, plan_claims

    from .progress import progress_on_stderr

    plan = plan_claims(
        file,
        command=said,
        sensitivity=sensitivity,
        rounds=rounds,
        seed=seed,
        timeout_s=timeout,
        # Claims about cache misses need a counter, be it a simulated one.
        counters=choose_counters(counters or "auto", cache or []),
    )
    if plan is None:
        return None, False, ""
    with progress_on_stderr() as progress:
        outcome = measure_claims(plan, output, progress)
    return outcome.run, outcome.interrupted, str(outcome.folder)
