"""Callgrind's format and the profile made of it: totals by hand."""

from __future__ import annotations

import pytest

from blockmark.measure.profiling.call_graph import profile_of
from blockmark.measure.profiling.callgrind_file import FormatError, parse_callgrind
from blockmark.runs.profile import Profile

# main calls work twice (10 + 30 below it) and walk once; work has an inlined line in
# other.hpp and calls leaf; walk calls itself, and pair and peer call each other.
DUMP = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 1
cmd:  ./t
part: 1

desc: I1 cache: 32768 B, 64 B, 8-way associative
desc: Trigger: Client Request: profile

positions: line
events: Ir Dr D1mr D1mw
summary: 999

ob=(1) /x/t
fl=(1) /src/a.cpp
fn=(1) main
10 5 1
+2 5
cfn=(2) work(int)
calls=2 -7
* 110 20 3 1
cfi=(2) /src/lib/../b.cpp
cfn=(3) walk(int)
calls=1 50
14 60
fn=(2)
5 20 8 2 1
+1 10
fi=(3) /src/other.hpp
100 30 2
fe=(1)
-93 10
cob=(2) /lib/libc.so
cfi=(4) ???
cfn=(4) leaf
calls=8 0
* 40 10 1
jcnd=1/8 +3
jump=2 +1

fl=(2)
fn=(3)
50 20
cfn=(5) walk(int)'2
calls=3 50
51 30
cfi=(1)
cfn=(6) pair
calls=1 +9
52 30

fn=(5)
50 5
+1 5
fl=(1)
fn=(6)
60 6
cfn=(7) peer
calls=2 +10
+1 24
fn=(7)
70 4
cfn=(6)
calls=1 -10
+1 30

ob=(2)
fl=(4)
fn=(4)
0 40 10 1

totals: 160 21 3 1
"""


def test_own_costs_by_line_with_compressed_names_and_positions() -> None:
    graph = parse_callgrind(DUMP)
    assert graph.events == ("Ir", "Dr", "D1mr", "D1mw")
    work = graph.functions["/x/t", "/src/a.cpp", "work(int)"]
    assert work.lines == {
        ("/src/a.cpp", 5): [20, 8, 2, 1],
        ("/src/a.cpp", 6): [10, 0, 0, 0],
        ("/src/other.hpp", 100): [30, 2, 0, 0],
        ("/src/a.cpp", 7): [10, 0, 0, 0],
    }
    # The callee is of the object and file that its call names.
    ((callee, calls),) = work.calls.items()
    assert callee == ("/lib/libc.so", "???", "leaf")
    assert (calls.count, calls.costs) == (8, [40, 10, 1, 0])
    # 10 in main, 70 in work, 40 in leaf, 30 in walk at both depths, 6 and 4 in the circle.
    assert graph.totals == [160, 21, 3, 1]


def by_name(profile: Profile) -> dict[str, tuple[int, int, int | None, bool]]:
    return {each.name: (each.own, each.total, each.calls, each.cycle) for each in profile.functions}


def test_functions_have_own_and_inclusive_costs_and_calls() -> None:
    profile = profile_of(parse_callgrind(DUMP))
    assert profile.total == 160
    assert by_name(profile) == {
        "main": (10, 180, None, False),
        "work": (70, 110, 2, False),
        "leaf": (40, 40, 8, False),
        # Its calls of itself are calls, but cost nothing twice: 30 own and 30 of pair.
        "walk": (30, 60, 4, False),
        # Both in a circle: 6 + 4, since nothing leaves it.
        "pair": (6, 10, 2, True),
        "peer": (4, 10, 2, True),
    }
    assert [each.name for each in profile.functions[:2]] == ["work", "leaf"]
    assert profile.events == {"l1d_misses": 4}
    assert profile.functions[0].events == {"l1d_misses": 3}
    assert profile.functions[0].line == 5


def test_lines_of_inlined_functions_are_in_their_own_files() -> None:
    profile = profile_of(parse_callgrind(DUMP))
    lines = {(each.file, each.line): each.own for each in profile.lines}
    assert lines["/src/other.hpp", 100] == 30
    assert lines["/src/b.cpp", 50] == 25  # both depths of walk, and the path without a detour
    assert lines["", 0] == 40
    assert sum(lines.values()) == 160


def test_stacks_divide_by_cost_and_add_up() -> None:
    profile = profile_of(parse_callgrind(DUMP))
    stacks = {tuple(frame.name for frame in each.frames): each.weight for each in profile.stacks}
    assert sum(stacks.values()) == 160
    assert all(names[0] == "main" for names in stacks)
    # Below main (10) go 110 of work and 60 of walk; in work 70 stay and 40 go to leaf.
    scale = 160 / 180
    assert stacks["main", "work"] == pytest.approx(70 * scale, abs=1)
    assert stacks["main", "work", "leaf"] == pytest.approx(40 * scale, abs=1)
    assert stacks["main",] == pytest.approx(10 * scale, abs=1)


def test_callers_entered_before_collecting_are_no_part_of_it() -> None:
    text = DUMP.replace(
        "ob=(1) /x/t\n",
        "ob=(1) /x/t\nfl=(9) /src/z.c\nfn=(9) outer\ncfi=(1) /src/a.cpp\n"
        "cfn=(1) main\ncalls=1 10\n1 180\n",
    ).replace("fn=(1) main\n10", "fn=(1)\n10")
    profile = profile_of(parse_callgrind(text))
    assert "outer" not in by_name(profile)
    assert by_name(profile)["main"][1] == 180


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("totals: 160", "totals: 161", "add up"),
        ("positions: line", "positions: instr line", "only lines"),
        ("fn=(2)\n5", "fn=(22)\n5", "(22) was not given"),
        ("10 5 1\n", "10 5 1 1 1 1\n", "5 costs of 4 events"),
        ("10 5 1\n", "ten 5 1\n", "line 18"),
    ],
)
def test_a_file_that_is_none_is_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem.replace("(", r"\(").replace(")", r"\)")):
        parse_callgrind(DUMP.replace(old, new))


def test_nothing_counted_is_an_error() -> None:
    with pytest.raises(FormatError, match="no events"):
        parse_callgrind("nothing: of the kind\n")
    with pytest.raises(ValueError, match="no instructions"):
        profile_of(parse_callgrind("events: Ir Dr\nfn=f\n1 0 0\n"))
