"""The scenario keys: the words of TOML files, `--set` and run files.

One row a key, with the range that is accepted. A value is checked here once, so
that every later line may trust it.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import Any

MODELS = ("step", "pack", "lookup", "alloc_free", "fork", "pool")
Value = int | float | str | tuple[str, ...]


class ConfigError(ValueError):
    """Bad input: one line that names the file or option, the key, and the mend."""


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
        return self._number(value, where)

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

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("workload", "decode", "what the engine does", choices=("decode",)),
        Key("models", MODELS, "which costs are measured", choices=MODELS, many=True),
        Key("total_blocks", 65536, "physical blocks in the pool", "blocks", 2, _MAX_BLOCKS),
        Key("block_size", 16, "tokens in a block", "tokens", 1, 65536),
        Key("max_blocks_per_seq", 256, "columns of a block table", "blocks", 1, 1 << 22),
        Key("id_bits", 16, "bits of a stored block id", "bits", choices=(16, 32, 64)),
        Key("concurrency", 256, "running sequences", "sequences", 1, 1 << 20),
        Key("step_rate", 2000, "scheduler iterations a second", "1/s", 1e-3, 1e7, fraction=True),
        Key("occupancy", 0.75, "share of the pool in use", "", 0.01, 1.0, fraction=True),
        Key("prompt_tokens", None, "tokens that a sequence starts with", "tokens", 1, 1 << 31),
        Key("output_tokens", None, "tokens that a sequence generates", "tokens", 1, 1 << 31),
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
