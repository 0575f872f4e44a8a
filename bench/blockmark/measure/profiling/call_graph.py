"""From callgrind's graph of calls to a profile.

Own costs, calls and, where functions do not call each other in a circle, inclusive costs
are callgrind's and exact. Stacks are not: callgrind keeps who called whom, not the way
there. They are an attribution: from each root downwards, a function's share is divided
between itself and its callees in proportion to what each cost it over all calls, and what
is below 0.01 % of the whole is not followed further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockmark.runs.profile import UNKNOWN, Frame, HotFunction, HotLine, Profile, Stack

from .callgrind_file import CallGraph, Function, Key, add
from .names import readable, source_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_COST = "Ir"
# Our event -> callgrind's, whose sum it is.
_EVENTS = {
    "l1d_misses": ("D1mr", "D1mw"),
    "ll_misses": ("DLmr", "DLmw"),
    "branch_misses": ("Bcm", "Bim"),
}
_CUT = 1e-4


def profile_of(graph: CallGraph) -> Profile:
    """The profile of a dump. Raises ValueError where it counted no instructions."""
    if _COST not in graph.events or not graph.totals[graph.events.index(_COST)]:
        raise ValueError("callgrind counted no instructions")
    weights = _Weights(graph)
    total = weights.cost(graph.totals)
    return Profile(
        source="callgrind",
        unit="instructions",
        total=total,
        functions=_functions(weights),
        lines=_lines(weights),
        stacks=_stacks(weights, total),
        events=weights.further(graph.totals),
    )


class _Weights:
    """The graph by instructions: own, of calls, and of everything below a function."""

    def __init__(self, graph: CallGraph) -> None:
        self._events = graph.events
        self._index = graph.events.index(_COST)
        self.functions = _within(graph.functions)
        self.own = {
            key: sum(self.cost(costs) for costs in function.lines.values())
            for key, function in self.functions.items()
        }
        # A function that calls itself costs no more for it: that is in its own costs.
        self.edges = {
            key: {
                callee: self.cost(calls.costs)
                for callee, calls in function.calls.items()
                if callee in self.functions and callee != key
            }
            for key, function in self.functions.items()
        }
        self.called = dict.fromkeys(self.functions, 0)
        for function in self.functions.values():
            for callee, calls in function.calls.items():
                if callee in self.called:
                    self.called[callee] += calls.count
        self.circles = _circles({key: list(edges) for key, edges in self.edges.items()})
        self.circle_of = {key: circle for circle in self.circles for key in circle}

    def cost(self, costs: list[int]) -> int:
        """The instructions among costs."""
        return costs[self._index]

    def further(self, costs: list[int]) -> dict[str, int]:
        """The other events among costs, by our names."""
        return {
            name: sum(costs[self._events.index(event)] for event in events)
            for name, events in _EVENTS.items()
            if all(event in self._events for event in events)
        }

    def total_of(self, key: Key) -> int:
        """Own and called instructions of a function, or of the circle that it is in."""
        circle = self.circle_of[key]
        return sum(
            self.own[each]
            + sum(cost for callee, cost in self.edges[each].items() if callee not in circle)
            for each in circle
        )

    def own_costs(self, key: Key) -> list[int]:
        """A function's own costs, all events."""
        costs = [0] * len(self._events)
        for more in self.functions[key].lines.values():
            add(costs, more)
        return costs


def _within(functions: dict[Key, Function]) -> dict[Key, Function]:
    """The functions that ran while callgrind collected, and those between them.

    Who had been called before is there only as a caller without costs of its own.
    """
    kept: dict[Key, Function] = {}
    waiting = [key for key, function in functions.items() if function.lines]
    while waiting:
        key = waiting.pop()
        if key not in kept:
            kept[key] = functions.get(key) or Function()
            waiting.extend(kept[key].calls)
    return kept


def _functions(weights: _Weights) -> list[HotFunction]:
    found = [
        HotFunction(
            _name(key),
            source_file(key[1]),
            _starts(key, weights.functions[key]),
            weights.own[key],
            weights.total_of(key),
            # Who was inside when collecting began has been called, but not counted.
            weights.called[key] or None,
            weights.further(weights.own_costs(key)),
            len(weights.circle_of[key]) > 1,
        )
        for key in weights.functions
    ]
    return sorted(found, key=lambda each: (-each.own, -each.total, each.name, each.file))


