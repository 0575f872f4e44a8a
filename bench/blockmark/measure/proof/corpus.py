"""A corpus of managers and pools that are each wrong in one way: does the proof find them?

A member is a class with a `fault` of its own: in Python a class attribute `fault = "leak"`;
in C++ a comment line `// fault: leak` over a class that the header offers. With `right = "why
it looks odd"` (or `// right: ...`) instead, it is right, and nothing may be found. Files are
read as text here; their code runs in workers alone. `alone = True` (or `// alone`) marks a
member that hangs, ends its process or eats its memory. Of a member that does not end in time
nothing is known, unless its fault is `hang`.
"""

from __future__ import annotations

import ast
import re
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.keys import ConfigError
from blockmark_impls.contract import PoolConfig

from ..process.jobs import Job
from ..process.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event

    from .effort import Effort

# Members of a batch share a process; one that breaks it is looked for one by one.
_BATCH = 8
# The family of faults that shows as a process that does not end.
HANG = "hang"
# CPU time without progress, or time without using any: no load of the machine decides. One
# that hangs does so in any time; every other member must have time to be found wrong.
_LIMIT_S, _HANG_LIMIT_S = 120.0, 10.0
_MEMORY_LIMIT = 3 << 30
_SHORT = 72
_SIZE = PoolConfig(total_blocks=256, block_size=4, max_seqs=8, max_blocks_per_seq=16)
_NATIVE = re.compile(
    r"// (?P<text>[^\n]+)\n(?P<more>(?://[^\n]*\n)*)// (?P<what>fault|right): (?P<says>[^\n]+)\n"
    r"(?P<alone>// alone\n)?(?:template [^\n]+\n)?(?:class|struct) (?P<name>\w+)"
)


@dataclass(frozen=True, slots=True)
class Member:
    """One broken class: what `resolve` takes, the family of its fault, and the fault itself.

    A `right` one has no fault.
    """

    name: str
    target: str
    fault: str
    text: str
    alone: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one member, or of a right implementation."""

    name: str
    fault: str
    status: str
    reason: str
    right: bool = False

    @property
    def caught(self) -> bool:
        """Whether the proof found something wrong, in whatever way."""
        return self.status in ("wrong", "failed") or (
            self.status == "timeout" and self.fault == HANG
        )

    @property
    def missed(self) -> bool:
        """Whether nothing was found wrong; in a right one nothing may be."""
        return self.status == "ok"

    @property
    def undecided(self) -> bool:
        """Whether it did not end in time, which says nothing of it."""
        return self.status == "timeout" and not self.caught

    @property
    def line(self) -> str:
        """The result in one line, short."""
        found, none = ("FLAGGED", "ok") if self.right else ("caught", "MISSED")
        says = "undecided" if self.undecided else "not tried"
        says = found if self.caught else none if self.missed else says
        reason = self.reason if len(self.reason) <= _SHORT else self.reason[: _SHORT - 3] + "..."
        return f"{says:9} {self.name:28} {self.fault:24} {reason}".rstrip()


def default_folder() -> Path:
    """`tests/corpus` of the checkout. Raises ConfigError where there is no checkout."""
    folder = Path(__file__).resolve().parents[4] / "tests" / "corpus"
    if not folder.is_dir():
        raise ConfigError(
            "the corpus is not part of an installed package; run in a checkout, or name a "
            "folder of broken classes: blockmark verify --corpus DIR"
        )
    return folder


def read_corpus(folder: Path) -> list[Member]:
    """Every member below a folder, in the order of files. Raises ConfigError."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder; name one: --corpus DIR")
    found: list[Member] = []
    for file in sorted([*folder.rglob("*.py"), *folder.rglob("*.hpp")]):
        try:
            content = file.read_text("utf-8-sig")
            found += _python(file, content) if file.suffix == ".py" else _native(file, content)
        except (OSError, SyntaxError, ValueError) as error:
            raise ConfigError(f"{file}: can't be read: {error}") from None
    for file in sorted(folder.rglob("*.toml")):
        found += _mutants(file)
    if not found:
        raise ConfigError(
            f'{folder}: no class in it has a `fault = "..."` or `right = "..."` of its own'
        )
    names = [member.name for member in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{folder}: two classes are called {twice[0]}; rename one")
    return found


def _mutants(file: Path) -> list[Member]:
    """The structures that a file says how to mutate, written where builds are kept."""
    from blockmark_impls.build import cache_folder

    from .mutants import read_mutants, write_mutants

    made = write_mutants(read_mutants(file), cache_folder() / "mutants")
    return [Member(mutant.name, target, mutant.fault, mutant.text) for mutant, target in made]


def _python(file: Path, content: str) -> list[Member]:
    found = []
    for node in ast.parse(content).body:
        if not isinstance(node, ast.ClassDef):
            continue
        own = {
            target.id: item.value.value
            for item in node.body
            if isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant)
            for target in item.targets
            if isinstance(target, ast.Name)
        }
        says = {key: str(own[key]) for key in ("fault", "right") if isinstance(own.get(key), str)}
        if len(says) == 2:
            raise ValueError(f"{node.name} has a fault and is right; remove one of the two")
        if says:
            text = ast.get_docstring(node) or ""
            alone, right = own.get("alone") is True, "right" in says
            target = f"{file}:{node.name}"
            found.append(Member(node.name, target, says.get("fault", ""), text, alone, right))
    return found


