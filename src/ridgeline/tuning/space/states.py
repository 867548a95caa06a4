"""All valid configurations of a space as paths through layers of states, without listing them.

One parameter after the other gets a value. A state is what is worth remembering then: the values of those parts of constraints whose operands are
known and of which a part that is still open needs the value. Half-made configurations that agree in it have the same continuations and are one state;
a state from which nothing valid can be reached is none. So the space is a graph with a layer for each parameter:

    completions(state) = Σ over its edges completions(the state behind),  of the first state: the number of valid configurations

Numbers of configurations are paths in order of their edges, which gives any one of them, and any sample, in one walk. Independent parameters meet in
one state, and a constraint such as x·y·z ≤ 1024 remembers x·y and not x and y.

Sources: layers of equal states, D. Andersen et al., "A constraint store based on multivalued decision diagrams", CP 2007; paths counted and drawn,
D. Knuth, "The art of computer programming", volume 4A, section 7.1.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import OutOfRange

from .expressions import ABSENT, FINE, Expressions, Values, truth

__all__ = ["Layer", "States", "states"]

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Edges of a layer beyond which a space is too entangled, and bytes of what is remembered of them.
_MOST_EDGES, _MOST_BYTES = 60_000_000, 2_000_000_000
#: Up to here numbers of configurations are 64-bit, beyond Python's.
_EXACT = 2**62
#: Points that are worked out to count the values that a node may take.
_MOST_POINTS = 4096
#: Parameters from which fewer orders are tried.
_MANY = 10


class Layer(NamedTuple):
    """Edges of one parameter, by state and then value.

    `parameter`: its number; `first`: of each state, where its edges begin, (states + 1,); `value`: number of the value, `behind`: the state that the
    edge leads to, (edges,); `before`: completions of the edges of the same state that come before, (edges,); `completions`: of each state, (states,).
    """

    parameter: int
    first: Ints
    value: Ints
    behind: Ints
    before: Array
    completions: Array


class States(NamedTuple):
    """Layers in order; `configurations`: how many are valid; `without_value`: points at which a constraint had none, by constraint."""

    layers: tuple[Layer, ...]
    configurations: int
    without_value: tuple[int, ...]


def listed_states(rows: Ints) -> States:
    """The graph of these configurations alone, (n, parameters): its states are their beginnings."""
    rows = np.unique(rows, axis=0)
    layers, fresh = [], np.zeros(len(rows), bool)
    fresh[:1] = True
    begin = np.flatnonzero(fresh)
    for parameter in range(rows.shape[1]):
        fresh[1:] |= rows[1:, parameter] != rows[:-1, parameter]
        edge = np.flatnonzero(fresh)
        first = np.append(np.searchsorted(edge, begin), len(edge))
        behind = np.arange(len(edge)) if parameter < rows.shape[1] - 1 else np.zeros(len(edge), np.int64)
        before = edge - np.repeat(begin, np.diff(first))
        layers.append(Layer(parameter, first, rows[edge, parameter], behind, before, np.diff(np.append(begin, len(rows)))))
        begin = edge
    return States(tuple(layers), len(rows), ())


def states(expressions: Expressions, roots: Sequence[int], domains: Sequence[Values]) -> States:
    """The graph of a space.

    Args:
        roots: constraints, nodes of `expressions`; domains: values of each parameter, ABSENT in the state of one that says that it is not active.

    Raises:
        OutOfRange: constraints that leave too much to remember at once.
    """
    parts = [part for root in roots for part in expressions.conjuncts(root)]
    order = _order(expressions, parts, domains)
    building = _Building(expressions, parts, domains)
    edges = [building.step(parameter) for parameter in order]
    return _counted(order, edges, building.final_states, _without_value(building, expressions, roots))


class _Edges(NamedTuple):
    states: int
    origin: Ints
    value: Ints
    behind: Ints


class _Building:
    """States of the layer that is reached: for each open node its values, one a state."""

    def __init__(self, expressions: Expressions, parts: Sequence[int], domains: Sequence[Values]) -> None:
        self._expressions, self._domains = expressions, domains
        self._roots = frozenset(parts)
        self._used = _reachable(expressions, parts)
        self._above: dict[int, list[int]] = {}
        for number in self._used:
            for operand in expressions.nodes[number].operands:
                self._above.setdefault(operand, []).append(number)
        self._assigned = 0
        self._open: dict[int, Values] = {}
        # A constraint that looks at no parameter holds everywhere or nowhere.
        fixed = [expressions.work_out(part, {}, 1) for part in parts if not expressions.needs[part]]
        self.final_states = int(all(truth(each).all() for each in fixed))
        self.without_value: dict[int, int] = {}

    def step(self, parameter: int) -> _Edges:
        """Give one more parameter each of its values in each state, and keep what breaks no constraint."""
        states_here, size = self.final_states, len(self._domains[parameter].values)
        self._check(states_here * size, parameter)
        origin, value = np.repeat(np.arange(states_here), size), np.tile(np.arange(size), states_here)
        self._assigned |= 1 << parameter
        known = {node: _taken(values, origin) for node, values in self._open.items()}
        for number in self._used:
            node = self._expressions.nodes[number]
            if number in known or self._expressions.needs[number] & ~self._assigned:
                continue
            if not self._expressions.needs[number] >> parameter & 1:
                continue  # settled before, and nothing open looks at it
            if node.kind == "name":
                known[number] = _taken(self._domains[parameter], value)
            else:
                known[number] = self._expressions.work_out(number, known, len(origin))
            if number in self._roots and number in known:
                keep = self._holds(number, known[number])
                if not keep.all():
                    origin, value = origin[keep], value[keep]
                    known = {each: _taken(values, keep) for each, values in known.items()}
        live = {number: values for number, values in known.items() if self._is_open(number)}
        behind, kept = _alike(list(live.values()), len(origin))
        self._open = {number: _taken(values, kept) for number, values in live.items()}
        self.final_states = len(kept)
        return _Edges(states_here, origin, value, behind)

    def _check(self, edges: int, parameter: int) -> None:
        assigned, needs = self._assigned | 1 << parameter, self._expressions.needs
        columns = len(self._open) + sum(needs[number] >> parameter & 1 and not needs[number] & ~assigned for number in self._used)
        most = min(_MOST_EDGES, _MOST_BYTES // (8 * (3 + columns)))
        if edges > most:
            raise OutOfRange(
                f"constraints that leave at most {most:,} cases with {columns:,} values each to tell apart", found=f"{edges:,} at one parameter",
                remedy="split the space, or list the values that go together as one parameter",
            )  # fmt: skip

    def _holds(self, number: int, values: Values) -> NDArray[np.bool_]:
        held = truth(values)
        if values.state is None:
            return held
        missing = int((values.state > FINE).sum() - (values.state == ABSENT).sum())
        if missing:
            self.without_value[number] = self.without_value.get(number, 0) + missing
        return np.asarray(held | (values.state == ABSENT))

    def _is_open(self, number: int) -> bool:
        return any(self._expressions.needs[above] & ~self._assigned for above in self._above.get(number, ()))


def _reachable(expressions: Expressions, parts: Sequence[int]) -> list[int]:
    """Nodes below the constraints that look at a parameter, operands first."""
    found: set[int] = set()
    waiting = list(parts)
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += expressions.nodes[number].operands
    return sorted(number for number in found if expressions.needs[number])


def _taken(values: Values, at: Array) -> Values:
    return Values(values.values[at], None if values.state is None else values.state[at])


def _alike(columns: Sequence[Values], count: int) -> tuple[Ints, Ints]:
    """(State of each of n edges, an edge of each state): edges that agree in all columns have one state."""
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    key, span = np.zeros(count, np.int64), 1
    for column in columns:
        for codes, size in _codes(column):
            if span > _EXACT // size:
                key, span = _compressed(key)
            key = key * size + codes
            span *= size
    if span <= 8 * count + 65536:
        seen = np.full(span, -1, np.int64)
        seen[key[::-1]] = np.arange(count - 1, -1, -1)
        present = np.flatnonzero(seen >= 0)
        number = np.empty(span, np.int64)
        number[present] = np.arange(len(present))
        return number[key], seen[present]
    _, kept, found = np.unique(key, return_index=True, return_inverse=True)
    return found.astype(np.int64), kept.astype(np.int64)


def _codes(column: Values) -> list[tuple[Ints, int]]:
    """Whole numbers from 0, and how many there may be, that tell a column's values apart."""
    values = column.values
    if values.dtype.kind in "bi":
        values = values.astype(np.int64)
        low = int(values.min())
        span = int(values.max()) - low + 1
        found = [(values - low, span)] if span < 2**40 else [_compressed(values)]
    elif values.dtype.kind == "f":
        found = [_compressed(values)]
    else:
        known: dict[Any, int] = {}
        numbers = [known.setdefault((type(each).__name__, each), len(known)) for each in values.tolist()]
        found = [(np.array(numbers, np.int64), max(1, len(known)))]
    if column.state is not None:
        found.append((column.state.astype(np.int64), 3))
    return found