def _name(key: Key) -> str:
    return readable(key[2]) if not key[2].startswith("???") else UNKNOWN


def _starts(key: Key, function: Function) -> int:
    """A function's first line in its own file, in the order of addresses: where it begins."""
    return next((line for file, line in function.lines if file == key[1] and line), 0)


def _lines(weights: _Weights) -> list[HotLine]:
    costs: dict[tuple[str, int], list[int]] = {}
    for function in weights.functions.values():
        for (file, line), more in function.lines.items():
            place = (source_file(file), line) if source_file(file) else ("", 0)
            if place in costs:
                add(costs[place], more)
            else:
                costs[place] = list(more)
    found = [
        HotLine(file, line, weights.cost(each), weights.further(each))
        for (file, line), each in costs.items()
    ]
    return sorted(found, key=lambda each: (-each.own, each.file, each.line))


def _stacks(weights: _Weights, total: int) -> list[Stack]:
    """Stacks whose weights are whole and add up to `total`."""
    frames: dict[Key, Frame] = {}
    for key, function in weights.functions.items():
        starts = _starts(key, function)
        frames[key] = Frame(_name(key), source_file(key[1]), starts, starts)
    shares: dict[tuple[Key, ...], float] = {}
    for root, share in _roots(weights):
        for path, weight in _descend(weights, root, share, _CUT * total):
            shares[path] = shares.get(path, 0.0) + weight
    scale = total / (sum(shares.values()) or 1.0)
    stacks, exact, given = [], 0.0, 0
    for path, share in shares.items():
        # Rounded so that what was rounded off goes to the next one, and none is lost.
        exact += share * scale
        weight = round(exact) - given
        given += weight
        if weight > 0:
            stacks.append(Stack(tuple(frames[key] for key in path), weight))
    return stacks


def _roots(weights: _Weights) -> Iterator[tuple[Key, float]]:
    """Functions that no other called, with what they cost; of a circle, its costliest."""
    called = {
        weights.circle_of[callee]
        for key, edges in weights.edges.items()
        for callee in edges
        if weights.circle_of[callee] != weights.circle_of[key]
    }
    for circle in weights.circles:
        if circle not in called:
            root = max(circle, key=lambda key: weights.own[key] + sum(weights.edges[key].values()))
            yield root, float(weights.total_of(root))


def _descend(
    weights: _Weights, root: Key, share: float, cut: float
) -> Iterator[tuple[tuple[Key, ...], float]]:
    waiting: list[tuple[tuple[Key, ...], float]] = [((root,), share)]
    while waiting:
        path, share = waiting.pop()
        key = path[-1]
        # A way does not go through a function twice.
        edges = {callee: c for callee, c in weights.edges[key].items() if callee not in path and c}
        whole = weights.own[key] + sum(edges.values())
        if share < cut or not edges or not whole:
            yield path, share
            continue
        if weights.own[key]:
            yield path, share * weights.own[key] / whole
        waiting.extend(((*path, callee), share * cost / whole) for callee, cost in edges.items())


def _circles(edges: dict[Key, list[Key]]) -> list[frozenset[Key]]:
    """Sets of functions that reach each other (Tarjan's algorithm, without recursion)."""
    order: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    on_stack: set[Key] = set()
    found: list[frozenset[Key]] = []
    for start in edges:
        if start in order:
            continue
        work: list[tuple[Key, Iterator[Key]]] = [(start, iter(edges[start]))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            key, callees = work[-1]
            for callee in callees:
                if callee not in order:
                    order[callee] = low[callee] = len(order)
                    stack.append(callee)
                    on_stack.add(callee)
                    work.append((callee, iter(edges[callee])))
                    break
                if callee in on_stack:
                    low[key] = min(low[key], order[callee])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
                if low[key] == order[key]:
                    circle = set()
                    while key not in circle:
                        member = stack.pop()
                        on_stack.discard(member)
                        circle.add(member)
                    found.append(frozenset(circle))
    return found
