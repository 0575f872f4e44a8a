"""The tutorial: each command of docs/bring-your-own.md is run, in the order of the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "bring-your-own.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, build_cache: Path) -> dict[str, str]:
    """Command -> what it printed; all of them in one copy of the folder."""
    folder = tmp_path_factory.mktemp("tutorial") / "mine"
    shutil.copytree(DOCS / "bring-your-own", folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(build_cache),
        "COLUMNS": "100",
    }
    found = {}
    for line in COMMANDS:
        command, _, code = line.partition("  # exit code ")
        # The whole proof has tests of its own; the mistake shows in the quick one too.
        command = command.replace("blockmark verify", "blockmark verify --quick")
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == int(code or 0), (line, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        found[line] = done.stdout
    return found


def test_the_page_shows_every_command() -> None:
    words = {tuple(line.split()[:2]) for line in COMMANDS}
    for command in ("verify", "run", "compare", "check", "build"):
        assert ("blockmark", command) in words


def test_the_mistake_is_found_as_the_page_says(said: dict[str, str]) -> None:
    (block,) = re.findall(r"^```\n(wrong .*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    found = said[COMMANDS[0]].partition("\nok ")[0]
    assert " ".join(found.split()) == " ".join(block.split())


def test_what_the_commands_answer(said: dict[str, str]) -> None:
    def of(words: str) -> str:
        (found,) = [text for line, text in said.items() if words in line]
        return found

    assert of("verify --impl mine=my_manager.py").startswith("ok       mine  block_size 16")
    assert of("verify --impl mine=my_manager.hpp").startswith("ok       mine  block_size 16")
    assert of("verify --impl pool=").startswith("ok       pool  block_size 16")
    assert re.search(r"^  mine +[0-9.]+ ", of("--impl mine=my_manager.py:Manager --impl"), re.M)
    assert re.search(r"^pool alone: take +.*[0-9]", of("run small.toml --quick --impl pool"), re.M)
    beside = of("tokenspeed/cpp")
    assert "3 of 3 verified" in beside
    assert re.search(r"^  tokenspeed/cpp +[0-9.,]+ .* [A-Z]+S$", beside, re.M)
    assert "Run 0001: implementations against mine" in of("compare")
    assert of("build my_table.hpp --output").splitlines()[-1] == (
        "next     blockmark verify --impl mine=my_table.so"
    )
    assert re.search(r"\bunchanged|\binconclusive", of("check small.toml"))


def test_the_refusal_that_the_page_shows(tmp_path: Path, build_cache: Path) -> None:
    (block,) = re.findall(r"^```\n(error: .*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    text = (DOCS / "bring-your-own" / "my_table.hpp").read_text()
    (tmp_path / "my_table.hpp").write_text(text.replace("void append", "void apend"))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "blockmark", "verify", "--impl", "mine=my_table.hpp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "XDG_CACHE_HOME": str(build_cache)},
    )
    assert done.returncode == 2
    assert " ".join(done.stderr.split()) == " ".join(block.split())
