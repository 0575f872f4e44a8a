"""Pictures: the same bytes for the same run, honest curves, and no crash on odd input."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmark.report.plots import draw_pictures
from blockmark.report.plots.looks import looks
from blockmark.report.plots.style import short_name
from blockmark.report.plots.tails import tail
from blockmark.report.plots.ticks import places
from blockmark.runs.codec import parse_run
from blockmark.runs.model import HistogramData, ImplementationInfo
from blockmark.workload.builtin import builtin_names, find_scenario
from blockmark_impls.registry import builtin_names as impl_names
from blockmark_impls.registry import more_names, pair_names, resolve
from counter_run_factory import COUNTED, add_counters
from run_factory import find_cell, make_run, scalar

KINDS = ("cost", "latency")


def drawn(content: dict[str, Any]) -> dict[str, bytes]:
    return {picture.file: picture.data for picture in draw_pictures(parse_run(content))}


def chunks(png: bytes) -> dict[str, bytes]:
    """The parts of a PNG by type; AssertionError if one is damaged."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    found: dict[str, bytes] = {}
    position = 8
    while position < len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        kind, body = png[position + 4 : position + 8], png[position + 8 : position + 8 + length]
        (check,) = struct.unpack(">I", png[position + 8 + length : position + 12 + length])
        assert check == zlib.crc32(kind + body)
        found.setdefault(kind.decode(), body)
        position += 12 + length
    return found


@pytest.fixture(scope="module")
def pictures() -> dict[str, bytes]:
    return drawn(make_run())


def test_each_setting_has_its_pictures(pictures: dict[str, bytes]) -> None:
    assert sorted(pictures) == sorted(
        f"{kind}-block_size-{size}.png" for kind in KINDS for size in (16, 1)
    )


def test_a_picture_is_large_enough_to_read_and_holds_no_date_or_version(
    pictures: dict[str, bytes],
) -> None:
    for data in pictures.values():
        parts = chunks(data)
        width, height = struct.unpack(">II", parts["IHDR"][:8])
        # As wide as a page of text shows it: no letter comes out smaller than it was drawn.
        assert width == 850
        assert 300 <= height <= 1200
        assert len(data) > 20_000
        assert set(parts) == {"IHDR", "pHYs", "IDAT", "IEND"}


def test_nothing_is_cut_at_the_edge(pictures: dict[str, bytes]) -> None:
    """A letter that reaches over an edge leaves ink in the outermost line of pixels."""
    from io import BytesIO

    from matplotlib import image

    for name, data in pictures.items():
        pixels = image.imread(BytesIO(data))[:, :, :3]
        for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
            assert edge.min() > 0.9, name


def test_the_same_run_gives_the_same_bytes(pictures: dict[str, bytes]) -> None:
    assert drawn(make_run()) == pictures


