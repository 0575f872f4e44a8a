"""Prove classes one after another: a job is a line of JSON on stdin, each answer one on stdout.

A class that hangs is ended by the kernel, with the process, when it has used so much CPU time
without progress of the proof.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from blockmark.measure.process.limits import limit_cpu_time
from blockmark.measure.proof.corpus_job import prove_each

_MEMORY_LIMIT = 3 << 30


def main() -> None:
    """Do the job."""
    job = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a class prints is no answer
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_LIMIT, _MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for target in job["targets"]:
        limit_cpu_time(job["cpu_s"])
        (answer,) = prove_each({**job, "targets": [target]})["answers"]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
