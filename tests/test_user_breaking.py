"""Managers and pools that are wrong in a user's ways: a line and a status each, and the
others finish.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli import blockmark, tiny

BREAKING = Path(__file__).parent / "subjects" / "breaking.py"

# Class -> status and what its line says.
EXPECTED = {
    "ReturnsText": ("wrong", "block_table(0) names '0', which is no block of a pool of 30"),
    "ReturnsNothing": ("wrong", "raised TypeError(\"'NoneType' object is not iterable\")"),
    "BeyondThePool": ("wrong", "names 1000000, which is no block of a pool of 30"),
    "Misspelt": ("unavailable", "lacks append_slot (it has apend_slot), which every model needs"),
    "Leaks": ("wrong", "free(1): 27 blocks are free; it should be 28"),
    "HandsOutTwice": ("wrong", "blocks are free; it should be"),
    "Deadlocks": ("timeout", "no answer within 4 s; it was ended"),
    "Exits": ("failed", "the process ended with code 7"),
    "Vanishes": ("failed", "the process ended with code 0"),
    "PoolOfText": ("wrong", "], which is no list of blocks"),
    "PoolBeyond": ("wrong", "is no block of a pool of"),
    "PoolThatRaisesAnother": ("wrong", "it should be OutOfBlocks"),
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Class -> its line, of one command that tries them all."""
    words = [word for name in EXPECTED for word in ("--impl", f"{name}={BREAKING}:{name}")]
    done = blockmark(
        "verify",
        *("--set", "block_size=16", "--quick", "--timeout", "4"),
        *words,
        *("--impl", "vector/py"),
        cwd=tmp_path_factory.mktemp("breaking"),
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    # Indented lines show a wrong answer by its calls.
    return {line.split()[1]: line for line in done.stdout.splitlines() if line[0] != " "}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_fault_has_its_line(lines: dict[str, str], name: str) -> None:
    status, says = EXPECTED[name]
    assert lines[name].split()[0] == status
    assert says in lines[name]


def test_the_others_finish(lines: dict[str, str]) -> None:
    assert len(lines) == len(EXPECTED) + 1
    assert lines["vector/py"].startswith("ok ")


# File -> what it says when it is loaded. None of it is code of ours that runs.
NOT_LOADED = {
    "raises.py:Manager": (
        "raise OSError('no device')\n",
        "raises.py can't be imported: OSError: no device (raises.py, line 1)",
    ),
    "leaves.py:Manager": (
        "import os\nos._exit(5)\n",
        "leaves can't be loaded: the process ended with code 5",
    ),
    "crashes.py:Manager": (
        "import ctypes\nctypes.string_at(8)\n",
        "crashes can't be loaded: the process crashed with SIGSEGV",
    ),
    "hangs.py:Manager": (
        "import time\nwhile True:\n    time.sleep(1)\n",
        "hangs can't be loaded: no answer within 8 s; it was ended",
    ),
    "misnamed.py:Mangaer": (
        "class Manager:\n    pass\n",
        'misnamed.py has no Mangaer; did you mean "Manager"?',
    ),
    "missing.py:Manager": (None, "missing.py: there is no such file"),
    "no_such_package.blocks:Manager": (None, "no_such_package.blocks can't be imported: "),
    "bad.hpp": ("#include <vektor>\n", "bad.hpp doesn't compile: bad.hpp:1: vektor: No such"),
    "missing.hpp:Pool": (None, "missing.hpp: there is no such file"),
}


def test_what_can_not_be_loaded_is_a_result_and_the_others_finish(
    tmp_path: Path, build_cache: Path
) -> None:
    words: list[str] = []
    for target, (text, _) in NOT_LOADED.items():
        file = target.partition(":")[0]
        if text is not None:
            (tmp_path / file).write_text(text)
        words += ["--impl", f"{file.replace('.', '-') if text is None else file[:-3]}={target}"]
    done = blockmark(
        "run",
        tiny(tmp_path),
        *("--quick", "--timeout", "8", "--impl", "vector/py"),
        *words,
        cwd=tmp_path,
        env={"XDG_CACHE_HOME": str(build_cache)},
    )
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    run = json.loads((tmp_path / "results" / "0001" / "run.json").read_text())
    cells = {cell["impl"]: cell for cell in run["cells"]}
    assert cells.pop("vector/py")["status"] == "ok"
    assert len(cells) == len(NOT_LOADED)
    for cell, (_, says) in zip(cells.values(), NOT_LOADED.values(), strict=True):
        assert cell["status"] == "failed"
        assert says in cell["reason"]
        assert cell["impl"] in done.stdout
        assert " ".join(says.split()[:4]) in " ".join(done.stdout.split())


def test_verify_says_once_what_can_not_be_loaded(tmp_path: Path) -> None:
    """In a scenario of two cells, beside one that is proved."""
    words = ("--impl", "mine=missing.py:Manager", "--impl", "vector/py", "--quick")
    done = blockmark("verify", *words, cwd=tmp_path)
    assert done.returncode == 3
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["failed", "ok", "ok"]
    assert "missing.py: there is no such file" in done.stdout


def test_alone_it_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text("import os\nos._exit(5)\n")
    done = blockmark("run", "--impl", "mine=leaves.py:Manager", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: mine can't be loaded: the process ended with code 5\n"
    assert not (tmp_path / "results").exists()


def test_an_installed_package_offers_a_class_by_name(tmp_path: Path) -> None:
    """As an installer leaves it: a module, and a dist-info with an entry point."""
    (tmp_path / "vendor_blocks.py").write_text(
        "from blockmark_impls.python.vector import VectorManager\n"
        "class Manager(VectorManager):\n    pass\n"
    )
    info = tmp_path / "vendor_blocks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-blocks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[blockmark.impls]\nvendor = vendor_blocks:Manager\nbroken = vendor_blocks:Mangaer\n"
    )
    env = {"PYTHONPATH": str(tmp_path)}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    listed = blockmark("list", "impls", cwd=elsewhere, env=env)
    assert "vendor" in listed.stdout
    assert "[unavailable: vendor_blocks:Mangaer: vendor_blocks has no Mangaer" in " ".join(
        listed.stdout.split()
    )
    scenario = tiny(elsewhere)
    done = blockmark(
        "run",
        scenario,
        "--quick",
        "--impl",
        "vendor",
        "--impl",
        "vector/py",
        cwd=elsewhere,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    assert "2 of 2 verified" in done.stdout
    broken = blockmark("run", scenario, "--impl", "broken", cwd=elsewhere, env=env)
    assert broken.returncode == 2
    assert 'vendor_blocks has no Mangaer; did you mean "Manager"?' in broken.stderr


def test_help_names_what_can_be_brought() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "blockmark", "build", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "BLOCKMARK_POOL(Class)" in done.stdout
