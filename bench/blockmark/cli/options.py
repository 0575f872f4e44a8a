"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_impl, complete_scenario, complete_setting

Scenarios = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SCENARIO]...",
        help="Built-in names or TOML files.",
        autocompletion=complete_scenario,
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--impl",
        "-i",
        metavar="[NAME=]TARGET",
        help="An implementation: a name of `blockmark list impls`, a pattern such as 'flat*' or "
        "'*/cpp', a table+pool pair, module:Class, path.py:Class or a C++ header, "
        "path.hpp[:Class]. May be given several times.",
        autocompletion=complete_impl,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE[,VALUE...]",
        help="Set a scenario key, such as concurrency=512; several values make an axis.",
        autocompletion=complete_setting,
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="A short look: one round of few samples, the ends and the middle of the longest "
        "axis, some of the implementations. Not for decisions.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Say what would be measured and about how long it takes, and stop."
    ),
]
Name = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="WORD",
        show_default=False,
        help="Call the run so; the newest of a name is meant where a RUN is asked for.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", metavar="TEXT", help="A word kept with the run. May be given several times."
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed.")]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1.0,
        max=86400.0,
        help="The most CPU time of one process without progress, or time without using any.",
    ),
]
Counters = Annotated[
    str | None,
    typer.Option(
        show_default="software",
        metavar="auto|pmu|callgrind|software|none",
        help="What to count besides the time: the processor's own counters (pmu), simulated "
        "caches (callgrind, needs valgrind), or the kernel's books alone. auto: hardware "
        "counters where there are any, else simulated ones.",
    ),
]
Caches = Annotated[
    list[str] | None,
    typer.Option(
        "--cache",
        metavar="NAME=SIZE,WAYS,LINE",
        help="A cache that callgrind simulates, in bytes, such as l1=32768,8,64. Names: l1 "
        "(both d1 and i1), d1, i1, ll. May be given several times.",
    ),
]
AssertZeroAlloc = Annotated[
    list[str] | None,
    typer.Option(
        "--assert-zero-alloc",
        metavar="GLOB",
        help="End with code 1 if an implementation of such a name asks the heap for memory in "
        "a steady step, 3 if that was not counted. May be given several times.",
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where the run's folder is made.")
]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder of the report [default: `report` in the run's folder]."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the run as JSON instead of tables.")]
