"""What a run is going to do, decided whole before the first process starts."""

from __future__ import annotations

import random
import uuid
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

from blockmark.runs.names import is_name
from blockmark.workload.keys import ConfigError
from blockmark.workload.scenario import Cell, Scenario
from blockmark_impls.registry import LoadError

from ..machine import build_facts, machine_facts
from ..origin import checkout
from ..probes.timing import Budget
from ..study import study_of
from ..subject import Subject
from ..targets import subjects_of
from .counting import CounterPlan
from .patterns import expand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A quick look: one round of few blocks. Its numbers are not for decisions.
QUICK = Budget(
    blocks=5,
    block_ns=300_000,
    step_blocks=10,
    warm_up_ns=20_000_000,
    latency_ns=5_000_000,
    least_steps=0,
    cold_blocks=2,
)
QUICK_ROUNDS = 1
# Implementations times cells of a scenario: 20 seconds on two idle cores. Half of them where
# a loop is paced, a third where requests are served: those rounds take longer.
QUICK_PAIRS = 14
DEFAULT_ROUNDS = 5
REPLAYED_KINDS = ("manager", "control", "mistake")


@dataclass(frozen=True, slots=True)
class Pair:
    """One implementation in one cell: what a process verifies or measures."""

    cell: Cell
    subject: Subject

    @property
    def key(self) -> tuple[str, str]:
        """The pair's name in the journal."""
        return self.cell.key, self.subject.name

    @property
    def call_style(self) -> str:
        """Who loops: as the implementation's name says, else the cell, else its default."""
        asked = self.cell.values.get("call_style", "auto")
        if asked == "auto" or self.subject.fixed_style:
            return self.subject.call_style
        return str(asked)

    def rounds(self, wanted: int) -> int:
        """How many of the run's rounds it takes: what is counted exactly takes one."""
        study = self.cell.study
        return wanted if study is None or study_of(study).REPEATS else 1

    @property
    def unavailable(self) -> str | None:
        """Why this pair cannot be measured, if that is known beforehand."""
        if self.subject.unavailable:
            return self.subject.unavailable
        if self.call_style not in self.subject.call_styles:
            return (
                f"{self.subject.name} can't be driven {self.call_style}; "
                f"it can be driven {' or '.join(self.subject.call_styles)}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides a run; it is plain JSON on the disk."""

    command: str
    seed: int
    rounds: int
    quick: bool
    timeout_s: float
    budget: Budget
    scenarios: list[dict[str, str]]
    cells: list[Cell]
    subjects: list[Subject]
    serves: dict[str, list[str]]  # scenario -> names of its implementations
    counters: CounterPlan = field(default_factory=CounterPlan)
    machine: Mapping[str, Any] = field(default_factory=dict)
    build: Mapping[str, Any] = field(default_factory=dict)
    uid: str = field(default_factory=lambda: uuid.uuid4().hex)
    name: str = ""
    tags: tuple[str, ...] = ()
    checkout: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # names that a quick look does without

    def pairs(self) -> list[Pair]:
        """Every implementation in every cell of its scenario, in the order of tables."""
        return [
            Pair(cell, subject)
            for cell in self.cells
            for subject in self.subjects
            if subject.name in self.serves[cell.scenario]
        ]

    def order(self, round_number: int) -> list[Pair]:
        """The pairs in this round's order: every round has another, all from the seed."""
        shuffled = [pair for pair in self.pairs() if pair.rounds(self.rounds) > round_number]
        random.Random(f"{self.seed}/{round_number}").shuffle(shuffled)
        return shuffled

    def as_json(self) -> dict[str, Any]:
        """The content of `plan.json`."""
        content = asdict(self)
        content["cells"] = [
            {"scenario": cell.scenario, "params": cell.values} for cell in self.cells
        ]
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Plan:
        """A plan read back. Raises ConfigError if it is not one of this version."""
        try:
            plan = cls(
                command=content["command"],
                seed=content["seed"],
                rounds=content["rounds"],
                quick=content["quick"],
                timeout_s=content["timeout_s"],
                budget=Budget(**content["budget"]),
                scenarios=content["scenarios"],
                cells=[
                    Cell(cell["scenario"], tuple(_tuples(cell["params"]).items()))
                    for cell in content["cells"]
                ],
                subjects=[Subject.from_json(subject) for subject in content["subjects"]],
                serves=content["serves"],
                counters=CounterPlan.from_json(content["counters"]),
                machine=content["machine"],
                build=content["build"],
                # A plan of before there were any has none.
                uid=content.get("uid", ""),
                name=content.get("name", ""),
                tags=tuple(content.get("tags", ())),
                checkout=content.get("checkout", {}),
                left_out=tuple(content.get("left_out", ())),
            )
            plan.order(0)  # what is of another type shows here, before anything is measured
            return plan
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ConfigError(
                f"plan.json: not a plan of this version of blockmark ({error}); start a new run"
            ) from None


def _tuples(params: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in params.items()}


def _scenario_info(scenario: Scenario) -> dict[str, str]:
    return {
        "name": scenario.name,
        "title": scenario.title,
        "analysis": scenario.analysis,
        "digest": scenario.digest(),
    }


def make_plan(
    scenarios: list[Scenario],
    targets: list[str],
    *,
    command: str,
    seed: int | None = None,
    rounds: int | None = None,
    quick: bool = False,
    timeout_s: float = 60.0,
    counters: CounterPlan | None = None,
    name: str = "",
    tags: Sequence[str] = (),
) -> Plan:
    """Decide everything. `targets`, where named, replace the scenarios' implementations;
    without `counters` the kernel's own books are read. `name` and `tags` are the user's words.

    A user's code that can't be had is a broken subject, unless nothing else is asked for.
    Raises ConfigError or TargetError for anything that can't be run.
    """
    subjects: dict[str, Subject] = {}
    serves: dict[str, list[str]] = {}
    cells_of: dict[str, list[Cell]] = {}
    for scenario in scenarios:
        if scenario.name in serves:
            raise ConfigError(f'scenario "{scenario.name}" is named twice; rename one of the files')
        own = scenario if seed is None else scenario.override({"seed": [seed]})
        cells_of[scenario.name] = own.cells()
        serves[scenario.name] = []
        study = cells_of[scenario.name][0].study
        usual = scenario.implementations or _all_for(study)
        for target in expand(targets, usual, _kinds(study)) or usual:
            for subject in subjects_of(target, cells_of[scenario.name][0], timeout_s):
                _check_kind(subject, scenario, study)
                known = subjects.setdefault(subject.name, subject)
                if known.target != subject.target:
                    raise ConfigError(
                        f"two implementations are called {subject.name} ({known.target} and "
                        f"{subject.target}); give one a name: --impl NAME={subject.target}"
                    )
                if subject.name not in serves[scenario.name]:
                    serves[scenario.name].append(subject.name)
        if quick and not targets:
            _leave_out(subjects, serves, scenario.name, _quick_pairs(cells_of[scenario.name]))
    left_out = [name for name in subjects if not any(name in names for names in serves.values())]
    subjects = {name: subject for name, subject in subjects.items() if name not in left_out}
    if subjects and all(subject.broken for subject in subjects.values()):
        # Nothing else would be measured, so it is a command that can't be carried out.
        raise LoadError(next(subject.broken for subject in subjects.values()))
    cells = [cell for group in cells_of.values() for cell in group]
    return Plan(
        command=command,
        seed=seed if seed is not None else cells[0]["seed"],
        rounds=_rounds(cells, rounds, quick=quick),
        quick=quick,
        timeout_s=timeout_s,
        budget=QUICK if quick else Budget(),
        scenarios=[_scenario_info(scenario) for scenario in scenarios],
        cells=cells,
        subjects=list(subjects.values()),
        serves=serves,
        counters=counters or CounterPlan(),
        machine=machine_facts(),
        build=build_facts(),
        name=_checked(name),
        tags=tuple(dict.fromkeys(tags)),
        checkout=checkout(),
        left_out=tuple(left_out),
    )


def _quick_pairs(cells: list[Cell]) -> int:
    """How many implementations a quick look at these cells takes."""
    if any(cell["workload"] == "serving" for cell in cells):
        return QUICK_PAIRS // 3 // len(cells)
    paced = any("rate" in cell.values.get("models", ()) for cell in cells)  # type: ignore[operator]
    return (QUICK_PAIRS // 2 if paced else QUICK_PAIRS) // len(cells)


def _leave_out(
    subjects: Mapping[str, Subject], serves: dict[str, list[str]], scenario: str, most: int
) -> None:
    """Keep as many implementations of a scenario as a quick look takes, in their order.

    One of each scheme first, and what can be used here.
    """
    names = serves[scenario]
    # What is in C++ is quick to prove and to measure.
    ranked = sorted(
        names,
        key=lambda name: (subjects[name].unavailable is not None, subjects[name].tier != "cpp"),
    )
    first = {subjects[name].scheme: name for name in reversed(ranked)}
    wanted = sorted(ranked, key=lambda name: first[subjects[name].scheme] != name)[: max(2, most)]
    serves[scenario] = [name for name in names if name in wanted]


def _checked(name: str) -> str:
    if name and not is_name(name):
        raise ConfigError(
            f"--name {name[:80]}: must be a word such as main, of letters, digits and _ . + -, "
            "that does not begin with latest"
        )
    return name


def _all_for(study: str | None) -> list[str]:
    """What is measured where nobody says what."""
    from blockmark_impls.registry import Kind, builtin_names, names_of

    return builtin_names() if study is None else names_of(cast("Kind", study_of(study).KIND))


def _kinds(study: str | None) -> tuple[str, ...]:
    return REPLAYED_KINDS if study is None else (study_of(study).KIND,)


def _check_kind(subject: Subject, scenario: Scenario, study: str | None) -> None:
    wanted = _kinds(study)
    if subject.kind not in wanted:
        kind, others = (text.replace("-", " ") for text in (subject.kind, wanted[0]))
        raise ConfigError(
            f"{scenario.where}: {subject.name} is a {kind}, but {scenario.name} measures a "
            f"{others}, such as {', '.join(_all_for(study)[:3])}"
        )


def _rounds(cells: list[Cell], wanted: int | None, *, quick: bool) -> int:
    """How many; one where nothing can differ between them."""
    studies = {cell.study for cell in cells}
    if all(study and not study_of(study).REPEATS for study in studies):
        return 1
    return wanted or (QUICK_ROUNDS if quick else DEFAULT_ROUNDS)
