"""What a checked manager or pool raises."""

from __future__ import annotations

from typing import Literal

Fault = Literal[
    "double free",
    "use after free",
    "leak",
    "ref count below zero",
    "ref count too low",
    "block live twice",
    "sequence live twice",
    "id outside the pool",
    "row overrun",
    "wrong row",
    "table changed",
    "error changed state",
    "exhaustion",
]


class ContractViolation(AssertionError):  # noqa: N818 - the contract's own word
    """A call that broke the contract; `fault` is its class, `call` the call as written."""

    def __init__(self, fault: Fault, call: str, text: str) -> None:
        super().__init__(f"{fault}: {call}: {text}")
        self.fault: Fault = fault
        self.call = call
