"""The adapters of engines on doubles that have the real signatures."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from blockmark_impls.engines.fitting import call_fitting, must_have
from blockmark_impls.engines.rows import ENGINES, ROWS, EngineFacts
from blockmark_impls.registry import TargetError, resolve
from engines_on_path import DOUBLES, blockmark, run_code

if TYPE_CHECKING:
    from pathlib import Path

POOLS = [
    "vllm-pool/py",
    "vllm-pool-caching/py",
    "sglang-token/py",
    "sglang-paged/py",
    "lmdeploy/numpy",
]

PROVE = """
import json
from blockmark.measure.proof.prove import prove
from blockmark_impls.contract import PoolConfig
from blockmark_impls.registry import resolve
found = {}
for name in NAMES:
    impl = resolve(name)[0]
    job = dict(random_programs=4, programs=[], operations=0, seed=1, call_style=impl.call_style)
    found[name] = prove(impl, PoolConfig(64, 4, 8, 16), job)
print(json.dumps(found))
"""


def prove(names: list[str]) -> dict[str, dict[str, object]]:
    answer: dict[str, dict[str, object]] = json.loads(run_code(f"NAMES = {names!r}\n{PROVE}"))
    return answer


def test_every_row_says_what_it_is() -> None:
    for entry in ROWS:
        (impl,) = resolve(entry.name)
        assert impl.entry is entry
        assert impl.kind == "manager"
        if isinstance(impl.facts, EngineFacts):
            assert impl.facts.engine in ENGINES
            assert impl.facts.engine.tried
    assert resolve("tokenspeed/cpp")[0].profile.letters == "RCS"
    assert resolve("sglang-paged/py")[0].profile.id_unit == "token"
    assert [each.name for each in resolve("lmdeploy")] == ["lmdeploy/numpy"]


def test_an_engine_is_looked_for_and_not_imported() -> None:
    code = (
        "import sys; from blockmark_impls.engines.rows import ROWS;"
        "[(e.unavailable(), e.facts) for e in ROWS];"
        "print([m for m in ('vllm', 'torch', 'sglang', 'numpy') if m in sys.modules])"
    )
    assert run_code(code).strip() == "[]"


def test_pools_and_managers_are_proved() -> None:
    names = [*POOLS, "list-duties/py", "vllm-manager/py", "vllm-manager-caching/py"]
    names += ["vllm-table/py", "vllm-table/py[rows=incremental]"]
    answers = prove(names)
    assert {name: answer["status"] for name, answer in answers.items()} == dict.fromkeys(
        names, "ok"
    ), answers
    for name in names:
        assert answers[name]["operations"] > 100  # type: ignore[operator]


def test_a_hand_out_is_the_engine_s_own() -> None:
    """Nothing is added to a call: the methods are the engine's."""
    code = """
from blockmark_impls.registry import resolve
vllm = resolve("vllm-pool/py")[0].make_pool(8, 16)
print(vllm.take.__qualname__, vllm.give.__qualname__, vllm.ids_of(vllm.take(3)), vllm.num_free)
sglang = resolve("sglang-token/py")[0].make_pool(8, 16)
print(sglang.take.__qualname__, sglang.ids_of(sglang.take(2)), sglang.num_free)
paged = resolve("sglang-paged/py")[0].make_pool(8, 16)
slots = paged.take(2)
print(len(slots), paged.ids_of(slots), paged.num_free)
paged.give(paged.handout_of([1]))
print(paged.num_free, paged.ids_of(paged.take(1)))
"""
    assert run_code(code).splitlines() == [
        "BlockPool.get_new_blocks BlockPool.free_blocks [0, 1, 2] 5",
        "TokenToKVPoolAllocator.alloc [0, 1] 6",
        "32 [0, 1] 6",
        "7 [1]",
    ]


def test_a_table_that_appends_writes_new_entries_alone() -> None:
    """Counted at the engine's own calls: one row appended to, none rebuilt."""
    code = """
import numpy as np
from blockmark_impls.contract import PoolConfig
from blockmark_impls.registry import resolve
for rows in ("full", "incremental"):
    made = resolve(f"vllm-table/py[rows={rows}]")[0].make_manager(PoolConfig(64, 4, 4, 8))
    calls = {"add_row": 0, "append_row": 0, "commit_block_table": 0}
    for name in calls:
        def counted(*a, name=name, method=getattr(made._rows, name)):
            calls[name] += 1
            method(*a)
        setattr(made._rows, name, counted)
    out, lengths = np.full((4, 8), -1, np.int32), np.zeros(4, np.int32)
    seqs = np.arange(4, dtype=np.int32)
    for seq in range(4):
        made.allocate(seq, 8)
    made.write_block_tables(seqs, out, lengths)
    first = dict(calls)
    made.extend(2, 4)
    made.write_block_tables(seqs, out, lengths)
    print({name: calls[name] - first[name] for name in calls}, out[2].tolist(), lengths.tolist())
"""
    rebuilt, appended = run_code(code).splitlines()
    row = "[4, 5, 8, 0, 0, 0, 0, 0] [2, 2, 3, 2]"
    assert appended == f"{{'add_row': 0, 'append_row': 1, 'commit_block_table': 1}} {row}"
    # The double's add_row goes through append_row, past what was put in its place.
    assert rebuilt.endswith(row)
    assert "'add_row': 4" in rebuilt
    assert "'commit_block_table': 1" in rebuilt


