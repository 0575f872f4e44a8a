"""The states of a request, and the moves between them that are allowed.

```
waiting --admit--> running --finish--> finished
   |                |   ^
   |                |   +--swap in-- swapped
   |                +-----swap out-->  ^
   |                +--preempt (recompute)--> waiting
   +--reject--> rejected
```
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Where a request is."""

    WAITING = "waiting"
    RUNNING = "running"
    SWAPPED = "swapped"
    FINISHED = "finished"
    REJECTED = "rejected"


_ALLOWED = {
    State.WAITING: {State.RUNNING, State.REJECTED},
    State.RUNNING: {State.FINISHED, State.WAITING, State.SWAPPED},
    State.SWAPPED: {State.RUNNING},
    State.FINISHED: set(),
    State.REJECTED: set(),
}


class IllegalMoveError(RuntimeError):
    """A request was moved between states that have no way between them: a fault of ours."""


def move(current: State, new: State) -> State:
    """`new`, if a request may go there from `current`. Raises IllegalMoveError."""
    if new not in _ALLOWED[current]:
        raise IllegalMoveError(f"a {current.value} request can't become {new.value}")
    return new
