"""A check from what was asked for to its result: which sides, which gate, which waivers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from blockmark.measure.run.runner import Progress
from blockmark.measure.sides.repository import Repository, Revision
from blockmark.measure.sides.side import Side
from blockmark.runs.store import load_run
from blockmark.verdict.change_kind import join
from blockmark.verdict.check import CheckResult
from blockmark.verdict.gate import Rule
from blockmark.verdict.margins import QUANTILES, OwnMargin
from blockmark.verdict.stored import GATED, StoredOptions, all_costs, judge_runs
from blockmark.verdict.waivers import apply_waivers, read_waivers
from blockmark.workload.builtin import find_scenario
from blockmark.workload.errors import ConfigError
from blockmark.workload.scenario import Scenario, parse_setting

from . import deterministic as counting
from .check import Effort, check_sides
from .check_find import find_slower, span_of
from .check_plan import DEFAULT_TARGETS, Asked
from .check_sides import (
    Say,
    environment_sides,
    revision_sides,
    same_side_twice,
    with_relative_targets,
)
from .check_stored import check_against_run
from .deterministic import STORED
from .durations import seconds_of

_BASELINES = (
    "--baseline-rev REV, --baseline-env DIR, --baseline RUN, --find GOOD..BAD or --self-test"
)


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """All that a user can say of a check; the names are those of the options.

    Raises ConfigError for what does not go together, when it is made.
    """

    scenarios: tuple[str, ...] = ()
    baseline_rev: str | None = None
    baseline_env: Path | None = None
    baseline: Path | None = None
    candidate: Path | None = None
    self_test: bool = False
    find: str | None = None
    repo: Path | None = None
    build: str | None = None
    impl: tuple[str, ...] = ()
    setting: tuple[str, ...] = ()
    all_cells: bool = False
    rounds: int | None = None
    budget: str = "110s"
    alpha: float = 0.01
    margin: tuple[str, ...] = ()
    allow_missing: bool = False
    allow_other_machine: bool = False
    enforce_stored: bool = False
    waivers: Path | None = None
    deterministic: bool = False
    with_counts: bool = False
    counts: Path = STORED
    store_counts: Path | None = None
    require_sim: bool = False
    seed: int | None = None
    timeout: float = 60.0
    command: str = "blockmark check"
    candidate_rev: Revision | None = None  # in place of the working tree

    def __post_init__(self) -> None:
        """Refuse no baseline, several, and options without an effect."""
        named = [
            *(self.baseline_rev, self.baseline_env, self.baseline),
            *(self.self_test or None, self.find),
        ]
        baselines = sum(one is not None for one in named)
        two_sides = self.baseline_rev is not None or self.baseline_env is not None
        counted = self.deterministic or self.store_counts is not None
        refusals = (
            (baselines > 1, f"name one baseline alone: {_BASELINES}"),
            (
                not baselines and not counted,
                f"name a baseline: {_BASELINES}; or --deterministic for stored counts",
            ),
            (
                self.candidate is not None and self.baseline is None,
                "--candidate RUN is judged against a --baseline RUN; name both",
            ),
            (
                self.build is not None and self.baseline_rev is None and self.find is None,
                "--build says how the sides of --baseline-rev REV are built; name a revision",
            ),
            (
                self.find is not None and (counted or self.with_counts),
                "--find GOOD..BAD judges times; leave the counts out",
            ),
            (
                counted and baselines > 0 and not two_sides,
                "--deterministic takes --baseline-rev REV, --baseline-env DIR or stored counts; "
                "not a run, and not --self-test",
            ),
            (
                self.with_counts and (self.deterministic or not two_sides),
                "--with-counts judges times and counts of --baseline-rev REV or "
                "--baseline-env DIR; name one of these, and leave --deterministic out",
            ),
            (not 0 < self.alpha < 1, f"--alpha {self.alpha:g} must be between 0 and 1"),
        )
        for refused, why in refusals:
            if refused:
                raise ConfigError(why)
        _ = self.budget_s, self.own_margins

    @property
    def budget_s(self) -> float:
        """The budget in seconds. Raises ConfigError."""
        return seconds_of(self.budget, "--budget")

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is judged."""
        return all_costs() if self.all_cells else GATED

    @property
    def quantiles(self) -> tuple[str, ...]:
        """The quantiles of single steps that are judged; of stored runs none."""
        if self.baseline is not None or self.deterministic:
            return ()
        return tuple(QUANTILES) if self.all_cells else ("p99",)

    @property
    def own_margins(self) -> tuple[OwnMargin, ...]:
        """The margins that were chosen. Raises CompareError."""
        return tuple(map(OwnMargin.parse, self.margin))

    @property
    def effort(self) -> Effort:
        """How long it may take."""
        return Effort(
            Rule(alpha=self.alpha),
            rounds=self.rounds,
            budget_s=self.budget_s,
            timeout_s=self.timeout,
            to_the_end=self.self_test,
            allow_missing=self.allow_missing,
        )

    def found_scenarios(self) -> list[Scenario]:
        """The scenarios with the settings of the command line. Raises ConfigError."""
        settings = dict(parse_setting(text) for text in self.setting)
        return [find_scenario(name).override(settings) for name in self.scenarios or ("decode",)]

    def asked(self) -> Asked:
        """The cells, targets and metrics. Raises ConfigError."""
        scenarios = self.found_scenarios()
        asked = Asked.of(scenarios, self.impl, self.metrics, self.seed, self.quantiles)
        return replace(asked, margins=self.own_margins)

    def stored_options(self) -> StoredOptions:
        """How stored runs are judged."""
        return StoredOptions(
            metrics=self.metrics,
            scenarios=self.scenarios,
            impls=self.impl,
            other_machine=self.allow_other_machine,
            enforced=self.enforce_stored,
            margins=self.own_margins,
            rule=Rule(alpha=self.alpha),
        )


