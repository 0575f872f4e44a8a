"""A pool alone is proved before it is timed: right ones pass, wrong ones are told where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.proof.prove import prove
from blockmark.measure.proof.reuse import ReuseOrderChecker
from blockmark.workload.pool_models import free_space_programs, pool_programs
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.contract import PoolConfig
from blockmark_impls.registry import more_names, resolve
from cli import blockmark

POOLS = Path(__file__).parent / "subjects" / "wrong_pools.py"
# Engines' pools, and the list with the same duties, have a proof of their own.
CONTRACT_POOLS = [
    name
    for name in more_names()
    for impl in resolve(name)
    if impl.pool_alone and impl.facts.proof == "contract"
]
CONFIG = PoolConfig(total_blocks=300, block_size=4, max_seqs=4, max_blocks_per_seq=8)


def verdict(target: str, folder: Path, number: int = 12) -> dict[str, Any]:
    (found,) = resolve(target)
    if found.unavailable:
        pytest.skip(found.unavailable)
    text = 'total_blocks = 300\nconcurrency = 4\npool = "burst"\nbatch = 5\n'
    cell = parse_scenario(f'models = ["pool", "free_space"]\n{text}', "s", "s.toml").cells()[0]
    paths = []
    for place, entry in enumerate([*pool_programs(cell), *free_space_programs(cell)]):
        paths.append(str(folder / f"{place}.program"))
        entry.program.save(Path(paths[-1]))
    job = {"random_programs": number, "pool_programs": paths, "seed": 4}
    return prove(found, CONFIG, {**job, "call_style": found.call_style})


@pytest.mark.parametrize("name", CONTRACT_POOLS)
def test_the_pools_of_this_package_are_right(name: str, tmp_path: Path) -> None:
    found = verdict(name, tmp_path)
    # 60 calls each and two that drain the pool, every third time in two at once; and every id
    # of a wide one in four. Where a block can be removed, so is now and then what is none.
    calls = (12 + 4) * 62 + 4
    more = found.pop("operations") - calls
    assert more == 0 if found.pop("notes") else 0 < more < 60
    assert found == {"status": "ok", "steps": 13}


@pytest.mark.parametrize("name", ["Bare", "Lowest"])
def test_a_users_pool_that_is_right(name: str, tmp_path: Path) -> None:
    assert verdict(f"{POOLS}:{name}", tmp_path)["status"] == "ok"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Twice", "is out already"),
        ("Outside", "is no block of a pool of"),
        ("Miscounts", "num_free of a new pool is 3; it should be"),
        ("Keeps", "it should raise OutOfBlocks"),
        ("Loses", "then num_free is 0; it should be"),
        ("NotFirst", "FIFO declared"),
        ("PassesOver", "next-fit declared"),
        ("RemovesNothing", "then num_free is"),
        ("RemovesTaken", "it should raise ValueError"),
        ("FindsShort", "find_contiguous("),
        ("MovesInTurn", "plan_compaction("),
    ],
)
def test_a_wrong_pool_is_told_where(name: str, says: str, tmp_path: Path) -> None:
    found = verdict(f"{POOLS}:{name}", tmp_path)
    assert found["status"] == "wrong"
    assert says in found["reason"]
    assert found["reason"].startswith("random pool program ")
    assert "\n" not in found["reason"]


def test_next_fit_allows_what_the_cursor_passes_and_no_more() -> None:
    def checker() -> ReuseOrderChecker:
        made = ReuseOrderChecker("next-fit", 8)
        made.taken(range(6), AssertionError)
        made.given([1, 4])
        return made

    # Behind block 5 come 6 and 7, which were never used, then 1, then 4.
    checker().taken([6, 7, 1], AssertionError)
    checker().taken([1, 4], AssertionError)
    with pytest.raises(AssertionError, match="block 4 was taken though 1 comes first"):
        checker().taken([4], AssertionError)
    around = checker()
    around.taken([1], AssertionError)
    around.given([0])
    around.taken([4], AssertionError)
    around.given([3])
    with pytest.raises(AssertionError, match=r"block 3 .* though 0 comes first after block 4"):
        around.taken([3], AssertionError)


def test_a_wrong_pool_is_never_timed(tmp_path: Path) -> None:
    done = blockmark(
        "run", "pools", "--quick", "--impl", f"wrong={POOLS}:Twice", "--impl", "bitmap/py",
        "--set", "total_blocks=512", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert "is out already" in " ".join(done.stdout.split())
    done = blockmark("verify", "--quick", "--impl", "bitmap/py", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("ok ")) == (0, 2)
