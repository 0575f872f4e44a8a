"""Scenario files and settings: what is accepted, and what each mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockmark.workload.builtin import builtin_names, find_scenario
from blockmark.workload.keys import KEYS, ConfigError, parse
from blockmark.workload.scenario import load_scenario, parse_scenario, parse_setting


def test_matrix_is_a_product_in_order() -> None:
    scenario = parse_scenario(
        "concurrency = 8\n[matrix]\nblock_size = [16, 1]\nid_bits = [16, 32]", "s", "s.toml"
    )
    points = [(c["block_size"], c["id_bits"], c["concurrency"]) for c in scenario.cells()]
    assert points == [(16, 16, 8), (16, 32, 8), (1, 16, 8), (1, 32, 8)]


def test_a_cell_has_every_key_with_a_value() -> None:
    cell = parse_scenario("", "s", "s.toml").cells()[0]
    assert set(cell.values) < set(KEYS)
    others = {name for name, key in KEYS.items() if key.workloads and "decode" not in key.workloads}
    others |= {"pacing", "rate_seconds", "between", "between_bytes"}  # of the model rate
    others |= {"contiguous", "compact_share"}  # of the model free_space
    open_keys = {"prompt_tokens", "output_tokens", "pool_occupancy"}
    assert set(KEYS) - set(cell.values) == open_keys | others
    assert cell.number("prompt_tokens") is None
    assert cell.pool_config.max_seqs == 256


def test_the_paced_loop_has_keys_only_where_it_is_measured() -> None:
    cell = parse_scenario('models = ["step", "rate"]', "s", "s.toml").cells()[0]
    assert (cell["pacing"], cell["rate_seconds"], cell["between"]) == ("spin", 0.5, "idle")
    assert cell["between_bytes"] == 4 * 1024 * 1024
    # Asked for by nobody: a run of hours must not follow from a default.
    assert "rate" not in parse_scenario("", "s", "s.toml").cells()[0]["models"]


def test_cells_of_older_runs_keep_their_names() -> None:
    # Keys of stored runs: new keys must not change what an old load is called.
    assert find_scenario("decode").cells()[0].key == "4489da3b6c568d7d"


def test_cell_key_names_the_cell() -> None:
    def key(text: str) -> str:
        return parse_scenario(text, "s", "s.toml").cells()[0].key

    assert key("seed = 1") == key("")
    assert key("seed = 2") != key("")
    assert parse_scenario("", "other", "s.toml").cells()[0].key != key("")


def test_settings_override_and_make_axes() -> None:
    scenario = parse_scenario("[matrix]\nblock_size = [16, 1]", "s", "s.toml")
    changed = scenario.override(dict([parse_setting("block_size=8"), parse_setting("seed=1,2,3")]))
    assert [(c["block_size"], c["seed"]) for c in changed.cells()] == [(8, 1), (8, 2), (8, 3)]


def test_models_are_a_list_not_an_axis() -> None:
    assert parse_setting("models=step,pack") == ("models", [("step", "pack")])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("block_sise = 16", 's.toml: unknown key "block_sise"; did you mean "block_size"?'),
        ("block_size = 0", "s.toml: block_size = 0 is out of range; it must be between 1 and"),
        ("concurrency = -5", "concurrency = -5 is out of range"),
        ('total_blocks = "many"', "total_blocks = 'many' must be a whole number"),
        ("total_blocks = 1.5", "total_blocks = 1.5 must be a whole number"),
        ("total_blocks = true", "total_blocks = True must be a whole number"),
        ("step_rate = nan", "step_rate = nan must be a finite number"),
        ("step_rate = 0", "step_rate = 0 is out of range; it must be between 0.001 and"),
        ('pacing = "sleeping"', 'did you mean "sleep"?'),
        ("rate_seconds = 0", "rate_seconds = 0 is out of range; it must be between 0.05 and 3,600"),
        ("total_blocks = inf", "total_blocks = inf must be a finite number"),
        (
            "total_blocks = 99999999999999999999",
            "total_blocks is a number that does not fit 64 bits",
        ),
        ('pool = "shufled"', 'did you mean "shuffled"?'),
        ("id_bits = 24", "id_bits = 24 is not one of 16, 32, 64"),
        ('models = ["step", "sleep"]', "did you mean"),
        ("models = []", "models must be a list of names"),
        ("[matrix]\nblock_size = 16", "[matrix] block_size must be a list"),
        ("[matrix]\nblock_size = []", "[matrix] block_size must be a list"),
        ("[matrix]\nblock_size = [16, 0]", "s.toml: [matrix]: block_size = 0 is out of range"),
        ("[matrix]\nsize = [16]", 'unknown key "size"'),
        ("matrix = 3", "[matrix] must be a table"),
        ("seed = 1\n[matrix]\nseed = [1, 2]", "seed is set twice"),
        ("title = 3", "title must be text"),
        ("implementations = 3", "implementations must be a list of names"),
        ("block_size = ", "s.toml: TOML syntax error: Invalid value (at line 1, column 14)"),
        ("a = 1\na = 2", "TOML syntax error"),
    ],
)
def test_a_mistake_names_file_and_key(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(text, "s", "s.toml")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("total_blocks = 65537", "more than id_bits = 16 can number (65,536); set id_bits = 32"),
        ("total_blocks = 100\nconcurrency = 101", "too small for concurrency = 101"),
        ("[matrix]\nseed = [" + "1," * 10_001 + "]", "makes 10,001 cells"),
        ('pacing = "sleep"', "pacing has no effect on models = step, pack, lookup, alloc_free"),
        ('models = ["step"]\nrate_seconds = 1', "on models = step; it is for rate"),
        (
            'models = ["rate"]\nstep_rate = 7',
            "step_rate = 7 for rate_seconds = 0.5 makes 3.5 steps, too few for a share; raise "
            "rate_seconds to at least 2.858 or step_rate to at least 40",
        ),
    ],
)
def test_keys_that_do_not_go_together(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(text, "s", "s.toml").cells()
    assert says in str(caught.value)


def test_a_million_steps_a_second_may_be_asked_for() -> None:
    assert parse_scenario('models = ["rate"]\nstep_rate = 1e6', "s", "s.toml").cells()


def test_sixteen_bits_number_65536_blocks() -> None:
    assert parse_scenario("total_blocks = 65536", "s", "s.toml").cells()


@pytest.mark.parametrize("text", ["concurrency", "=3", "concurrency=", "", "nokey=1"])
def test_a_bad_setting_names_itself(text: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        parse_setting(text)


def test_parse_keeps_whole_floats_as_whole_numbers() -> None:
    assert parse("concurrency", 8.0, "here") == 8
    assert isinstance(parse("concurrency", 8.0, "here"), int)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such scenario file"):
        find_scenario(str(tmp_path / "none.toml"))
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_scenario(binary)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_scenario(tmp_path)


def test_unknown_scenario_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match='unknown scenario "decod"; did you mean "decode"'):
        find_scenario("decod")


def test_every_builtin_scenario_loads_and_explains_itself() -> None:
    assert {"decode", "ablation", "pool-batch"} <= set(builtin_names())
    for name in builtin_names():
        scenario = find_scenario(name)
        assert scenario.cells()
        assert len(scenario.analysis) > 200, f"{name} must say why it exists"
        assert scenario.implementations


def test_shortened_keeps_the_axes_of_the_command_line() -> None:
    scenario = parse_scenario("[matrix]\nblock_size = [16, 1]\nseed = [5, 6]", "s", "s.toml")
    assert [(c["block_size"], c["seed"]) for c in scenario.shortened().cells()] == [(16, 5)]
    axis = scenario.override(dict([parse_setting("seed=7,8")])).shortened()
    assert [(c["block_size"], c["seed"]) for c in axis.cells()] == [(16, 7), (16, 8)]
