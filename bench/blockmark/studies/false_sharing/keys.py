"""Keys of the study of false sharing: it has none of its own."""

from __future__ import annotations

from blockmark.workload.keys.study_keys import StudyKeys

KEYS = StudyKeys(rows=(), shared=("threads", "seed"))
