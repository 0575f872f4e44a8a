"""Keys of the two studies of layouts: rows beside cache lines, and forms of a packed batch."""

from __future__ import annotations

from .key import Key
from .study import StudyKeys

_ROWS, _PACK = "layout-rows", "layout-pack"

ROWS_STUDY = StudyKeys(
    _ROWS,
    (
        Key("table_rows", 4096, "rows of 32 ids", "rows", 1, 1 << 20, workloads=(_ROWS,)),
        Key(
            "line_offset",
            0,
            "bytes from the start of a cache line to the first row",
            "bytes",
            0,
            63,
            workloads=(_ROWS,),
        ),
    ),
)

PACK_STUDY = StudyKeys(
    _PACK,
    (
        Key(
            "row_blocks",
            64,
            "blocks of a row on average; rows have half to one and a half of it",
            "blocks",
            1,
            1 << 16,
            workloads=(_PACK,),
        ),
        Key(
            "dirty_share",
            0.0625,
            "share of the rows that changed since the last step",
            low=0.0,
            high=1.0,
            fraction=True,
            workloads=(_PACK,),
        ),
        Key(
            "copy_call_ns",
            6000.0,
            "what starting one copy to the device takes; an input of the model",
            "ns",
            0.0,
            1e9,
            fraction=True,
            workloads=(_PACK,),
        ),
        Key(
            "copy_bandwidth",
            25.0,
            "bytes that a copy to the device moves in a ns (GB/s); an input of the model",
            "GB/s",
            1e-3,
            1e6,
            fraction=True,
            workloads=(_PACK,),
        ),
    ),
    shared=("concurrency", "max_blocks_per_seq", "seed"),
)
