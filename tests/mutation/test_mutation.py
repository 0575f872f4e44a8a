"""The mutants: their names stay, each is one change, and the rows of the corpus are programs."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from proving import prove_mutants
from run import SURVIVORS, read_survivors
from sites import FILES, IMPLS, all_sites, text_of

from blockmark.measure.proof.mutants import Mutant, read_mutants, write_mutants
from blockmark.workload.keys import ConfigError
from blockmark_impls.build_tools import NATIVE

ROWS = read_mutants(Path(__file__).parents[1] / "corpus" / "mutants.toml")
PYTHON = [row for row in ROWS if row.of.endswith(".py")]
IN_CPP = [row for row in ROWS if row.of.endswith(".hpp")]


def test_every_site_has_a_name_of_its_own_and_changes_one_place() -> None:
    sites = all_sites()
    assert len({site.name for site in sites}) == len(sites)
    assert {site.of for site in sites} == set(FILES)
    for site in sites:
        source = text_of(site.of)
        mutated = site.mutant(FILES[site.of][0]).mutated()
        assert mutated == source[: site.start] + site.becomes + source[site.end :], site.name
        assert mutated != source, site.name


def test_what_is_no_operator_is_no_site() -> None:
    lines = {(site.of, site.operator, site.line) for site in all_sites()}
    # A template's bracket, a string, and what counts bytes.
    assert not [
        line for _, operator, line in lines if "template <" in line and operator != "narrow"
    ]
    assert not [line for _, _, line in lines if "getsizeof" in line]
    # One of each kind that is there.
    assert ("native/pools/stack.hpp", "step", "Id take() { return ids_[--top_]; }") in lines
    assert ("python/vector.py", "comparison", "if left < 0:") in lines


def test_a_mutant_in_python_parses() -> None:
    for site in all_sites():
        if site.of.endswith(".py"):
            ast.parse(site.mutant(FILES[site.of][0]).mutated())


def test_the_list_of_survivors_names_mutants_that_are_there() -> None:
    survivors = read_survivors(SURVIVORS)
    assert survivors.keys() <= {site.name for site in all_sites()}
    assert all(reason.endswith(".") for reason in survivors.values())


def test_the_rows_of_the_corpus_are_many_and_spread() -> None:
    assert len(PYTHON) >= 60
    assert len(IN_CPP) >= 30
    assert len({row.of for row in ROWS}) >= 20
    assert max(Counter(row.of for row in ROWS).values()) <= len(ROWS) // 5
    for row in ROWS:
        assert row.text.endswith("."), row.name
        assert "\n" not in row.text, row.name


def test_a_mutant_is_killed_and_none_is_not(tmp_path: Path) -> None:
    killed = next(row for row in PYTHON if row.name == "ListPoolKeepsLast")
    same = Mutant(
        "Same",
        "python/list_pool.py",
        "ListPool",
        "left = len(free) - k",
        "left = -k + len(free)",
        "",
        "",
    )
    hangs = Mutant(
        "Hangs",
        "python/list_pool.py",
        "ListPool",
        "left = len(free) - k",
        "while True: pass",
        "",
        "",
    )
    found = prove_mutants([hangs, killed, same], tmp_path, programs=5, cores=1, cpu_s=3)
    results = {result.mutant.name: result for result in found}
    assert results["Same"].status == "survived"
    assert results["Hangs"].shown_by == "it hangs"
    assert results["Hangs"].status == results["ListPoolKeepsLast"].status == "killed"
    assert "OutOfBlocks" in results["ListPoolKeepsLast"].shown_by


def test_a_helper_is_mutated_below_the_class_that_uses_it(tmp_path: Path) -> None:
    row = next(row for row in PYTHON if row.of == "python/free_runs.py")
    ((_, target),) = write_mutants([row], tmp_path)
    assert target == f"{tmp_path / row.name}.py:ListPool"
    content = (tmp_path / f"{row.name}.py").read_text()
    assert f"import {row.name}_free_runs as free_runs\n" in content
    assert "from ." not in content


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"was": "no such text"}, "has its `was` 0 times"),
        ({"was": "self"}, "times, and it must stand there once"),
        ({"of": "python/nothing.py"}, "No such file"),
        ({"becomes": "room[seq] = left - 1"}, "or it changes nothing"),
        ({"name": "no name"}, "its name is no identifier"),
        ({"more": "1"}, "row 1 must have name, of, class"),
    ],
)
def test_a_row_that_fits_nothing_is_refused(
    tmp_path: Path, change: dict[str, str], says: str
) -> None:
    row = {
        "name": "Row",
        "of": "python/vector.py",
        "class": "VectorManager",
        "was": "room[seq] = left - 1",
        "becomes": "",
        "fault": "none",
        "text": "Nothing.",
        **change,
    }
    lines = [f'{key} = "{value}"' for key, value in row.items()]
    (tmp_path / "rows.toml").write_text("\n".join(["[[mutant]]", *lines]))
    with pytest.raises(ConfigError, match=says):
        read_mutants(tmp_path / "rows.toml")


def test_rows_in_cpp_compile(tmp_path: Path) -> None:
    """Against the concepts; the corpus builds them whole."""
    if (compiler := shutil.which("g++") or shutil.which("clang++")) is None:
        pytest.skip("there is no C++ compiler")
    targets = [target for _, target in write_mutants(IN_CPP, tmp_path)]
    for header in dict.fromkeys(target.rpartition(":")[0] for target in targets):
        done = subprocess.run(
            [compiler, "-std=c++20", "-fsyntax-only", f"-I{NATIVE}", "-x", "c++", header],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert NATIVE.is_relative_to(IMPLS)
