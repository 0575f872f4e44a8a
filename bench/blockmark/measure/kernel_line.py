"""Processors that Linux's command line sets aside: `isolcpus=managed_irq,domain,2-5`.

The lists are those of Documentation/admin-guide/kernel-parameters.rst: numbers and ranges,
`FIRST-LAST:USED/GROUP` for the first so many of each group, `N` for the last processor, `all`,
and in front of isolcpus' list the kind of isolation.
"""

from __future__ import annotations

import re

_FLAGS = ("nohz", "domain", "managed_irq")
_RANGE = re.compile(r"(\d{1,5}|N)(?:-(\d{1,5}|N))?(?::(\d{1,5})/(\d{1,5}))?", re.ASCII)


def set_aside(command_line: str, parameter: str, count: int) -> tuple[int, ...]:
    """The numbers of the processors that a parameter names, sorted, of `count` in all.

    Empty where it is not given. What is no list in the kernel's own syntax names none.
    """
    words = [word for word in command_line.split() if word.startswith(f"{parameter}=")]
    if not words:
        return ()
    named: set[int] = set()
    for item in words[-1].partition("=")[2].strip('"').split(","):
        if item == "all":
            named.update(range(count))
        elif item not in _FLAGS:
            named.update(_of_range(item, count))
    return tuple(sorted(named))


def _of_range(item: str, count: int) -> list[int]:
    found = _RANGE.fullmatch(item)
    if found is None:
        return []
    first, last, used, group = found.groups()
    start, end = (count - 1 if text == "N" else int(text) for text in (first, last or first))
    numbers = range(start, min(end, count - 1) + 1)
    if used is None:
        return list(numbers)
    every = int(group)
    return [number for number in numbers if every and (number - start) % every < int(used)]


def as_list(numbers: tuple[int, ...]) -> str:
    """`2-5,8` for 2, 3, 4, 5, 8."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)