def carry_out(request: CheckRequest, progress: Progress, say: Say) -> CheckResult:
    """The result of a check, waivers applied. `say` is told of what is being built.

    Raises ConfigError, BuildError, RunFileError, CompareError: errors of the asking.
    """
    waivers = read_waivers(request.waivers) if request.waivers is not None else ()
    if request.find is not None:
        return _found(request, request.find, progress, say)
    if request.baseline is not None:
        result = _stored(request, request.baseline, progress)
    else:
        asked = request.asked()
        with _sides(request, say) as (before, after):
            if request.baseline_rev is not None:
                asked = with_relative_targets(asked, request.repo or Path.cwd())
            result = _measured(request, asked, before, after, progress)
    if not waivers:
        return result
    return apply_waivers(result, waivers, datetime.now().astimezone().date())


def _found(request: CheckRequest, span: str, progress: Progress, say: Say) -> CheckResult:
    """Bisect with checks of one commit each, all alike."""
    repository = Repository.of(request.repo or Path.cwd())
    commits = span_of(repository, span)

    def judge_commit(commit: Revision) -> CheckResult:
        asking = replace(request, find=None, baseline_rev=commits.good.called, candidate_rev=commit)
        return carry_out(asking, progress, say)

    return find_slower(commits, judge_commit, say)


def store(request: CheckRequest, folder: Path, progress: Progress) -> Path:
    """Count what is here and keep it in `folder`; the file's path. Raises ConfigError."""
    after = same_side_twice(request.repo)[0]
    asked, timeout = request.asked(), request.timeout
    return counting.count_and_store(asked, after, folder, timeout_s=timeout, progress=progress)


def _stored(request: CheckRequest, baseline: Path, progress: Progress) -> CheckResult:
    before = load_run(baseline)
    if request.candidate is not None:
        now, names = load_run(request.candidate), (str(baseline), str(request.candidate))
        result = judge_runs(before, now, request.stored_options(), names=names, progress=progress)
    else:
        result = check_against_run(
            before,
            request.found_scenarios(),
            request.impl or DEFAULT_TARGETS,
            request.stored_options(),
            name=str(baseline),
            seed=request.seed,
            rounds=request.rounds,
            budget_s=request.budget_s,
            timeout_s=request.timeout,
            command=request.command,
            progress=progress,
        )
    if not request.allow_missing or not result.missing:
        return result
    notes = (f"missing in the candidate, as allowed: {line}" for line in result.missing)
    return replace(result, missing=(), notes=(*result.notes, *notes))


@contextmanager
def _sides(request: CheckRequest, say: Say) -> Iterator[tuple[Side | None, Side]]:
    """Both sides, ready to be measured; without a baseline counts are stored ones."""
    if request.baseline_rev is not None:
        folder = request.repo or Path.cwd()
        with revision_sides(
            folder, request.baseline_rev, request.build, say, request.candidate_rev
        ) as sides:
            yield sides
    elif request.baseline_env is not None:
        yield environment_sides(request.baseline_env, request.repo)
    elif request.self_test:
        yield same_side_twice(request.repo)
    else:
        yield None, same_side_twice(request.repo)[0]


def _measured(
    request: CheckRequest,
    asked: Asked,
    before: Side | None,
    after: Side,
    progress: Progress,
) -> CheckResult:
    times = None
    if not request.deterministic:
        assert before is not None
        times = check_sides(
            asked, before, after, request.effort, self_test=request.self_test, progress=progress
        )
        if not request.with_counts or times.interrupted:
            return times
    counts = counting.count_and_judge(
        replace(asked, quantiles=()),
        before if before is not None else request.counts,
        after,
        timeout_s=request.timeout,
        require_sim=request.require_sim,
        allow_missing=request.allow_missing,
        progress=progress,
    )
    return counts if times is None else join(times, counts)
