"""`blockmark profile`: where an implementation's time goes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_impl, complete_scenario
from .errors import EXIT_NOTHING, EXIT_WRONG
from .options import Seed, Settings, Timeout


def command(
    impl: Annotated[
        str,
        typer.Argument(
            metavar="IMPL",
            help="One implementation, such as vector/cpp.",
            autocompletion=complete_impl,
        ),
    ],
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="[SCENARIO]",
            help="A built-in name or a TOML file.",
            autocompletion=complete_scenario,
        ),
    ] = "decode",
    setting: Settings = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL", help="What is replayed: step, lookup, alloc_free, pack, fork or pool."
        ),
    ] = "step",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="TOOL",
            help="callgrind, perf, python, or auto: callgrind, else perf, for a loop in C++; "
            "a sampler for one in Python.",
        ),
    ] = "auto",
    cache: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SIZE,WAYS,LINE",
            help="A cache that callgrind simulates, such as l1=32768,8,64; also d1, i1, ll.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="S", min=0.1, max=600.0, help="How long samples are taken [default: 3]."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="Functions and lines to print.")
    ] = 15,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the files [default: results/profiles/SCENARIO-IMPL]."
        ),
    ] = None,
    seed: Seed = None,
    timeout: Timeout = 120.0,
) -> int:
    """Profile one implementation in the first cell of a scenario.

    Prints its hot functions and lines, and writes a file for speedscope beside what the
    tool wrote. The implementation must have proved right: exit code 4 if it is wrong.
    """
    from blockmark.measure.profiling.session import ProfileError, profile_replay
    from blockmark.report.tables.profile import print_profile
    from blockmark.workload.builtin import find_scenario
    from blockmark.workload.scenario import parse_setting

    from .building import announce_builds
    from .progress import progress_on_stderr

    announce_builds([impl])
    settings = dict(parse_setting(text) for text in setting or [])
    found = find_scenario(scenario).override(settings)

    def folder(name: str) -> Path:
        return output or Path("results", "profiles", f"{found.name}-{_slug(name)}")

    try:
        with progress_on_stderr() as progress:
            replay, place = profile_replay(
                found,
                impl,
                folder,
                model=model,
                by=by,
                cache=cache or [],
                seconds=seconds,
                seed=seed,
                timeout_s=timeout,
                progress=progress,
            )
    except ProfileError as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        return EXIT_WRONG if error.wrong else EXIT_NOTHING
    from blockmark.report.speedscope import write_speedscope

    written = write_speedscope(replay, place)
    files = [str(written), *(str(place / name) for name in replay.raw)]
    print_profile(replay, top=top, files=files)
    return 0


def _slug(name: str) -> str:
    """An implementation's name as that of a folder: `flat-stack-cpp-row_pad-32`."""
    return re.sub(r"[^\w.+]+", "-", name, flags=re.ASCII).strip("-.") or "implementation"
