"""blockmark: microbenchmarks for the block manager of a paged KV cache."""

from __future__ import annotations

# Nothing is imported here that a command would not need: every start pays for it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

__all__ = ["load"]
__version__ = "0.1.0"


def load(path: str | PathLike[str], *, rounds: bool = False) -> list[dict[str, Any]]:
    """The values of a run (its folder, or its `run.json`) as tidy rows, one dict a value.

        pandas.DataFrame(blockmark.load("results/0001"))
        polars.DataFrame(blockmark.load("results/0001"), infer_schema_length=None)

    The keys are the same in every row, such as `run_id impl metric value low high`;
    docs/data.md says what each is. With `rounds` there is also `values`, the value of each
    round. Units are those of the run file: ns, bytes, share (of one), count, 1/s. What
    was not measured has value None and its reason in `unavailable`, or in `reason` where
    the whole cell was not.

    Raises `blockmark.runs.errors.RunFileError` if there is no readable run.
    """
    from pathlib import Path

    from blockmark.runs.rows import load_rows

    return load_rows(Path(path), rounds=rounds)
