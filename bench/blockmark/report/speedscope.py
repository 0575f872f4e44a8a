"""A profile as a file for speedscope (https://www.speedscope.app), or any reader of its form.

Its stacks are those of the profile: sampled ones, or for callgrind an attribution made
from the graph of calls: each function's cost divided among its callers in proportion to
what it cost them. Frames are functions; lines are in the tables.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from blockmark import __version__
from blockmark.report.files import replace_file
from blockmark.runs.errors import StoreError
from blockmark.runs.profile import Profile, ProfiledReplay

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
FILE = "profile.speedscope.json"


def speedscope(replay: ProfiledReplay) -> dict[str, Any]:
    """The content of the file, of speedscope's type `sampled`.

    Weights are instructions or samples and add up to `endValue`.
    """
    profile = replay.profile
    title = f"{replay.implementation}, {replay.model} of {replay.scenario}"
    how = "by call graph" if profile.exact else "sampled"
    name = f"{title}: {profile.unit}, {profile.source} ({how})"
    frames, samples = _frames(profile)
    return {
        "$schema": SCHEMA,
        "name": title,
        "exporter": f"blockmark {__version__}",
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                # Its units are times and bytes; instructions and samples are none of them.
                "unit": "none",
                "startValue": 0,
                "endValue": profile.total,
                "samples": samples,
                "weights": [stack.weight for stack in profile.stacks],
            }
        ],
    }


def write_speedscope(replay: ProfiledReplay, folder: Path) -> Path:
    """Write `profile.speedscope.json` into a folder. Raises StoreError."""
    path = folder / FILE
    try:
        text = json.dumps(speedscope(replay), separators=(",", ":")) + "\n"
        replace_file(path, text.encode())
    except OSError as error:
        raise StoreError(
            path, f"can't be written: {error.strerror}", "name another folder with --output"
        ) from None
    return path


def _frames(profile: Profile) -> tuple[list[dict[str, Any]], list[list[int]]]:
    starts = {(each.name, each.file): each.line for each in profile.functions}
    numbers: dict[tuple[str, str], int] = {}
    frames: list[dict[str, Any]] = []
    samples = []
    for stack in profile.stacks:
        sample = []
        for frame in stack.frames:
            if frame.function not in numbers:
                numbers[frame.function] = len(frames)
                entry: dict[str, Any] = {"name": frame.name}
                if frame.file:
                    entry["file"] = frame.file
                if line := starts.get(frame.function):
                    entry["line"] = line
                frames.append(entry)
            sample.append(numbers[frame.function])
        samples.append(sample)
    return frames, samples
