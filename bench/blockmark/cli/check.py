"""`blockmark check`: did a change make it slower? Both sides are measured, and judged."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import DryRun, Seed, Settings, Targets, Timeout

if TYPE_CHECKING:
    from blockmark.verdict.check import CheckResult


def command(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO]...", help="Built-in names or TOML files."),
    ] = None,
    baseline_rev: Annotated[
        str | None,
        typer.Option(metavar="REV", help="A git revision, built in a worktree of its own."),
    ] = None,
    baseline_env: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A virtual environment, or a folder that holds blockmark_impls."
        ),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A stored run: gives advice alone.")
    ] = None,
    candidate: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="With --baseline: judge this run, measure nothing."),
    ] = None,
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test",
            help="What is here against itself: false alarms, and the smallest change seen.",
        ),
    ] = False,
    find: Annotated[
        str | None,
        typer.Option(
            metavar="GOOD..BAD", help="Bisect: the first commit that is slower than GOOD."
        ),
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The repository of --baseline-rev; files of --impl are relative to DIR "
            "[default: here].",
        ),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Builds each side of your own repository (a shell line)."),
    ] = None,
    impl: Targets = None,
    setting: Settings = None,
    all_cells: Annotated[
        bool, typer.Option("--all-cells", help="Judge every cost, not step and allocation alone.")
    ] = False,
    rounds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="The most rounds a side [default: 30].")
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="The time of measuring, such as 90s or 5m, after which no round is taken but "
            "those that a verdict needs at least.",
        ),
    ] = "110s",
    alpha: Annotated[
        float, typer.Option(help="The chance of any false alarm among equal programs.")
    ] = 0.01,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CELL=]SHARE",
            help="The change that matters, such as 5%, or of some cells: '* mine step_ns=5%'.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 5 where cells stay inconclusive.")
    ] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Let cells go that the candidate lacks.")
    ] = False,
    allow_other_machine: Annotated[
        bool,
        typer.Option("--allow-other-machine", help="Judge times of a run of another machine."),
    ] = False,
    enforce_stored: Annotated[
        bool, typer.Option("--enforce-stored", help="Let a stored baseline fail the build.")
    ] = False,
    waivers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Regressions that are let through (TOML)."),
    ] = None,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic",
            help="Judge instructions, simulated misses and allocations instead of times; without "
            "a baseline against stored counts.",
        ),
    ] = False,
    with_counts: Annotated[
        bool,
        typer.Option("--with-counts", help="Judge counts as well as times, and tell them apart."),
    ] = False,
    counts: Annotated[
        Path, typer.Option(metavar="DIR", help="With --deterministic: the stored counts.")
    ] = Path("results/baseline"),
    store_counts: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --deterministic: store counts, judge nothing."),
    ] = None,
    require_sim: Annotated[
        bool, typer.Option("--require-sim", help="Exit code 3 where nothing can be counted.")
    ] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Show unchanged cells too.")] = False,
    json: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write the result, all rounds included.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write Markdown.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.")] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations, and add to the step's summary.")
    ] = False,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    dry_run: DryRun = False,
) -> int:
    """Judge a change: regressed, improved, unchanged or inconclusive, cell by cell.

    The default cells are step_ns, the p99 of single steps and alloc_free_interleaved_ns of
    hash-map/cpp, vector/cpp and flat-stack/cpp in `decode`.

    Exit codes: 0 no regression; 1 a regression; 2 something is to be mended; 3 not judged:
    nothing was decided, an open cell may hide a large slowdown, or a cell is missing or can't
    be compared; 4 a wrong answer; 5 a cell is open, with --strict.
    """
    from blockmark.measure.sides.builds import BuildError
    from blockmark.report.files import ensure_writable
    from blockmark.runs.errors import StoreError
    from blockmark.sessions.check_request import CheckRequest, carry_out, store

    from .progress import progress_on_stderr

    request = CheckRequest(
        scenarios=tuple(scenarios or ()),
        baseline_rev=baseline_rev,
        baseline_env=baseline_env,
        baseline=baseline,
        candidate=candidate,
        self_test=self_test,
        find=find,
        repo=repo,
        build=build,
        impl=tuple(impl or ()),
        setting=tuple(setting or ()),
        all_cells=all_cells,
        rounds=rounds,
        budget=budget,
        alpha=alpha,
        margin=tuple(margin or ()),
        allow_missing=allow_missing,
        allow_other_machine=allow_other_machine,
        enforce_stored=enforce_stored,
        waivers=waivers,
        deterministic=deterministic,
        with_counts=with_counts,
        counts=counts,
        store_counts=store_counts,
        require_sim=require_sim,
        seed=seed,
        timeout=timeout,
        command=shlex.join(["blockmark", *sys.argv[1:]]),
    )
    if dry_run:
        from .dry_run import print_planned_check

        print_planned_check(request)
        return 0
    files = {"the JSON result": None if json in (None, "-") else Path(json or "")}
    files |= {"the Markdown": markdown, "the JUnit file": junit}
    for what, file in files.items():
        if file is not None:
            ensure_writable(file, what)
    with progress_on_stderr() as progress:
        try:
            if store_counts is not None:
                typer.echo(f"stored: {store(request, store_counts, progress)}")
                return 0
            result = carry_out(request, progress, _say)
        except BuildError as error:
            typer.echo(error.log, err=True)
            raise
    # What was found is told before anything can fail to be kept, and is worth more than that.
    if json != "-":
        from blockmark.report.check_console import print_check

        print_check(result, show_all=show_all, strict=strict)
    code = result.exit_code(strict=strict)
    try:
        _write(result, strict, json=json, markdown=markdown, junit=junit)
        if github:
            _tell_github(result, strict)
    except StoreError as error:
        _say(f"error: {error}")
        return code or 2
    return code


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _write(
    result: CheckResult,
    strict: bool,
    *,
    json: str | None,
    markdown: Path | None,
    junit: Path | None,
) -> None:
    from blockmark.report.files import write_file

    if json is not None:
        from blockmark.runs.store import render_json

        text = render_json({**result.as_json(), "exit_code": result.exit_code(strict=strict)})
        if json == "-":
            typer.echo(text, nl=False)
        else:
            write_file(Path(json), text.encode(), "the JSON result")
    if markdown is not None:
        from blockmark.report.check_markdown import render_check

        write_file(markdown, render_check(result, strict=strict).encode(), "the Markdown")
    if junit is not None:
        from blockmark.report.junit import render_junit

        write_file(junit, render_junit(result, strict=strict).encode(), "the JUnit file")


def _tell_github(result: CheckResult, strict: bool) -> None:
    from blockmark.report.files import append_file
    from blockmark.report.github import annotations, step_summary

    for line in annotations(result, strict=strict):
        typer.echo(line)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        text = step_summary(result, strict=strict)
        append_file(Path(summary), text.encode(), "the step's summary")
