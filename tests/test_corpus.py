"""The corpus: every broken class is caught, and the reader knows what is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from blockmark.cli import verify
from blockmark.measure.proof import corpus
from blockmark.measure.proof.corpus import (
    Member,
    Tried,
    default_folder,
    read_corpus,
    right_members,
    summary,
    try_corpus,
)
from blockmark.measure.proof.corpus_job import prove_each
from blockmark.measure.proof.effort import DEFAULT, QUICK
from blockmark.workload.keys import ConfigError
from blockmark_impls.build_tools import NATIVE as NATIVE_HEADERS
from blockmark_impls.registry import pair_names
from cli import blockmark

MEMBERS = read_corpus(default_folder())
BROKEN_MEMBERS = [member for member in MEMBERS if not member.right]
PYTHON = [member for member in BROKEN_MEMBERS if ".py:" in member.target]
# Clocks are moved on in a process of their own alone.
PYTHON_TOGETHER = [m for m in PYTHON if not m.alone and m.fault != "clock"]
# Headers of the corpus itself; those of mutants are compiled by `make corpus`.
NATIVE = [m for m in MEMBERS if ".hpp:" in m.target and str(default_folder()) in m.target]
RIGHT = [member for member in MEMBERS if member.right and ".py:" in member.target]
JOB: dict[str, Any] = {
    "config": {"total_blocks": 256, "block_size": 4, "max_seqs": 8, "max_blocks_per_seq": 16},
    "seed": 1,
    **DEFAULT.request(first=True),
}


def families(members: list[Member]) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        found[member.fault].append(member)
    return found


def test_the_corpus_is_large_and_says_what_is_wrong() -> None:
    assert len(BROKEN_MEMBERS) >= 250
    assert len([m for m in BROKEN_MEMBERS if ".hpp:" in m.target]) >= 60
    assert len([m for m in MEMBERS if m.right]) >= 60
    assert len(families(BROKEN_MEMBERS)) >= 25
    for member in MEMBERS:
        assert member.text.endswith("."), member
        assert "\n" not in member.text, member


def _drawn(members: list[Member], one_in: int) -> list[Member]:
    """The same part of them each time; `make corpus` tries all."""
    return [m for m in members if zlib.crc32(m.name.encode()) % one_in == 0]


@pytest.mark.parametrize("member", _drawn(PYTHON_TOGETHER, 20), ids=lambda member: member.name)
def test_a_broken_class_is_caught_by_the_default(member: Member) -> None:
    # The same function that a worker calls, without its process.
    (answer,) = prove_each({**JOB, "targets": [member.target]})["answers"]
    assert answer["status"] in ("wrong", "failed"), member


@pytest.mark.parametrize("member", _drawn(RIGHT, 48), ids=lambda member: member.name)
def test_an_odd_class_that_is_right_is_not_flagged(member: Member) -> None:
    (answer,) = prove_each({**JOB, "targets": [member.target]})["answers"]
    assert answer["status"] == "ok", answer


def test_those_that_break_their_process_are_caught_in_one_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(corpus, "_HANG_LIMIT_S", 4.0)
    alone = [m for m in PYTHON if m.alone]
    tried = {t.name: t for t in try_corpus(alone, effort=QUICK, seed=1)}
    expected = {
        "HangsOnTruncate": "timeout",
        "HangsWhenEmpty": "timeout",
        "Exits": "failed",
        "Crashes": "failed",
        "EatsMemory": "failed",
    }
    assert {name: tried[name].status for name in expected} == expected
    assert [name for name, each in tried.items() if not each.caught] == []
    assert tried["HangsWhenEmpty"].reason == "no answer within 4 s of CPU time; it was ended"
    assert tried["Exits"].reason == "the process ended with code 0"
    assert "SIGSEGV" in tried["Crashes"].reason
    assert "emory" in tried["EatsMemory"].reason


BROKEN = '''
from blockmark_impls.python.vector import VectorManager

class Leaks(VectorManager):
    """One block a free."""
    fault = "leak"
    def free(self, seq):
        super().free(seq)
        self._free.pop()

class Fine(VectorManager):
    """Nothing is wrong with it."""
    fault = "none"

class Helper(VectorManager):
    """No member: it names no fault of its own."""
'''


def test_a_corpus_of_ones_own_names_what_was_missed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BROKEN)
    done = blockmark("verify", "--corpus", str(tmp_path), "--programs", "10", cwd=tmp_path)
    caught, missed, last = done.stdout.splitlines()
    assert done.returncode == 4, done.stderr
    assert caught.split()[:3] == ["caught", "Leaks", "leak"]
    assert missed.split() == ["MISSED", "Fine", "none"]
    assert last.startswith("1 of 2 caught in ")
    # The built-in ones are asked about with the corpus of the checkout.
    assert last.endswith("; 0 of 0 right ones flagged"), last


def test_the_built_in_structures_and_all_pairs_are_right_members() -> None:
    names = {member.name for member in right_members()}
    assert {"vector/py", "bitmap/cpp", *pair_names()} <= names


HANGS = '''
from blockmark_impls.python.vector import VectorManager

class Hangs(VectorManager):
    """It does not come back, and its family is another one."""
    fault = "leak"
    def free(self, seq):
        while True:
            pass

class HangsForLong(Hangs):
    """It does not come back, and says so."""
    fault = "hang"

class Sleeps(VectorManager):
    """It is right as far as anybody knows."""
    right = "it waits for a device"
    def free(self, seq):
        import time
        time.sleep(600)

class Odd(VectorManager):
    """It is right."""
    right = "another name"

class Pretends(VectorManager):
    """It says that it is right, and leaks."""
    right = "it says so"
    def free(self, seq):
        super().free(seq)
        self._free.pop()
'''


def test_a_time_out_decides_nothing_but_of_a_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(HANGS)
    monkeypatch.setattr(corpus, "_LIMIT_S", 3.0)
    monkeypatch.setattr(corpus, "_HANG_LIMIT_S", 2.0)
    monkeypatch.setattr(corpus, "right_members", list)
    monkeypatch.setattr(verify, "_TELL_EVERY_S", 0.2)
    assert verify._corpus(tmp_path, QUICK, 1) == 4
    told = capsys.readouterr()
    *lines, last = told.out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["undecided", "Hangs"],
        ["caught", "HangsForLong"],
        ["undecided", "Sleeps"],
        ["FLAGGED", "Pretends"],
    ]
    assert last.startswith("1 of 1 caught in ")
    assert last.endswith(" s, 1 undecided; 1 of 2 right ones flagged, 1 undecided")
    assert re.search(r"^[0-5] of 5 tried in \d+ s$", told.err, re.M)

    only = HANGS.partition("class Hangs")[0] + HANGS[HANGS.index("class Sleeps") :]
    (tmp_path / "mine.py").write_text(only.partition("class Odd")[0])
    assert verify._corpus(tmp_path, QUICK, 1) == 3


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"status": "wrong"}, "caught"),
        ({"status": "failed"}, "caught"),
        ({"status": "timeout"}, "undecided"),
        ({"status": "timeout", "fault": "hang"}, "caught"),
        ({"status": "unavailable"}, "not tried"),
        ({"status": "ok"}, "MISSED"),
        ({"status": "ok", "right": True}, "ok"),
        ({"status": "wrong", "right": True}, "FLAGGED"),
        ({"status": "timeout", "fault": "", "right": True}, "undecided"),
    ],
)
def test_what_a_status_says_of_a_member(found: dict[str, Any], says: str) -> None:
    tried = Tried(**{"name": "it", "fault": "leak", "reason": "why", **found})
    assert tried.line.startswith(f"{says:9} it ")


def test_the_last_line_counts_what_is_known() -> None:
    def some(status: str, *, right: bool = False) -> Tried:
        return Tried("it", "" if right else "leak", status, "", right)

    broken = [some(status) for status in ("wrong", "ok", "timeout", "unavailable", "failed")]
    right = [some(status, right=True) for status in ("ok", "ok", "unavailable", "wrong")]
    assert summary([*broken, *right], 7.4) == (
        "2 of 3 caught in 7 s, 1 undecided, 1 could not be tried; "
        "1 of 3 right ones flagged, 1 could not be tried"
    )


def test_right_ones_are_read_from_both_languages(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HANGS)
    (tmp_path / "mine.hpp").write_text(
        "// It is right.\n// right: its ids\n// alone\nclass Mine {};\n"
        "// It leaks.\n// fault: leak\nstruct Other {};\n"
    )
    found = read_corpus(tmp_path)
    assert [(m.name, m.fault) for m in found if not m.right] == [
        ("Other", "leak"),
        ("Hangs", "leak"),
        ("HangsForLong", "hang"),
    ]
    assert [(m.name, m.fault, m.alone) for m in found if m.right] == [
        ("Mine", "", True),
        ("Sleeps", "", False),
        ("Odd", "", False),
        ("Pretends", "", False),
    ]


def test_one_that_dies_unannounced_takes_no_other_with_it(tmp_path: Path) -> None:
    text = (
        BROKEN
        + '''
import os

class Dies(VectorManager):
    """Ends the process that others share."""
    fault = "exits"
    def free(self, seq):
        os._exit(3)
'''
    )
    (tmp_path / "mine.py").write_text(text)
    tried = {t.name: t.status for t in try_corpus(read_corpus(tmp_path), effort=QUICK, seed=1)}
    assert tried == {"Leaks": "wrong", "Fine": "ok", "Dies": "failed"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no such folder"),
        ("x = 1", 'no class in it has a `fault = "..."` or `right = "..."` of its own'),
        ('class A:\n    fault = "leak"\n    right = "no"\n', "A has a fault and is right"),
        ("def", "can't be read"),
        (BROKEN + BROKEN, "two classes are called Fine"),
    ],
)
def test_a_folder_that_is_no_corpus_is_refused(
    tmp_path: Path, content: str | None, says: str
) -> None:
    folder = tmp_path / "corpus"
    if content is not None:
        folder.mkdir()
        (folder / "one.py").write_text(content)
    with pytest.raises(ConfigError, match=says):
        read_corpus(folder)
    done = blockmark("verify", "--corpus", str(folder), cwd=tmp_path)
    assert done.returncode == 2
    assert says.partition("`")[0] in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--corpus", "--impl", "vector/py"],
        ["--corpus", "--exhaustive"],
        ["--exhaustive", "--programs", "5"],
        ["some/folder"],
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, words: list[str]) -> None:
    done = blockmark("verify", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("header", sorted({m.target.rpartition(":")[0] for m in NATIVE}))
def test_faults_in_cpp_compile_and_are_offered(header: str) -> None:
    """Against the concepts; `make corpus` builds them and holds them against the proof."""
    if (compiler := shutil.which("g++") or shutil.which("clang++")) is None:
        pytest.skip("there is no C++ compiler")
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", f"-I{NATIVE_HEADERS}", "-x", "c++", header],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    offered = re.findall(
        r"^BLOCKMARK_(?:POOL|TABLE|MANAGER)\((\w+)\);", Path(header).read_text(), re.M
    )
    assert offered == [m.name for m in NATIVE if m.target.startswith(header)]
