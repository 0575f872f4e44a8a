"""Stacks out of perf's and Python's text, short names, and what is made of them."""

from __future__ import annotations

import pytest

from blockmark.measure.profiling.names import readable, source_file
from blockmark.measure.profiling.perf_file import parse_perf, rooted
from blockmark.measure.profiling.tracebacks import Call, parse_tracebacks
from blockmark.runs.profile import Frame, Stack, collapsed, functions_of, lines_of

PERF = """cpu-clock:u: 
\t           7f10 blockmark::Manager<blockmark::VectorTable>::lookup
  /src/native/bindings/../manager.hpp:182 (inlined)
\t           7f10 blockmark::Replay<blockmark::Manager<blockmark::VectorTable> >::loop<(blockmark::Op)8> (/x/_native.so)
  /src/native/replay.hpp:301
\t           80b2 blockmark::Replay<blockmark::Manager<blockmark::VectorTable> >::run_step (/x/_native.so)
  /src/native/replay.hpp:230
\t          158ba PyObject_Vectorcall (/x/libpython3.11.so.1.0)
  libpython3.11.so.1.0[158ba]

cpu-clock:u: 
\t           7f20 blockmark::Manager<blockmark::VectorTable>::lookup
  /src/native/manager.hpp:183 (inlined)
\t           7f20 blockmark::Replay<blockmark::Manager<blockmark::VectorTable> >::loop<(blockmark::Op)8> (/x/_native.so)
  /src/native/replay.hpp:301
\t           80b2 blockmark::Replay<blockmark::Manager<blockmark::VectorTable> >::run_step (/x/_native.so)
  /src/native/replay.hpp:230

cpu-clock:u: 
\t          158ba [unknown] (/x/libpython3.11.so.1.0)
\t              0 [unknown] ([unknown])
\t          158bb (anonymous namespace)::start+0x12 (/x/a (deleted))
  ??:0

"""  # noqa: E501, W291 - as perf writes it


def test_perf_samples_with_inlined_frames_and_lines() -> None:
    samples = parse_perf(PERF)
    assert samples.event == "cpu-clock:u"
    assert [stack.weight for stack in samples.stacks] == [1, 1, 1]
    assert samples.stacks[1].frames == (
        Frame("Replay<Manager<...>>::run_step", "/src/native/replay.hpp", 230),
        Frame("Replay<Manager<...>>::loop<lookup>", "/src/native/replay.hpp", 301),
        Frame("Manager<VectorTable>::lookup", "/src/native/manager.hpp", 183),
    )
    assert samples.stacks[2].frames == (Frame("start"), Frame("[unknown]"), Frame("[unknown]"))


def test_perf_stacks_begin_at_the_replay_and_the_rest_is_counted() -> None:
    stacks, left_out = rooted(parse_perf(PERF).stacks, lambda name: name.startswith("Replay<"))
    assert left_out == 1
    assert {stack.frames[0].name for stack in stacks} == {"Replay<Manager<...>>::run_step"}
    functions = {each.name: (each.own, each.total) for each in functions_of(stacks)}
    assert functions == {
        "Manager<VectorTable>::lookup": (2, 2),
        "Replay<Manager<...>>::loop<lookup>": (0, 2),
        "Replay<Manager<...>>::run_step": (0, 2),
    }
    assert [(each.line, each.own) for each in lines_of(stacks)] == [(182, 1), (183, 1)]


def test_text_that_perf_did_not_write_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1"):
        parse_perf("perf: command not found\n")
    with pytest.raises(ValueError, match="line 2"):
        parse_perf("cycles:u:\nnonsense\n")


def test_python_stacks_of_the_fault_handler() -> None:
    text = (
        'Stack (most recent call first):\n  File "/a/v.py", line 84 in append\n'
        '  File "/a/r.py", line 3 in run\n'
        'Stack (most recent call first):\n  File "/a/v.py", line 84 in append\n'
        '  File "/a/r.py", line 3 in run\n  ...\n'
        "Stack (most recent call first):\n  <no Python frame>\n"
        'Current thread 0x00007f (most recent call first):\n  File "/a/v.py", line ??? in x\n'
    )
    assert parse_tracebacks(text) == {
        (Call("run", "/a/r.py", 3), Call("append", "/a/v.py", 84)): 2,
        (Call("x", "/a/v.py", 0),): 1,
    }


def test_a_recursive_function_counts_once_a_stack() -> None:
    f, g = Frame("f", "a.py", 3, 1), Frame("g", "a.py", 9, 8)
    stacks = [Stack((f, g, f), 5), Stack((f,), 2), Stack((g,), 1)]
    found = {each.name: (each.own, each.total, each.line) for each in functions_of(stacks)}
    assert found == {"f": (7, 7, 1), "g": (1, 6, 8)}
    assert [(each.line, each.own) for each in lines_of(stacks)] == [(3, 7), (9, 1)]
    assert sum(own for own, _, _ in found.values()) == 8


def test_collapsed_stacks_keep_to_their_form() -> None:
    stacks = [Stack((Frame("a;b\n", "/x y/f.py", 3), Frame("c")), 4)]
    assert collapsed(stacks) == "a,b? (/x y/f.py:3);c 4\n"


REPLAY = "blockmark::Replay<blockmark::Manager<blockmark::VectorTable, blockmark::ListPool<int> > >"
APPEND = f"{REPLAY}::loop<(blockmark::Op)2>"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (f"void {APPEND}({REPLAY}::Run)", "Replay<Manager<...>>::loop<append>"),
        (f"{REPLAY}::run_step(long)", "Replay<Manager<...>>::run_step"),
        (
            f"void {APPEND}({REPLAY}::Run)::{{lambda(long)#2}}::operator()(long) const",
            "Replay<Manager<...>>::loop<append>::lambda",
        ),
        ("operator new(unsigned long)", "operator new"),
        ("std::ostream& operator<< <char>(std::ostream&, char)", "operator<<<char>"),
        ("blockmark::(anonymous namespace)::helper(int) [clone .isra.0]", "helper"),
        ("std::_Hashtable<int, std::pair<int const, int>, std::hash<int> >::find(int const&)",
         "std::_Hashtable<int, std::pair<...>, ...>::find"),
        ("std::vector<int>::operator[](unsigned long) const", "std::vector<int>::operator[]"),
        ("_int_malloc", "_int_malloc"),
        ("0x00000000001f2a30", "0x00000000001f2a30"),
        ("unbalanced<int", "unbalanced<int"),
    ],
)  # fmt: skip
def test_long_names_are_made_readable(name: str, short: str) -> None:
    assert readable(name) == short


def test_source_files_without_detours() -> None:
    assert source_file("/a/b/../c.hpp") == "/a/c.hpp"
    assert source_file("???") == source_file("") == ""
