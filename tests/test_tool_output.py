"""What a tool prints, in a time that is counted as that of measured processes."""

from __future__ import annotations

import sys
import time

import pytest

from blockmark.measure.tool_output import ask_tool


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_both_texts_and_the_code() -> None:
    said = ask_tool(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), 60
    )
    assert (said.code, said.out, said.err, said.late) == (3, "out\n", "err\n", "")


def test_one_that_works_beyond_its_time_is_ended() -> None:
    said = ask_tool(python("while True: pass"), 0.5)
    assert said.late == "0.5 s of CPU time"


def test_one_that_waits_for_nothing_is_ended() -> None:
    said = ask_tool(python("import time; time.sleep(600)"), 0.5)
    assert said.late == "0.5 s"


def test_what_it_leaves_behind_holds_nothing_up() -> None:
    start = time.monotonic()
    said = ask_tool(python("import os, time\nprint('x')\nif not os.fork(): time.sleep(600)"), 300)
    assert (said.code, said.out) == (0, "x\n")
    assert time.monotonic() - start < 200


def test_none_to_start() -> None:
    with pytest.raises(FileNotFoundError):
        ask_tool(["/nonexistent/tool"], 1)
