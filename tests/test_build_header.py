"""A header of a user's own: built once for all tests, as good as what is built in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from blockmark.cli.building import announce_builds
from blockmark.measure.probes.callgrind import Geometry, Valgrind, find_valgrind
from blockmark.measure.run.plan import make_plan
from blockmark.measure.run.programs import prepare
from blockmark.measure.simulation import Simulator, simulation_requests
from blockmark.workload.scenario import parse_scenario
from blockmark_impls import build_tools
from blockmark_impls.build import BuildError, build_header
from blockmark_impls.build_errors import first_error
from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig, UnknownSequence
from blockmark_impls.coverage import build_with_coverage, native_coverage
from blockmark_impls.registry import Implementation, TargetError, resolve
from blockmark_impls.user_native import offers_of
from cli import blockmark, tiny

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER = Path(__file__).parent / "native_headers" / "offers.hpp"
DOCS = Path(__file__).resolve().parents[1] / "docs" / "bring-your-own"
FROM_SCRATCH = HEADER.with_name("from_scratch.hpp")
VALGRIND = find_valgrind()

GOOD = """\
#include <blockmark.hpp>

#include <vector>

#include "size.hpp"

namespace mine {

class Pool {
 public:
  using id_type = std::uint16_t;
  static constexpr const char* name = "mine";
  static constexpr const char* reuse_order = "LIFO";

  explicit Pool(std::int64_t total) {
    while (total-- > 0) free_.push_back(static_cast<id_type>(total));
  }
  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  id_type take() {
    const id_type id = free_.back();
    free_.pop_back();
    return id;
  }
  void give(id_type id) { free_.push_back(id); }
  std::int64_t bytes() const { return SIZE; }

