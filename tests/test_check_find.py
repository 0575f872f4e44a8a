"""Bisection by the gate: on scripted verdicts, and once with real commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockmark.measure.sides.repository import Repository, Revision
from blockmark.sessions.check_find import Span, find_slower, span_of
from blockmark.verdict.check import CellVerdict, CheckResult
from blockmark.verdict.gate import Verdict
from blockmark.workload.errors import ConfigError
from cli import blockmark, tiny
from git_repository import MANAGER, SLOW, commit, git, repository

GOOD = Revision("g", "good")


def of(verdict: Verdict, metric: str = "step_ns") -> CheckResult:
    cell = CellVerdict("decode", "", "mine", metric, "ns", verdict, before=(1.0,), after=(1.0,))
    return CheckResult("interleaved", "good", "x", (cell,))


class Asked:
    """Judges commit number i by the i-th word, and keeps the order."""

    def __init__(self, *verdicts: Verdict | CheckResult) -> None:
        self.verdicts = verdicts
        self.asked: list[int] = []
        self.said: list[str] = []
        self.span = Span(GOOD, tuple(Revision(str(i), f"c{i}") for i in range(len(verdicts))))

    def __call__(self, revision: Revision) -> CheckResult:
        self.asked.append(int(revision.commit))
        told = self.verdicts[int(revision.commit)]
        return told if isinstance(told, CheckResult) else of(told)

    def find(self) -> str:
        return find_slower(self.span, self, self.said.append).notes[0]


@pytest.mark.parametrize("first", range(9))
def test_every_place_is_found_in_as_few_checks_as_halving_takes(first: int) -> None:
    asked = Asked(*["unchanged"] * first, *["regressed"] * (9 - first))
    assert asked.find() == f"the first slower commit is c{first}"
    # BAD itself, and of eight others at most four.
    assert len(asked.asked) <= 1 + 4
    assert len(set(asked.asked)) == len(asked.asked)


def test_an_end_that_is_not_slower_leaves_nothing_to_look_for() -> None:
    for verdict in ("unchanged", "improved"):
        asked = Asked("regressed", verdict)
        assert asked.find() == "c1 was not found slower than good: nothing to look for"
        assert asked.asked == [1]


def test_commits_that_cannot_be_judged_are_told_beside_the_one_found() -> None:
    asked = Asked("unchanged", "unchanged", "incomparable", "inconclusive", "regressed")
    note = asked.find()
    assert note == (
        "the first slower commit is c4, unless it is one that could not be judged: c2, c3"
    )
    # One of them may be before the last that is not slower.
    asked = Asked("unchanged", "incomparable", "unchanged", "regressed", "regressed")
    assert asked.find() == "the first slower commit is c3"


def test_another_cell_s_regression_is_not_the_one_that_is_looked_for() -> None:
    both = CheckResult(
        "interleaved",
        "good",
        "x",
        (*of("unchanged").cells, *of("regressed", "take_ns").cells),
    )
    asked = Asked(both, both, "regressed")
    assert asked.find() == "the first slower commit is c2"


def test_an_interrupt_ends_it() -> None:
    stopped = CheckResult("interleaved", "good", "x", (), interrupted=True)
    asked = Asked(stopped, stopped, "regressed")
    assert find_slower(asked.span, asked, asked.said.append).exit_code() == 130


@pytest.mark.parametrize("text", ["HEAD", "..", "a..", "..HEAD", "HEAD~1...HEAD", "HEAD..HEAD~1"])
def test_a_span_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    repo = repository(tmp_path / "repo", mine_py=MANAGER)
    commit(repo, "second")
    with pytest.raises(ConfigError, match="--find"):
        span_of(Repository.of(repo), text)


@pytest.mark.alone
def test_the_commit_that_made_it_slower_is_found(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", mine_py=MANAGER)
    commit(repo, "words", notes_txt="words")
    slow = commit(repo, "count first", mine_py=SLOW)
    commit(repo, "more words", notes_txt="more words")
    words = ("--impl", "mine=mine.py:Mine", "--find", "HEAD~3..HEAD", "--rounds", "6")
    done = blockmark("check", tiny(tmp_path), *words, "--json", "-", cwd=repo)
    assert done.returncode == 1, done.stdout + done.stderr
    result = json.loads(done.stdout)
    # Six rounds show a leap on any machine; on a busy one they may not show that two commits
    # are equal, and then the note names the commit that could not be judged.
    note, _, doubt = result["notes"][0].partition(", unless it is one that could not be judged: ")
    assert note == f"the first slower commit is {slow[:10]} count first"
    assert doubt == "" or doubt.endswith(" words")
    assert ("words: not slower; 1 commit left" in done.stderr) == (doubt == "")
    assert len(git(repo, "worktree", "list").splitlines()) == 1
