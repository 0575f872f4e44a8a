"""What a line says of a load."""

from __future__ import annotations

from typing import Any

from blockmark.report.facts.setting import load_line, step_words, verification
from blockmark.runs.codec import parse_run
from blockmark.runs.model import Setting
from run_factory import make_run


def setting(models: list[str], **params: Any) -> Setting:
    params = {"models": models, "total_blocks": 65536, "block_size": 16, **params}
    return Setting("s", {"concurrency": 256, **params}, {"occupancy_p95": 0.7509})


def test_a_load_of_sequences() -> None:
    line = load_line(setting(["step", "pool"], pool_occupancy=0.25))
    assert line == "65,536 blocks x 16 tokens, 256 sequences, 75 % used"


def test_pools_alone_have_no_sequences() -> None:
    assert load_line(setting(["pool"], pool_occupancy=0.25)) == (
        "65,536 blocks x 16 tokens, 25 % held"
    )
    several = [setting(["pool", "free_space"], pool_occupancy=share) for share in (0.5, 0.9, 0.99)]
    assert load_line(*several) == "65,536 blocks x 16 tokens, 50 to 99 % held"
    assert load_line(setting(["pool"])) == "65,536 blocks x 16 tokens"


def test_pools_alone_replay_no_step() -> None:
    facts = {"operations_per_step": {"append": 256.0, "free": 0.5}}
    whole = Setting("s", {"models": ["step", "pool"]}, facts)
    assert step_words(whole) == "256 appends, 0.5 freed"
    assert step_words(Setting("s", {"models": ["pool"]}, facts)) == ""


def test_requests_and_not_calls_are_said_to_be_admitted() -> None:
    # A prefix cache takes slots of its own, by forking, and gives them up, by freeing.
    calls = {"append": 8.0, "allocate": 0.0285, "fork": 1.25, "free": 1.31}
    facts = {"operations_per_step": calls, "admitted_per_step": 0.342, "ended_per_step": 0.34}
    assert step_words(Setting("s", {"models": ["step"]}, facts)) == (
        "8 appends, 0.342 admitted, 0.34 freed, 1.25 forks"
    )


def test_what_was_proved_is_told_though_the_run_was_interrupted() -> None:
    """Before its first round a cell has no number, but a proof."""
    raw = make_run()
    raw["complete"] = False
    proved = 0
    for cell in raw["cells"]:
        if cell["kind"] != "control" and cell["status"] == "ok":
            cell.update(status="unavailable", reason="interrupted", metrics={})
            proved += bool(cell.get("verified"))
    run = parse_run(raw)
    text = verification(run, *run.settings)
    assert text.startswith(f"{proved} of ")
    for cell in raw["cells"]:
        cell.update(status="unavailable", reason="interrupted", metrics={}, verified=None)
    run = parse_run(raw)
    assert verification(run, *run.settings) == "nothing was verified yet"