 private:
  std::vector<id_type> free_;
};

BLOCKMARK_POOL(Pool);

}  // namespace mine
"""


@pytest.fixture(scope="module", autouse=True)
def cache(build_cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(build_cache))
        yield


@pytest.fixture
def header(tmp_path: Path) -> Path:
    """A right header, and one that it includes."""
    (tmp_path / "size.hpp").write_text("constexpr std::int64_t SIZE = 1;\n")
    path = tmp_path / "my pool.hpp"
    path.write_text(GOOD)
    return path


def one(target: str) -> Implementation:
    (found,) = resolve(target)
    return found


def test_what_a_header_offers() -> None:
    found = [(o.class_name, o.kind, o.reuse_order, o.id_type) for o in offers_of(str(HEADER))]
    assert found == [
        ("SameTable", "table", "LIFO", "uint16"),
        ("ShortRows", "table", "LIFO", "uint16"),
        ("ShortMap", "table", "LIFO", "int32"),
        ("AllocatingPool", "pool", "LIFO", "uint32"),
        ("Whole", "manager", "LIFO", "uint32"),
        ("Readerless", "manager", "LIFO", "uint32"),
        ("BeyondPool", "pool", "LIFO", "uint16"),
        ("TwicePool", "pool", "LIFO", "uint16"),
        ("CrashingTable", "table", "LIFO", "uint16"),
    ]
    every = resolve(str(HEADER))
    assert [each.name for each in every] == [f"offers.hpp:{row[0]}" for row in found]
    mine = one(f"mine={HEADER}:SameTable[call_style=per-op]")
    assert (mine.name, mine.scheme, mine.tier) == ("mine", "mine", "cpp")
    assert one(mine.target).call_style == "per-op"
    assert "pool" not in mine.models
    assert "pool" in one(f"{HEADER}:AllocatingPool").models


def test_a_name_for_several_classes_is_refused() -> None:
    with pytest.raises(TargetError, match="mine can be the name of one class, and"):
        resolve(f"mine={HEADER}")
    with pytest.raises(TargetError, match='offers no SameTabel; did you mean "SameTable"'):
        _ = one(f"{HEADER}:SameTabel").models


def test_each_offer_is_verified_in_a_process_of_its_own(tmp_path: Path) -> None:
    done = blockmark(
        "verify",
        *("--impl", str(HEADER), "--quick", "--set", "block_size=16"),
        cwd=tmp_path,
    )
    # Behind a wrong one stand, indented, the calls that show it.
    told = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    lines = {line.split()[1].partition(":")[2]: line for line in told}
    status = {name: line.split()[0] for name, line in lines.items()}
    assert status == {
        "SameTable": "ok",
        "ShortRows": "wrong",
        "ShortMap": "wrong",
        "AllocatingPool": "ok",
        "Whole": "ok",
        "Readerless": "ok",
        "BeyondPool": "wrong",
        "TwicePool": "wrong",
        "CrashingTable": "failed",
    }
    assert done.returncode == 4
    assert "the process crashed with SIGABRT" in lines["CrashingTable"]


@pytest.mark.parametrize("name", ["MapManager", "ReadingManager"])
def test_what_the_concept_of_a_manager_asks_for_is_enough(tmp_path: Path, name: str) -> None:
    small = ("--set", "block_size=4", "--set", "concurrency=8", "--set", "total_blocks=256")
    words = ("--impl", f"mine={FROM_SCRATCH}:{name}", "--quick", *small)
    done = blockmark("verify", *words, "--set", "max_blocks_per_seq=16", cwd=tmp_path)
    assert done.stdout.startswith("ok       mine  block_size 4 "), done.stdout + done.stderr
    assert done.returncode == 0


def test_what_the_concepts_of_a_pool_and_a_table_ask_for_is_enough(tmp_path: Path) -> None:
    """Proved as a run proves, which is quicker."""
    names = ("SetPool", "OwnNamesPool", "MapTable")
    words = [word for name in names for word in ("--impl", f"{name}={FROM_SCRATCH}:{name}")]
    done = blockmark("run", tiny(tmp_path), "--quick", *words, cwd=tmp_path)
    assert "3 of 3 verified" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("name", ["ShortRows", "ShortMap"])
def test_a_table_out_of_heap_leaves_the_manager_as_it_was(name: str) -> None:
    """Each table of a sequence but 0 has room for five blocks, in pages of four."""
    manager = one(f"mine={HEADER}:{name}").make_manager(PoolConfig(24, 2, 3, 16))
    manager.allocate(0, 13)  # seven blocks, the last one half full
    with pytest.raises(MemoryError):
        manager.allocate(1, 12)
    with pytest.raises(MemoryError):
        manager.fork(0, 1)
    assert [manager.ref_count(block) for block in range(24)].count(1) == 7
    assert manager.num_free_blocks == 24 - 7
    manager.allocate(1, 7)
    with pytest.raises(MemoryError):
        manager.extend(1, 6)
    assert manager.num_tokens(1) == 7
    for _ in range(3):
        assert manager.append_slot(1) is None
    with pytest.raises(MemoryError):
        manager.append_slot(1)
    assert manager.num_tokens(1) == 10
    manager.free(1)
    manager.free(0)
    assert manager.num_free_blocks == 24
    assert not any(manager.ref_count(block) for block in range(24))


@pytest.mark.parametrize("name", ["MapManager", "ReadingManager"])
def test_a_batch_of_appends_is_all_or_nothing_without_help(name: str) -> None:
    manager = one(f"mine={FROM_SCRATCH}:{name}").make_manager(PoolConfig(4, 2, 3, 4))

    def append(*seqs: int) -> list[Copy]:
        copies: list[Copy] = manager.append_slots(np.array(seqs, np.int32))
        return copies

    manager.allocate(0, 3)
    manager.fork(0, 1)
    # One is copied for sequence 0; then 1 owns the last block, and fills it.
    assert append(0, 1) == [Copy(1, 2)]
    with pytest.raises(OutOfBlocks):
        append(0, 1)
    with pytest.raises(UnknownSequence):
        append(0, 2)
    with pytest.raises(UnknownSequence):
        append(0, 3)
    assert (manager.num_tokens(0), manager.num_tokens(1), manager.num_free_blocks) == (4, 4, 1)
    with pytest.raises(ValueError, match="block_size"):
        one(f"mine={FROM_SCRATCH}:{name}").make_manager(PoolConfig(4, 0, 3, 4))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("class MyManager {", "class MyManager final {", "NotFinal<MyManager> does not hold"),
        (
            " private:\n",
            " public:\n  struct Reader {};\n private:\n",
            "constructible_from<Reader, const MyManager&> does not hold",
        ),
        (
            "const OnCopy& on_copy",
            "void (*on_copy)(std::int64_t, std::int64_t)",
            "manager.append(seq, on_copy): ",
        ),
    ],
)
def test_what_the_concept_of_a_manager_refuses(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    text = (DOCS / "my_manager.hpp").read_text()
    assert old in text
    (tmp_path / "mine.hpp").write_text(text.replace(old, new, 1))
    with pytest.raises(BuildError, match="MyManager is not a WholeManager: ") as caught:
        build_header(tmp_path / "mine.hpp")
    assert says in str(caught.value)


def test_the_modules_own_requests_to_the_heap_are_counted(tmp_path: Path) -> None:
    """The pool asks once a block: 4 tokens a block, 8 sequences, so twice a step and more."""
    counts = {}
    for style in ("native", "per-op"):
        words = ["--impl", f"mine={HEADER}:AllocatingPool", "--impl", "same=flat+list"]
        done = blockmark(
            "run",
            *(tiny(tmp_path), "--quick", *words, "--set", f"call_style={style}"),
            *("--output", str(tmp_path / style)),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (run,) = (tmp_path / style).rglob("run.json")
        cells = {cell["impl"]: cell for cell in json.loads(run.read_text())["cells"]}
        counts[style] = {
            name: cell["metrics"]["heap_allocations_per_step"]["value"]
            for name, cell in cells.items()
        }
    assert counts["native"]["same"] == 0
    assert counts["native"]["mine"] >= 2
    # Called from Python the interpreter's own requests come on top, about the same for both.
    more = counts["per-op"]["mine"] - counts["per-op"]["same"]
    assert more == pytest.approx(counts["native"]["mine"], rel=0.05)


@pytest.mark.skipif(not isinstance(VALGRIND, Valgrind), reason="valgrind is not installed")
def test_instructions_are_those_of_the_same_code_built_in(tmp_path: Path) -> None:
    """So many sequences that an instruction a step is nothing: around the steps the binding
    is another class's, and the compiler may choose other registers there.
    """
    assert isinstance(VALGRIND, Valgrind)
    scenario = (
        'title = "Small"\ntotal_blocks = 2048\nmax_blocks_per_seq = 16\nconcurrency = 64\n'
        'block_size = 4\nmodels = ["step", "pack"]\n'
    )
    targets = ["flat-stack/cpp", f"mine={HEADER}:SameTable"]
    plan = make_plan([parse_scenario(scenario, "s", "s.toml")], targets, command="test")
    prepared = prepare(plan.cells, tmp_path / "programs")
    simulator = Simulator(VALGRIND, Geometry(), 300.0)
    requests = simulation_requests(plan.pairs(), prepared, 1)
    found = {name: answer for name, _, answer in simulator.simulate(requests)}
    mine, built_in = (
        {
            name: entry["value"]
            for name, entry in found[target]["metrics"].items()
            if name.endswith("_instructions_per_op")
        }
        for target in ("mine", "flat-stack/cpp")
    )
    assert len(mine) >= 3
    assert mine == pytest.approx(built_in, rel=0.001)


def test_a_build_is_used_again_until_something_has_changed(header: Path) -> None:
    first = build_header(header)
    assert build_header(header) == first
    assert one(f"mine={header}").make_pool(4, 16).pool_bytes() == 1  # type: ignore[union-attr]
    (header.parent / "size.hpp").write_text("constexpr std::int64_t SIZE = 2;\n")
    second = build_header(header)
    assert second != first
    # Both at once in one process are not taken for each other.
    assert one(f"mine={header}").make_pool(4, 16).pool_bytes() == 2  # type: ignore[union-attr]
    output = header.parent / "kept.so"
    assert build_header(header, output=output) == output
    header.unlink()
    assert one(f"mine={output}").make_pool(4, 16).take(3) == [0, 1, 2]  # type: ignore[union-attr]
    with pytest.raises(BuildError, match="there is no such file"):
        build_header(header)


def test_on_a_terminal_a_compilation_is_announced_once(
    header: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    header.write_text(f"{GOOD}// {header}\n")
    targets = [f"mine={header}:Pool", "flat-stack/cpp", "x=missing.hpp", "mine.py:Mine"]
    (header.parent / "kept.so").write_bytes(b"")
    targets.append(str(header.parent / "kept.so"))
    announce_builds(targets)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    announce_builds(targets)
    assert capsys.readouterr().err == f"compiling {header}\n"
    build_header(header)
    announce_builds(targets)
    assert capsys.readouterr().err == ""
    announce_builds(targets, coverage=True)
    told = f"compiling {header} once more, to count the edges of its code\n"
    assert capsys.readouterr().err == told


def test_the_command_says_what_it_found_and_what_comes_next(header: Path) -> None:
    done = blockmark("build", header.name, "--output", "kept.so", cwd=header.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "pool     Pool  measured alone, and as the pool of the flat table; ids uint16, reuse LIFO",
        "built    kept.so",
        "next     blockmark verify --impl mine=kept.so",
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("take()", "tkae()", "my pool.hpp:31: Pool is not a FreePool: pool.take(): 'class "
                             "mine::Pool' has no member named 'take'; did you mean 'tkae'?"),
        ("id_type take()", "int take()", "Pool is not a FreePool: pool.take() has another return "
                                         "type; needed is { pool.take() } -> same_as<Pool::id_ty"),
        ("Pool(std::int64_t", "Pool(const char*, std::int64_t", "constructible_from<Pool, long "),
        ("free_.back()", "free_.bakc()", "my pool.hpp:20: 'class std::vector<short unsigned int>"
                                         "' has no member named 'bakc'"),
        ("<vector>", "<vektor>", "my pool.hpp:3: vektor: No such file or directory"),
    ],
)  # fmt: skip
def test_a_header_that_does_not_compile(header: Path, old: str, new: str, says: str) -> None:
    header.write_text(GOOD.replace(old, new, 1))
    done = blockmark("verify", "--impl", f"mine={header.name}", cwd=header.parent)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: my pool.hpp doesn't compile: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_whole_of_what_the_compiler_said(header: Path) -> None:
    header.write_text(GOOD.replace("take()", "tkae()"))
    short = blockmark("build", header.name, cwd=header.parent)
    whole = blockmark("build", header.name, "--verbose", cwd=header.parent)
    assert (short.returncode, whole.returncode) == (2, 2)
    assert short.stderr.endswith("(--verbose shows the whole)\n")
    assert "constraints not satisfied" in whole.stderr
    assert whole.stderr.splitlines()[-1].startswith("error: my pool.hpp doesn't compile: ")


def test_a_header_without_an_offer(header: Path) -> None:
    header.write_text(GOOD.replace("BLOCKMARK_POOL(Pool);", ""))
    done = blockmark("run", "--impl", header.name, cwd=header.parent)
    assert done.returncode == 2
    assert done.stderr.startswith("error: my pool.hpp offers nothing: it needs a line BLOCKMARK_")


def test_two_offers_of_one_name(header: Path) -> None:
    text = GOOD.replace(
        "BLOCKMARK_POOL(Pool);", "BLOCKMARK_POOL(Pool);\nBLOCKMARK_POOL(mine::Pool);"
    )
    header.write_text(text)
    with pytest.raises(BuildError) as caught:
        offers_of(str(header))
    assert str(caught.value) == (
        f"{header} can't be loaded: two classes are offered as Pool; give one another name"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such file or directory"),
        (b"", "can't be loaded: "),
        ("a core", "can't be loaded: it was not made by blockmark build"),
    ],
)
def test_a_module_that_is_none(tmp_path: Path, content: bytes | str | None, says: str) -> None:
    path = tmp_path / "m.so"
    if content == "a core":
        from blockmark_impls import _native

        shutil.copy(_native.__file__, path)
    elif content is not None:
        assert isinstance(content, bytes)
        path.write_bytes(content)
    with pytest.raises(BuildError, match=r"m\.so") as caught:
        offers_of(str(path))
    assert says in str(caught.value)


def test_nanobind_that_is_not_there(header: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_tools, "find_spec", lambda name: None)
    build_tools.tools.cache_clear()
    with pytest.raises(TargetError, match="needs nanobind, which is not installed: pip install"):
        build_header(header)


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"CXX": "/nonexistent/g++"}, "/nonexistent/g++ was not found: the core was built by "),
        ({"CXX": "./other"}, "./other is g++ 1.2.3, but the core was built by "),
        ({"XDG_CACHE_HOME": "/proc/none"}, "set XDG_CACHE_HOME to a folder that can be written"),
    ],
)
def test_tools_that_are_not_there(header: Path, env: dict[str, str], says: str) -> None:
    other = header.parent / "other"
    other.write_text("#!/bin/sh\necho 1.2.3\n")
    other.chmod(0o755)
    done = blockmark("build", header.name, cwd=header.parent, env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_an_engine_that_includes_a_header_needs_nothing_of_python(header: Path) -> None:
    """There a line of an offer is a check of the concept."""
    native = Path(build_header.__code__.co_filename).parent / "native"
    (header.parent / "engine.cpp").write_text(
        '#include "my pool.hpp"\nint main() { return mine::Pool(3).num_free() == 3 ? 0 : 1; }\n'
    )
    subprocess.run(
        [
            *(os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Werror", "-I", str(native)),
            *("engine.cpp", "-o", "engine"),
        ],
        cwd=header.parent,
        check=True,
    )
    assert subprocess.run([header.parent / "engine"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("log", "line"),
    [
        # As clang++ 16 words it.
        (
            "mine.hpp:9:1: error: static assertion failed due to requirement 'x': "
            "Pool is not a FreePool\n"
            "blockmark.hpp:31:25: note: expanded from macro 'BLOCKMARK_POOL'\n"
            "contract.hpp:147:27: note: because 'pool.take()' would be invalid: no member named "
            "'take' in 'Pool'\n",
            "Pool is not a FreePool: pool.take(): no member named 'take' in 'Pool'",
        ),
        ("ld: m.o: undefined reference to `f()'\n", "ld: m.o: undefined reference to `f()'"),
        ("", "the compiler gave no reason"),
    ],
)
def test_the_first_error(log: str, line: str) -> None:
    assert first_error(log).endswith(line)


COVERED = """\
import json, sys
from blockmark_impls.contract import PoolConfig
from blockmark_impls.coverage import build_with_coverage, native_coverage
from blockmark_impls.registry import resolve

