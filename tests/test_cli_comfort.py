"""What a user meets first: help, errors that lead on, lines of any width, names and patterns."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from blockmark.cli.completion import complete_impl, complete_scenario, complete_setting
from blockmark.cli.progress import about
from blockmark.report.tables.layout import cell_width
from blockmark.workload.builtin import find_scenario
from cli import blockmark, command, tiny

COMMANDS = [
    "run",
    "contention",
    "capacity",
    "claims",
    "profile",
    "verify",
    "check",
    "compare",
    "history",
    "show",
    "report",
    "init",
    "build",
    "record",
    "trace",
    "list",
    "doctor",
]


def test_bare_blockmark_shows_every_command_with_its_whole_sentence(tmp_path: Path) -> None:
    done = blockmark(cwd=tmp_path, env={"COLUMNS": "80"})
    assert done.returncode == 2
    assert done.stderr == ""
    assert "..." not in done.stdout.partition("Commands:")[2]
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", done.stdout, re.MULTILINE), name
    text = " ".join(done.stdout.split())
    assert "Judge a change: regressed, improved, unchanged or inconclusive, cell by cell." in text


@pytest.mark.parametrize("words", [["-h"], ["run", "-h"], ["list", "-h"]])
def test_h_is_help(words: list[str], tmp_path: Path) -> None:
    short, long = (blockmark(*words[:-1], option, cwd=tmp_path) for option in ("-h", "--help"))
    assert short.returncode == 0
    assert short.stdout == long.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--nope"], "see blockmark run --help"),
        (["report"], "see blockmark report --help"),
        (["list", "nothing"], "see blockmark list --help"),
        (["nonsense"], "see blockmark --help"),
    ],
)
def test_an_error_points_to_the_help_of_its_command(
    words: list[str], said: str, tmp_path: Path
) -> None:
    done = blockmark(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith(said)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("width", [40, 60, 80, 140])
@pytest.mark.parametrize(
    "words",
    [
        ["list", "impls"],
        ["list", "metrics"],
        ["list", "keys"],
        ["list", "scenarios"],
        ["list", "engines"],
        ["list", "scenarios", "step-rate"],
        ["run", "--dry-run"],
        ["contention", "--dry-run"],
    ],
)
def test_nothing_is_wider_than_the_terminal(words: list[str], width: int, tmp_path: Path) -> None:
    done = blockmark(*words, cwd=tmp_path, env={"COLUMNS": str(width)})
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert [line for line in done.stdout.splitlines() if cell_width(line) > width] == []
    # A number keeps its digits together.
    if words[1] == "keys" and width >= 60:
        assert "2,147,483,647" in done.stdout


def test_a_pipe_gets_whole_lines(tmp_path: Path) -> None:
    """Tools read them: a line is an implementation."""
    lines = blockmark("list", "impls", cwd=tmp_path).stdout.splitlines()
    assert any(line.startswith("flat-stack/cpp ") and len(line) > 80 for line in lines)


def test_verify_wraps_what_it_found(tmp_path: Path) -> None:
    wrong = Path(__file__).parents[1] / "docs" / "bring-your-own"
    done = blockmark(
        "verify", "--quick", "--impl", "mine=first_try.py:Manager", cwd=wrong,
        env={"COLUMNS": "60", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 4
    assert max(map(cell_width, done.stdout.splitlines())) <= 60


def test_a_scenario_tells_why_it_exists(tmp_path: Path) -> None:
    done = blockmark("list", "scenarios", "trace-azure-code", cwd=tmp_path, env={"COLUMNS": "90"})
    scenario = find_scenario("trace-azure-code")
    text = " ".join(done.stdout.split())
    assert text.startswith(f"trace-azure-code: {scenario.title}")
    assert " ".join(scenario.analysis.split()) in text
    unknown = blockmark("list", "scenarios", "decod", cwd=tmp_path)
    assert (unknown.returncode, 'did you mean "decode"?' in unknown.stderr) == (2, True)
    one = blockmark("list", "keys", "batch", cwd=tmp_path)
    assert one.stdout.startswith("batch ")
    assert one.stdout.count("\n") == 1


def dry(tmp_path: Path, *words: str) -> list[str]:
    """The implementations that a dry run names."""
    done = blockmark("run", "--dry-run", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return re.findall(r"^implementation (\S+)", done.stdout, re.MULTILINE)


def test_a_pattern_names_implementations(tmp_path: Path) -> None:
    assert dry(tmp_path, "-i", "vec*") == ["vector/py", "vector/cpp"]
    assert dry(tmp_path, "--impl", "*/numpy", "--impl", "vector/p?") == [
        "flat-stack/numpy",
        "vector/py",
    ]
    # Of the scenario first; what it does not have by itself is found all the same.
    assert dry(tmp_path, "-i", "two-level/*") == ["two-level/py", "two-level/cpp"]
    assert dry(tmp_path, "-i", "vector/cp*[call_style=per-op]") == ["vector/cpp[call_style=per-op]"]
    none = blockmark("run", "-i", "zz*", "--dry-run", cwd=tmp_path)
    assert none.returncode == 2
    assert 'called "zz*"' in none.stderr


def test_a_pattern_of_a_study_means_what_the_study_measures(tmp_path: Path) -> None:
    done = blockmark("contention", "-i", "m*", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^implementation (\S+)", done.stdout, re.MULTILINE)
    assert names == ["mutex/cpp", "magazines/cpp"]


def test_a_file_alone_is_told_with_the_classes_in_it(tmp_path: Path) -> None:
    (tmp_path / "radix.py").write_text("class Radix: ...\nclass Node: ...\nraise SystemExit\n")
    done = blockmark("run", "--impl", "m=radix.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "which class? Name radix.py:Radix or radix.py:Node" in done.stderr
    (tmp_path / "radix.py").write_text("def (")
    assert "is no Python" in blockmark("run", "--impl", "m=radix.py", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    "words",
    [["run", "step-rate"], ["contention"], ["capacity"], ["run", "decode", "--quick"]],
)
def test_a_dry_run_says_how_long_it_takes(words: list[str], tmp_path: Path) -> None:
    done = blockmark(*words, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^time: (about \d+ (s|min)|under 10 s), a guess", done.stdout, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_a_check_says_what_it_would_judge(tmp_path: Path) -> None:
    words = ["check", "--self-test", "-i", "vector/py", "--set", "block_size=4", "--budget", "5m"]
    done = blockmark(*words, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "decode: 1 setting, 1 implementation (vector/py)" in done.stdout
    assert "judges step_ns, " in done.stdout
    assert "time: about 5 min of measuring" in done.stdout
    words = ["check", "--self-test", "-i", "*-*", "--dry-run"]
    assert "(hash-map/cpp, flat-stack/cpp)" in blockmark(*words, cwd=tmp_path).stdout
    # What does not go together is refused all the same.
    assert blockmark("check", "--dry-run", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (4, "under 10 s"),
        (47, "about 50 s"),
        (100, "about 2 min"),
        (7200, "about 2.0 h"),
    ],
)
def test_an_estimate_is_no_finer_than_it_is_known(seconds: float, said: str) -> None:
    assert about(seconds) == said


def test_completion_of_names_and_keys() -> None:
    assert "decode" in complete_scenario("dec")
    assert complete_impl("flat-stack/c") == ["flat-stack/cpp"]
    assert complete_impl("mine=flat-stack/c") == ["mine=flat-stack/cpp"]
    assert complete_setting("block_s") == ["block_size="]
    assert complete_setting("cache=l2-cold,llc") == ["cache=l2-cold,llc-cold"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("run dec", "decode"),
        ("run -i vector/p", "vector/py"),
        ("run --set gc=of", "gc=off"),
        ("list sc", "scenarios"),
        ("list scenarios step", "step-rate"),
        ("report --format ju", "junit"),
        ("history --metric step_per", "step_per_sequence_ns"),
        ("compare lat", "latest"),
        ("profile hash-map/c", "hash-map/cpp"),
        ("init --kind ta", "table"),
    ],
)
def test_a_shell_completes(line: str, expected: str, tmp_path: Path) -> None:
    words = f"blockmark {line}"
    done = blockmark(
        cwd=tmp_path,
        env={
            "_BLOCKMARK_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        },
    )
    assert expected in done.stdout.split()


def on_a_terminal(words: list[str], cwd: Path) -> str:
    """What a command writes to a terminal of 80 columns."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        command(*words), cwd=cwd, stdin=child, stdout=child, stderr=child,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
    )  # fmt: skip
    os.close(child)
    said = b""
    while select.select([parent], [], [], 60)[0]:
        try:
            data = os.read(parent, 65536)
        except OSError:
            break
        if not data:
            break
        said += data
    process.wait(timeout=60)
    os.close(parent)
    return said.decode(errors="replace")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_progress_says_what_runs_for_how_long_and_how_much_is_left(tmp_path: Path) -> None:
    said = on_a_terminal(["run", tiny(tmp_path), "--rounds", "2"], tmp_path)
    assert "making the load ready" in said
    assert "proving vector/py" in said
    assert "measuring vector/py, round 2 of 2" in said
    assert re.search(r"3/3.*0:00:\d\d", said)
    # The rest is told before each, and falls to nothing.
    left = re.findall(r"(about \d+ s|under 10 s|0 s) left", said)
    assert left[-1] == "0 s"
    assert len(set(left)) > 1


