"""The search that goes on from the proof: programs as text, edges of code, what is kept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blockmark.measure.proof.counterexample import Found
from blockmark.measure.proof.edges import PythonEdges, class_of
from blockmark.measure.proof.fuzz import Search, search_of
from blockmark.measure.proof.kept import keep, kept_files
from blockmark.testing.proved import Made
from blockmark.workload.keys import ConfigError
from blockmark.workload.oracle.calls import Call
from blockmark.workload.oracle.moves import OPERATIONS
from blockmark.workload.oracle.written import WrittenError, read_calls, write_calls
from blockmark_impls.contract import Copy, PoolConfig, SequenceExists
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager
from cli import blockmark
from test_proof_kinds import CELL, manager_verdict

# Programs as text.

SIZES = "total_blocks=8 block_size=2 max_seqs=4 max_blocks_per_seq=4 id_bits=16"
HEAD = f"# blockmark calls 1\n{SIZES}\n"

numbers = st.integers(-(2**31), 2**31 - 1)
sizes = st.integers(1, 999_999_999)
configs = st.builds(PoolConfig, sizes, sizes, sizes, sizes, sizes)


def columns(count: int) -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    """So many arrays of one length."""
    pairs = st.lists(st.tuples(*[numbers] * count), min_size=1, max_size=70)
    return pairs.map(lambda rows: tuple(zip(*rows, strict=True)))


calls = st.one_of(
    st.builds(Call, st.sampled_from(("can_allocate", "append_slot", "free")), st.tuples(numbers)),
    st.builds(
        Call,
        st.sampled_from(("allocate", "extend", "truncate", "drop_front", "lookup")),
        st.tuples(numbers, numbers),
    ),
    st.builds(Call, st.just("fork"), st.tuples(numbers, numbers, st.none() | numbers)),
    st.builds(Call, st.sampled_from(("append_slots", "write_block_tables")), columns(1)),
    st.builds(Call, st.just("lookup_slots"), columns(2)),
)


@settings(deadline=None, max_examples=80)
@given(config=configs, made=st.lists(calls, max_size=12))
def test_what_is_written_is_read_again(config: PoolConfig, made: list[Call]) -> None:
    text = write_calls(config, made)
    assert len(text.splitlines()) == 2 + len(made)
    assert read_calls(text, "f") == (config, made)


def test_a_program_by_hand() -> None:
    text = HEAD + "\n# a comment\n  fork(0, 1, None)  \nlookup_slots([0, 1], [-1, 2])\r\n"
    config, made = read_calls(text, "f")
    assert config == PoolConfig(8, 2, 4, 4, 16)
    assert made == [Call("fork", (0, 1, None)), Call("lookup_slots", ((0, 1), (-1, 2)))]
    assert write_calls(config, made) == HEAD + "fork(0, 1, None)\nlookup_slots([0, 1], [-1, 2])\n"


@settings(deadline=None, max_examples=150)
@given(lines=st.lists(st.text(max_size=30) | st.from_regex(r"[a-z_]{4,12}\([-0-9, \[\]]*\)?")))
@example(lines=["lookup(0, 1 if 1else 2)"])
@example(lines=["free(0)\x0cfree()"])
@example(lines=["lookup(\ud800, 1)"])
def test_no_text_is_more_than_an_error_in_one_line(lines: list[str]) -> None:
    text = HEAD + "\n".join(lines)
    try:
        _, made = read_calls(text, "file.calls")
    except WrittenError as error:
        said = str(error)
        assert re.match(r"file\.calls:\d+: ", said)
        assert len(said.splitlines()) == 1
        assert int(said.split(":")[1]) <= len(text.splitlines())
    else:
        assert {call.method for call in made} <= set(OPERATIONS)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("grow(0)", "'grow(0)' is no call of can_allocate, allocate, "),
        ("free 0", "'free 0' is no call of "),
        ("free(0", "'free(0' is no call of "),
        ("free(0); free(1)", "'free(0); free(1)': operands must be "),
        ("free()", "'free()': operands must be whole numbers, lists or None"),
        ("free(x)", "'free(x)': operands must be "),
        ("free(1 + 1)", "'free(1 + 1)': operands must be "),
        ("free(__import__('os'))", "\"free(__import__('os'))\": operands must be "),
        ("free(0, 1)", "free takes 1 operands"),
        ("lookup(0)", "lookup takes 2 operands"),
        ("fork(0, 1)", "fork takes 3 operands"),
        ("free(True)", "free: True is not a sequence"),
        ("free(0.0)", "free: 0.0 is not a sequence"),
        ("free(None)", "free: None is not a sequence"),
        ("free(2147483648)", "free: 2147483648 is not a sequence"),
        ("free(-2147483649)", "free: -2147483649 is not a sequence"),
        ("extend(0, [1])", "extend: [1] is not a number"),
        ("fork(None, 1, 2)", "fork: None is not a sequence"),
        ("append_slots(0)", "append_slots takes lists of numbers"),
        ("append_slots([])", "append_slots takes lists of numbers"),
        ("append_slots([[0]])", "append_slots takes lists of numbers"),
        ("append_slots([True])", "append_slots takes lists of numbers"),
        ("append_slots((0, 1))", "append_slots takes lists of numbers"),
        ("lookup_slots([0], 1)", "lookup_slots takes lists of numbers"),
        ("free(" + "9" * 5_000 + ")", "'free(9999"),
        ("free(0x" + "f" * 6_000 + ")", ""),
        ("free(" + "-" * 100_000 + "1)", "'free(----"),
        ("free(" + "[" * 1_000 + "]" * 1_000 + ")", "'free([[["),
        ("append_slots([" + "[" * 60 + "]" * 60 + "])", "append_slots takes lists of numbers"),
    ],
)
def test_a_bad_call_is_told_with_its_line(line: str, says: str) -> None:
    with pytest.raises(WrittenError) as raised:
        read_calls(f"{HEAD}free(3)\n{line}\nfree(nothing)\n", "some/file.calls")
    said = str(raised.value)
    assert said.startswith(f"some/file.calls:4: {says}")
    assert "\n" not in said
    assert len(said) < 300


def test_lookups_of_two_lengths_are_told() -> None:
    with pytest.raises(WrittenError, match="f:3: "):
        read_calls(HEAD + "lookup_slots([0, 1], [0])\n", "f")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'f: its first line must be "# blockmark calls 1"'),
        ("free(0)\n", 'f: its first line must be "# blockmark calls 1"'),
        ("# blockmark calls 2\n", 'f: its first line must be "# blockmark calls 1"'),
        ("# blockmark calls 1\n# more\n", "f: it names no sizes: "),
        ("# blockmark calls 1\n\nfree(0)\n", "f:3: sizes must be total_blocks=N, block_size=N, "),
        (HEAD.replace("id_bits=16", ""), "f:2: sizes must be "),
        (HEAD.replace("id_bits=16", "id_bits=16 more=1"), "f:2: sizes must be "),
        (HEAD.replace("=8", "=0"), "f:2: total_blocks = 0 must be 1 or more, of 9 digits"),
        (HEAD.replace("=8", "=-8"), "f:2: total_blocks = -8 must be "),
        (HEAD.replace("=8", "="), "f:2: total_blocks =  must be "),
        (HEAD.replace("=8", "=8.0"), "f:2: total_blocks = 8.0 must be "),
        (HEAD.replace("=8", "=1000000000"), "f:2: total_blocks = 1000000000 must be "),
        (HEAD.replace("=8", "=" + "8" * 9_000), "f:2: total_blocks = 888888"),
    ],
)
def test_bad_sizes_are_told(text: str, says: str) -> None:
    with pytest.raises(WrittenError) as raised:
        read_calls(text, "f")
    assert str(raised.value).startswith(says)
    assert len(str(raised.value)) < 200


# A folder of them.


def test_programs_are_kept_once_by_what_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "kept"
    assert kept_files(folder) == []
    one, other = HEAD + "free(0)\n", HEAD + "free(1)\n"
    assert keep(folder, [one, other, one]) == 2
    assert keep(folder, [other]) == 0
    (folder / "notes.txt").write_text("not a program")
    files = kept_files(folder)
    assert [file.suffix for file in files] == [".calls", ".calls"]
    assert {file.read_text() for file in files} == {one, other}
    assert files == sorted(files)


def test_a_folder_that_can_not_be_used_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match=f"^{re.escape(str(file))}: not a folder; --keep names"):
        kept_files(file)
    with pytest.raises(ConfigError, match=f"^{re.escape(str(file))}: can't be written: "):
        keep(file, [HEAD])
    with pytest.raises(ConfigError, match="can't be written: "):
        keep(file / "below", [HEAD])
    bad = tmp_path / "bad.calls"
    bad.write_text(HEAD + "free(x)\n")
    with pytest.raises(ConfigError, match=f"^{re.escape(str(bad))}:3: "):
        kept_files(tmp_path)
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=f"^{re.escape(str(bad))}: can't be read: "):
        kept_files(tmp_path)


# Edges.


@pytest.mark.parametrize(
    ("count", "number"),
    [(1, 0), (2, 1), (3, 2), (4, 3), (7, 3), (8, 4), (15, 4), (16, 5), (31, 5), (32, 6), (127, 6),
     (128, 7), (10_000, 7)],
)  # fmt: skip
def test_counts_are_in_eight_classes(count: int, number: int) -> None:
    assert class_of(count) == number


def branches(number: int) -> int:
    if number > 10:
        number -= 1
    else:
        number += 1
    return number


def turns(number: int) -> int:
    total = 0
    for each in range(number):
        total += each
    return total


def taken(call: Any, *numbers: int, files: Sequence[str] = (__file__,)) -> frozenset[int]:
    edges = PythonEdges(files)
    with edges:
        for number in numbers:
            call(number)
    return edges.taken()


def test_another_branch_is_another_edge() -> None:
    low, high = taken(branches, 1), taken(branches, 11)
    assert low
    assert low != high
    assert taken(branches, 2) == low
    # Of both branches there is what each takes alone, but for what is taken twice.
    assert (low - high) & taken(branches, 1, 11)
    assert (high - low) & taken(branches, 1, 11)


def test_how_often_counts_in_its_class() -> None:
    assert taken(turns, 5) == taken(turns, 6)
    assert taken(turns, 3) != taken(turns, 5)
    assert taken(turns, 6) != taken(turns, 20)


def test_other_files_are_not_looked_into() -> None:
    assert taken(branches, 1, files=["elsewhere.py"]) == frozenset()
    assert taken(textless, 1) != frozenset()


def textless(number: int) -> None:
    """Goes on in a file that is none of the target's."""
    os.path.join(str(number), "b")


