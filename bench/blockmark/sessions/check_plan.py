"""What a check is going to judge: the cells that both sides have, and those that one lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from blockmark.measure.process.task import Timed, timed_for
from blockmark.measure.run.patterns import expand
from blockmark.measure.run.plan import REPLAYED_KINDS, Pair
from blockmark.measure.run.programs import Prepared
from blockmark.measure.sides.side import Described, unlike, unlike_in
from blockmark.measure.sides.turns import LATENCY, STEP
from blockmark.measure.subject import Subject
from blockmark.verdict.gate import GateCell
from blockmark.verdict.judged import tell_apart
from blockmark.verdict.margins import OwnMargin, margin_of_cell, refuse_unused
from blockmark.verdict.stored import judged_of
from blockmark.workload.errors import ConfigError
from blockmark.workload.scenario import Cell, Scenario

# So many rounds without a quantile of single steps, and there will be none.
_ROUNDS_FOR_STEPS = 3
# The three schemes of the comparison that this project began with.
DEFAULT_TARGETS = ("hash-map/cpp", "vector/cpp", "flat-stack/cpp")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user wants checked: each scenario's cells and targets, and the metrics.

    `quantiles` of single steps, such as `p99`, are judged where the whole step is. `margins`
    are those that the user chose.
    """

    scenarios: tuple[Scenario, ...]
    cells: Mapping[str, list[Cell]]
    targets: Mapping[str, tuple[str, ...]]
    metrics: tuple[str, ...]
    seed: int
    quantiles: tuple[str, ...] = ()
    margins: tuple[OwnMargin, ...] = ()

    @classmethod
    def of(
        cls,
        scenarios: Sequence[Scenario],
        targets: Sequence[str],
        metrics: Sequence[str],
        seed: int | None,
        quantiles: Sequence[str] = (),
    ) -> Asked:
        """`targets` replace what a scenario's own file names, and the three default ones.

        Raises ConfigError for a scenario that can't be made or is named twice.
        """
        cells: dict[str, list[Cell]] = {}
        wanted: dict[str, tuple[str, ...]] = {}
        for scenario in scenarios:
            if scenario.name in cells:
                raise ConfigError(
                    f'scenario "{scenario.name}" is named twice; rename one of the files'
                )
            own = scenario if seed is None else scenario.override({"seed": [seed]})
            cells[scenario.name] = own.cells()
            # A built-in scenario compares many tiers; a check of them all takes too long.
            named = () if scenario.where.startswith("scenarios/") else scenario.implementations
            usual = tuple(named or DEFAULT_TARGETS)
            wanted[scenario.name] = tuple(expand(targets, usual, REPLAYED_KINDS)) or usual
        first = next(iter(cells.values()))[0]
        chosen = seed if seed is not None else int(first["seed"])
        return cls(tuple(scenarios), cells, wanted, tuple(metrics), chosen, tuple(quantiles))

    @property
    def every_cell(self) -> list[Cell]:
        """The cells of all scenarios."""
        return [cell for group in self.cells.values() for cell in group]

    @property
    def every_target(self) -> list[str]:
        """The targets of all scenarios, each once."""
        return list(dict.fromkeys(target for group in self.targets.values() for target in group))


@dataclass(slots=True)
class Contest:
    """One implementation in one cell, on both sides: what is measured in turns.

    `programs` are those that the gated metrics need. `gates` has a
    cell of the rule for each metric. `dropped` are the reasons of rounds that broke.
    """

    before: Pair
    after: Pair
    where: tuple[str, str, str]
    programs: Timed
    gates: dict[str, GateCell]
    incomparable: str = ""
    rounds: int = 0
    dropped: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """`decode (block_size 16) flat-stack/cpp`."""
        return place_name(self.where)

    @property
    def quantiles(self) -> list[str]:
        """The quantiles of single steps that are judged and have no verdict yet."""
        return [
            name.removeprefix(f"{LATENCY}.")
            for name, cell in self.gates.items()
            if name.startswith(f"{LATENCY}.") and cell.verdict is None
        ]

    def lacks(self, metric: str) -> bool:
        """Whether a metric that a round did not bring will not come any more.

        Single steps that seemed to take too long may have been disturbed, once or twice.
        """
        return not metric.startswith(LATENCY) or self.rounds >= _ROUNDS_FOR_STEPS

    @property
    def is_open(self) -> bool:
        """Whether a metric has no verdict yet."""
        return any(cell.verdict is None for cell in self.gates.values())


@dataclass(slots=True)
class Card:
    """All contests of a check, and what stands beside them."""

    contests: list[Contest] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def gates(self) -> list[GateCell]:
        """The planned cells of the rule."""
        return [cell for contest in self.contests for cell in contest.gates.values()]


def place_name(where: tuple[str, str, str]) -> str:
    """(scenario, setting, implementation) as `CellVerdict.name` writes them."""
    scenario, setting, impl = where
    return f"{scenario} ({setting}) {impl}" if setting else f"{scenario} {impl}"