def test_a_run_with_doubles_says_releases_and_gains(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'models = ["step", "pack_step", "pool"]\ntotal_blocks = 256\nblock_size = 4\n'
        'max_blocks_per_seq = 16\nconcurrency = 8\nbatch = 4\npool = "burst"\n'
        'implementations = ["vllm-pool/py", "list-duties/py", "vllm-manager/py", '
        '"vllm-table/py[rows=incremental]", "flat-stack/cpp", "flat-stack/cpp[call_style=per-op]",'
        ' "flat-stack/cpp[call_style=per-step]", "vector/py"]\n'
    )
    done = blockmark(tmp_path, "run", "s.toml", "--quick", "--report", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "8 of 8 verified" in said
    assert "vllm-manager/py (vLLM 0.33.0) takes" in said
    run = json.loads(next((tmp_path / "results").glob("*/run.json")).read_text())
    engines = {each["name"]: each.get("engine") for each in run["implementations"]}
    assert engines["vllm-pool/py"] == "vLLM 0.33.0"
    assert engines["flat-stack/cpp"] is None
    metrics = {cell["impl"]: cell["metrics"] for cell in run["cells"]}
    for name in ("vllm-pool/py", "list-duties/py", "flat-stack/cpp[call_style=per-step]"):
        assert metrics[name]["take_ns"]["value"] > 0
    # A pool has no step, and a table that is packed no pool.
    assert "step_ns" not in metrics["vllm-pool/py"]
    assert set(metrics["vllm-table/py[rows=incremental]"]) == {"pack_step_ns"}
    report = (tmp_path / "r" / "report.md").read_text()
    assert "## The ladder" in report
    assert "| vllm-pool/py, called per operation |" in report
    assert "vLLM 0.33.0: caching off, burst pool" in report


def test_list_engines_tells_releases_and_what_is_missing(tmp_path: Path) -> None:
    done = blockmark(tmp_path, "list", "engines")
    assert done.returncode == 0, done.stderr
    lines = {line.split("  ")[0]: line for line in done.stdout.splitlines()}
    assert "here: 0.33.0 (tried); vllm-pool/py" in lines["vLLM"]
    assert "here: 9.9.9 (not tried; tried: 0.5.23)" in lines["SGLang"]
    assert "here, of a version that it does not tell (tried: 0.18.0)" in lines["LMDeploy"]
    without = blockmark(tmp_path, "list", "engines", doubles=tmp_path)
    assert "missing: vllm is not installed: pip install vllm==0.33.0" in without.stdout


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("enable_caching: bool,", "caching: bool,", "it does not take enable_caching"),
        (
            "hash_block_size: int,",
            "hash_block_size: int, block_owner: str,",
            "it asks for block_owner, which this adapter can't give",
        ),
        ("class BlockPool", "class Pool", "cannot import name 'BlockPool'"),
        ("def free_blocks", "def release", "it has no free_blocks"),
    ],
)
def test_a_release_that_can_t_be_driven_is_unavailable(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    changed = tmp_path / "engines"
    shutil.copytree(DOUBLES, changed)
    file = changed / "vllm/v1/core/block_pool.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    (tmp_path / "s.toml").write_text('models = ["pool"]\ntotal_blocks = 64\nconcurrency = 4\n')
    words = ("run", "s.toml", "--quick", "--impl", "vllm-pool/py", "--impl", "list-duties/py")
    done = blockmark(tmp_path, *words, doubles=changed)
    assert done.returncode == 0, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert "vllm-pool/py unavailable:" in text
    assert said in text


def test_what_fits_is_passed_and_no_more() -> None:
    def make(a: int, b: int = 2, *, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    assert call_fitting(make, {"=a": 1, "c": 5, "d": 9}, "it") == (1, 2, 5)
    with pytest.raises(TargetError, match="it: it does not take d"):
        call_fitting(make, {"a": 1, "=d": 9}, "it")
    with pytest.raises(TargetError, match="it: it asks for a"):
        call_fitting(make, {"b": 1}, "it")
    with pytest.raises(TargetError, match="it: it has no swim"):
        must_have(object(), ("swim",), "it")