def test_nobody_looks_any_more_after_it() -> None:
    edges = PythonEdges([__file__])

    def fails() -> None:
        with edges:
            branches(1 // 0)

    with pytest.raises(ZeroDivisionError):
        fails()
    assert sys.gettrace() is None
    first = edges.taken()
    branches(11)
    assert edges.taken() == first


def test_the_same_calls_take_the_same_edges_in_another_process(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from blockmark.measure.proof.edges import PythonEdges\n"
        "from blockmark_impls.contract import PoolConfig\n"
        "from blockmark_impls.python import vector\n"
        "edges = PythonEdges([vector.__file__])\n"
        "manager = vector.VectorManager(PoolConfig(8, 2, 4, 4))\n"
        "with edges:\n"
        "    manager.allocate(0, 3); manager.fork(0, 1); manager.append_slot(1)\n"
        "print(*sorted(edges.taken()))\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert len(said.pop().split()) > 10


# The search.


class Chain(VectorManager):
    """A sequence in slot 16 or beyond, a fork of it, an append to that: then a count is wrong."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._high: set[int] = set()
        self._forks: set[int] = set()

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        if seq >= 16:
            self._high.add(seq)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if parent in self._high:
            self._forks.add(child)

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        if seq in self._forks:
            self._refs[self._tables[seq][-1]] += 1
        return made

    def free(self, seq: int) -> None:
        super().free(seq)
        self._high.discard(seq)
        self._forks.discard(seq)


def search(make: Any, seed: int = 5) -> Search:
    made = Made(make.__name__, make.reuse_order, make, lambda total, bits: None)
    left_out = frozenset(name for name in OPERATIONS if not hasattr(make, name))
    return search_of(made, CELL, seed, left_out, make(CELL))


# It remembers nothing from one manager to the next, as vector's rows do, which take other edges
# the first time that a process packs them.
FORGETFUL = FlatStackNumpyManager


def texts(found: Search) -> list[str]:
    return [write_calls(*made) for made in found.new]


def test_a_search_goes_the_same_way_again() -> None:
    first, again, other = search(FORGETFUL), search(FORGETFUL), search(FORGETFUL, 6)
    for each in (first, again, other):
        each.run(1e9, 60)
        assert each.programs == 60
    assert 10 < len(first.new) < 60
    assert texts(first) == texts(again)
    assert first.summary == again.summary
    assert texts(first) != texts(other)


def test_each_program_that_is_kept_takes_an_edge_that_none_before_took() -> None:
    found = search(FORGETFUL)
    found.run(1e9, 40)
    seen: frozenset[int] = frozenset()
    for config, made in found.new:
        alone = search(FORGETFUL)
        alone.replay([(config, made)])
        edges = alone.edges.taken()
        assert edges - seen
        seen |= edges
    assert f"{len(seen):,} edges" in found.summary
    assert f"{len(found.kept)} of them kept" in found.summary


def test_what_was_kept_is_not_kept_again() -> None:
    found, next_one = search(FORGETFUL), search(FORGETFUL)
    found.run(1e9, 30)
    next_one.replay(found.new)
    # The same programs are drawn first, and show nothing new.
    next_one.run(1e9, 20)
    assert next_one.new == []
    assert next_one.kept == found.new


def test_a_search_finds_what_twenty_programs_do_not() -> None:
    assert manager_verdict(Chain, random_programs=20, seed=5)["status"] == "ok"
    found = search(Chain)
    with pytest.raises(Found, match=r"^search, program \d+, call \d+, ") as raised:
        found.run(1e9, 300)
    assert found.programs < 300
    shown = raised.value.fault.shortest(3.0)
    assert re.match(r"PoolConfig\(total_blocks=\d+, .* max_seqs=(1[7-9]|[2-9]\d|\d{3}), ", shown[0])
    assert len(shown) == 4
    assert re.match(r" 1  allocate\((1[6-9]|[2-9]\d|\d{3}), ", shown[1])
    assert shown[2].startswith(" 2  fork(")
    assert shown[3].startswith(" 3  append_slot(")


def test_a_kept_program_finds_it_at_once() -> None:
    program = [
        Call("allocate", (16, 4)),
        Call("fork", (16, 3, None)),
        Call("append_slot", (3,)),
    ]
    config = PoolConfig(8, 4, 17, 4)
    search(VectorManager).replay([(config, program)])
    with pytest.raises(
        Found, match=r"^kept program 1, call 3, the end: ref_count\(1\) is 2, not 1"
    ):
        search(Chain).replay([(PoolConfig(8, 4, 17, 4), program[:2]), (config, program)])


def test_a_program_of_another_class_is_played_without_what_this_one_lacks() -> None:
    config = PoolConfig(8, 4, 17, 4)
    made = [Call("allocate", (0, 4)), Call("append_slots", ((0, 0),))]
    search(FlatStackNumpyManager).replay([(config, made)])
    search(VectorManager).replay([(config, made)])


class AnySlot(HashMapManager):
    """Starts a sequence whatever its number: the proof notes that, and says that it is right."""

    def _check_new(self, seq: int) -> None:
        if seq in self._tables:
            raise SequenceExists(f"sequence {seq} exists already")


def test_what_the_proof_allows_the_search_allows() -> None:
    assert manager_verdict(AnySlot)["status"] == "ok"
    for seed in range(6):
        search(AnySlot, seed).run(1e9, 60)


# The command.

SMALL = """
from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.vector import VectorManager

class Small(VectorManager):
    # So that most of what `verify` plays is refused at once.
    def __init__(self, config):
        if config.total_blocks > 256 or config.max_seqs > 40:
            raise ValueError("small ones alone")
        super().__init__(config)
        self._lost = int(config == PoolConfig(%s))

    @property
    def num_free_blocks(self):
        return super().num_free_blocks - self._lost
"""
SIZES_NAMES = ("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq", "id_bits")
TINY_CELL = [
    word
    for size in ("total_blocks=256", "max_blocks_per_seq=16", "concurrency=8", "block_size=4")
    for word in ("--set", size)
]


def verify(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return blockmark(
        "verify", "--impl", "small.py:Small", "--programs", "1", *TINY_CELL, *words, cwd=folder
    )


def test_a_search_keeps_programs_that_later_commands_play(tmp_path: Path) -> None:
    file, folder = tmp_path / "small.py", tmp_path / "kept"
    file.write_text(SMALL % "1, 1, 1, 1, 9")
    done = verify(tmp_path, "--fuzz", "1s", "--keep", "kept")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"search: ([\d,]+) programs, (\d+) of them kept, [\d,]+ edges", done.stdout)
    assert found
    kept = kept_files(folder)
    assert len(kept) == int(found[2]) > 10
    # Wrong in the size of one kept program, which nothing else that is played has.
    read = [read_calls(kept_file.read_text(), "f") for kept_file in kept]
    number = max(n for n, (config, _) in enumerate(read) if 25 < config.total_blocks < 250)
    config = read[number][0]
    file.write_text(SMALL % ", ".join(str(getattr(config, name)) for name in SIZES_NAMES))
    assert verify(tmp_path).returncode == 0
    done = verify(tmp_path, "--keep", "kept")
    assert done.returncode == 4, done.stdout + done.stderr
    first = next(n for n, (other, _) in enumerate(read) if other == config)
    assert f": kept program {first}, call " in done.stdout
    assert "PoolConfig(total_blocks=" in done.stdout
    assert kept_files(folder) == kept


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--fuzz", "soon"), "--fuzz soon must be a time such as 90s, 5m or 1h"),
        (("--fuzz", "1d"), "--fuzz 1d must be a time such as 90s, 5m or 1h"),
        (("--keep", "small.py"), "small.py: not a folder; --keep names one"),
        (("--keep", "bad"), f"bad{os.sep}x.calls:3: 'free(x)': operands must be "),
        (("--splice", "doc.md"), "Invalid value: --splice goes with --coverage; "),
        (("--corpus", "--fuzz", "2s"), "Invalid value: --corpus goes with "),
    ],
)
def test_a_usage_error_is_one_line(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL % "1, 1, 1, 1, 9")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.calls").write_text(HEAD + "free(x)\n")
    done = verify(tmp_path, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {says}")
    assert len(done.stderr.splitlines()) == 1
    # Nothing was proved for it.
    assert "ok " not in done.stderr
