"""Several classes proved one after another in one worker: the start of a process costs more
than most of them take to be found wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from blockmark_impls.contract import PoolConfig
from blockmark_impls.registry import TargetError, resolve

from ..inside.failures import why_failed
from ..process.limits import extend_limit
from .prove import prove


def prove_each(job: dict[str, Any]) -> dict[str, Any]:
    """`answers`: a result for each of the job's `targets`, in their order."""
    return {"status": "ok", "answers": [_prove(target, job) for target in job["targets"]]}


def _accepted(make: Callable[[PoolConfig], Any], config: PoolConfig) -> PoolConfig:
    """The sizes, or others that the class takes: some take blocks of 16 alone, or few slots."""
    for sizes in (config, replace(config, block_size=16), replace(config, max_blocks_per_seq=8)):
        try:
            make(sizes)
        except ValueError:
            continue
        return sizes
    return config


def _prove(target: str, job: dict[str, Any]) -> dict[str, Any]:
    extend_limit()  # what the ones before it took is not held against it
    config = PoolConfig(**job["config"])
    try:
        impl = resolve(target)[0]
        if impl.unavailable:
            return {"status": "unavailable", "reason": impl.unavailable}
        one = {**job, "call_style": impl.call_style, "programs": []}
        if not impl.pool_alone:
            config = _accepted(impl.make_manager, config)
        return prove(impl, config, {**one, "brief": True})
    except TargetError as error:
        return {"status": "unavailable", "reason": str(error)}
    except (Exception, SystemExit) as error:  # the class's own: a result like any other
        return {"status": "failed", "reason": why_failed(error)}