def test_a_quick_look_keeps_the_axis_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    done = blockmark("run", "scale-concurrency", "--quick", "--dry-run", cwd=tmp_path)
    assert re.findall(r"concurrency=(\d+)", done.stdout) == ["1", "256", "16384"]
    assert "left out are" in done.stderr
    # One of each structure stays, and names given are all measured.
    names = re.findall(r"^implementation (\S+)", done.stdout, re.MULTILINE)
    assert {name.partition("/")[0] for name in names} >= {"hash-map", "vector", "flat-stack"}
    asked = blockmark(
        "run", "scale-concurrency", "--quick", "--dry-run", "--impl", "vector", "--impl", "null",
        "--impl", "flat-stack", cwd=tmp_path,
    )  # fmt: skip
    assert len(re.findall(r"^implementation ", asked.stdout, re.MULTILINE)) == 7
    assert asked.stderr == ""


def test_threads_are_the_axis_of_a_quick_contention(tmp_path: Path) -> None:
    done = blockmark("contention", "--quick", "--dry-run", cwd=tmp_path)
    assert re.findall(r" threads=(\d+)", done.stdout) == ["1", "2", "4"]


def test_axes_of_the_command_line_stay_whole(tmp_path: Path) -> None:
    done = blockmark(
        "run", "--quick", "--set", "concurrency=1,2,4,8", "--dry-run", "--impl", "vector/py",
        cwd=tmp_path,
    )  # fmt: skip
    assert re.findall(r" concurrency=(\d+)", done.stdout) == ["1", "2", "4", "8"]


