"""Capacity by arithmetic: whole requests of one length in a memory, and what that needs.

With T tokens of memory, a prompt of P and an output of O: a request takes P + O tokens at
its end and P + O / 2 on average. Kwon et al., "Efficient Memory Management for Large
Language Model Serving with PagedAttention", 2023, name the kinds of waste.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor


def paged_requests(tokens: int, prompt: int, output: int, block_size: int) -> int:
    """Requests that fit with all of their blocks: floor(T / b) // ceil((P + O) / b)."""
    return tokens // block_size // -(-(prompt + output) // block_size)


def reserved_requests(tokens: int, max_len: int) -> int:
    """Slots of the longest length: T // max_len."""
    return tokens // max_len


@dataclass(frozen=True, slots=True)
class Span:
    """Whole numbers from `low` to `high`; none if `low` is above."""

    low: int
    high: int

    @property
    def is_empty(self) -> bool:
        """Whether no number is in it."""
        return self.low > self.high


def tokens_for_paged(requests: int, prompt: int, output: int, block_size: int) -> Span:
    """Memory in which exactly so many requests fit, paged."""
    each = -(-(prompt + output) // block_size) * block_size
    return Span(requests * each, (requests + 1) * each - 1)


def lengths_for_reserved(requests: int, tokens: int) -> Span:
    """Longest lengths with which exactly so many slots fit: T / (n + 1) < max_len <= T / n."""
    return Span(tokens // (requests + 1) + 1, tokens // requests)


def lengths_for_utilisation(low: float, high: float, prompt: int, output: int) -> Span:
    """Longest lengths with which a slot is written to a share between the two, on average."""
    mean = prompt + Fraction(output, 2)
    # As people wrote them: 0.6 is six tenths.
    return Span(ceil(mean / Fraction(str(high))), floor(mean / Fraction(str(low))))


def saved_by_samples(samples: int, prompt: int, output: int) -> float:
    """Share of the tokens saved when samples have one prompt: (n - 1) / n x P / (P + O)."""
    return (samples - 1) / samples * prompt / (prompt + output)


def samples_for_saving(low: float, high: float, prompt: int, output: int) -> Span:
    """How many samples of a prompt save a share between the two; at most 1,024 are tried."""
    fitting = [n for n in range(2, 1025) if low <= saved_by_samples(n, prompt, output) <= high]
    return Span(fitting[0], fitting[-1]) if fitting else Span(1, 0)
