"""CONTRIBUTING's steps for a table and a pool in C++, done in a copy of the tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

from blockmark_impls.build_tools import NATIVE, tools
from blockmark_impls.registry import pair_names

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
# The new units beside the core that is installed, whose programs and errors they use.
UNIT = """\
#include "bindings/bind_pool.hpp"
#include "pool_headers.hpp"
namespace blockmark {
void bind_deque(nb::module_& m);
void bind_deque_answers();
}
using namespace blockmark;
NB_MODULE(added, m) {
  nb::module_::import_("blockmark_impls._native");
  m.attr("_managers") = nb::dict();
  bind_deque(m);
  bind_deque_answers();
  using Pool = QueuePool<std::uint32_t>;
  m.attr("pool") = bind_pool_class<Pool, Replayable<PoolTarget<Pool>>>(m, "Pool");
}
"""
PROVE = """\
import json, sys
import added
from blockmark.measure.proof.prove import prove
from blockmark.testing.proved import Made
from blockmark_impls.contract import PoolConfig
job = dict(random_programs=20, programs=[], operations=0, seed=1, call_style="per-op")
config = PoolConfig(64, 4, 8, 16, id_bits=32)
made = []
for (_, pool, _, _), manager in added._managers.items():
    make = lambda c, manager=manager: manager(
        c.total_blocks, c.block_size, c.max_seqs, c.max_blocks_per_seq)
    made.append(Made(f"deque+{pool}", manager.reuse_order, make, lambda n, bits: None))
made.append(Made("queue", "FIFO", None, lambda n, bits: added.pool(n), pool_alone=True))
print(json.dumps({each.name: prove(each, config, job) for each in made}))
"""
LIST = """\
import json
from blockmark_impls.registry import pair_names, resolve
queue = resolve("queue/cpp")[0]
print(json.dumps([pair_names(), resolve("deque+queue")[0].reuse_order, queue.summary]))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the core is built from, with both structures added as the document says."""
    folder = tmp_path_factory.mktemp("tree")
    impls = folder / "impls" / "blockmark_impls"
    unwanted = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(NATIVE.parent, impls, ignore=unwanted)
    shutil.copy(ROOT / "CMakeLists.txt", folder)
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    text = text[text.index("## Add a table or a pool in C++") :]
    text = text[: text.index("\n## ", 1)]
    headers = re.findall(r"`native/([\w/]+\.hpp)`[^`]*```cpp\n(.*?)```", text, re.S)
    rows = re.findall(r"```text\n(.*?)```", text, re.S)
    assert [name for name, _ in headers] == ["tables/deque.hpp", "pools/queue.hpp"]
    assert len(rows) == 2
    for name, content in headers:
        (impls / "native" / name).write_text(content)
    with (impls / "native" / "structures.txt").open("a") as structures:
        structures.write("".join(rows))
    return folder


def run(command: Sequence[str]) -> str:
    """What a compiler says; nothing where all is well."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr or "failed" * (done.returncode != 0)


def python(code: str, path: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_row_names_them_everywhere(tree: Path) -> None:
    # -S: an editable install would be found before the copy.
    names, order, summary = json.loads(python(LIST, tree / "impls", "-S"))
    added = [f"deque+{pool}/cpp" for pool in ("list", "stack", "lru", "queue")]
    assert set(names) - set(pair_names()) == {*added, "vector+queue/cpp"}
    assert (order, summary) == ("FIFO", "pool alone: a std::deque, first in first out")


def test_the_header_compiles_and_is_right(tree: Path) -> None:
    build, native = tree / "build", tree / "impls" / "blockmark_impls" / "native"
    configure = [str(BIN / "cmake"), "-S", str(tree), "-B", str(build), "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", f"-DPython_EXECUTABLE={sys.executable}"]
    assert run(configure) == ""
    generated = build / "generated"
    assert "BIND(deque)" in (generated / "managers.inc").read_text()
    assert "BIND_POOL(QueuePool<std::uint16_t>, 16)" in (generated / "pools.inc").read_text()
    assert "QueuePool" in (generated / "managers_vector.cpp").read_text()
    (generated / "added.cpp").write_text(UNIT)
    with_tools = tools()
    # In the place of the package's own headers, the copy's; and nothing here is timed.
    own = [str(native) if word == str(NATIVE) else word for word in with_tools.compile]
    compile_ours = [*own, "-I", str(generated), "-O0"]
    support = ("allocations", "conditions", "contract", "pacing", "bindings/python")
    sources = [generated / f"{name}.cpp" for name in ("managers_deque", "answers_deque", "added")]
    commands = [[*compile_ours, "-c", str(source)] for source in sources]
    commands += [[*compile_ours, "-c", str(native / f"{name}.cpp")] for name in support]
    commands.append([*with_tools.compile_nanobind, "-O0", "-c", str(with_tools.nanobind)])
    objects = [str(tree / f"{number}.o") for number in range(len(commands))]
    with ThreadPoolExecutor(2) as pool:
        done_each = pool.map(lambda command, made: run([*command, "-o", made]), commands, objects)
        assert list(done_each) == [""] * len(commands)
    assert run([*with_tools.link, *objects, "-o", str(tree / "added.so")]) == ""
    answers = json.loads(python(PROVE, tree))
    assert set(answers) == {"queue", *(f"deque+{p}" for p in ("list", "stack", "lru", "queue"))}
    assert {name: answer["status"] for name, answer in answers.items()} == dict.fromkeys(
        answers, "ok"
    ), answers
    assert all(answer["operations"] > 100 for answer in answers.values())
