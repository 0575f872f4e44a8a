"""Text between markers: replaced whole, or the document is as it was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from blockmark.report.splice import SpliceError, splice

BEGIN, END = "<!-- BEGIN: decode -->", "<!-- END: decode -->"
COMMAND = "blockmark report results/0001 --splice README.md"


@pytest.fixture
def readme(tmp_path: Path) -> Path:
    path = tmp_path / "README.md"
    path.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nAfter.\n", encoding="utf-8")
    return path


def test_what_stands_between_the_markers_is_replaced(readme: Path) -> None:
    assert splice(readme, "decode", "| new |\n", COMMAND)
    assert readme.read_text(encoding="utf-8") == (
        f"# Title\n\n{BEGIN}\n<!-- made by: {COMMAND} -->\n\n| new |\n\n{END}\n\nAfter.\n"
    )


def test_the_same_text_again_changes_nothing(readme: Path) -> None:
    splice(readme, "decode", "new", COMMAND)
    before = readme.stat().st_mtime_ns
    assert not splice(readme, "decode", "new", COMMAND)
    assert readme.stat().st_mtime_ns == before


def test_backslashes_and_groups_in_the_text_are_plain_text(readme: Path) -> None:
    splice(readme, "decode", r"\1 \g<0> \n", COMMAND)
    assert r"\1 \g<0> \n" in readme.read_text(encoding="utf-8")


def test_another_pair_of_markers_is_left_alone(readme: Path) -> None:
    with readme.open("a", encoding="utf-8") as stream:
        stream.write("<!-- BEGIN: decode-2 -->\nkept\n<!-- END: decode-2 -->\n")
    splice(readme, "decode", "new", COMMAND)
    assert "<!-- BEGIN: decode-2 -->\nkept\n" in readme.read_text(encoding="utf-8")


def test_permissions_and_windows_line_ends_stay(readme: Path) -> None:
    readme.write_bytes(f"# Title\r\n{BEGIN}\r\n{END}\r\nAfter.\r\n".encode())
    readme.chmod(0o640)
    splice(readme, "decode", "one\ntwo", COMMAND)
    assert stat.S_IMODE(readme.stat().st_mode) == 0o640
    content = readme.read_bytes()
    assert b"one\r\ntwo\r\n" in content
    assert content.count(b"\n") == content.count(b"\r\n")


def test_a_link_stays_a_link(readme: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(readme)
    splice(link, "decode", "new", COMMAND)
    assert link.is_symlink()
    assert "new" in readme.read_text(encoding="utf-8")


def test_a_comment_end_in_the_command_does_not_end_the_comment(readme: Path) -> None:
    splice(readme, "decode", "new", "blockmark --> run\nnow")
    assert "<!-- made by: blockmark -- > run now -->\n" in readme.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("nothing\n", "no line '<!-- BEGIN: decode -->'"),
        (f"{BEGIN}\n", "no line '<!-- END: decode -->'"),
        (f"{BEGIN}\n{BEGIN}\n{END}\n", "2 lines"),
        (f"{END}\n{BEGIN}\n", "comes before"),
        (f"text {BEGIN}\n{END}\n", "no line"),
    ],
)
def test_missing_or_confused_markers_are_an_error_and_change_nothing(
    readme: Path, content: str, problem: str
) -> None:
    readme.write_text(content, encoding="utf-8")
    with pytest.raises(SpliceError, match=r"README\.md: ") as error:
        splice(readme, "decode", "new", COMMAND)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert readme.read_text(encoding="utf-8") == content
    assert [path.name for path in readme.parent.iterdir()] == ["README.md"]


def test_a_text_that_holds_the_marker_is_refused(readme: Path) -> None:
    before = readme.read_text(encoding="utf-8")
    with pytest.raises(SpliceError, match="marker"):
        splice(readme, "decode", f"{END}\nmore", COMMAND)
    assert readme.read_text(encoding="utf-8") == before


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(SpliceError, match=r"none\.md: can't be read: no such file"):
        splice(tmp_path / "none.md", "decode", "new", COMMAND)
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpliceError, match="not UTF-8"):
        splice(tmp_path / "bytes.md", "decode", "new", COMMAND)


def test_a_folder_that_refuses_leaves_the_file_as_it_was(
    readme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = readme.read_text(encoding="utf-8")

    def refuse(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("blockmark.report.files.os.replace", refuse)
    with pytest.raises(SpliceError, match="can't be written: no space left"):
        splice(readme, "decode", "new", COMMAND)
    assert readme.read_text(encoding="utf-8") == before
    assert [path.name for path in readme.parent.iterdir()] == ["README.md"]