@pytest.mark.parametrize("kind", ["python", "pool", "table", "manager"])
def test_what_init_writes_passes_the_proof(kind: str, tmp_path: Path) -> None:
    made = blockmark("init", "new", "--kind", kind, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    files = sorted(entry.name for entry in (tmp_path / "new").iterdir())
    assert files[1] == "small.toml"
    [target] = re.findall(r"^prove .* --impl (\S+)", made.stdout, re.MULTILINE)
    done = blockmark("verify", "--quick", "--impl", target, cwd=tmp_path / "new")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("ok ")
    # The scenario beside it is one.
    assert blockmark("run", "small.toml", "--dry-run", cwd=tmp_path / "new").returncode == 0
    again = blockmark("init", "new", "--kind", kind, cwd=tmp_path)
    assert again.returncode == 2
    assert "is there already; name another folder" in again.stderr


def test_init_writes_the_examples_of_the_page(tmp_path: Path) -> None:
    page = Path(__file__).parents[1] / "docs" / "bring-your-own"
    blockmark("init", "--kind", "manager", cwd=tmp_path)
    assert (tmp_path / "my_manager.hpp").read_bytes() == (page / "my_manager.hpp").read_bytes()


def test_profile_of_an_implementation_alone_is_of_decode(tmp_path: Path) -> None:
    text = " ".join(blockmark("profile", "--help", cwd=tmp_path).stdout.split())
    assert re.search(r"IMPL\S* \[SCENARIO\]", text)
    assert "[default: decode]" in text


def test_the_json_of_a_plan_goes_on_after_an_older_version(tmp_path: Path) -> None:
    """A plan from before there were names and tags is gone on with."""
    from blockmark.measure.run.plan import Plan, make_plan

    content = make_plan([find_scenario("decode")], ["vector/py"], command="").as_json()
    content = json.loads(json.dumps(content))
    for key in ("uid", "name", "tags", "checkout", "left_out"):
        del content[key]
    for subject in content["subjects"]:
        del subject["origin"]
    plan = Plan.from_json(content)
    assert (plan.uid, plan.name, plan.tags) == ("", "", ())
