"""The model `rate` as a user asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import blockmark, tiny

pytestmark = pytest.mark.alone

RATE = 'models = ["rate"]\nrate_seconds = 0.05\n'
# What a loop of the native core measures; the collector is Python's.
NATIVE = {
    "busy_share",
    "busy_share_with_pack",
    "copy_share",
    "noop_busy_share",
    "thread_cpu_share",
    "noop_cpu_share",
    "user_cpu_share",
    "kernel_cpu_share",
    "psutil_cpu_share",
    "lateness_ns",
    "paced_latency_ns",
    "missed_deadlines",
    "achieved_rate",
    "highest_rate",
}
COLLECTOR = {"gc_collections", "gc_pause_share", "gc_longest_pause_ns"}


def tiny_rate(folder: Path, extra: str = "") -> str:
    path = Path(tiny(folder))
    path.write_text(path.read_text().replace('models = ["step"]\n', RATE) + extra)
    return str(path)


def measured(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    """Implementation -> metrics, of one round."""
    done = blockmark("run", *words, "--rounds", "1", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    return {cell["impl"]: cell["metrics"] for cell in cells if cell["status"] == "ok"}


def test_a_paced_loop_in_each_call_style(tmp_path: Path) -> None:
    names = ("flat-stack/cpp", "flat-stack/cpp[call_style=per-step]", "vector/py", "null/cpp")
    targets = [word for name in names for word in ("--impl", name)]
    found = measured(tmp_path, tiny_rate(tmp_path), *targets)
    assert list(found) == list(names)
    for name, metrics in found.items():
        python = name.endswith(("per-step]", "/py"))
        # memory, proofs and software counts are those of the model step
        assert set(metrics) == NATIVE | (COLLECTOR if python else set())
        assert 0 < metrics["busy_share"]["value"] <= 1
        assert 0 <= metrics["noop_busy_share"]["value"] < 1
        lateness, latency = metrics["lateness_ns"], metrics["paced_latency_ns"]
        assert lateness["histograms"][0]["samples"] == latency["histograms"][0]["samples"]
        assert latency["quantiles"]["max"]["value"] >= lateness["quantiles"]["max"]["value"]
        assert metrics["highest_rate"]["unit"] == "1/s"
        split = metrics["user_cpu_share"], metrics["kernel_cpu_share"]
        if all("value" in part for part in split):
            whole = pytest.approx(metrics["thread_cpu_share"]["value"])
            assert sum(part["value"] for part in split) == whole
        if python:
            assert "native loop alone" in metrics["copy_share"]["unavailable"]
            assert metrics["gc_collections"]["value"] == 0  # gc = off
        assert "rate_seconds to at least 10" in metrics["psutil_cpu_share"]["unavailable"]


def test_a_million_steps_a_second_saturate(tmp_path: Path) -> None:
    metrics = measured(tmp_path, tiny_rate(tmp_path), "--set", "step_rate=1000000")["vector/py"]
    assert metrics["achieved_rate"]["value"] < 0.99e6
    assert metrics["missed_deadlines"]["value"] > 10_000
    assert metrics["highest_rate"]["value"] < 0.99e6
    assert "saturated with packing" in metrics["busy_share_with_pack"]["unavailable"]


def test_a_flat_table_holds_a_higher_rate_than_hash_maps(tmp_path: Path) -> None:
    # 256 sequences; several times is usual, so twice is beyond any noise.
    path = tmp_path / "wide.toml"
    path.write_text(RATE + 'implementations = ["flat-stack/cpp", "hash-map/cpp"]\n')
    found = measured(tmp_path, str(path))
    flat, hashed = (found[name] for name in ("flat-stack/cpp", "hash-map/cpp"))
    assert flat["highest_rate"]["value"] >= 2 * hashed["highest_rate"]["value"]


def test_streaming_between_steps_is_proved(tmp_path: Path) -> None:
    words = "--set", "between=stream", "--set", "between_bytes=65536", "--impl", "vector/cpp"
    metrics = measured(tmp_path, tiny_rate(tmp_path), *words)["vector/cpp"]
    # Halved until it fits, from the whole to a line.
    assert metrics["streamed_bytes"]["value"] in {65_536 >> halvings for halvings in range(11)}
    assert metrics["streamed_bytes"]["unit"] == "bytes"


def test_objects_between_steps_are_pythons(tmp_path: Path) -> None:
    # A few objects are not worth a collection; those of 256 sequences are.
    path = tmp_path / "wide.toml"
    path.write_text(RATE + 'implementations = ["vector/py", "vector/cpp"]\n')
    found = measured(tmp_path, str(path), "--set", "between=objects", "--set", "gc=on")
    assert found["vector/py"]["gc_collections"]["value"] > 0
    assert found["vector/py"]["gc_pause_share"]["value"] > 0
    assert all(
        "per-op or per-step" in entry["unavailable"] for entry in found["vector/cpp"].values()
    )


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["step_rate=0"], "step_rate = 0 is out of range; it must be between 0.001 and"),
        (["step_rate=-1"], "step_rate = -1 is out of range"),
        (["step_rate=100"], "makes 5 steps, too few for a share; raise rate_seconds to at least"),
        (["pacing=spinning"], 'did you mean "spin"?'),
        (["between_bytes=0"], "between_bytes = 0 is out of range; it must be between 64 and"),
        (["models=step"], "rate_seconds has no effect on models = step; it is for rate"),
        (["between=objekts"], 'did you mean "objects"?'),
    ],
)
def test_what_cannot_be_paced_is_refused(tmp_path: Path, settings: list[str], says: str) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    done = blockmark("run", tiny_rate(tmp_path), *words, cwd=tmp_path)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_cold_cache_is_for_steps_that_are_not_paced(tmp_path: Path) -> None:
    words = "--set", "cache=l2-cold", "--set", "models=step,rate"
    metrics = measured(tmp_path, tiny_rate(tmp_path), *words)["vector/py"]
    assert "set between = stream" in metrics["busy_share"]["unavailable"]


def test_the_keys_of_the_loop_are_listed_with_their_reader(tmp_path: Path) -> None:
    lines = blockmark("list", "keys", cwd=tmp_path).stdout.splitlines()
    line = next(line for line in lines if line.startswith("pacing "))
    assert "sleep hybrid spin [default: spin] [models = rate]" in line
    models = next(line for line in lines if line.startswith("models "))
    assert "[default: step pack lookup alloc_free fork pool]" in models
