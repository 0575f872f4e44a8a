"""`blockmark capacity`: what a memory budget holds, by the way in which it is divided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Output, Report, Seed, Settings, Targets, Timeout


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
    seed: Seed = None,
    timeout: Timeout = 60.0,
    json: Json = False,
) -> int:
    """Say what a memory budget holds: reserved, in one piece, or paged.

    Without options it is the setting of a published comparison. Exact counts, nothing timed.
    """
    from blockmark.workload.scenario import parse_setting

    from .measuring import measure_study

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
    return measure_study(
        ["capacity-mixed" if mixed else scenario],
        dict(parse_setting(text) for text in [*given, *(setting or [])]),
        impl=impl or [],
        rounds=None,
        quick=False,
        output=output,
        report=report,
        seed=seed,
        timeout=timeout,
        json=json,
    )
