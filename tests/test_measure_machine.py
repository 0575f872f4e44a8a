"""What other work used of the processors: by the kernel's books, less what is one's own."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from blockmark.measure import machine


class Times(tuple[float, ...]):
    """As psutil's: a tuple with names."""

    user, nice, system, idle, iowait, steal, guest, guest_nice = (
        property(lambda self, at=at: self[at]) for at in range(8)
    )


def test_others_are_what_is_busy_less_what_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, own = [100.0], [1.0, 0.5, 2.0, 0.5]
    # user (guests in it), nice, system, idle, iowait, steal, guest, guest_nice
    all_times = [50.0, 5.0, 10.0, 900.0, 30.0, 2.0, 7.0, 1.0]
    monkeypatch.setattr(psutil, "cpu_times", lambda: Times(all_times))
    monkeypatch.setattr(
        machine, "os", SimpleNamespace(**{**vars(os), "times": lambda: (*own, 0.0)})
    )
    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    others = machine.OtherWork()
    clock[0] += 10.0
    # Of 20 seconds of two processors 9 were idle; 11 were busy, of which 8 are ours.
    for at, more in enumerate((8.0, 0.0, 2.0, 8.0, 1.0, 1.0, 3.0, 0.0)):
        all_times[at] += more
    for at, more in enumerate((0.5, 0.5, 6.0, 1.0)):
        own[at] += more
    facts: dict[str, Any] = others.facts()
    assert facts["other_cores"] == 0.3
    assert facts["all_cores"] == os.cpu_count()
