"""`blockmark check` as a user's CI runs it, on a repository made for it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from blockmark.cli import check as check_cli
from blockmark.runs.errors import StoreError
from blockmark.sessions import check_request
from blockmark.verdict.check import CheckResult
from cli import blockmark, command, tiny
from git_repository import MANAGER, SLOW, WRONG, commit, git, repository

# Two cells, step and p99: six rounds can decide one, eight at the smaller alpha.
QUICK = ("--rounds", "6")
SURE = ("--rounds", "8", "--alpha", "0.001")


def check(
    repo: Path, *words: str, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """A check of the repository's `mine.py:Mine` in a tiny load."""
    scenario = tiny(repo.parent)
    target = ("--impl", "mine=mine.py:Mine") if "--impl" not in words else ()
    return blockmark("check", scenario, *target, *words, cwd=cwd or repo, env=env)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", mine_py=MANAGER)


def result(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.alone
def test_a_slowdown_committed_on_purpose_is_caught(repo: Path, tmp_path: Path) -> None:
    commit(repo, "slower", mine_py=SLOW)
    out = {name: tmp_path / name for name in ("r.json", "r.md", "r.xml", "summary.md")}
    done = check(
        repo,
        *("--baseline-rev", "HEAD~1", *QUICK, "--json", str(out["r.json"])),
        *("--markdown", str(out["r.md"]), "--junit", str(out["r.xml"]), "--github"),
        GITHUB_STEP_SUMMARY=str(out["summary.md"]),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    # The step, and its tail with it.
    assert "2 regressed, 0 improved, 0 unchanged, 0 inconclusive, 0 missing -> exit 1" in (
        done.stdout
    )
    cell, tail = result(out["r.json"])["cells"]
    assert (tail["verdict"], tail["metric"]) == ("regressed", "step_latency_ns.p99")
    assert (cell["verdict"], cell["impl"], cell["metric"]) == ("regressed", "mine", "step_ns")
    # Four rounds that all leapt, each with a chance of 1 in 16.
    assert cell["p"] == pytest.approx(16.0**-4)
    assert min(cell["after"]) > max(cell["before"])
    assert len(cell["before"]) == len(cell["after"]) == 4
    assert "regressed" in out["r.md"].read_text().lower()
    assert len(list(ElementTree.parse(out["r.xml"]).iter("failure"))) == 2
    assert "::error" in done.stdout
    assert "step_ns" in out["summary.md"].read_text()
    # The worktree is gone, and the repository is as it was.
    assert len(git(repo, "worktree", "list").splitlines()) == 1
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.alone
def test_without_it_the_check_passes(repo: Path, tmp_path: Path) -> None:
    done = check(repo, "--baseline-rev", "main", *SURE, "--json", "-")
    content = json.loads(done.stdout)  # nothing else is on stdout
    found = {cell["verdict"] for cell in content["cells"]}
    assert found <= {"unchanged", "inconclusive"}, done.stdout + done.stderr
    # On a busy machine eight rounds may be too few, which is no pass.
    assert done.returncode in ((0,) if found == {"unchanged"} else (0, 3))
    assert content["exit_code"] == done.returncode
    assert content["facts"]["sides"]["before"]["contract_version"] == 1
    assert content["facts"]["order"][0] == ["tiny mine"]


def test_a_repository_elsewhere_and_its_build(repo: Path, tmp_path: Path) -> None:
    """Each side is built in its own folder; the candidate is the working tree as it is."""
    (repo / ".gitignore").write_text("made.py\n__pycache__/\n")
    commit(repo, "needs a build", mine_py="from made import Mine\n", made_in_py=MANAGER)
    (repo / "made_in.py").write_text(SLOW)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = ("--repo", str(repo), "--baseline-rev", "HEAD", *QUICK)
    done = check(repo, *words, cwd=elsewhere)
    assert done.returncode == 2
    assert "No module named 'made'" in done.stderr
    waivers = tmp_path / "waivers.toml"
    waived = 'limit = 1000\nreason = "wanted"\nexpires = 2999-12-31\n'
    waivers.write_text(
        f'[[waiver]]\ncell = "tiny mine step_ns"\n{waived}'
        f'[[waiver]]\ncell = "tiny mine step_latency_ns.p99"\n{waived}'
    )
    log = tmp_path / "built-log"
    build = ("--build", f"cp made_in.py made.py && echo built >> {log}")
    cache = tmp_path / "cache"
    for more, code in (((), 1), (("--waivers", str(waivers)), 0)):
        done = check(repo, *words, *build, *more, cwd=elsewhere, XDG_CACHE_HOME=str(cache))
        assert done.returncode == code, done.stdout + done.stderr
        assert "with changes (working tree)" in " ".join(done.stdout.split())
    assert "wanted" in done.stdout
    # Both are built each time: nobody knows what shapes a build of theirs.
    assert log.read_text() == "built\n" * 4
    assert len(git(repo, "worktree", "list").splitlines()) == 1


def test_a_wrong_answer_is_never_judged(repo: Path) -> None:
    commit(repo, "wrong", mine_py=WRONG)
    done = check(repo, "--baseline-rev", "HEAD~1", *QUICK)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "1 wrong -> exit 4" in " ".join(done.stdout.split())


def test_what_the_candidate_lacks_is_missing(repo: Path) -> None:
    commit(repo, "gone", mine_py="")
    done = check(repo, "--baseline-rev", "HEAD~1", *QUICK)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "missing in the candidate: tiny mine: " in done.stdout


def test_an_interrupt_keeps_what_is_there(tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "r.json"
    # A line for every process that imports the class.
    told = f"import os\nwith open({str(log)!r}, 'a') as log:\n    log.write('.\\n')\n"
    repo = repository(tmp_path / "repo", mine_py=told + MANAGER)
    words = ("--impl", "mine=mine.py:Mine", "--baseline-rev", "HEAD", "--json", str(out))
    process = subprocess.Popen(
        command("check", tiny(tmp_path), *words),
        cwd=repo,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Two describe the sides, two prove them; the others are of rounds.
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not log.exists() or log.read_text().count(".") < 7):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert result(out)["interrupted"]
    assert {cell["verdict"] for cell in result(out)["cells"]} == {"inconclusive"}
    assert len(git(repo, "worktree", "list").splitlines()) == 1


@pytest.mark.alone
def test_against_itself(repo: Path) -> None:
    done = check(repo, "--self-test", *SURE)
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 or "no pass: " in said, done.stdout + done.stderr
    assert "0 regressed, 0 improved" in said
    assert "step_ns: 8 rounds" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name a baseline: --baseline-rev REV, --baseline-env DIR"),
        (("--baseline-rev", "HEAD", "--self-test"), "name one baseline alone"),
        (("--baseline-rev", "no-such"), "there is no revision 'no-such'"),
        (("--baseline-rev", "--output=x"), "there is no revision '--output=x'"),
        (("--baseline-rev", "HEAD", "--repo", "/nowhere"), "/nowhere: there is no such folder"),
        (("--baseline-rev", "HEAD", "--rounds", "4"), "cannot decide: one of 2 cells takes"),
        (("--baseline-rev", "HEAD", "--budget", "soon"), "--budget soon must be a time"),
        (("--baseline-rev", "HEAD", "--alpha", "1"), "--alpha 1 must be between"),
        (("--baseline-rev", "HEAD", "--waivers", "none.toml"), "none.toml: no such file"),
        (("--baseline-rev", "HEAD", "--build", "exit 7"), "--build ended with code 7"),
        (("--baseline-env", "/nowhere"), "neither an environment"),
        (("--baseline", "/nowhere"), "/nowhere"),
        (("--candidate", "x", "--self-test"), "name both"),
        (("--build", "make", "--self-test"), "name a revision"),
        (("--deterministic", "--self-test"), "not --self-test"),
        (("--with-counts", "--self-test"), "leave --deterministic out"),
        (("--baseline-rev", "HEAD", "--impl", "m=../out.py:M"), "outside the repository"),
        (("--baseline-rev", "HEAD", "--impl", "m=json.decoder:JSONDecoder"), "on both sides"),
    ],
)
def test_mistakes_are_told(repo: Path, words: tuple[str, ...], told: str) -> None:
    cache = str(repo.parent / "cache")
    done = check(repo, *words, XDG_CACHE_HOME=cache)
    assert done.returncode == 2, done.stdout + done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_result_that_cannot_be_kept_is_told_before_anything_is_measured(repo: Path) -> None:
    for option in ("--json", "--markdown", "--junit"):
        done = check(repo, "--self-test", option, "/nonexistent/x")
        assert done.returncode == 2
        assert "/nonexistent/x: " in done.stderr
        assert "can't be written: no such file or directory" in " ".join(done.stderr.split())
    done = check(repo, "--self-test", "--json", str(repo))
    assert "it is a folder" in done.stderr


def test_a_result_that_is_lost_later_costs_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wrong = CheckResult("interleaved", "a", "b", (), wrong=("decode mine: step 3",))
    monkeypatch.setattr(check_request, "carry_out", lambda *words: wrong)
    folder = tmp_path / "later"
    folder.mkdir()

    def gone(*words: object, **more: object) -> None:
        raise StoreError(folder / "r.json", "the JSON result can't be written: disk full", "mend")

    monkeypatch.setattr("blockmark.report.files.write_file", gone)
    code = check_cli.command(self_test=True, json=str(folder / "r.json"), impl=["vector/py"])
    out = capsys.readouterr()
    assert code == 4
    assert "wrong answer: decode mine: step 3" in out.out
    assert "disk full" in out.err


def test_no_repository_at_all(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    done = check(tmp_path / "plain", "--baseline-rev", "HEAD")
    assert done.returncode == 2
    assert "not the working tree of a git repository" in done.stderr


def test_the_last_lines_of_a_failing_build_are_shown(repo: Path, tmp_path: Path) -> None:
    words = ("--build", "for i in $(seq 50); do echo line $i; done; false")
    done = check(repo, "--baseline-rev", "HEAD", *words, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert "line 50" in done.stderr
    assert "line 7\n" not in done.stderr
    assert "HEAD does not build" in done.stderr


def test_a_header_of_each_revision_is_built(repo: Path, build_cache: Path) -> None:
    """The same name on both sides is another module: each side builds its own file."""
    template = Path(__file__).parents[1] / "docs" / "bring-your-own" / "my_table.hpp"
    table = template.read_text()
    (repo / "table.hpp").write_text(table)
    commit(repo, "a table")
    old = "{ return ids_[at(seq, logical)]; }"
    assert old in table
    slow = "{ for (volatile int i = 0; i < 300; i = i + 1) {} return ids_[at(seq, logical)]; }"
    words = ("--impl", "mine=table.hpp:MyTable", "--baseline-rev", "HEAD", *QUICK)
    env = {"XDG_CACHE_HOME": str(build_cache)}
    (repo / "table.hpp").write_text(table.replace(old, slow))
    done = check(repo, *words, **env)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 regressed, 0 improved" in done.stdout
    (repo / "table.hpp").write_text(table.replace("id_type get(", "id_type gte("))
    done = check(repo, *words, **env)
    # Nothing else was asked for, so nothing could be compared.
    assert done.returncode == 3, done.stdout + done.stderr
    assert "missing in the candidate: tiny mine: table.hpp doesn't compile: table.hpp:" in (
        " ".join(done.stdout.split())
    )
    assert done.stderr == ""


POOL = """
from collections import deque

from blockmark_impls.contract import OutOfBlocks


class Mine:
    reuse_order = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        self.blocks = deque(range(total_blocks))

    @property
    def num_free(self) -> int:
        return len(self.blocks)

    def take(self, k: int) -> list[int]:
        if k > len(self.blocks):
            raise OutOfBlocks(k)
        return [self.blocks.popleft() for _ in range(k)]

    def give(self, blocks: list[int]) -> None:
        self.blocks.extend(blocks)
"""


@pytest.mark.alone
def test_a_pool_alone_is_judged_by_its_take_and_give(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", mine_py=POOL)
    scenario = Path(tiny(tmp_path))
    scenario.write_text(scenario.read_text().replace('["step"]', '["step", "pool"]'))
    slow = POOL.replace(
        "        self.blocks.extend", "        sum(range(2_000))\n        self.blocks.extend"
    )
    assert slow != POOL
    run = blockmark("run", str(scenario), "--impl", "mine=mine.py:Mine", "--rounds", "6", cwd=repo)
    assert run.returncode == 0, run.stderr
    (repo / "mine.py").write_text(slow)
    words = ("check", str(scenario), "--impl", "mine=mine.py:Mine")
    for baseline in (("--baseline-rev", "HEAD"), ("--baseline", "results/0001/run.json")):
        out = tmp_path / "out.json"
        done = blockmark(*words, *baseline, "--rounds", "6", "--json", str(out), cwd=repo)
        cells = {cell["metric"]: cell for cell in result(out)["cells"]}
        assert set(cells) == {"take_ns", "give_ns"}
        give = cells["give_ns"]
        assert min(give["after"]) > 2 * max(give["before"])
        assert give["verdict"] == "regressed", done.stdout
