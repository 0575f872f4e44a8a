"""A tight loop for each operation, with its method looked up once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.workload.program import METHODS, Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from blockmark.workload.program import Program

    from .protocols import Executor

    Numbers = tuple[int, ...]


def executors(manager: Any, program: Program) -> dict[Op, Executor]:
    """One tight loop for each operation the manager has, its method looked up once."""
    handles: dict[int, Any] = {}
    # What was given back is kept only for programs that ask for it again.
    remembered: dict[int, Any] = {}
    give = _give_and_remember if Op.REMOVE in set(program.codes) else _give
    makers: dict[Op, Callable[[Any], Executor]] = {
        Op.CAN_ALLOCATE: _unary,
        Op.ALLOCATE: _binary,
        Op.APPEND: _unary,
        Op.EXTEND: _binary,
        Op.TRUNCATE: _binary,
        Op.DROP_FRONT: _binary,
        Op.FORK: _fork,
        Op.FREE: _unary,
        Op.LOOKUP: _binary,
        Op.LOOKUP_CHAIN: _chain,
        Op.PACK: lambda method: _pack(method, program),
        Op.TAKE: lambda method: _take(method, handles),
        Op.GIVE: lambda method: give(method, handles, remembered),
        Op.REMOVE: lambda method: _remove(method, handles, remembered),
        Op.FIND: _unary,
        Op.COMPACT: _unary,
    }
    methods = {op: getattr(manager, METHODS[op], None) for op in makers}
    return {op: makers[op](method) for op, method in methods.items() if method is not None}


def batch_executors(manager: Any) -> dict[Op, Executor]:
    """What a manager does for a whole run of operations in one call."""
    found: dict[Op, Executor] = {}
    if hasattr(manager, "append_slots"):
        append_slots = manager.append_slots
        found[Op.APPEND] = lambda a, b, c: append_slots(a)
    if hasattr(manager, "lookup_slots"):
        import numpy as np

        lookup_slots = manager.lookup_slots
        answers: dict[int, Any] = {}

        def lookups(a: Any, b: Any, c: Any) -> Any:
            out = answers.get(len(a))
            if out is None:
                out = answers[len(a)] = np.empty(len(a), dtype=np.int32)
            lookup_slots(a, b, out)
            return out

        found[Op.LOOKUP] = lookups
    return found


def _unary(method: Callable[[int], Any]) -> Executor:
    # To keep an answer costs what it costs to drop it.
    def execute(a: Numbers, b: Numbers, c: Numbers) -> Any:
        answer = None
        for x in a:
            answer = method(x)
        return answer

    return execute


def _binary(method: Callable[[int, int], Any]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> Any:
        answer = None
        for x, y in zip(a, b, strict=True):
            answer = method(x, y)
        return answer

    return execute


def _fork(method: Callable[[int, int, int | None], object]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for x, y, z in zip(a, b, c, strict=True):
            method(x, y, z or None)

    return execute


def _chain(method: Callable[[int, int], int]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> int:
        last = 0
        for x, y in zip(a, b, strict=True):
            last = method(x, y ^ (last & 0))
        return last

    return execute


def _pack(method: Callable[[Any, Any, Any], object], program: Program) -> Executor:
    # One output for each number of rows, as an engine has: a step writes the same place.
    buffers: dict[int, tuple[Any, Any]] = {}

    def execute(a: Any, b: Any, c: Any) -> Any:
        rows = len(a)
        if rows not in buffers:
            import numpy as np

            buffers[rows] = (
                np.zeros((rows, program.width), dtype=np.int32),
                np.zeros(rows, dtype=np.int32),
            )
        method(a, *buffers[rows])
        return buffers[rows]

    return execute


def _take(method: Callable[[int], Any], handles: dict[int, Any]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> Any:
        for handle, k in zip(a, b, strict=True):
            handles[handle] = method(k)
        return handles[a[-1]] if a else None

    return execute


def _give(method: Callable[[Any], object], handles: dict[int, Any], _: dict[int, Any]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for handle in a:
            method(handles.pop(handle))

    return execute


def _give_and_remember(
    method: Callable[[Any], object], handles: dict[int, Any], remembered: dict[int, Any]
) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for handle in a:
            ids = remembered[handle] = handles.pop(handle)
            method(ids)

    return execute


def _remove(
    method: Callable[[int], object], handles: dict[int, Any], remembered: dict[int, Any]
) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for handle in a:
            ids = handles[handle] = remembered[handle]
            for block in ids:
                method(block)

    return execute
