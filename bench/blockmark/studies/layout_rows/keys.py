"""Keys of the study of rows beside cache lines."""

from __future__ import annotations

from blockmark.workload.keys.key import Key
from blockmark.workload.keys.study_keys import StudyKeys

_OWN = ("layout-rows",)

# fmt: off
KEYS = StudyKeys(
    (
        Key("table_rows",  4096, "rows of 32 ids", "rows", 1, 1 << 20, workloads=_OWN),
        Key("line_offset", 0,    "bytes from the start of a cache line to the first row", "bytes", 0, 63, workloads=_OWN),
    ),
)
# fmt: on
