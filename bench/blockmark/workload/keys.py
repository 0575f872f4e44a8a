"""The scenario keys: the words of TOML files, `--set` and run files.

One row a key, with the range that is accepted. A value is checked here once, so
that every later line may trust it.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .distributions import canonical
from .errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_MODELS",
    "KEYS",
    "MODELS",
    "WORKLOADS",
    "ConfigError",
    "Key",
    "Value",
    "nearest",
    "parse",
]

DEFAULT_MODELS = ("step", "pack", "lookup", "alloc_free", "fork", "pool")
# A paced loop takes real seconds, so it is measured only where it is asked for.
MODELS = (*DEFAULT_MODELS, "rate")
Value = int | float | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One scenario key. Numbers have `low` and `high`, words have `choices`."""

    name: str
    default: Value | None
    meaning: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[int | str, ...] = ()
    many: bool = False  # a list of choices
    fraction: bool = False  # a real number; all others are whole
    spread: bool = False  # a whole number, or a distribution of them
    text: bool = False  # any text; the workload knows what it means
    workloads: tuple[str, ...] = ()  # those that read it; empty: all
    models: tuple[str, ...] = ()  # one of these must be measured; empty: any

    def parse(self, value: Any, where: str) -> Value:
        """The checked value. `where` names its origin in the error."""
        if self.many:
            words = [value] if isinstance(value, str) else value
            if not isinstance(words, (list, tuple)) or not words:
                raise ConfigError(
                    f"{where}: {self.name} must be a list of names, such as "
                    f"{', '.join(map(str, self.choices[:2]))}"
                )
            return tuple(str(self._choice(word, where)) for word in words)
        if self.choices:
            return self._choice(value, where)
        if self.text:
            if not isinstance(value, str):
                raise ConfigError(f"{where}: {self.name} = {value!r} must be text")
            return value
        if self.spread and isinstance(value, str | dict):
            return canonical(value, f"{where}: {self.name}", int(self.low or 1))
        return self._number(value, where)

    def without_effect(self, given: Mapping[str, Value]) -> str:
        """Why the key has no effect beside the values given for others; empty if it has one."""
        workload = _of(given, "workload")
        if self.workloads and workload not in self.workloads:
            return (
                f'{self.name} has no effect on workload = "{workload}"; it is for '
                f"{', '.join(self.workloads)}"
            )
        models = _of(given, "models")
        assert isinstance(models, tuple)
        if self.models and not set(self.models) & set(models):
            return (
                f"{self.name} has no effect on models = {', '.join(models)}; it is for "
                f"{', '.join(self.models)}"
            )
        return ""

    def _choice(self, value: Any, where: str) -> int | str:
        if isinstance(value, bool) or value not in self.choices:
            known = [str(choice) for choice in self.choices]
            hint = nearest(str(value), known)
            raise ConfigError(
                f"{where}: {self.name} = {value!r} is not one of {', '.join(known)}{hint}"
            )
        return self.choices[self.choices.index(value)]

    def _number(self, value: Any, where: str) -> int | float:
        number = None if isinstance(value, bool) or not isinstance(value, int | float) else value
        if number is not None and not self.fraction:
            # Neither NaN nor an infinity is a whole number.
            number = int(number) if math.isfinite(number) and number == int(number) else None
        if number is None:
            wanted = "a number" if self.fraction else "a whole number"
            raise ConfigError(f"{where}: {self.name} = {value!r} must be {wanted}")
        assert self.low is not None
        assert self.high is not None
        if not self.low <= number <= self.high:
            raise ConfigError(
                f"{where}: {self.name} = {number} is out of range; "
                f"it must be between {self.low:,g} and {self.high:,.10g}"
            )
        return number


_MAX_BLOCKS = 2**31 - 1
_MAX_TOKENS = 1 << 31
WORKLOADS = (
    "decode",
    "beam",
    "parallel-sampling",
    "speculative",
    "sliding-window",
    "serving",
)
_STEADY = tuple(name for name in WORKLOADS if name != "serving")
_SERVING = ("serving",)
_RATE = ("rate",)


