"""A difference from what the contract says, and how it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class WrongAnswer(Exception):  # noqa: N818 - a finding, not a failure of this program
    """An implementation differs from the oracle; says at which step and operation.

    `brief` is the call and the difference alone. `kind` says what was compared: two findings
    of one kind after the same operation are taken for one fault.
    """

    def __init__(self, text: str, brief: str = "", kind: str = "") -> None:
        super().__init__(text)
        self.brief = brief or text
        self.kind = kind


def located(error: Exception, where: str, what: str) -> WrongAnswer:
    """An error of a call, or of what was compared after it, as a finding; `what` is the call."""
    raise_if_short(error)
    brief = f"{what}: {said(error)}"
    return WrongAnswer(where + brief, brief, kind_of(error))


def said(error: Exception) -> str:
    """A difference in its own words; any other error as what was raised."""
    return str(error) if isinstance(error, WrongAnswer) else f"raised {shown_answer(error)}"


def kind_of(error: Exception) -> str:
    """What a finding is of: two of one kind, after one operation, are one fault."""
    return error.kind if isinstance(error, WrongAnswer) else f"raised {type(error).__name__}"


def shown_answer(answer: Any) -> str:
    """An answer as one would write it, cut where it gets long."""
    text = repr(answer)
    return text if len(text) <= 200 else text[:200] + "..."


def says(answer: Any, error: Exception | None) -> str:
    """What came of a call: its answer, or its error, each cut where it gets long."""
    if error is None:
        return f"returned {shown_answer(answer)}"
    text = str(error)
    return f"{type(error).__name__}({text if len(text) <= 200 else text[:200] + '...'})"


def outcome(call: Callable[..., Any], operands: Iterable[Any]) -> tuple[Any, Exception | None]:
    """A call's answer, or its error, which is an answer too."""
    try:
        return call(*operands), None
    except Exception as error:  # whatever a user's class raises is its answer
        raise_if_short(error)
        return None, error


def raise_if_short(error: Exception) -> None:
    """A MemoryError of this process is no answer; one that a class raises itself is."""
    if isinstance(error, MemoryError):
        from ..process.limits import memory_is_short

        if memory_is_short():
            raise error
