"""The screen: whole texts at 80 and 60 columns, and the ways a terminal can be hostile."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blockmark.report.console import print_run
from blockmark.runs.codec import parse_run
from golden_text import assert_golden
from run_factory import find_cell, make_run
from swept_run_factory import make_swept_run, make_workload_run

ESCAPE = "\x1b"


def screen(content: dict[str, Any], width: int | None = 80, **options: Any) -> str:
    stream = io.StringIO()
    print_run(parse_run(content), stream=stream, width=width, **options)
    return stream.getvalue()


def full_run() -> dict[str, Any]:
    """Every status, with the conditions and the step rate of a real setting."""
    content = make_run()
    more = {"step_rate": 2000, "heap": "aged", "pool": "burst", "cache": "hot", "gc": "off"}
    for part in (*content["settings"], *content["cells"]):
        part["params"] |= more
    return content


PLACES = {"saved": "results/0001", "report": "reports/decode/report.md"}


@pytest.mark.parametrize("width", [80, 60])
def test_the_whole_screen(width: int) -> None:
    text = screen(full_run(), width, **PLACES)
    assert max(map(len, text.splitlines())) <= width
    assert_golden(f"console_{width}.txt", text)


def test_the_whole_screen_of_one_setting() -> None:
    content = full_run()
    keep = "flat-stack/cpp", "vector/cpp", "hash-map/cpp", "null/cpp", "vector/py"
    content = {**content, "settings": content["settings"][:1]}
    content["cells"] = [
        cell
        for cell in content["cells"]
        if cell["params"]["block_size"] == 16 and cell["impl"] in keep
    ]
    content["implementations"] = [i for i in content["implementations"] if i["name"] in keep]
    assert_golden("console_one_setting.txt", screen(content, 80, **PLACES))


def test_the_whole_screen_of_many_settings() -> None:
    content = make_swept_run(refused=(1_048_576,))
    text = screen(content, 80, **PLACES)
    assert max(map(len, text.splitlines())) <= 80
    assert_golden("console_growth.txt", text)


def test_the_whole_screen_of_loads_that_differ() -> None:
    content = make_workload_run("serving", (16, 64, 512, 1024))
    for setting, share in zip(content["settings"], (0.3, 0.2, 0.0, 0.0), strict=True):
        setting["facts"]["cache"]["hit_share"] = share
        if not share:
            size = setting["params"]["block_size"]
            note = f"the shared prefix of 100 tokens is shorter than a block of {size}"
            setting["facts"]["cache"]["note"] = note
    assert_golden("console_loads.txt", screen(content, 80, **PLACES))


def test_what_a_load_was_about_stands_below_what_a_step_is() -> None:
    text = " ".join(screen(make_workload_run("speculative")).split())
    assert "(2 operations a sequence). Speculative lookahead: 37.5 % of the tokens" in text


@pytest.mark.parametrize("width", [20, 40, 60])
def test_many_settings_on_a_narrow_screen_keep_their_numbers(width: int) -> None:
    content = make_swept_run(impls=("flat-stack/cpp", "vector/py", "null/cpp"))
    numbers = re.compile(r"(?<![\w.])\d[\d,.]*\d(?![\w.])")
    wide = set(numbers.findall(screen(content, 80)))
    assert len(wide) > 60
    assert wide <= set(numbers.findall(screen(content, width)))


def test_the_order_of_ids_is_proved_beside_the_pool() -> None:
    content = make_workload_run("beam")
    for cell, descriptors in zip(content["cells"], (134.0, 96.5, 134.0), strict=False):
        cell["metrics"]["move_descriptors"] |= {"value": descriptors, "values": [descriptors]}
        cell["metrics"]["move_descriptors"] |= {"low": None, "high": None, "rounds": 1}
    text = " ".join(screen(content, detail=True).split())
    assert "pool fresh (ids: mean run 1.4, 96.5-134 descriptors a sequence)" in text
    assert "descriptors a sequence 134 96.5 134" in text


def test_every_number_of_80_columns_is_there_at_60_and_at_30() -> None:
    numbers = re.compile(r"(?<![\w.])\d[\d,.]*\d(?:-\d[\d,.]*\d)?(?![\w.])")
    wide = set(numbers.findall(screen(full_run(), 80, detail=True)))
    assert len(wide) > 200
    for width in (60, 30):
        assert wide <= set(numbers.findall(screen(full_run(), width, detail=True)))


def test_every_column_is_visible_at_60_columns() -> None:
    text = screen(full_run(), 60)
    for title in ("step us", "95 %", "p99", "pack us", "allocs", "at 2,000/s", "profile"):
        assert title in text


def test_without_a_terminal_there_are_no_escapes_and_80_columns() -> None:
    text = screen(full_run(), None)
    assert ESCAPE not in text
    assert text == screen(full_run(), 80)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_that_lacks_letters_gets_escapes_and_no_traceback(encoding: str) -> None:
    content = full_run()
    rename(content, "mine", "内存池/é")
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    print_run(parse_run(content), stream=stream, width=80)
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    text = raw.getvalue().decode(encoding)
    assert r"\u5185\u5b58\u6c60" in re.sub(r"\s", "", text)
    assert max(map(len, text.splitlines())) <= 80


def rename(content: dict[str, Any], old: str, new: str) -> None:
    """Give an implementation another name throughout a run."""
    for info in content["implementations"]:
        if info["name"] == old:
            info["name"] = new
    for cell in content["cells"]:
        if cell["impl"] == old:
            cell["impl"] = new


@pytest.mark.parametrize(
    "name",
    [
        "[bold red]x[/bold red]",
        "[/x]",
        "a|b",
        "a\nb\r\n\tc",
        "内存池",
        ":smiley:",
        "\x1b[31mred\x1b[0m",
        "x" * 300,
        "[link=http://example.org]y[/link]",
        "e\u0301\u200b\u202e",
        "\ud800",
    ],
)
@pytest.mark.parametrize("width", [80, 60, 20])
def test_a_hostile_name_is_shown_as_it_is(name: str, width: int) -> None:
    content = full_run()
    rename(content, "vector/cpp", name)
    rename(content, "mine", f"{name}2")
    find_cell(content, f"{name}2")["reason"] = f"says {name}"
    text = screen(content, width)
    assert ESCAPE not in text
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    assert re.sub(r"\s", "", shown) in re.sub(r"\s", "", text)


def test_a_run_without_settings_or_cells() -> None:
    empty = make_run(impls=(), settings=[], cells=[])
    assert "Nothing was measured." in screen(empty)
    assert "decode" in screen(make_run(impls=()))


def test_a_run_in_which_all_failed_shows_the_reasons() -> None:
    text = " ".join(screen(make_run(impls=("mine", "prefix-tree"))).split())
    assert "wrong: step 12, operation 3104 (APPEND): block 7 belongs to two sequences" in text
    assert "unavailable: it has no `fork`, which the step model needs" in text


def test_facts_of_any_kind_or_none_are_no_traceback() -> None:
    content = make_run(machine={}, build={"native": False, "reason": "no compiler"})
    for setting in content["settings"]:
        setting["facts"] = {"operations_per_step": "many", "occupancy_p95": None}
        setting["params"]["total_blocks"] = "lots"
        setting["params"]["models"] = ["step", "pack"]
    for cell in content["cells"]:
        cell["params"] |= {"total_blocks": "lots", "models": ["step", "pack"]}
    text = screen(content)
    assert "unknown processor" in text
    assert "no C++ core" in text


def test_quick_and_interrupted_runs_say_so() -> None:
    text = screen(make_run(quick=True, complete=False))
    assert "not for decisions" in text
    assert "interrupted" in text


def test_single_operations_are_the_detail() -> None:
    assert "lookup chain" in screen(full_run(), detail=True)
    short = screen(full_run(), **PLACES)
    assert "lookup chain" not in short
    assert "counters: blockmark show results/0001 --detail" in " ".join(short.split())


def test_operations_stand_on_the_screen_where_no_step_was_measured() -> None:
    content = full_run()
    steps = ("step_ns", "step_latency_ns", "pack_ns", "busy_share_estimated")
    for cell in content["cells"]:
        for name in (*steps, "heap_allocations_per_step"):
            cell.get("metrics", {}).pop(name, None)
    text = screen(content)
    assert "lookup chain" in text
    assert "--detail" not in text


def test_the_answer_stands_before_the_table_and_is_told_once() -> None:
    text = screen(full_run())
    first = text[: text.index("decode, block_size 1:")]
    assert first.index("Structure: ") < first.index("Crossing: ") < first.index("native loop\n")
    assert first.count("Structure: ") == first.count("Crossing: ") == 1


def test_the_words_of_the_table_are_explained_below_it() -> None:
    text = " ".join(screen(full_run()).split())
    for word in ("step: ", "p99: ", "pack: ", "allocs: ", "R: ", "control: "):
        assert word in text[text.index("range: ") :]
    # No implementation of this run evicts by itself.
    assert "S: " not in text


SCRIPT = """
import json, sys
from blockmark.report.console import print_run
from blockmark.runs.codec import parse_run
print_run(parse_run(json.load(open(sys.argv[1]))))
"""


def in_terminal(tmp_path: Path, **environment: str) -> str:
    """What a program prints to a terminal of 80 columns."""
    import json

    run = tmp_path / "run.json"
    run.write_text(json.dumps(full_run()), encoding="utf-8")
    ours, theirs = pty.openpty()
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERM")
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SCRIPT, str(run)],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=inherited | {"COLUMNS": "80", "PYTHONPATH": os.pathsep.join(sys.path)} | environment,
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return b"".join(parts).decode()


def test_a_terminal_gets_colour_unless_it_asks_for_none(tmp_path: Path) -> None:
    plain = screen(full_run(), 80).replace("\n", "\r\n")
    coloured = in_terminal(tmp_path, TERM="xterm-256color")
    assert f"{ESCAPE}[33m" in coloured
    assert re.sub(rf"{ESCAPE}\[[\d;]*m", "", coloured) == plain
    without = in_terminal(tmp_path, TERM="xterm-256color", NO_COLOR="1")
    assert f"{ESCAPE}[33m" not in without
    assert re.search(rf"{ESCAPE}\[[\d;]*(?:3|4|9)\dm", without) is None
    assert in_terminal(tmp_path, TERM="dumb") == plain


def test_one_reason_is_told_once_for_all_that_it_holds_for() -> None:
    content = make_run(impls=("vector/cpp", "flat-stack/cpp"))
    reason = "the probe saw 12 ns, so the cache was warm"
    for cell in content["cells"]:
        for name in ("take_ns", "give_ns", "append_ns"):
            cell["metrics"][name] = {
                "value": None, "unit": "ns", "source": "clock", "unavailable": reason,
            }  # fmt: skip
    text = " ".join(screen(content, 100).split())
    assert text.count(reason) == 1
    told = re.search(r"Not measured: (\S+), (\S+), (\S+) of vector/cpp, flat-stack/cpp: the", text)
    assert told is not None
    assert set(told.groups()) == {"take_ns", "give_ns", "append_ns"}


def test_a_hint_for_code_of_ones_own_stands_where_it_fits() -> None:
    content = make_run(impls=("vector/cpp",))
    assert "Yours: " in screen(content, 100)
    # Who measures their own knows how.
    content["implementations"][0]["origin"] = {"path": "mine.py", "digest": "0123456789abcdef"}
    assert "Yours: " not in screen(content, 100)
