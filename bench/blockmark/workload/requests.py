"""Requests that arrive: made up from a seed, or read from a serving trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .distributions import draw
from .errors import ConfigError
from .lifecycle import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .scenario import Cell

# Where a cell leaves the lengths open: prompts of half a table, outputs of an eighth.
_PROMPT_SHARE, _OUTPUT_SHARE = 2, 8
# Tokens generated in all, at most: a program is kept in memory.
MOST_OUTPUT_TOKENS = 32_000_000


@dataclass(slots=True)
class Request:
    """One request. `chain` names the content of each full block of its prompt.

    Equal names mean equal blocks and equal prefixes before them. The lower fields are
    the scheduler's.
    """

    number: int
    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    priority: int = 0
    chain: Sequence[object] = ()

    state: State = State.WAITING
    generated: int = 0
    held: int = 0  # tokens that have their slots in the cache
    admissions: int = 0
    arrived_at: int = 0  # the step in which it came
    slot: int = -1

    @property
    def tokens(self) -> int:
        """Tokens that must be in the cache before it generates the next one."""
        return self.prompt_tokens + self.generated

    @property
    def decoding(self) -> bool:
        """Whether the prompt is in, so that each step appends a token."""
        return self.held >= self.tokens

    @property
    def rank(self) -> tuple[int, int]:
        """Who comes first: the lower class, then the earlier arrival."""
        return self.priority, self.number


def made_up_requests(cell: Cell) -> list[Request]:
    """Requests of a cell without a trace, in order of arrival. Raises ConfigError.

    Gaps are Gamma distributed with mean 1 / arrival_rate and coefficient of variation
    arrival_cv (1: Poisson; 0: evenly spaced). The first arrives at 0.
    """
    import numpy as np

    rng = np.random.default_rng([cell["seed"], 20])
    count, longest = cell["requests"], cell["max_blocks_per_seq"] * cell["block_size"]
    values = cell.values
    prompts = draw(_spread(values.get("prompt_tokens"), longest // _PROMPT_SHARE), count, rng)
    outputs = draw(_spread(values.get("output_tokens"), longest // _OUTPUT_SHARE), count, rng)
    if int(outputs.sum()) > MOST_OUTPUT_TOKENS:
        raise ConfigError(
            f"requests = {count:,} generate {int(outputs.sum()):,} tokens, over the "
            f"{MOST_OUTPUT_TOKENS:,} that a program may have; lower requests or output_tokens"
        )
    came = np.cumsum(gaps(cell["arrival_rate"], cell["arrival_cv"], count, rng))
    priorities = rng.integers(0, cell["priority_levels"], count)
    shared = rng.random(count) < cell["shared_prefix_fraction"]
    system = cell["shared_prefix_tokens"]
    requests = []
    for i in range(count):
        # The system prompt comes before a prompt of the request's own.
        prompt = int(prompts[i]) + (system if shared[i] else 0)
        chain = _chain(i, prompt, system if shared[i] else 0, cell["block_size"])
        requests.append(
            Request(
                i,
                float(came[i] - came[0]),
                prompt,
                int(outputs[i]),
                int(priorities[i]),
                chain if values["prefix_cache"] == "on" else (),
            )
        )
    return requests


def arrivals(cell: Cell, count: int) -> list[float]:
    """So many arrival times in seconds, for lengths that a trace gives: as those made up."""
    import numpy as np

    rng = np.random.default_rng([cell["seed"], 21])
    came = np.cumsum(gaps(cell["arrival_rate"], cell["arrival_cv"], count, rng))
    return [float(each) for each in came - came[0]]


def _spread(value: object, otherwise: int) -> int | str:
    return value if isinstance(value, int | str) else max(1, otherwise)


def gaps(rate: float, cv: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Gaps between arrivals, float64 [count] in the time of 1 / rate."""
    import numpy as np

    if cv == 0:
        return np.full(count, 1.0 / rate)
    shape = 1.0 / cv**2
    return rng.gamma(shape, 1.0 / (rate * shape), count)


def _chain(number: int, prompt: int, system: int, block_size: int) -> list[object]:
    """Names of the full blocks: those wholly inside the system prompt are everybody's."""
    common = system // block_size
    full = prompt // block_size
    return [("system", i) if i < common else (number, i) for i in range(full)]