def _compressed(values: Array) -> tuple[Ints, int]:
    distinct, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), len(distinct)


# ── numbers of paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _counted(order: Sequence[int], edges: Sequence[_Edges], final_states: int, without_value: tuple[int, ...]) -> States:
    completions: Array = np.ones(final_states, np.int64)
    layers: list[Layer] = []
    for parameter, step in zip(reversed(order), reversed(edges), strict=True):
        ways = completions[step.behind]
        alive = ways > 0
        origin, value, behind, ways = step.origin[alive], step.value[alive], step.behind[alive], ways[alive]
        first = np.searchsorted(origin, np.arange(step.states + 1)).astype(np.int64)
        # Beyond 64 bits Python counts; a sum in floats says beforehand whether that may be.
        if ways.dtype != object and float(ways.astype(np.float64).sum()) >= _EXACT:
            ways = ways.astype(object)
        upto: Array = np.concatenate((np.zeros(1, ways.dtype), np.cumsum(ways)))
        completions = upto[first[1:]] - upto[first[:-1]]
        before = upto[:-1] - upto[first[origin]] if len(origin) else upto[:0]
        layers.append(Layer(parameter, first, value, behind, before, completions))
    return States(tuple(reversed(layers)), int(completions[0]) if len(completions) else 0, without_value)


