"""The core's types, which mypy reads, are those that nanobind tells of the core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

IMPLS = Path(__file__).parents[1] / "impls" / "blockmark_impls"


def test_the_stub_is_the_generated_one(tmp_path: Path) -> None:
    made = tmp_path / "_native.pyi"
    words = ["-q", "--exclude-values", "-m", "blockmark_impls._native"]
    words += ["-p", str(IMPLS / "native" / "stub.txt"), "-o", str(made)]
    subprocess.run([sys.executable, "-P", "-m", "nanobind.stubgen", *words], check=True)
    assert (IMPLS / "_native.pyi").read_text() == made.read_text(), "run make stub"