def test_another_process_home_and_style_give_the_same_bytes(
    pictures: dict[str, bytes], tmp_path: Path
) -> None:
    script = (
        "import hashlib\n"
        "from blockmark.report.plots import draw_pictures\n"
        "from blockmark.runs.codec import parse_run\n"
        "from run_factory import make_run\n"
        "for p in draw_pictures(parse_run(make_run())):\n"
        "    print(p.file, zlib.crc32(p.data))\n"
    )
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.facecolor: red\n", "utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "MPLCONFIGDIR"}
    environment |= {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["PYTHONHASHSEED"] = "7"
    result = subprocess.run(
        [sys.executable, "-c", f"import zlib\n{script}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr == ""
    lines = dict(line.rsplit(" ", 1) for line in result.stdout.splitlines())
    assert lines == {name: str(zlib.crc32(data)) for name, data in pictures.items()}


def test_a_different_value_gives_a_different_picture(pictures: dict[str, bytes]) -> None:
    content = make_run()
    find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([5_000.0] * 5)
    changed = drawn(content)
    assert changed["cost-block_size-16.png"] != pictures["cost-block_size-16.png"]
    assert changed["cost-block_size-1.png"] == pictures["cost-block_size-1.png"]


def test_nothing_usable_draws_nothing() -> None:
    assert draw_pictures(parse_run(make_run(impls=("prefix-tree", "mine")))) == []
    assert draw_pictures(parse_run(make_run(impls=(), settings=[], cells=[]))) == []


def test_a_picture_without_values_is_left_out() -> None:
    content = make_run()
    for cell in content["cells"]:
        cell["metrics"] = {k: v for k, v in cell["metrics"].items() if k.startswith("lookup")}
    assert sorted(drawn(content)) == ["cost-block_size-1.png", "cost-block_size-16.png"]


def test_zero_one_round_and_unavailable_values_are_no_crash() -> None:
    content = make_run(rounds=1)
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar([0.0])
    vector = find_cell(content, "vector/cpp")["metrics"]
    vector["step_ns"] = {"value": None, "unit": "ns", "source": "clock", "unavailable": "x"}
    vector["step_latency_ns"] |= {
        "histograms": [{"counts": [[0, 5]], "max": 0, "samples": 5}],
        "rounds": 1,
    }
    flat = find_cell(content, "flat-stack/cpp")["metrics"]["step_latency_ns"]
    flat["histograms"] = [{"counts": [[700, 1]], "max": 3_010, "samples": 1}]
    assert len(drawn(content)) == 4


@pytest.mark.parametrize(
    "name", ["$x^2$ \\alpha", "内存池/py", "a\nb", "x" * 300, "<b>&amp;", "%s {0} _x_", "é\u200b"]
)
def test_a_hostile_name_is_drawn_without_a_warning(name: str) -> None:
    content = make_run(impls=("flat-stack/cpp", "mine", "vector/py"))
    for info in content["implementations"]:
        if info["name"] == "vector/py":
            info |= {"name": name, "scheme": name, "tier": name}
    for cell in content["cells"]:
        if cell["impl"] == "vector/py":
            cell["impl"] = name
        cell["params"]["pool"] = name
    for setting in content["settings"]:
        setting["params"]["pool"] = name
    for data in drawn(content).values():
        chunks(data)


def test_file_names_are_safe_and_each_is_used_once() -> None:
    content = make_run(impls=("flat-stack/cpp",))
    for index, value in enumerate(("../../x y", "..\\..\\x/y")):
        content["settings"][index]["params"] = {"pool": value}
        content["cells"][index]["params"] = {"pool": value}
    names = sorted(drawn(content))
    assert names[:2] == ["cost-pool-x-y-2.png", "cost-pool-x-y.png"]
    assert len(names) == 4


def test_a_tail_counts_the_steps_of_all_rounds_that_took_longer() -> None:
    # Values below 256 have a bucket of their own, so the answer is by hand: of ten
    # steps 5 took 100, 3 took 150, 1 took 200 and 1 took 255.
    first = HistogramData(((100, 3), (150, 2), (200, 1)), 200, 6)
    second = HistogramData(((100, 2), (150, 1), (255, 1)), 255, 4)
    ends, shares = tail([first, second])
    assert ends == [100, 150, 200, 255]
    assert shares == pytest.approx([0.5, 0.2, 0.1, 0.0])


def test_a_tail_ends_at_the_exact_maximum() -> None:
    # Bucket 256 holds 256 and 257 (two values a bucket between 256 and 511).
    assert tail([HistogramData(((256, 1),), 256, 1)]) == ([256], [0.0])


def info(name: str, scheme: str, tier: str = "cpp", kind: str = "manager") -> ImplementationInfo:
    return ImplementationInfo(name, scheme, tier, kind, "", "R", "int32", "LIFO")  # type: ignore[arg-type]


def test_a_scheme_has_one_colour_everywhere_and_tiers_differ_otherwise() -> None:
    some = looks([info("a", "flat-stack"), info("b", "flat-stack", "py"), info("c", "vector")])
    alone = looks([info("x", "flat+stack")])
    assert some["a"].color == some["b"].color == alone["x"].color
    assert some["a"].color != some["c"].color
    assert some["a"].marker != some["b"].marker
    assert some["a"].line != some["b"].line


def test_an_implementation_looks_the_same_in_every_picture() -> None:
    """Alone, among all, and in any order: no look depends on what else is there."""
    known = [info(name, scheme, tier) for name, scheme, tier in _named()]
    among = looks(known)
    assert looks(known[::-1]) == among
    for one in known:
        assert looks([one])[one.name] == among[one.name]


def test_no_two_implementations_of_a_scenario_look_alike() -> None:
    """Where they are lines or marks of one picture: the layouts and policies have bars."""
    bars = ("capacity", "false-sharing", "layout-pack", "mistakes")
    for name in builtin_names():
        scenario = find_scenario(name)
        study = scenario.cells()[0].study
        if study in bars or not scenario.implementations:
            continue
        impls = [impl for target in scenario.implementations for impl in resolve(target)]
        found = looks(info(i.name, i.scheme, i.tier, i.kind) for i in impls if i.kind != "control")
        drawn_as = [(look.color, look.marker, str(look.line)) for look in found.values()]
        assert len(set(drawn_as)) == len(drawn_as), name


def _named() -> list[tuple[str, str, str]]:
    names = [*impl_names(), *more_names(), *pair_names()]
    return [(one.name, one.scheme, one.tier) for name in names for one in resolve(name)]


@given(
    st.floats(1e-9, 1e9),
    st.floats(1.2, 1e9),
    st.integers(3, 8),
)
def test_an_axis_has_two_names_or_more_and_never_too_many(
    low: float, reach: float, most: int
) -> None:
    found = places(low, low * reach, most)
    assert found == sorted(found)
    assert all(low <= one <= low * reach for one in found)
    assert len(found) <= most + 1
    # From 1 to 2 there are 1, 1.5 or 2; a decade has two at least.
    if reach >= 10:
        assert len(found) >= 2


def test_a_vector_picture_stands_beside_each(tmp_path: Path) -> None:
    """The same picture in letters and lines: 850 pixels are 8.5 inches of 72 points."""
    run = parse_run(make_run(impls=("vector/cpp", "null/cpp")))
    pictures = draw_pictures(run)
    assert [one.drawn.svg for one in draw_pictures(run)] == [one.drawn.svg for one in pictures]
    for picture in pictures:
        png, svg = picture.files
        assert svg == png.replace(".png", ".svg")
        tree = ElementTree.fromstring(picture.drawn.svg)
        assert tree.attrib["width"] == "612pt"
        sizes = re.findall(rb"font-size: ([\d.]+)px", picture.drawn.svg)
        # SVG's px are points here: nine pixels of the PNG are 6.5 of them.
        assert sizes
        assert min(map(float, sizes)) >= 6.5
        text = "".join(tree.itertext())
        assert "vector/cpp" in text


def test_a_title_says_that_misses_are_simulated() -> None:
    """A picture is shown without its caption."""
    content = add_counters(make_run(impls=("vector/cpp", "null/cpp")))
    titles = [one.title for one in draw_pictures(parse_run(content)) if "misses" in one.file]
    assert titles
    assert all(title.startswith("Simulated L1D misses per operation") for title in titles)
    counted = add_counters(make_run(impls=("vector/cpp", "null/cpp")), COUNTED)
    titles = [one.title for one in draw_pictures(parse_run(counted)) if "misses" in one.file]
    assert all(title.startswith("Counted L1D") for title in titles)


def svg_text(content: dict[str, Any], kind: str) -> str:
    pictures = draw_pictures(parse_run(content))
    [picture] = [one for one in pictures if one.file.startswith(f"{kind}-block_size-16")]
    return "\n".join(ElementTree.fromstring(picture.drawn.svg).itertext())


def test_a_value_that_is_not_above_its_floor_is_marked() -> None:
    content = make_run(impls=("vector/cpp", "null/cpp"))
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar(
        [100.0, 101.0, 102.0, 103.0, 104.0]
    )
    find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([50.0] * 5)
    assert "50.0**" in svg_text(content, "cost")
    find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([500.0] * 5)
    assert "500\n" in svg_text(content, "cost")
    assert "500*" not in svg_text(content, "cost")


def test_another_profile_is_named_beside_the_name() -> None:
    content = make_run(impls=("vector/cpp", "flat-stack/cpp"))
    assert "(R)" not in svg_text(content, "cost")
    content["implementations"][0]["profile"] = "RCS"
    text = svg_text(content, "cost")
    assert "(RCS)" in text
    assert "(R)" in text


def test_an_unknown_scheme_keeps_its_colour_whatever_else_is_there() -> None:
    alone = looks([info("mine", "mine", "")])["mine"]
    among = looks([info("mine", "mine", ""), info("v", "vector"), info("n", "null")])["mine"]
    assert alone == among


def test_unknown_schemes_get_different_colours_while_there_are_any() -> None:
    found = looks([info(name, name, "") for name in "abcdef"])
    assert len({look.color for look in found.values()}) == 6


def test_the_same_scheme_called_in_another_way_has_another_line() -> None:
    names = ("f/cpp", "f/cpp[call_style=per-op]", "f/cpp[call_style=per-step]", "f/cpp[row_pad=1]")
    found = looks([info(name, "flat-stack") for name in names])
    assert len({str(found[name].line) for name in names[:3]}) == 3
    # Another parameter is told by a darker shade, whoever loops.
    assert found[names[3]].color != found[names[0]].color


def test_controls_are_drawn_hollow() -> None:
    assert not looks([info("null/cpp", "null", kind="control")])["null/cpp"].filled


def test_a_long_name_keeps_both_its_ends() -> None:
    short = short_name("my_package.managers:" + "x" * 80 + "[row_pad=32]")
    assert len(short) == 38
    assert short.startswith("my_package.managers:")
    assert short.endswith("ow_pad=32]")


def test_nothing_but_drawing_imports_matplotlib() -> None:
    script = (
        "import sys, io\n"
        "import blockmark.report.folder, blockmark.report.comparison, blockmark.report.plots\n"
        "import blockmark.report.plots.settings, blockmark.report.plots.style\n"
        "from blockmark.report.console import print_run\n"
        "from blockmark.report.markdown import render_report\n"
        "from blockmark.runs.codec import parse_run\n"
        "from run_factory import make_run\n"
        "assert not {'rich', 'numpy', 'matplotlib'} & set(sys.modules), 'at import'\n"
        "run = parse_run(make_run())\n"
        "print_run(run, stream=io.StringIO())\n"
        "render_report(run)\n"
        "assert 'matplotlib' not in sys.modules, 'without drawing'\n"
        "from blockmark.report.plots import draw_pictures\n"
        "draw_pictures(run)\n"
        "assert 'matplotlib.pyplot' not in sys.modules, 'pyplot'\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-P", "-c", script], env=environment, check=True)
