"""`blockmark capacity`: what a memory budget holds, by the way in which it is divided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DryRun, Json, Name, Output, Report, Seed, Settings, Tags, Targets, Timeout


def command(
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A serving trace instead of requests of one length."),
    ] = None,
    model_shape: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Model, or LAYERSxKV_HEADSxHEAD_SIZExBYTES."),
    ] = None,
    kv_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory for KV entries, such as 45GiB."),
    ] = None,
    max_len: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", help="Longest request, where that much is reserved."),
    ] = None,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="Requests of many lengths (scenario capacity-mixed).")
    ] = False,
    impl: Targets = None,
    setting: Settings = None,
    output: Output = Path("results"),
    report: Report = None,
    name: Name = "",
    tag: Tags = None,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Say what a memory budget holds: reserved, in one piece, or paged.

    Without options it is the setting of a published comparison. Exact counts, nothing timed.
    """
    from blockmark.workload.builtin import find_scenario

    from .measuring import Asked, carry_out, plan_of

    if mixed and trace is not None:
        raise typer.BadParameter("--mixed makes lengths up, --trace reads them; name one of them")
    named = {
        "trace": trace,
        "model_shape": model_shape,
        "kv_memory": kv_memory,
        "max_len": max_len,
    }
    given = [f"{key}={value}" for key, value in named.items() if value is not None]
    scenario = "capacity-trace" if trace is not None else "capacity"
    words = [*given, *(setting or [])]
    asked = Asked(impl or (), words, None, False, seed, timeout, None, name, tag or ())
    plan = plan_of([find_scenario("capacity-mixed" if mixed else scenario)], asked)
    return carry_out(plan, output, report, dry_run=dry_run, json=json)
