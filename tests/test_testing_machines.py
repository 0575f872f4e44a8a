"""Three lines in a user's suite: a right class passes, a wrong one fails with its calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

from blockmark.testing import manager_test, pool_test
from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager

# Shrinking is tried in the processes below.
FEW = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)

ENGINE = '''
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager

class Manager(VectorManager):
    """What the user has."""

class Broken(VectorManager):
    def free(self, seq):
        super().free(seq)
        self._free.pop()

class BrokenPool(ListPool):
    def give(self, ids):
        super().give([*ids, ids[0]])

class Broken257(VectorManager):
    """Wrong where more than 256 sequences are live."""

    def lookup(self, seq, logical):
        block = super().lookup(seq, logical)
        return block ^ 1 if sum(map(bool, self._tables)) > 256 else block
'''


def run(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """pytest on a file of these lines, with warnings as errors as in a strict suite."""
    (folder / "my_engine.py").write_text(ENGINE)
    (folder / "test_mine.py").write_text("\n".join(lines) + "\n")
    words = ["-q", "-W", "error", "-p", "no:cacheprovider"]
    # The same search each time: of a random one shrinking ends in another list now and then.
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--hypothesis-seed=1", "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_three_lines_pass_for_a_right_manager(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "from blockmark.testing import manager_test",
        "from my_engine import Manager",
        "TestManager = manager_test(Manager, effort='quick')",
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
    # No example is kept for a next run.
    assert not (tmp_path / ".hypothesis" / "examples").exists()


def test_the_default_finds_what_verify_finds_by_default(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "from blockmark.testing import manager_test",
        "from my_engine import Broken257",
        "TestManager = manager_test(Broken257)",
    )
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED test_mine.py::TestManager::test_as_verify" in done.stdout
    assert "AssertionError: size " in done.stdout


def test_a_wrong_class_fails_with_the_calls_that_show_it(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "from blockmark.testing import manager_test, pool_test",
        "from my_engine import Broken, BrokenPool",
        "TestManager = manager_test(Broken)",
        "TestPool = pool_test(BrokenPool)",
    )
    assert done.returncode == 1, done.stdout
    # Each by the search of hypothesis, and by what `verify` proves.
    assert "4 failed" in done.stdout
    said = [line.removeprefix("E").strip() for line in done.stdout.splitlines()]
    first = said.index("state = Broken()")
    assert said[first + 1].startswith("state.start(config=PoolConfig(total_blocks=1, ")
    assert said[first + 2 : first + 5] == [
        "state.allocate(num_tokens=1, seq=0)",
        "state.free(seq=0)",
        "state.teardown()",
    ]
    assert "AssertionError: free(0): 0 blocks are free; it should be 1" in said
    first = said.index("state = BrokenPool()")
    assert said[first + 1 : first + 4] == [
        "state.start(total_blocks=1)",
        "state.take(k=1)",
        "state.give(ids=[0])",
    ]


class NoForks(VectorManager):
    """Wrong in `fork` alone."""

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        raise NotImplementedError


def test_operations_can_be_chosen() -> None:
    kept = ["allocate", "append_slot", "free", "lookup"]
    manager_test(NoForks, operations=kept, settings=FEW)("runTest").debug()
    with pytest.raises(AssertionError, match="NotImplementedError"):
        manager_test(NoForks, operations=[*kept, "fork"], settings=FEW)("runTest").debug()
    with pytest.raises(ValueError, match="forks is no operation; there are can_allocate"):
        manager_test(NoForks, operations=["forks"])


def test_sizes_order_and_makers_of_ones_own() -> None:
    made: list[PoolConfig] = []

    def make(config: PoolConfig) -> VectorManager:
        made.append(config)
        return VectorManager(config)

    sizes = st.just(PoolConfig(total_blocks=4, block_size=2, max_seqs=2, max_blocks_per_seq=2))
    manager_test(make, config=sizes, settings=FEW)("runTest").debug()
    assert {config.total_blocks for config in made} == {4}
    with pytest.raises(AssertionError, match="FIFO declared"):
        manager_test(make, config=sizes, reuse_order="FIFO", settings=FEW)("runTest").debug()


def test_a_pool_of_ones_own_sizes() -> None:
    pool_test(ListPool, total_blocks=st.just(5), reuse_order="LIFO", settings=FEW)(
        "runTest"
    ).debug()


def test_without_hypothesis_the_wrappers_work_and_the_mend_is_named(tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ImportError('not here')\n")
    text = (
        "from blockmark.testing import CheckedPool, manager_test\n"
        "from blockmark_impls.python.list_pool import ListPool\n"
        "CheckedPool(ListPool(2), 2).take(1)\n"
        "manager_test(ListPool)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: manager_test and pool_test need hypothesis: pip install 'blockmark[testing]'"
    )