build_with_coverage()
(impl,) = resolve(f"{sys.argv[1]}:MyManager")


def edges(*calls):
    manager = impl.make_manager(PoolConfig(8, 2, 3, 4))
    coverage = native_coverage(sys.argv[1])
    coverage.clear()
    for name, *operands in calls:
        getattr(manager, name)(*operands)
    return sorted(coverage.edges())


short = [("allocate", 0, 3), ("append_slot", 0)]
shared = [("allocate", 0, 3), ("fork", 0, 1), ("append_slot", 0)]
lookups = {n: edges(short[0], *[("lookup", 0, 0)] * n) for n in (2, 3, 9, 15, 140, 700)}
print(json.dumps([edges(*short), edges(*shared), edges(*short), edges(), lookups]))
"""


def test_coverage_tells_what_ran(tmp_path: Path) -> None:
    header = DOCS / "my_manager.hpp"
    (first, second) = (
        json.loads(
            subprocess.run(
                [sys.executable, "-P", "-c", COVERED, str(header)],
                cwd=tmp_path,
                check=True,
                capture_output=True,
            ).stdout
        )
        for _ in range(2)
    )
    assert first == second
    short, shared, again, nothing, lookups = first
    assert short == again
    assert nothing == []
    # Copy-on-write is code that an append without it never came to.
    assert len({edge >> 3 for edge in shared} - {edge >> 3 for edge in short}) > 10
    assert len({edge >> 3 for edge in short}) == len(short)
    # How often counts in steps, and never falls back to less.
    assert lookups["2"] != lookups["3"]
    assert lookups["3"] != lookups["9"] == lookups["15"] != lookups["140"] == lookups["700"]
    assert {edge % 8 for edge in lookups["700"]} >= {0, 7}


def test_coverage_is_of_a_build_of_its_own(header: Path) -> None:
    plain = build_header(header)
    covered = build_header(header, coverage=True)
    assert covered != plain
    assert (build_header(header), build_header(header, coverage=True)) == (plain, covered)
    assert one(f"mine={header}").make_pool(4, 16).take(1) == [0]  # type: ignore[union-attr]
    with pytest.raises(TargetError, match="built without coverage"):
        native_coverage(str(header))
    with pytest.raises(RuntimeError, match="before it was said"):
        build_with_coverage()
