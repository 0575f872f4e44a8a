"""Claims files: the built-in one, and every mistake named with its key and the mend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blockmark.measure.run.counting import CounterPlan
from blockmark.sessions.claims import find_claims, plan_claims
from blockmark.verdict.claims import ClaimsFile, judge_claims
from blockmark.verdict.claims_file import ClaimsFileError, load_claims, parse_claims
from blockmark.workload.builtin import builtin_names
from blockmark.workload.errors import ConfigError

GOOD = """
title = "T"
[sources.s]
title = "S"
[settings.d]
scenario = "decode"
implementations = ["vector/py"]
set = { block_size = 16 }
[[claims]]
id = "c"
source = "s"
statement = "It is so."
condition = "As it is."
published = 5
unit = "ns"
cases = [{ label = "x", values = ["{d vector/py step_ns}"] }]
"""


def test_good() -> None:
    file = parse_claims(GOOD, "c.toml")
    (claim,) = file.claims
    assert (claim.id, claim.relation, claim.published[0].value) == ("c", "about", 5.0)
    assert [setting.name for setting in file.needed()] == ["d"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "T"', 'title = "T', "TOML syntax error"),
        (
            'title = "T"',
            'titel = "T"',
            "unknown key \"titel\"; did you mean 'title'?; known: title",
        ),
        ('title = "S"', "", "[sources.s]: title is missing; say it in a text"),
        ("[sources.s]", "[sources.'a b']", 'sources has the name "a b"; use letters, digits'),
        ('source = "s"', 'source = "t"', 'claims "c": source "t" is not one of s'),
        ('id = "c"', "", "claims number 1: id is missing"),
        ('id = "c"', "id = 7", "claims number 1: id = 7 must be text"),
        ('unit = "ns"', 'unit = "us"', 'unit "us" is not one of ns, share'),
        ('unit = "ns"', "within = 0.5", "within is a factor; it must be 1 or more"),
        ('unit = "ns"', "within = nan", "within = nan must be a finite number"),
        ('unit = "ns"', "places = 1.5", "places must be a whole number of decimals"),
        ('unit = "ns"', 'relation = "abuot"', 'relation "abuot" is not one of about'),
        ('unit = "ns"', 'open = "later"', "only one"),
        ("published = 5", "", 'cases "x" has 1 values; about with 0 published needs 0'),
        ("published = 5", 'published = "much"', "published has 'much'; write a number, or a limit"),
        ("published = 5", "published = true", "published has True; write a number"),
        ("published = 5", 'published = "<x"', "write a number"),
        ("published = 5", "published = inf", "published = inf must be a finite number"),
        ("published = 5", 'published = [1, 2]\nrelation = "below"', "published must be 1 numbers"),
        ("published = 5", 'published = [2, 1]\nrelation = "between"', "the lower limit first"),
        ("published = 5", 'published = 0\nrelation = "times"', "a ratio above zero"),
        ("published = 5", 'relation = "rising"', "needs two values or more"),
        ('condition = "As it is."', "", "condition is missing; say how it is tested"),
        (
            "step_ns}",
            "step_n}",
            "no metric step_n; did you mean 'step_ns'?; `blockmark list",
        ),
        ("step_ns}", "step_ns.p99}", "step_ns is one value, it has no quantiles"),
        ("step_ns}", "step_latency_ns.p98}", "no quantile 'p98'"),
        ("{d vector/py", "{e vector/py", "no [settings.e]"),
        ("{d vector/py", "{d vector/cpp", '"vector/cpp" is not one of vector/py'),
        ("{d vector/py step_ns}", "{d vector/py step_ns} +", "is no arithmetic"),
        ("{d vector/py step_ns}", "{d}", "must be {SETTING IMPLEMENTATION METRIC}"),
        ('label = "x", ', "", "label is missing"),
        ('implementations = ["vector/py"]', "", "implementations is missing; list at least one"),
        ('["vector/py"]', '"vector/py"', "implementations must be a list of texts"),
        ("set = { block_size = 16 }", "set = 16", "[settings.d]: set must be a table"),
    ],
)
def test_mistakes(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(ClaimsFileError, match=re.escape(says)) as caught:
        parse_claims(GOOD.replace(old, new, 1), "c.toml")
    assert str(caught.value).startswith("c.toml")
    assert "\n" not in str(caught.value)


def test_no_claims() -> None:
    with pytest.raises(ClaimsFileError, match=re.escape("has no [[claims]]; add one")):
        parse_claims("title = 'T'", "c.toml")


def test_twice() -> None:
    block = GOOD[GOOD.index("[[claims]]") :]
    with pytest.raises(ClaimsFileError, match='"c" stands twice; rename one'):
        parse_claims(GOOD + block, "c.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name = "v"\nsettings = ["e"]\nset = { heap = "fresh" }', 'settings "e" is not one of d'),
        ('name = "v"\nsettings = ["d"]', "it changes nothing"),
        ('name = "v!"\nsettings = ["d"]\nset = { heap = "fresh" }', "letters, digits, dashes"),
        (
            'name = "v"\nsettings = ["d"]\nreplace = { "" = "a" }',
            "replace must be a table",
        ),
    ],
)
def test_bad_variations(text: str, says: str) -> None:
    with pytest.raises(ClaimsFileError, match=re.escape(says)):
        parse_claims(f"{GOOD}\n[[variations]]\n{text}\n", "c.toml")


def test_file_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ClaimsFileError, match="no such file"):
        load_claims(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ClaimsFileError, match="not UTF-8 text"):
        load_claims(tmp_path / "bytes.toml")


def plan_of(file: ClaimsFile) -> list[str]:
    plan = plan_claims(
        file,
        command="test",
        sensitivity=True,
        rounds=1,
        seed=None,
        timeout_s=60.0,
        counters=CounterPlan(),
    )
    assert plan is not None
    return [cell.scenario for cell in plan.cells]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"decode"', '"decoed"', 'c.toml: [settings.d]: scenario: unknown scenario "decoed"'),
        ("block_size = 16", "blok_size = 16", 'c.toml: [settings.d]: set: unknown key "blok_size"'),
        ("block_size = 16", "block_size = 0", "c.toml: [settings.d]: set: block_size = 0"),
        ("block_size = 16", "seed = 1", "has 2 cells; set one value for block_size"),
    ],
)
def test_settings_that_can_not_be_measured(old: str, new: str, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        plan_of(parse_claims(GOOD.replace(old, new), "c.toml"))


def test_builtin_claims_can_be_planned() -> None:
    file = find_claims(None)
    planned = plan_of(file)
    assert planned == [setting.name for setting in file.needed(sensitivity=True)]
    # Nothing is declared and then not used.
    assert len(file.needed()) == len(file.settings)
    assert {claim.source for claim in file.claims} == {source.name for source in file.sources}
    # It lies beside the scenarios and is none of them.
    assert "claims" not in builtin_names()


def test_builtin_arithmetic() -> None:
    """By hand: (134 + 248) x 0.512 = 195.584, (24.5 + 72) x 0.512 = 49.408, and so on."""
    found = {one.claim.id: one for one in judge_claims(find_claims(None), None)}
    values = {
        name: [case.measured[0].value for case in one.cases if case.measured]
        for name, one in found.items()
    }
    assert values["cpu-share-hash-arithmetic"] == pytest.approx([0.195584])
    assert values["cpu-share-vector-arithmetic"] == pytest.approx([0.049408])
    assert values["cpu-share-flat-arithmetic"] == pytest.approx([0.0058368])
    assert values["row-bytes"] == [64]
    assert values["uint16-reach"] == pytest.approx([38.654115840, 137.43685632, 858.980352])
    assert {name: one.verdict for name, one in found.items() if values[name]} == {
        "cpu-share-hash-arithmetic": "fails",
        "cpu-share-vector-arithmetic": "fails",
        "cpu-share-flat-arithmetic": "holds",
        "l1d-hit-rate-arithmetic": "holds",
        "uint16-ids": "depends",
        "uint16-reach": "depends",
        "row-bytes": "holds",
        "utilisation-factor": "holds",
        "concurrency-factor": "holds",
        "rows-agree": "depends",
        "fragmentation-factor": "depends",
        "internal-waste": "depends",
        "shared-prefix": "depends",
    }