def _native(file: Path, content: str) -> list[Member]:
    found = []
    for m in _NATIVE.finditer(content):
        right = m["what"] == "right"
        fault, alone = "" if right else m["says"], bool(m["alone"])
        found.append(Member(m["name"], f"{file}:{m['name']}", fault, m["text"], alone, right))
    return found


def build_headers(members: Sequence[Member]) -> Iterator[tuple[str, float | str]]:
    """Compile what the members in C++ need: (file, seconds, or why it can't be built)."""
    from blockmark_impls.build import build_header
    from blockmark_impls.registry import TargetError

    def build(file: str, _: Event) -> float | str:
        start = time.monotonic()
        try:
            build_header(Path(file))
        except TargetError as error:
            return str(error)
        return time.monotonic() - start

    targets = (member.target.rpartition(":")[0] for member in members)
    files = list(dict.fromkeys(file for file in targets if file.endswith(".hpp")))
    with side_by_side(build, files) as built:
        for file, took in zip(files, built, strict=True):
            yield Path(file).name, took


def try_corpus(
    members: Sequence[Member],
    *,
    effort: Effort,
    seed: int,
    cores: int | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> Iterator[Tried]:
    """What the proof says of each member, in their order.

    `advance` is called with how many are done, in any order, from other threads.
    """
    finished = 0
    counting = threading.Lock()

    def done(some: list[Tried]) -> list[Tried]:
        nonlocal finished
        with counting:
            finished += len(some)
            advance(finished)
        return some

    def alone(member: Member, stop: Event) -> Tried:
        limit = _HANG_LIMIT_S if member.fault == HANG else _LIMIT_S
        answer = _ask([member], effort, seed, limit, stop)
        return done(_tried([member], answer))[0]

    def together(some: Sequence[Member], stop: Event) -> list[Tried]:
        answer = {} if some[0].alone else _ask(some, effort, seed, _LIMIT_S, stop)
        if "answers" in answer:
            return done(_tried(some, answer))
        return [alone(member, stop) for member in some]

    with side_by_side(together, _batches(members), cores) as batches:
        for tried in batches:
            yield from tried


def summary(results: Sequence[Tried], seconds: float) -> str:
    """How many were caught, in so many seconds, and how many right ones were flagged."""

    def counts(some: list[Tried], what: str) -> str:
        caught = sum(tried.caught for tried in some)
        undecided = sum(tried.undecided for tried in some)
        decided = caught + sum(tried.missed for tried in some)
        text = f"{caught} of {decided} {what}"
        text += f", {undecided} undecided" if undecided else ""
        not_tried = len(some) - decided - undecided
        return text + (f", {not_tried} could not be tried" if not_tried else "")

    broken = counts([tried for tried in results if not tried.right], f"caught in {seconds:.0f} s")
    right = counts([tried for tried in results if tried.right], "right ones flagged")
    return f"{broken}; {right}"


def right_members() -> list[Member]:
    """The managers and pools of the package, in which nothing may be found."""
    from blockmark_impls.registry import names_of, pair_names, resolve

    names = [*names_of("manager"), *pair_names()]
    found = [impl for name in names for impl in resolve(name)]
    return [Member(impl.name, impl.target, "", impl.summary, right=True) for impl in found]


def _batches(members: Sequence[Member]) -> list[list[Member]]:
    """Members in their order; those that stand alone in batches of their own."""
    batches: list[list[Member]] = []
    for member in members:
        last = batches[-1] if batches else []
        if not last or member.alone or last[0].alone or len(last) == _BATCH:
            batches.append([member])
        else:
            last.append(member)
    return batches


def _ask(
    members: Sequence[Member],
    effort: Effort,
    seed: int,
    limit_s: float,
    stop: Event,
) -> dict[str, Any]:
    job = {
        "kind": "corpus",
        "targets": [member.target for member in members],
        "config": asdict(_SIZE),
        **effort.request(first=True),
        "seed": seed,
        "memory_limit": _MEMORY_LIMIT,
    }
    return Job(job, limit_s, stop).result()


def _tried(members: Sequence[Member], answer: dict[str, Any]) -> list[Tried]:
    answers = answer.get("answers", [answer])
    return [
        Tried(member.name, member.fault, each["status"], each.get("reason", ""), member.right)
        for member, each in zip(members, answers, strict=True)
    ]
