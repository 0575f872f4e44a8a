"""What a shell may complete: scenarios, implementations, keys, and words of a fixed list.

Nothing is measured or loaded here, so that a key press is answered at once. A file can be
named anywhere; the shell completes that by itself where nothing of ours fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def among(*words: str) -> Callable[[str], list[str]]:
    """A completion of words that are known beforehand."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(words, incomplete)

    return complete


def complete_scenario(incomplete: str) -> list[str]:
    """Names of built-in scenarios."""
    from blockmark.workload.builtin import builtin_names

    return _beginning(builtin_names(), incomplete)


def complete_impl(incomplete: str) -> list[str]:
    """Names of implementations, also behind `NAME=`."""
    from blockmark_impls.registry import builtin_names, more_names, pair_names, plugin_names

    alias, equals, begun = incomplete.rpartition("=")
    if "[" in alias:
        return []
    names = [*builtin_names(), *more_names(), *pair_names(), *plugin_names()]
    schemes = dict.fromkeys(name.partition("/")[0] for name in builtin_names())
    return [f"{alias}{equals}{name}" for name in _beginning([*schemes, *names], begun)]


def complete_setting(incomplete: str) -> list[str]:
    """`KEY=`, and the values of a key that takes one of a few."""
    from blockmark.workload.keys import KEYS

    name, equals, begun = incomplete.partition("=")
    if not equals:
        return [f"{key}=" for key in _beginning(KEYS, name)]
    choices = KEYS[name].choices if name in KEYS else ()
    before, comma, last = begun.rpartition(",")
    return [f"{name}={before}{comma}{word}" for word in _beginning(map(str, choices), last)]


def complete_metric(incomplete: str) -> list[str]:
    """Names of metrics."""
    from blockmark.runs.metrics import METRICS

    return _beginning(METRICS, incomplete)


def complete_run(incomplete: str) -> list[str]:
    """Names of runs in `results/`; folders are the shell's own."""
    from blockmark.runs.names import LATEST, names_in_results

    return _beginning([LATEST, *names_in_results()], incomplete)


def _beginning(words: Iterable[str], begun: str) -> list[str]:
    return [word for word in words if word.startswith(begun)]
