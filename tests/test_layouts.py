"""Layouts: lines touched by arithmetic, and every form read back to the table it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmark.measure.process.reading import Reading
from blockmark.measure.study import StudyTask
from blockmark.studies.layout_pack import measure as layout_pack
from blockmark.studies.layout_rows import measure as layout_rows
from blockmark.workload.errors import ConfigError
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.registry import names_of, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from blockmark_impls.registry import Implementation

native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

FORMS = ("padded", "padded-max", "ragged", "changed-rows", "changed-cells", "one-per-sequence")


def one(name: str) -> Implementation:
    (found,) = resolve(name)
    return found


# --- rows and lines -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "offset", "lines"),
    [
        # 64 bytes: one line on its start, two anywhere else.
        (16, 0, 1),
        (16, 2, 2),
        (16, 32, 2),
        (16, 62, 2),
        # 128 and 256 bytes: two and four, and one more beside a line's start.
        (32, 0, 2),
        (32, 60, 3),
        (64, 0, 4),
        (64, 8, 5),
    ],
)
def test_lines_of_a_row(bits: int, offset: int, lines: int) -> None:
    slab = getattr(native, f"RowSlab{bits}")(100, offset)
    row_bytes = 32 * bits // 8
    assert slab.bytes == 100 * row_bytes
    for row in range(100):
        assert slab.address(row) % 64 == (offset + row * row_bytes) % 64
        assert slab.address(row) - slab.address(0) == row * row_bytes
        assert slab.lines_of(row) == lines
    assert slab.lines_of_all() == 100 * lines


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_a_packed_row_is_the_row(bits: int) -> None:
    slab = getattr(native, f"RowSlab{bits}")(3, bits // 8)
    # Ids count up by seven, modulo what the width holds.
    wanted = [i * 7 % (1 << bits) for i in range(2 * 32, 3 * 32)]
    assert slab.row(2) == wanted
    assert slab.packed_row(2) == wanted


@pytest.mark.parametrize(
    ("kind", "rows", "offset"),
    [("16", 1, 1), ("32", 1, 2), ("64", 1, 62), ("16", 1, 64), ("16", 1, -2), ("16", 0, 0)],
)
def test_a_place_that_is_none_is_refused(kind: str, rows: int, offset: int) -> None:
    with pytest.raises(ValueError, match=r"offset|rows"):
        getattr(native, f"RowSlab{kind}")(rows, offset)


def test_rows_that_are_none_are_refused() -> None:
    slab = native.RowSlab16(4, 0)
    for row in (-1, 4):
        with pytest.raises(ValueError, match="no row"):
            slab.address(row)
        with pytest.raises(ValueError, match="no row"):
            slab.packed_row(row)
    with pytest.raises(ValueError, match="negative"):
        slab.time_rows(-1, 0)


# --- forms of a batch -----------------------------------------------------------------------


@st.composite
def batches(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    rows, width = draw(st.integers(1, 9)), draw(st.integers(1, 13))
    seed = draw(st.integers(0, 1 << 32))
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 1 << 16, (rows, width), dtype=np.uint16)
    lengths = np.array(draw(st.lists(st.integers(1, width), min_size=rows, max_size=rows)))
    changed = draw(st.lists(st.integers(0, rows - 1), unique=True))
    return table, lengths.astype(np.int32), np.array(changed, dtype=np.int32)


@settings(max_examples=60, deadline=None)
@given(batches())
def test_every_form_read_back_is_the_table(batch: tuple[Any, Any, Any]) -> None:
    table, lengths, changed = batch
    rows, width = table.shape
    wanted = [ids[:length].tolist() for ids, length in zip(table, lengths, strict=True)]
    # The device has all but the last id of rows that changed, which it never had.
    before = [ids[:-1] if row in changed else ids for row, ids in enumerate(wanted)]
    total, part = sum(map(len, wanted)), sum(len(wanted[row]) for row in changed)
    words = {
        "padded": rows + rows * width,
        "padded-max": rows + rows * int(lengths.max()),
        "ragged": rows + 1 + total,
        "changed-rows": 2 * len(changed) + part,
        "changed-cells": 3 * len(changed),
        "one-per-sequence": rows + total,
    }
    copies = dict.fromkeys(FORMS, 1) | {"one-per-sequence": rows}
    if not len(changed):
        copies |= {"changed-rows": 0, "changed-cells": 0}
    for form in FORMS:
        sent, sent_bytes, made = layout_pack.written(form, table, lengths, changed)
        assert layout_pack.read_back(form, sent, before, width) == wanted, form
        assert (sent_bytes, made) == (4 * words[form], copies[form]), form


def test_ragged_is_what_a_kernel_takes() -> None:
    """indptr and ids as FlashInfer names them: row b is ids[indptr[b] : indptr[b + 1]]."""
    table = np.array([[5, 6, 0], [7, 0, 0], [8, 9, 65_535]], dtype=np.uint16)
    lengths = np.array([2, 1, 3], dtype=np.int32)
    sent, _, _ = layout_pack.written("ragged", table, lengths, np.zeros(0, np.int32))
    assert sent.tolist() == [0, 2, 3, 6, 5, 6, 7, 8, 9, 65_535]


def test_a_form_written_wrong_is_noticed() -> None:
    table = np.array([[5, 6, 0], [7, 0, 0]], dtype=np.uint16)
    lengths = np.array([2, 1], dtype=np.int32)
    changed = np.array([1], dtype=np.int32)
    for form in FORMS:
        sent, _, _ = layout_pack.written(form, table, lengths, changed)
        other = sent.copy()
        other[5 if form == "one-per-sequence" else -1] += 1
        before = [[5, 6], []]
        try:
            got = layout_pack.read_back(form, other, before, 3)
        except (ValueError, IndexError):
            continue
        assert got != [[5, 6], [7]], form


@pytest.mark.parametrize(
    ("lengths", "changed", "said"),
    [
        ([0, 1], [], "length"),
        ([4, 1], [], "length"),
        ([1], [], "length"),
        ([1, 1], [2], "changed"),
        ([1, 1], [-1], "changed"),
        ([1, 1], [0, 0], "changed"),
    ],
)
def test_a_batch_that_makes_no_sense_is_refused(
    lengths: list[int], changed: list[int], said: str
) -> None:
    table = np.zeros((2, 3), dtype=np.uint16)
    with pytest.raises(ValueError, match=said):
        native.PackBatch(table, np.array(lengths, np.int32), np.array(changed, np.int32))


def test_an_unknown_form_is_refused() -> None:
    table = np.zeros((1, 1), dtype=np.uint16)
    batch = native.PackBatch(table, np.ones(1, np.int32), np.zeros(0, np.int32))
    with pytest.raises(ValueError, match="no form csr"):
        batch.write("csr")


# --- the studies ----------------------------------------------------------------------------


def cells_of(workload: str, text: str = "") -> Any:
    (cell,) = parse_scenario(f'workload = "{workload}"\n{text}', "mine", "mine.toml").cells()
    return cell


def job_of(workload: str, text: str = "") -> StudyTask:
    return StudyTask(cells_of(workload, text).values, quick=True)


def test_rows_are_proved_and_counted() -> None:
    job = job_of("layout-rows", "table_rows = 64\nline_offset = 32")
    for bits, lines in ((16, 2), (32, 3), (64, 5)):
        impl = one(f"row-{bits}/cpp")
        assert layout_rows.prove(impl, job)["status"] == "ok"
        metrics = layout_rows.measure(impl, job)
        assert metrics["lines_per_row"] == Reading(lines)
        assert metrics["slab_bytes"] == Reading(64 * 32 * bits // 8)
        for name in ("entry_read_ns", "row_read_ns", "row_load_ns", "row_pack_ns"):
            assert metrics[name].number > 0


def test_what_a_width_or_a_study_does_not_suit_is_unavailable() -> None:
    job = job_of("layout-rows", "line_offset = 2")
    assert layout_rows.prove(one("row-16/cpp"), job)["status"] == "ok"
    said = layout_rows.prove(one("row-32/cpp"), job)
    assert said["status"] == "unavailable"
    assert "4 bytes" in said["reason"]
    assert "layout-pack" in layout_rows.prove(one("ragged/cpp"), job)["reason"]
    assert "layout-rows" in layout_pack.prove(one("row-16/cpp"), job_of("layout-pack"))["reason"]


def test_forms_are_proved_counted_and_modelled() -> None:
    text = "concurrency = 8\nmax_blocks_per_seq = 32\nrow_blocks = 16\ndirty_share = 0.25"
    job = job_of("layout-pack", text + "\ncopy_call_ns = 1000\ncopy_bandwidth = 2")
    for form in FORMS:
        impl = one(f"{form}/cpp")
        assert layout_pack.prove(impl, job) == {"status": "ok", "operations": 8, "steps": 1}
        metrics = layout_pack.measure(impl, job)
        copies, sent = metrics["sent_copies"].number, metrics["sent_bytes"].number
        assert copies == (8 if form == "one-per-sequence" else 1)
        assert metrics["transfer_ns"].number == copies * 1000 + sent / 2
        both = metrics["batch_pack_ns"].number + metrics["transfer_ns"].number
        assert metrics["pack_and_transfer_ns"].number == both
    assert metrics["sent_bytes"].number > 8 * 4 * 9  # eight lengths and rows of eight or more
    cells = layout_pack.measure(one("changed-cells/cpp"), job)
    assert cells["sent_bytes"].number == 2 * 12  # a quarter of eight rows


def test_rows_that_do_not_fit_the_table_are_refused(tmp_path: Path) -> None:
    cell = cells_of("layout-pack", "max_blocks_per_seq = 8\nrow_blocks = 9")
    with pytest.raises(ConfigError, match="row_blocks = 9 is more than max_blocks_per_seq = 8"):
        layout_pack.prepare(cell, tmp_path / "cell")


def test_layouts_are_named_once_and_in_no_default_set() -> None:
    found = names_of("layout")
    assert len(found) == len(set(found)) == 9