def _of(given: Mapping[str, Value], name: str) -> Value | None:
    return given.get(name, KEYS[name].default)


KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("workload", "decode", "what the engine does", choices=WORKLOADS),
        Key("models", DEFAULT_MODELS, "which costs are measured", choices=MODELS, many=True),
        Key("total_blocks", 65536, "physical blocks in the pool", "blocks", 2, _MAX_BLOCKS),
        Key("block_size", 16, "tokens in a block", "tokens", 1, 65536),
        Key("max_blocks_per_seq", 256, "columns of a block table", "blocks", 1, 1 << 22),
        Key("id_bits", 16, "bits of a stored block id", "bits", choices=(16, 32, 64)),
        Key("concurrency", 256, "running requests", "requests", 1, 1 << 20),
        Key("step_rate", 2000, "scheduler iterations a second", "1/s", 1e-3, 1e7, fraction=True),
        Key(
            "occupancy",
            0.75,
            "share of the pool in use",
            low=0.01,
            high=1.0,
            fraction=True,
            workloads=_STEADY,
        ),
        Key(
            "prompt_tokens",
            None,
            "tokens that a request starts with",
            "tokens",
            1,
            _MAX_TOKENS,
            spread=True,
        ),
        Key(
            "output_tokens",
            None,
            "tokens that a request generates",
            "tokens",
            1,
            _MAX_TOKENS,
            spread=True,
        ),
        Key("beam_width", 4, "beams of a request", "beams", 1, 64, workloads=("beam",)),
        Key(
            "beam_survival",
            "mixed",
            "which beams live on: few die, one takes over, or both in turn",
            choices=("steady", "dominant", "mixed"),
            workloads=("beam",),
        ),
        Key(
            "parallel_samples",
            4,
            "continuations of one prompt",
            "samples",
            1,
            64,
            workloads=("parallel-sampling",),
        ),
        Key(
            "lookahead_tokens",
            4,
            "tokens drafted ahead of each step",
            "tokens",
            1,
            64,
            workloads=("speculative",),
        ),
        Key(
            "acceptance_rate",
            0.7,
            "chance that a drafted token is accepted, if those before it were",
            low=0.0,
            high=1.0,
            fraction=True,
            workloads=("speculative",),
        ),
        Key(
            "window_tokens",
            1024,
            "tokens that attention looks back on",
            "tokens",
            1,
            _MAX_TOKENS,
            workloads=("sliding-window",),
        ),
        Key(
            "model_shape",
            "llama-3-8b",
            "model whose blocks are copied: a name, or LAYERSxKV_HEADSxHEAD_SIZExBYTES",
            text=True,
            workloads=("beam", "parallel-sampling", "serving"),
        ),
        Key("requests", 1000, "requests that arrive", "", 1, 1 << 24, workloads=_SERVING),
        Key(
            "arrival_rate",
            20.0,
            "requests that arrive in a second",
            "1/s",
            1e-6,
            1e9,
            fraction=True,
            workloads=_SERVING,
        ),
        Key(
            "arrival_cv",
            1.0,
            "coefficient of variation of the gaps; 1 is a Poisson process",
            low=0.0,
            high=100.0,
            fraction=True,
            workloads=_SERVING,
        ),
        Key("priority_levels", 1, "classes of requests", "", 1, 64, workloads=_SERVING),
        Key(
            "step_token_budget",
            2048,
            "tokens scheduled in a step, at most",
            "tokens",
            1,
            _MAX_TOKENS,
            workloads=_SERVING,
        ),
        Key(
            "prefill_chunk",
            512,
            "tokens of one prompt in a step, at most",
            "tokens",
            1,
            _MAX_TOKENS,
            workloads=_SERVING,
        ),
        Key(
            "queue_limit",
            1 << 20,
            "waiting requests, at most; further ones are rejected",
            "requests",
            1,
            1 << 24,
            workloads=_SERVING,
        ),
        Key(
            "preemption",
            "recompute",
            "what happens to a request whose blocks are taken away",
            choices=("recompute", "swap"),
            workloads=_SERVING,
        ),
        Key("host_blocks", 0, "blocks of the swap space", "blocks", 0, 1 << 31, workloads=_SERVING),
        Key(
            "prefix_cache",
            "off",
            "whether finished prompts stay for others to share",
            choices=("on", "off"),
            workloads=_SERVING,
        ),
        Key(
            "shared_prefix_tokens",
            0,
            "tokens of a system prompt",
            "tokens",
            0,
            _MAX_TOKENS,
            workloads=_SERVING,
        ),
        Key(
            "shared_prefix_fraction",
            1.0,
            "share of requests that begin with it",
            low=0.0,
            high=1.0,
            fraction=True,
            workloads=_SERVING,
        ),
        Key("trace", "", "file of a serving trace; empty: made up", text=True, workloads=_SERVING),
        Key(
            "trace_format",
            "auto",
            "format of the trace",
            choices=("auto", "azure", "burstgpt", "mooncake", "bailian", "vidur", "lengths"),
            workloads=_SERVING,
        ),
        Key(
            "trace_speedup",
            1.0,
            "how much faster requests arrive than in the trace",
            low=1e-6,
            high=1e9,
            fraction=True,
            workloads=_SERVING,
        ),
        Key(
            "trace_limit",
            0,
            "requests taken from the trace, at most; 0 = all",
            "requests",
            0,
            1 << 31,
            workloads=_SERVING,
        ),
        Key(
            "trace_window",
            "",
            "part of the trace, START:END in seconds; empty: all of it",
            text=True,
            workloads=_SERVING,
        ),
        Key("heap", "aged", "history of the C and Python heaps", choices=("fresh", "aged")),
        Key("pool", "shuffled", "order of the free ids", choices=("fresh", "burst", "shuffled")),
        Key("cache", "hot", "what the caches hold", choices=("hot", "l2-cold", "llc-cold")),
        Key(
            "cache_bytes",
            0,
            "bytes streamed to make a cache cold; 0 = chosen from the machine",
            "bytes",
            0,
            1 << 34,
        ),
        Key("gc", "off", "Python's collector while timing", choices=("on", "off", "freeze")),
        Key(
            "call_style",
            "auto",
            "who loops: the native core, or Python once per operation or step",
            choices=("auto", "native", "per-op", "per-step"),
        ),
        Key(
            "pacing",
            "spin",
            "how a paced loop waits: asleep, reading the clock, or asleep until just before",
            choices=("sleep", "hybrid", "spin"),
            models=_RATE,
        ),
        Key(
            "rate_seconds",
            0.5,
            "length of a paced loop; a round has about three",
            "s",
            0.05,
            3600,
            fraction=True,
            models=_RATE,
        ),
        Key(
            "between",
            "idle",
            "what the rest of the engine does between paced steps",
            choices=("idle", "stream", "objects"),
            models=_RATE,
        ),
        Key(
            "between_bytes",
            1 << 22,
            "bytes streamed where between = stream; at most what a quarter of the interval allows",
            "bytes",
            64,
            1 << 34,
            models=_RATE,
        ),
        Key("batch", 8, "blocks a call of the model pool", "blocks", 1, 1 << 20),
        Key("seed", 1, "seed of every random choice", "", 0, 2**32 - 1),
    )
}


def nearest(word: str, known: list[str]) -> str:
    """`; did you mean "x"?`, or nothing if no known word is near."""
    found = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""


def parse(name: str, value: Any, where: str) -> Value:
    """Check one key and value. Raises ConfigError."""
    if name not in KEYS:
        raise ConfigError(f'{where}: unknown key "{name}"{nearest(name, list(KEYS))}')
    return KEYS[name].parse(value, where)
