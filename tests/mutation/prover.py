"""Prove classes one after another: a job is a line of JSON on stdin, each answer one on stdout.

A class that hangs is ended by the kernel, with the process: its time is CPU time.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time

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
        until = math.ceil(time.process_time() + job["cpu_s"])
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
        (answer,) = prove_each({**job, "targets": [target]})["answers"]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
