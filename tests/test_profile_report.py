"""The screen and the speedscope file of a profile."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema

from blockmark.report.speedscope import speedscope, write_speedscope
from blockmark.report.tables.profile import print_profile
from blockmark.runs.profile import (
    Frame,
    HotFunction,
    HotLine,
    Profile,
    ProfiledReplay,
    Stack,
)

# What https://www.speedscope.app/file-format-schema.json demands of a sampled profile.
SCHEMA = {
    "type": "object",
    "required": ["$schema", "profiles", "shared"],
    "properties": {
        "$schema": {"enum": ["https://www.speedscope.app/file-format-schema.json"]},
        "activeProfileIndex": {"type": "number"},
        "exporter": {"type": "string"},
        "name": {"type": "string"},
        "shared": {
            "type": "object",
            "required": ["frames"],
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "number"},
                            "col": {"type": "number"},
                        },
                    },
                }
            },
        },
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "type",
                    "name",
                    "unit",
                    "startValue",
                    "endValue",
                    "samples",
                    "weights",
                ],
                "properties": {
                    "type": {"enum": ["sampled"]},
                    "name": {"type": "string"},
                    "unit": {
                        "enum": [
                            "bytes",
                            "microseconds",
                            "milliseconds",
                            "nanoseconds",
                            "none",
                            "seconds",
                        ]
                    },
                    "startValue": {"type": "number"},
                    "endValue": {"type": "number"},
                    "samples": {
                        "type": "array",
                        "items": {"type": "array", "items": {"type": "number"}},
                    },
                    "weights": {"type": "array", "items": {"type": "number"}},
                },
            },
        },
    },
}


def make_replay() -> ProfiledReplay:
    loop = "Replay<Manager<...>>::loop<append>"
    step = Frame("run_step", "/src/native/replay.hpp", 226, 226)
    append = Frame(loop, "/src/native/replay.hpp", 270, 270)
    profile = Profile(
        source="callgrind",
        unit="instructions",
        total=1000,
        functions=[
            HotFunction(loop, "/src/native/replay.hpp", 270, 750, 750, 64, {"l1d_misses": 30}),
            HotFunction(
                "run_step", "/src/native/replay.hpp", 226, 250, 1000, None, {"l1d_misses": 10}, True
            ),
        ],
        lines=[
            HotLine("/src/native/manager.hpp", 182, 600, {"l1d_misses": 40}, "if (a " * 20),
            HotLine("", 0, 400, {"l1d_misses": 0}),
        ],
        stacks=[Stack((step,), 250), Stack((step, append), 750)],
        events={"l1d_misses": 40, "ll_misses": 2},
    )
    return ProfiledReplay(
        profile,
        "vector/cpp",
        "decode",
        "step",
        "native",
        {
            "total_blocks": 65536,
            "block_size": 16,
            "concurrency": 256,
            "heap": "aged",
            "pool": "shuffled",
            "seed": 1,
        },
        "callgrind (valgrind 3.19.0)",
        steps=4,
        operations=500,
        notes=("A note.",),
    )


def printed(width: int, top: int = 15) -> str:
    stream = io.StringIO()
    print_profile(make_replay(), top=top, files=["out/x.json"], stream=stream, width=width)
    return stream.getvalue()


def test_the_screen_at_eighty_columns() -> None:
    text = printed(80)
    assert text.splitlines()[1:] == [
        "65,536 blocks x 16 tokens, concurrency 256, heap aged, pool shuffled, seed 1;",
        "native loop.",
        "By callgrind (valgrind 3.19.0): 1,000 instructions in 4 steps (500 operations),",
        "2.0 an operation.",
        "In them 40 L1D misses, 2 last-level misses; simulated, not measured.",
        "A note.",
        "",
        "self %  total %  calls  L1D miss %  function",
        "  75.0     75.0     64        75.0  Replay<Manager<...>>::loop<append>",
        "                                    native/replay.hpp:270",
        "  25.0   100.0*      -        25.0  run_step  native/replay.hpp:226",
        "*: functions that call each other; the total is that of all of them.",
        "",
        "self %  L1D miss %  line",
        "  60.0       100.0  native/manager.hpp:182  if (a if (a if (a if (a if (a if ...",
        "  40.0         0.0  no line known",
        "",
        "out/x.json",
    ]


def test_narrow_screens_and_few_rows() -> None:
    assert max(map(len, printed(40).splitlines())) <= 40
    assert "run_step" not in printed(80, top=1)


def test_speedscope_file_is_of_the_published_form(tmp_path: Path) -> None:
    path = write_speedscope(make_replay(), tmp_path)
    content = json.loads(path.read_text())
    jsonschema.validate(content, SCHEMA)
    (profile,) = content["profiles"]
    assert profile["endValue"] == sum(profile["weights"]) == 1000
    names = [frame["name"] for frame in content["shared"]["frames"]]
    assert [[names[i] for i in sample] for sample in profile["samples"]] == [
        ["run_step"],
        ["run_step", "Replay<Manager<...>>::loop<append>"],
    ]
    assert content["shared"]["frames"][1]["line"] == 270
    assert speedscope(make_replay()) == content