def make_card(
    asked: Asked, prepared: Prepared, before: Described, after: Described, *, same: bool = False
) -> Card:
    """Match what both sides have.

    Raises ConfigError for a target that neither side knows, and unless the sides are to be
    the `same` for one that names the same file on both; CompareError for a margin of no cell.
    """
    for target in asked.every_target:
        if target in after.unknown and (before.broken or target in before.unknown):
            raise ConfigError(after.unknown[target])
        if not same:
            _refuse_one_file(target, before, after)
    # Of a baseline that can't be asked the candidate's implementations are expected.
    card, old_side = Card(), after if before.broken else before
    apart = unlike(before, after)
    for scenario, cells in asked.cells.items():
        labels = tell_apart([cell.values for cell in cells])
        old, new = (_subjects(side, asked.targets[scenario]) for side in (old_side, after))
        for cell, label in zip(cells, labels, strict=True):
            for name in dict.fromkeys((*old, *new)):
                where = (scenario, label, name)
                if reason := prepared.refused.get(cell.key):
                    card.notes.append(f"{place_name(where)}: not tried: {reason}")
                    continue
                pair = _match(card, where, cell, old.get(name), new.get(name), (before, after))
                if pair is not None:
                    orders = pair[0].reuse_order, pair[1].reuse_order
                    if orders[0] != orders[1]:
                        card.notes.append(
                            f"{place_name(where)}: declared reuse order {orders[0]} before, "
                            f"{orders[1]} now"
                        )
                    contest = _contest(card, where, cell, pair[0], pair[1], asked, prepared)
                    tier = contest.after.subject.tier
                    contest.incomparable = apart or pair[2] or unlike_in(tier, before, after)
                    styles = contest.before.call_style, contest.after.call_style
                    if styles[0] != styles[1] and not contest.incomparable:
                        contest.incomparable = f"called {styles[0]} before, {styles[1]} now"
    refuse_unused(asked.margins, [gate.name for gate in card.gates])
    return card


def _refuse_one_file(target: str, before: Described, after: Described) -> None:
    """A class that is installed is found where it is installed, whatever the revision."""
    old, new = (
        {one["file"] for one in side.found.get(target, ()) if one["file"]}
        for side in (before, after)
    )
    for file in sorted(old & new):
        raise ConfigError(
            f"{target} is {file} on both sides, so nothing would be compared; name it as "
            "path/to/file:Class, relative to the repository"
        )


def _subjects(side: Described, targets: Sequence[str]) -> dict[str, Subject]:
    """Name -> implementation; controls are never judged."""
    found: dict[str, Subject] = {}
    for target in targets:
        for facts in side.found.get(target, ()):
            subject = Subject.from_json(facts["subject"])
            if subject.kind == "control":
                continue
            known = found.setdefault(subject.name, subject)
            if known.target != subject.target:
                raise ConfigError(
                    f"two implementations are called {subject.name} ({known.target} and "
                    f"{subject.target}); give one a name: --impl NAME={subject.target}"
                )
    return found


def _match(
    card: Card,
    where: tuple[str, str, str],
    cell: Cell,
    old: Subject | None,
    new: Subject | None,
    told: tuple[Described, Described],
) -> tuple[Subject, Subject, str] | None:
    """What is measured on both sides, and why it can't be compared (empty: it can).

    None where a side has no such thing: then the card says which one. A baseline that is
    there and could not be loaded is no baseline without it: nothing is known of the change.
    """
    before, after = told
    name = place_name(where)
    lacks = "there is no such implementation"
    if new is None or (now := Pair(cell, new).unavailable):
        reason = after.unknown.get(old.target, lacks) if new is None and old else now
        was = lacks if old is None else Pair(cell, old).unavailable
        if was is None:
            card.missing.append(f"{name}: {reason}")
        else:
            card.notes.append(f"{name}: unavailable on both sides: {reason}")
        return None
    if old is None:
        reason = before.unknown.get(new.target, "")
        if reason and new.target not in before.absent:
            return new, new, f"the baseline can't be loaded: {reason}"
        card.added.append(f"{name}: the baseline has no such implementation")
        return None
    if old.unavailable:
        return old, new, f"the baseline can't be measured: {old.unavailable}"
    if was := Pair(cell, old).unavailable:
        card.added.append(f"{name}: {was}")
        return None
    return old, new, ""


def timed_metrics(programs: Timed, served: Collection[str]) -> set[str]:
    """What a cell's prepared programs time of an implementation that serves these models."""
    return {
        metric
        for model, some in programs.items()
        if model in served
        for one in some
        for metric in one.names
    }


def _contest(
    card: Card,
    where: tuple[str, str, str],
    cell: Cell,
    old: Subject,
    new: Subject,
    asked: Asked,
    prepared: Prepared,
) -> Contest:
    models = prepared.programs[cell.key].models
    wanted = set(judged_of(timed_metrics(models, {*old.models, *new.models}), asked.metrics))
    programs = timed_for(models, wanted)
    gates = {}
    for model, some in programs.items():
        timed = (name for one in some for name in one.names)
        for metric in (name for name in timed if name in wanted):
            name = f"{place_name(where)} {metric}"
            if model in old.models and model in new.models:
                gates[metric] = GateCell(name, margin_of_cell(name, metric, asked.margins).share)
            elif model in old.models:
                card.missing.append(f"{name}: the candidate does not serve the model {model}")
            elif model in new.models:
                card.added.append(name)
    # A cold step is timed alone as it is, too few of them for a tail.
    if STEP in gates and cell["cache"] == "hot":
        for label in asked.quantiles:
            metric = f"{LATENCY}.{label}"
            name = f"{place_name(where)} {metric}"
            gates[metric] = GateCell(name, margin_of_cell(name, metric, asked.margins).share)
    contest = Contest(Pair(cell, old), Pair(cell, new), where, programs, gates)
    card.contests.append(contest)
    return contest