def _without_value(building: _Building, expressions: Expressions, roots: Sequence[int]) -> tuple[int, ...]:
    return tuple(sum(building.without_value.get(part, 0) for part in expressions.conjuncts(root)) for root in roots)


# ── in which order ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _order(expressions: Expressions, parts: Sequence[int], domains: Sequence[Values]) -> list[int]:
    """Parameters that share constraints together, each group in the order that leaves least to remember; then what no constraint looks at."""
    sizes = [len(domain.values) for domain in domains]
    used = _reachable(expressions, parts)
    distinct = _distinct(expressions, used, domains)
    order: list[int] = []
    for group in _groups(expressions, parts):
        inside = [number for number in used if expressions.needs[number] & group]
        members = [place for place in range(len(sizes)) if group >> place & 1]
        starts = sorted(members, key=sizes.__getitem__)[: len(members) if len(members) <= _MANY else 4]
        # Whatever is looked at by one parameter alone is settled when it comes, so any may come first.
        order += min((_greedy(expressions, inside, distinct, members, sizes, start) for start in starts), key=lambda found: found[0])[1]
    return [*order, *(place for place in range(len(sizes)) if place not in order)]


def _groups(expressions: Expressions, parts: Sequence[int]) -> list[int]:
    """Bits of the parameters of each group that constraints tie together."""
    groups: list[int] = []
    for part in parts:
        bits = expressions.needs[part]
        apart = [group for group in groups if not group & bits]
        for group in groups:
            bits |= group if group & bits else 0
        groups = [*apart, bits] if bits else apart
    return groups


def _distinct(expressions: Expressions, used: Sequence[int], domains: Sequence[Values]) -> dict[int, int]:
    """How many values each node may take, at most: counted where there are few cases."""
    found: dict[int, int] = {}
    columns: dict[int, Values] = {}
    for number in used:
        node = expressions.nodes[number]
        if node.kind == "name":
            columns[number], found[number] = domains[node.content], len(domains[node.content].values)
            continue
        operands = [each for each in dict.fromkeys(node.operands) if expressions.needs[each]]
        points = 1
        for each in operands:
            points *= found[each]
        found[number] = points
        if points <= _MOST_POINTS and all(each in columns for each in operands):
            grid = np.indices([found[each] for each in operands]).reshape(len(operands), -1)
            known = {each: _taken(columns[each], at) for each, at in zip(operands, grid, strict=True)}
            made = expressions.work_out(number, known, points)
            _, kept = _alike([made], points)
            columns[number], found[number] = _taken(made, kept), len(kept)
    return found


def _greedy(
    expressions: Expressions, inside: Sequence[int], distinct: dict[int, int], members: Sequence[int], sizes: Sequence[int], start: int
) -> tuple[float, list[int]]:
    """(Edges in all by upper bounds, order): after the start always the parameter that leaves least to remember for its own number of values."""
    above: dict[int, list[int]] = {}
    for number in inside:
        for operand in expressions.nodes[number].operands:
            above.setdefault(operand, []).append(number)

    def remembered(assigned: int) -> float:
        found, whole = 1.0, 1.0
        for place in members:
            whole *= sizes[place] if assigned >> place & 1 else 1
        for number in inside:
            if not expressions.needs[number] & ~assigned and any(expressions.needs[each] & ~assigned for each in above.get(number, ())):
                found *= distinct[number]
        return min(found, whole)

    order, assigned, total, here = [start], 1 << start, float(sizes[start]), remembered(1 << start)
    while len(order) < len(members):
        left = [place for place in members if not assigned >> place & 1]
        ahead = {place: remembered(assigned | 1 << place) for place in left}
        best = min(left, key=lambda place: (ahead[place], sizes[place]))
        total += here * sizes[best]
        order.append(best)
        assigned, here = assigned | 1 << best, ahead[best]
    return total, order
