"""Forms in which the block tables of a batch go to the device: host cost, bytes, copies.

What is sent is counted; how long it takes is a model whose inputs are keys.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, cast

from blockmark.measure.process.reading import Reading, Readings
from blockmark.workload.errors import ConfigError
from blockmark.workload.packing import modelled_transfer_ns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from blockmark.measure.study import StudyTask
    from blockmark.workload.scenario import Cell
    from blockmark_impls.layouts.rows import LayoutFacts
    from blockmark_impls.registry import Implementation

    Rows = list[list[int]]

KIND = "layout"
REPEATS = True

_BLOCK_NS, _BLOCKS = 1_000_000, 30
_QUICK_BLOCKS = 8
# Ids of the source are of 16 bits.
_IDS = 1 << 16


def prepare(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Lengths and changed rows are made again from the cell in each worker.

    Raises ConfigError where rows do not fit the table.
    """
    if cell["row_blocks"] > cell["max_blocks_per_seq"]:
        raise ConfigError(
            f"row_blocks = {cell['row_blocks']:,} is more than max_blocks_per_seq = "
            f"{cell['max_blocks_per_seq']:,} columns hold; lower one or raise the other"
        )
    _, lengths, changed = make_batch(cell.values)
    facts = {
        "rows": len(lengths),
        "ids": int(lengths.sum()),
        "longest_row": int(lengths.max()),
        "changed_rows": len(changed),
    }
    return {}, facts


def make_batch(
    params: Mapping[str, Any],
) -> tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.int32]]:
    """(table uint16 [B, W], lengths int32 [B], changed rows int32 [n]) of a cell.

    Lengths are uniform from half to one and a half of `row_blocks`, at most W.
    """
    import numpy as np

    rng = np.random.default_rng(params["seed"])
    rows, width, mean = params["concurrency"], params["max_blocks_per_seq"], params["row_blocks"]
    table = rng.integers(0, _IDS, (rows, width), dtype=np.uint16)
    lengths = rng.integers(max(1, mean // 2), mean + mean // 2 + 1, rows, dtype=np.int32)
    lengths = np.minimum(lengths, width).astype(np.int32)
    count = round(params["dirty_share"] * rows)
    changed = np.sort(rng.choice(rows, count, replace=False)).astype(np.int32)
    return table, lengths, changed


def read_back(form: str, sent: NDArray[np.int32], before: Rows, width: int) -> Rows:
    """The rows that a device has after it got `sent`, the words of a form, and had `before`.

    For `one-per-sequence` the words are those of its places in the buffer, gaps included.
    """
    rows = len(before)
    words: list[int] = sent.tolist()
    if form in ("padded", "padded-max"):
        columns = (len(words) - rows) // rows
        grid = [words[rows + row * columns :][:columns] for row in range(rows)]
        if any(any(ids[length:]) for ids, length in zip(grid, words[:rows], strict=True)):
            raise ValueError("a tail is not zero")
        return [ids[:length] for ids, length in zip(grid, words[:rows], strict=True)]
    if form == "ragged":
        indptr, ids = words[: rows + 1], words[rows + 1 :]
        return [ids[indptr[row] : indptr[row + 1]] for row in range(rows)]
    if form == "one-per-sequence":
        starts = [row * (1 + width) for row in range(rows)]
        return [words[at + 1 : at + 1 + words[at]] for at in starts]
    after = [list(row) for row in before]
    if form == "changed-cells":
        for at in range(0, len(words), 3):
            row, column, block = words[at : at + 3]
            after[row][column:] = [block]
        return after
    if form == "changed-rows":
        # The head has a pair for each row; it ends where all ids are accounted for.
        count = 0
        while 2 * count + sum(words[1 : 2 * count : 2]) < len(words):
            count += 1
        at = 2 * count
        for row, length in zip(words[0 : 2 * count : 2], words[1 : 2 * count : 2], strict=True):
            after[row] = words[at : at + length]
            at += length
        return after
    raise ValueError(f"no form {form}")


def written(
    form: str,
    table: NDArray[np.uint16],
    lengths: NDArray[np.int32],
    changed: NDArray[np.int32],
) -> tuple[NDArray[np.int32], int, int]:
    """(words, bytes, copies) of a form as the core writes it."""
    import numpy as np

    from blockmark_impls import _native

    batch = _native.PackBatch(table, lengths, changed)
    sent_bytes, copies = batch.write(form)
    rows, width = table.shape
    words = rows * (1 + width) if form == "one-per-sequence" else sent_bytes // 4
    out = np.empty(words, dtype=np.int32)
    batch.read(out)
    return out, sent_bytes, copies


def prove(impl: Implementation, task: StudyTask) -> dict[str, Any]:
    """What the form sends, read back, is the table; the device had all but what changed."""
    if cast("LayoutFacts", impl.facts).family != "pack":
        return {
            "status": "unavailable",
            "reason": f"{impl.name} is a width of rows; layout-rows measures it",
        }
    table, lengths, changed = make_batch(task.params)
    words, _, _ = written(impl.scheme, table, lengths, changed)
    wanted = [ids[:length].tolist() for ids, length in zip(table, lengths, strict=True)]
    before = [list(row) for row in wanted]
    for row in changed.tolist():
        before[row].pop()
    try:
        got = read_back(impl.scheme, words, before, table.shape[1])
    except (ValueError, IndexError) as error:
        return {"status": "wrong", "reason": f"{impl.scheme} can't be read back: {error}"}
    for row, (ids, right) in enumerate(zip(got, wanted, strict=True)):
        if ids != right:
            return {"status": "wrong", "reason": f"{impl.scheme}: row {row} is not what was sent"}
    return {"status": "ok", "operations": len(wanted), "steps": 1}


def measure(impl: Implementation, task: StudyTask) -> Readings:
    """Host time in blocks of about a millisecond, exact bytes and copies, and the model."""
    form, params = impl.scheme, task.params
    batch = impl.make(*make_batch(params))
    sent_bytes, copies = batch.write(form)
    batches = 1
    while (ns := batch.timed(form, batches)) < _BLOCK_NS // 2:
        batches *= 2
    batches = max(1, batches * _BLOCK_NS // ns)
    times = []
    started = perf_counter_ns()
    blocks = _QUICK_BLOCKS if task.quick else _BLOCKS
    for _ in range(blocks):
        times.append(batch.timed(form, batches) / batches)
        if perf_counter_ns() - started > 3 * blocks * _BLOCK_NS:
            break
    host = min(times)
    transfer = modelled_transfer_ns(copies, sent_bytes, params)
    return {
        "batch_pack_ns": Reading(host, sum(times) / len(times)),
        "sent_bytes": Reading(sent_bytes),
        "sent_copies": Reading(copies),
        "transfer_ns": Reading(transfer),
        "pack_and_transfer_ns": Reading(host + transfer),
    }


def extra_time_s(params: Mapping[str, Any]) -> float:
    """None: thirty blocks."""
    return 0.0
