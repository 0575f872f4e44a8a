"""`blockmark verify`: correctness alone, no clock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import EXIT_NOTHING, EXIT_WRONG
from .lines import say
from .options import Seed, Settings, Targets, Timeout

if TYPE_CHECKING:
    from blockmark.measure.proof.effort import Effort

# Without progress for so long, one wonders whether anything happens.
_TELL_EVERY_S = 10.0


def command(
    impl: Targets = None,
    setting: Settings = None,
    programs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000,
            show_default="100",
            help="Random programs per implementation.",
        ),
    ] = None,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="10,000 random programs per implementation.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="What a quick run proves: tiny managers and the load.")
    ] = False,
    corpus: Annotated[
        bool,
        typer.Option(
            "--corpus",
            help="Hold the proof itself against classes that are each wrong in one way.",
        ),
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="With --corpus: the folder of broken classes.", show_default=False
        ),
    ] = None,
    fuzz: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            show_default=False,
            help="Search on, guided by the code's own edges, for so much CPU time: 90s or 5m.",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="Programs that a search kept: they are played, and --fuzz adds to them.",
        ),
    ] = None,
    coverage: Annotated[
        bool,
        typer.Option("--coverage", help="Print what the proof's programs cover, and no more."),
    ] = False,
    splice: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="With --coverage: put the table in a document."
        ),
    ] = None,
    seed: Seed = None,
    timeout: Timeout = 120.0,
) -> int:
    """Hold implementations against the oracle; no clock.

    Each replays random programs, programs for managers of every size, one for long use, and
    the decode program. Exit code 4 if one is wrong; the first operation that differs is
    printed, and the shortest list of calls that shows it. With --corpus, exit code 4 unless
    every broken class is caught and no right one is. --timeout is CPU time without progress.
    """
    if splice is not None and not coverage:
        raise typer.BadParameter("--splice goes with --coverage")
    if coverage:
        return _coverage(seed or 1, splice)
    if (programs is not None) + exhaustive + quick > 1:
        raise typer.BadParameter("--programs, --exhaustive and --quick say how many; give one")
    if folder is not None and not corpus:
        raise typer.BadParameter(f"{folder}: a folder goes with --corpus; a class with --impl")
    if corpus:
        if impl or setting or exhaustive or quick or fuzz or keep:
            raise typer.BadParameter("--corpus goes with --programs and --seed alone")
        return _corpus(folder, _effort(programs), seed or 1)
    from blockmark.measure.proof.verification import verify_all
    from blockmark.sessions.durations import seconds_of
    from blockmark.workload.builtin import find_scenario
    from blockmark.workload.scenario import parse_setting

    from .building import announce_builds

    search_s = 0.0 if fuzz is None else seconds_of(fuzz, "--fuzz")
    announce_builds(impl or [], coverage=bool(search_s))
    settings = dict(parse_setting(text) for text in setting or [])
    states = set()
    found = verify_all(
        find_scenario("decode").override(settings),
        impl or [],
        _effort(programs, exhaustive=exhaustive, quick=quick),
        seed=seed,
        timeout_s=timeout,
        search_s=search_s,
        keep_in=keep,
    )
    for result in found:
        states.add(result.status)
        say(result.line, hanging="  ")
        for line in result.shown_by:
            say(line, indent="    ", hanging="  ")
    if "wrong" in states:
        return EXIT_WRONG
    return EXIT_NOTHING if states & {"failed", "timeout"} or "ok" not in states else 0


def _effort(programs: int | None, *, exhaustive: bool = False, quick: bool = False) -> Effort:
    from dataclasses import replace

    from blockmark.measure.proof.effort import DEFAULT, EXHAUSTIVE, QUICK

    effort = EXHAUSTIVE if exhaustive else QUICK if quick else DEFAULT
    return effort if programs is None else replace(effort, programs=programs)


def _coverage(seed: int, document: Path | None) -> int:
    from blockmark.measure.proof.effort import DEFAULT
    from blockmark.report.findings.coverage import coverage_table
    from blockmark.workload.oracle.coverage import coverage

    table = coverage_table(coverage(seed, DEFAULT.programs))
    if document is None:
        typer.echo(table)
        return 0
    from blockmark.report.splice import splice as put

    put(document, "coverage", table, f"blockmark verify --coverage --splice {document}")
    return 0


def _corpus(folder: Path | None, effort: Effort, seed: int) -> int:
    import threading
    import time

    from blockmark.measure.proof.corpus import (
        build_headers,
        default_folder,
        read_corpus,
        right_members,
        summary,
        try_corpus,
    )

    read = read_corpus(folder or default_folder())
    for name, took in build_headers(read):
        said = took if isinstance(took, str) else f"built in {took:.1f} s, or kept from before"
        typer.echo(f"{name}: {said}", err=True)
    broken = [member for member in read if not member.right]
    # A folder of one's own is asked about itself.
    right = [member for member in read if member.right] + (right_members() if not folder else [])
    members = [*broken, *right]
    start, finished = time.monotonic(), 0
    over = threading.Event()

    def advance(done: int) -> None:
        nonlocal finished
        finished = done

    def tell() -> None:
        while not over.wait(_TELL_EVERY_S):
            took = time.monotonic() - start
            typer.echo(f"{finished} of {len(members)} tried in {took:.0f} s", err=True)

    results = []
    seconds = 0.0
    threading.Thread(target=tell, daemon=True).start()
    for tried in try_corpus(members, effort=effort, seed=seed, advance=advance):
        results.append(tried)
        if not tried.right:
            seconds = time.monotonic() - start
        if not tried.right or tried.caught or tried.undecided:
            typer.echo(tried.line)
    over.set()
    typer.echo(summary(results, seconds))
    if any(tried.caught if tried.right else tried.missed for tried in results):
        return EXIT_WRONG
    if broken and not any(tried.caught for tried in results):
        return EXIT_NOTHING
    return EXIT_NOTHING if any(tried.undecided for tried in results) else 0
