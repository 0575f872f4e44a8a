"""Managers whose errors are those of the contract, and odd in what they say or derive from."""

from __future__ import annotations

from typing import Any

from blockmark_impls.contract import (
    BlockManagerError,
    Copy,
    OutOfBlocks,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)
from blockmark_impls.python.vector import VectorManager


class _Retells(VectorManager):
    """Raises what `_retold` makes of each error."""

    def _retold(self, error: Exception) -> Exception:
        raise NotImplementedError

    def _tried(self, name: str, *operands: Any) -> Any:
        try:
            return getattr(VectorManager, name)(self, *operands)
        except (BlockManagerError, ValueError) as error:
            raise self._retold(error) from None

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._tried("allocate", seq, num_tokens)

    def append_slot(self, seq: int) -> Copy | None:
        made: Copy | None = self._tried("append_slot", seq)
        return made

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        made: list[Copy] = self._tried("extend", seq, num_tokens)
        return made

    def truncate(self, seq: int, num_tokens: int) -> None:
        self._tried("truncate", seq, num_tokens)

    def drop_front(self, seq: int, num_blocks: int) -> None:
        self._tried("drop_front", seq, num_blocks)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        self._tried("fork", parent, child, num_blocks)

    def free(self, seq: int) -> None:
        self._tried("free", seq)

    def lookup(self, seq: int, logical: int) -> int:
        return int(self._tried("lookup", seq, logical))

    def ref_count(self, block: int) -> int:
        return int(self._tried("ref_count", block))

    def num_tokens(self, seq: int) -> int:
        return int(self._tried("num_tokens", seq))

    def block_table(self, seq: int) -> list[int]:
        table: list[int] = self._tried("block_table", seq)
        return table

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        self._tried("write_block_tables", seqs, out, lengths)


class SaysNothing(_Retells):
    """Every error is raised without a word."""

    right = "errors without a message"

    def _retold(self, error: Exception) -> Exception:
        return type(error)()


class SaysTooMuch(_Retells):
    """Every error says its message until it has 10,000 characters."""

    right = "errors of 10,000 characters"

    def _retold(self, error: Exception) -> Exception:
        text = str(error) or "error"
        return type(error)((text * (10_000 // len(text) + 1))[:10_000])


class SaysLines(_Retells):
    """Every error has several lines, an accent, a tab and braces in it."""

    right = "errors of several lines"

    def _retold(self, error: Exception) -> Exception:
        return type(error)(f"\u00e9chec:\n\t{error} {{0}} %s\r\n\n")


class SaysNumbers(_Retells):
    """Every error has a number, None and bytes for its arguments."""

    right = "errors whose arguments are no text"

    def _retold(self, error: Exception) -> Exception:
        return type(error)(404, None, b"\xff")


class SaysWhy(_Retells):
    """Every error has a note, and the manager that raised it."""

    right = "errors with notes"

    def _retold(self, error: Exception) -> Exception:
        new = type(error)(str(error))
        new.add_note("a note")
        new.manager = self  # type: ignore[attr-defined]
        return new


class _BlocksError(OutOfBlocks, RuntimeError):
    pass


class _LengthError(SequenceTooLong, IndexError):
    pass


class _NameError(UnknownSequence, KeyError):
    pass


class _LiveError(SequenceExists):
    def __init__(self, seq: int, *, why: str = "it is live") -> None:
        super().__init__(f"{seq}: {why}")


class _NumberError(ValueError):
    pass


class RaisesItsOwn(_Retells):
    """Every error is of a class of its own, derived from that of the contract."""

    right = "errors derived from those of the contract"

    def _retold(self, error: Exception) -> Exception:
        match error:
            case OutOfBlocks():
                return _BlocksError(str(error))
            case SequenceTooLong():
                return _LengthError(str(error))
            case UnknownSequence():
                return _NameError(str(error))
            case SequenceExists():
                return _LiveError(0)
            case _:
                return _NumberError(str(error))
