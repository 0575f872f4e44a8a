"""Distributions of token counts: a table in TOML, a word on the command line.

`{ kind = "lognormal", median = 512, p99 = 4096 }` is `lognormal:median=512,p99=4096`
on the command line and in run files. Draws are whole numbers of at least 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Kind -> its parameters.
KINDS = {
    "constant": ("value",),
    "uniform": ("low", "high"),
    "lognormal": ("median", "p99"),
    "geometric": ("mean",),
}
# The 0.99 quantile of the standard normal distribution.
_Z99 = 2.3263478740408408


def canonical(value: str | dict[str, Any], where: str, least: int = 1) -> str:
    """The one spelling of a distribution. Raises ConfigError that begins with `where`."""
    kind, given = _split(value, where)
    if kind not in KINDS:
        raise ConfigError(f'{where}: kind = "{kind}" is not one of {", ".join(KINDS)}')
    names = KINDS[kind]
    for name in given:
        if name not in names:
            raise ConfigError(f"{where}: {kind} has no {name}; it has {', '.join(names)}")
    numbers = {}
    for name in names:
        if name not in given:
            raise ConfigError(f"{where}: {kind} needs {name}")
        number = given[name]
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ConfigError(f"{where}: {name} = {number!r} must be a number")
        if not (math.isfinite(number) and least <= number <= 1 << 31):
            raise ConfigError(f"{where}: {name} = {number} must be between {least} and 2^31")
        numbers[name] = number
    pairs = {"uniform": ("low", "high"), "lognormal": ("median", "p99")}
    if kind in pairs:
        lower, upper = pairs[kind]
        if numbers[lower] > numbers[upper]:
            raise ConfigError(f"{where}: {upper} must not be below {lower}")
    return f"{kind}:" + ",".join(f"{name}={numbers[name]:.15g}" for name in names)


def _split(value: str | dict[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    if isinstance(value, dict):
        given = dict(value)
        return str(given.pop("kind", "")), given
    kind, _, rest = value.partition(":")
    given = {}
    for part in filter(None, rest.split(",")):
        name, sign, number = part.partition("=")
        try:
            given[name.strip()] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise ConfigError(f"{where}: {value!r} must be KIND:NAME=NUMBER,... or a whole number")
    return kind.strip(), given


def draw(value: int | str, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`count` token counts; int64 [count]. `value` is a number or a canonical spelling.

    A lognormal has the stated median and 0.99 quantile: sigma = ln(p99 / median) / z99.
    """
    import numpy as np

    if isinstance(value, int):
        return np.full(count, value, dtype=np.int64)
    kind, p = _split(value, "")
    if kind == "constant":
        drawn = np.full(count, p["value"])
    elif kind == "uniform":
        drawn = rng.integers(round(p["low"]), round(p["high"]), count, endpoint=True)
    elif kind == "lognormal":
        sigma = math.log(p["p99"] / p["median"]) / _Z99
        drawn = rng.lognormal(math.log(p["median"]), sigma, count)
    else:
        drawn = rng.geometric(1.0 / max(1.0, p["mean"]), count)
    whole: NDArray[np.int64] = np.maximum(1, np.rint(drawn)).astype(np.int64)
    return whole
