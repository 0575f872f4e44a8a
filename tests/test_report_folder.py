"""A report on disk: complete, linked, replaced whole, or a clear error."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from blockmark.report.folder import write_report
from blockmark.runs.codec import parse_run
from blockmark.runs.errors import StoreError
from run_factory import make_run

RUN = parse_run(make_run(impls=("flat-stack/cpp", "vector/cpp")))


def test_every_picture_that_is_linked_is_there(tmp_path: Path) -> None:
    path = write_report(RUN, tmp_path / "new" / "decode")
    assert path == tmp_path / "new" / "decode" / "report.md"
    linked = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    assert len(linked) == 4
    assert sorted(linked) == sorted(file.name for file in path.parent.glob("*.png"))
    # Beside each the same as lines and letters.
    assert {file.stem for file in path.parent.glob("*.svg")} == {
        file.stem for file in path.parent.glob("*.png")
    }


def test_the_same_run_gives_the_same_files(tmp_path: Path) -> None:
    first, second = write_report(RUN, tmp_path / "a"), write_report(RUN, tmp_path / "b")
    assert {file.name: file.read_bytes() for file in first.parent.iterdir()} == {
        file.name: file.read_bytes() for file in second.parent.iterdir()
    }


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="the report can't be written: ") as error:
        write_report(RUN, tmp_path / "file" / "decode")
    assert "\n" not in str(error.value)


def test_a_full_disk_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_report(RUN, tmp_path)
    before = path.read_bytes()

    def refuse(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("blockmark.report.files.os.fsync", refuse)
    with pytest.raises(StoreError, match="no space left on device"):
        write_report(parse_run(make_run(seed=2)), tmp_path)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))
