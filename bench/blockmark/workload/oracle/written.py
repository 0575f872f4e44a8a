"""Programs as text, to be kept and read: the sizes of a manager, and a call a line."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from typing import TYPE_CHECKING

from blockmark_impls.contract import PoolConfig

from .calls import SEQUENCES, Call
from .moves import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST = "# blockmark calls 1"
_SIZES = ("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq", "id_bits")
_CALL = re.compile(r"(\w+)\((.*)\)")
# In whatever base; Python refuses only some of them, in words of its own.
_TOO_LONG = re.compile(r"\w{40}")
# As a Program's numbers: what is kept can be replayed by any loop.
_LIMIT = 1 << 31
_OPERANDS = {"can_allocate": 1, "append_slot": 1, "append_slots": 1, "free": 1, "fork": 3,
             "write_block_tables": 1}  # fmt: skip
_ARRAYS = ("append_slots", "lookup_slots", "write_block_tables")


class WrittenError(ValueError):
    """A file of calls that can't be used; one line, naming the file and the line."""


def write_calls(config: PoolConfig, calls: Sequence[Call]) -> str:
    """The text of a program."""
    sizes = " ".join(f"{name}={getattr(config, name)}" for name in _SIZES)
    return "\n".join([_FIRST, sizes, *map(str, calls)]) + "\n"


def read_calls(text: str, name: str) -> tuple[PoolConfig, list[Call]]:
    """The program of a text; `name` is its file. Raises WrittenError."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _FIRST:
        raise WrittenError(f'{name}: its first line must be "{_FIRST}"')
    config: PoolConfig | None = None
    calls = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            if config is None:
                config = _config(line)
            else:
                calls.append(_call(line.strip()))
        except ValueError as error:
            raise WrittenError(f"{name}:{number}: {error}") from None
    if config is None:
        raise WrittenError(f"{name}: it names no sizes: a second line such as total_blocks=8 ...")
    return config, calls


def _config(line: str) -> PoolConfig:
    given = dict(item.partition("=")[::2] for item in line.split())
    if set(given) != set(_SIZES):
        raise ValueError(f"sizes must be {', '.join(f'{size}=N' for size in _SIZES)}")
    numbers = {}
    for key, value in given.items():
        if not value.isdecimal() or len(value) > 9 or int(value) < 1:
            raise ValueError(f"{key} = {value[:40]} must be 1 or more, of 9 digits at most")
        numbers[key] = int(value)
    assert set(numbers) <= {field.name for field in fields(PoolConfig)}
    return PoolConfig(**numbers)


def _call(line: str) -> Call:
    match = _CALL.fullmatch(line)
    if match is None or match[1] not in OPERATIONS:
        raise ValueError(f"{line[:60]!r} is no call of {', '.join(OPERATIONS)}")
    method = match[1]
    if _TOO_LONG.search(line):
        raise ValueError(f"{line[:60]!r}: a number has more digits than any operand")
    try:
        operands = ast.literal_eval(f"({match[2]},)")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"{line[:60]!r}: operands must be whole numbers, lists or None") from None
    if len(operands) != _OPERANDS.get(method, 2):
        raise ValueError(f"{method} takes {_OPERANDS.get(method, 2)} operands")
    call = Call(method, tuple(_operand(method, place, x) for place, x in enumerate(operands)))
    if len({len(column) for column in call.operands if isinstance(column, tuple)}) > 1:
        raise ValueError(f"{method} takes lists of one length")
    return call


def _operand(method: str, place: int, value: object) -> int | tuple[int, ...] | None:
    if method in _ARRAYS:
        if isinstance(value, list) and value and all(map(_is_number, value)):
            return tuple(value)
        raise ValueError(f"{method} takes lists of numbers")
    if value is None and method == "fork" and place == 2:
        return None
    if isinstance(value, int) and _is_number(value):
        return value
    what = "a sequence" if place in SEQUENCES.get(method, ()) else "a number"
    raise ValueError(f"{method}: {str(value)[:40]} is not {what}")


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LIMIT <= value < _LIMIT
