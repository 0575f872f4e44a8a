"""The page for a browser, and the long table: parsed, and, where a browser is, used."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from blockmark.report.long_table import render_csv
from blockmark.report.page import render_page
from blockmark.runs.codec import parse_run
from blockmark.runs.rows import rows_of
from cli import blockmark
from run_factory import find_cell, make_run

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
IMPLS = ("hash-map/cpp", "vector/cpp", "flat-stack/cpp", "null/cpp", "mine")


class Page(HTMLParser):
    """The tags of a page with their attributes, the cells of its tables, and its data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.data = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "td":
            self.cells[-1] += data
        if self.tags and self.tags[-1][1].get("id") == "data" and self._open[-1] == "script":
            self.data += data


def test_the_page_needs_nothing_from_anywhere() -> None:
    text = render_page(parse_run(make_run()))
    page = Page(text)
    assert {tag for tag, _ in page.tags} & {"link", "img", "iframe", "base", "object"} == set()
    assert [one for _, one in page.tags if {"src", "href", "srcset"} & one.keys()] == []
    style_and_script = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)
    # The one address is the name of SVG, which is never fetched.
    assert set(re.findall(r"https?://[^\"' ]+", style_and_script)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in text
    assert "url(" not in text
    [policy] = [
        one["content"]
        for tag, one in page.tags
        if tag == "meta" and one.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none';")  # type: ignore[union-attr]


def test_the_data_are_those_of_the_run() -> None:
    content = make_run(impls=IMPLS)
    data = json.loads(Page(render_page(parse_run(content))).data)
    names = [one["name"] for one in data["impls"]]
    shown = {
        (data["settings"][cell["setting"]]["name"], names[cell["impl"]]): cell["values"]
        for cell in data["cells"]
    }
    told = find_cell(content, "vector/cpp", 1)["metrics"]["take_ns"]
    value, low, high, rounds, _ = shown["block_size 1", "vector/cpp"]["take_ns"]
    assert (value, low, high, rounds) == (told["value"], told["low"], told["high"], 5)
    p99 = find_cell(content, "vector/cpp", 1)["metrics"]["step_latency_ns"]["quantiles"]["p99"]
    assert shown["block_size 1", "vector/cpp"]["step_latency_ns.p99"][0] == p99["value"]


def test_a_reader_without_scripts_has_a_table() -> None:
    content = make_run(impls=("vector/cpp",))
    cells = Page(render_page(parse_run(content))).cells
    assert cells[:2] == ["vector/cpp", "block_size 16"]
    assert len(cells) == 2 * 4


def test_a_name_in_a_run_is_text() -> None:
    content = make_run(impls=("vector/cpp",))
    evil = "</script><script>alert(1)</script>"
    for cell in content["cells"]:
        cell["impl"] = evil
    content["implementations"][0]["name"] = evil
    text = render_page(parse_run(content))
    assert "<script>alert" not in text
    assert [cell for cell in Page(text).cells if cell == evil]


@pytest.mark.parametrize("quick", [False, True])
def test_a_quick_run_says_so(quick: bool) -> None:
    assert ("not for decisions" in render_page(parse_run(make_run(quick=quick)))) == quick


def test_csv_is_the_long_table() -> None:
    run = parse_run(make_run())
    lines = list(csv.DictReader(io.StringIO(render_csv(run))))
    rows = rows_of(run)
    assert len(lines) == len(rows)
    assert list(lines[0]) == list(rows[0])
    for line, row in zip(lines, rows, strict=True):
        assert line["impl"] == row["impl"]
        assert line["value"] == ("" if row["value"] is None else str(row["value"]))


def test_report_writes_both(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(make_run(impls=IMPLS)))
    done = blockmark("report", "run.json", "--format", "csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run_id,")
    done = blockmark("report", "run.json", "--format", "html", "-o", "a.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


# What a person does with the page; what they see goes into an element that the test reads.
_USE = """
<script>
const all = (what) => [...document.querySelectorAll(what)];
const column = (n) => all("#values tbody tr").map((row) => row.cells[n]?.textContent);
const press = (what) => document.querySelector(what).click();
const seen = { order: column(0), points: all("svg .point").length };
press('[data-sort=value]'); seen.ascending = column(2);
press('[data-sort=value]'); seen.descending = column(2);
press('[data-sort=implementation]'); seen.names = column(0);
const point = document.querySelector("svg .point");
point.dispatchEvent(new MouseEvent("mouseenter"));
seen.tip = document.getElementById("tip").textContent;
seen.tipHidden = document.getElementById("tip").hidden;
point.dispatchEvent(new MouseEvent("mouseleave"));
seen.tipGone = document.getElementById("tip").hidden;
press('[data-impl="hash-map/cpp"]');
seen.hidden = { names: column(0), points: all("svg .point").length };
press('[data-impl="hash-map/cpp"]'); seen.back = all("svg .point").length;
const metric = document.querySelector("[data-choose=metric]");
metric.value = "step_latency_ns.p99"; metric.dispatchEvent(new Event("change"));
seen.p99 = column(2);
seen.paper = getComputedStyle(document.body).backgroundColor;
document.body.append(Object.assign(document.createElement("pre"),
  { id: "seen", textContent: JSON.stringify(seen) }));
</script>
"""


def used(folder: Path, run: dict[str, Any], *options: str) -> dict[str, Any]:
    """What a person sees who sorts, hides, hovers and chooses."""
    text = render_page(parse_run(run))
    page = folder / "page.html"
    page.write_text(text.replace("</body>", f"{_USE}</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            f"--user-data-dir={folder / 'profile'}", *options, page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    match = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
    assert match, done.stderr
    import html

    return dict(json.loads(html.unescape(match[1])))


def number(text: str) -> float:
    return float(text.rstrip("*").replace(",", ""))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser here")
def test_a_browser_sorts_hides_and_tells(tmp_path: Path) -> None:
    content = make_run(impls=IMPLS)
    seen = used(tmp_path, content)
    measured = 4 * 2  # by hand: `mine` was not measured, in two settings
    assert seen["points"] == measured
    assert seen["order"][:2] == ["hash-map/cpp", "vector/cpp"]
    values = [number(text) for text in seen["ascending"][:measured]]
    assert values == sorted(values)
    # What has no value stays at the end.
    assert [number(text) for text in seen["descending"][:measured]] == values[::-1]
    assert "killed by signal 11" in seen["descending"][-1]
    assert seen["names"] == sorted(seen["names"])
    assert not seen["tipHidden"]
    assert seen["tipGone"]
    told = find_cell(content, "hash-map/cpp")["metrics"]["step_ns"]
    assert seen["tip"].splitlines()[0] == "hash-map/cpp"
    assert re.search(r"step_ns: [\d.,]+ (ns|us)", seen["tip"])
    assert "5 rounds" in seen["tip"]
    assert told["value"] > 0
    assert "hash-map/cpp" not in seen["hidden"]["names"]
    assert seen["hidden"]["points"] == measured - 2
    assert seen["back"] == measured
    assert seen["p99"] != seen["ascending"]
    assert seen["paper"] == "rgb(255, 255, 255)"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser here")
def test_a_dark_desktop_has_a_dark_page(tmp_path: Path) -> None:
    dark = used(tmp_path, make_run(impls=IMPLS), "--blink-settings=preferredColorScheme=0")
    assert dark["paper"] == "rgb(27, 27, 27)"
