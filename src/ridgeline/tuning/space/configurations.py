"""A space as what can be asked of it: how many configurations, any one by its number, drawn evenly, whether one is valid, and its neighbours.

Configurations are rows of whole numbers, one a parameter in the order of the space: the places of its values. What is listed is only what is asked
for. Which values and constraints there may be is decided in `parameters` and `expressions`, what is remembered of them in `states`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Space, UsageError

from .expressions import FINE, Expressions, Values
from .parameters import INACTIVE, domains_of, read_constraints
from .points import names_in
from .states import Layer, listed_states, states

__all__ = ["Configurations"]

Array = NDArray[Any]
Rows = NDArray[np.int64]
Near = Literal["hamming", "adjacent"]


class Configurations:
    """The valid configurations of a space.

    Args:
        space: parameters and constraints.
        listed: these configurations alone, as of a recording, whatever the constraints say of them.

    Raises:
        UsageError: a parameter or constraint that is none, or a listed configuration that the parameters have not.
        OutOfRange: constraints too entangled to be counted.
    """

    def __init__(self, space: Space, listed: Iterable[Mapping[str, Any]] | None = None) -> None:
        self.space = space
        self.names = tuple(each.name for each in space.parameters)
        self._domains = domains_of(space)
        #: Values of each parameter in order; `INACTIVE` stands last where it may be so.
        self.values: tuple[tuple[Any, ...], ...] = tuple(each.listed for each in self._domains)
        expressions, roots = read_constraints(space, self._domains)
        if listed is None:
            found = states(expressions, roots, [each.array for each in self._domains])
        else:
            found = listed_states(np.array([self.row(each) for each in listed], np.int64).reshape(-1, len(self.names)))
        self._layers, self._count = found.layers, found.configurations
        #: Of each constraint of the space: cases in which it has no value, such as a division by zero, which do not satisfy it.
        self.without_value = found.without_value[: len(space.constraints)]
        #: Whether the values of each parameter stand in an order.
        self.ordered: tuple[bool, ...] = tuple(each.ordered for each in self._domains)
        self.sizes = np.array([len(each) for each in self.values], np.int64)
        self._conditional = [place for place, each in enumerate(self.values) if each[-1] is INACTIVE]
        looked_at = {name for each in space.parameters if each.when for name in names_in(each.when)}
        #: Parameters that conditions look at.
        self._switches = [place for place, name in enumerate(self.names) if name in looked_at]

    @property
    def count(self) -> int:
        """Valid configurations."""
        return self._count

    def __len__(self) -> int:
        return self._count

    @property
    def raw_count(self) -> int:
        """Combinations of all values, valid or not."""
        found = 1
        for each in self.values:
            found *= len(each)
        return found

    def at(self, numbers: Sequence[int] | Array) -> Rows:
        """The configurations of these numbers, (n,) → (n, parameters).

        Raises:
            UsageError: a number below 0, or of `count` or more.
        """
        left = np.asarray(numbers, object if self._count >= 2**62 else np.int64)
        if left.ndim != 1 or (len(left) and (min(left.tolist()) < 0 or max(left.tolist()) >= self._count)):
            raise UsageError(f"numbers of configurations from 0 to {self._count - 1}", found=str(numbers)[:80], remedy="draw them below the count")
        rows = np.zeros((len(left), len(self.names)), np.int64)
        here = np.zeros(len(left), np.int64)
        for layer in self._layers:
            edge = _edge_of(layer, here, left)
            rows[:, layer.parameter] = layer.value[edge]
            left = left - layer.before[edge]
            here = layer.behind[edge]
        return rows

    def numbers(self, rows: Rows) -> Array:
        """The number of each configuration, −1 of one that is not valid, (n, parameters) → (n,)."""
        rows = np.asarray(rows, np.int64)
        wide = self._count >= 2**62
        found: Array = np.zeros(len(rows), object if wide else np.int64)
        here, valid = np.zeros(len(rows), np.int64), np.full(len(rows), self._count > 0)
        for layer in self._layers:
            key = _keys(layer, int(self.sizes[layer.parameter]))
            asked = here * int(self.sizes[layer.parameter]) + rows[:, layer.parameter]
            place = np.searchsorted(key, asked)
            place[place == len(key)] = 0
            valid &= (key[place] == asked) if len(key) else False
            place = np.where(valid, place, 0)
            if len(key):
                found = found + layer.before[place]
                here = np.where(valid, layer.behind[place], 0)
        found[~valid] = -1
        return found

    def valid(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each row is a configuration of the space, (n, parameters) → (n,)."""
        return np.asarray(self.numbers(rows) >= 0, bool)

    def drawn(self, count: int, generator: np.random.Generator, *, different: bool = True) -> Rows:
        """Configurations drawn evenly from all valid ones, (count or fewer, parameters).

        Args:
            different: none twice; then no more than there are.
        """
        if not self._count:
            return np.zeros((0, len(self.names)), np.int64)
        if different and count >= self._count:
            return self.at(generator.permutation(self._count))
        if not different:
            return self.at([_below(self._count, generator) for _ in range(count)])
        picked: dict[int, None] = {}
        if self._count < 4 * count:
            return self.at(generator.permutation(self._count)[:count])
        while len(picked) < count:
            picked[_below(self._count, generator)] = None
        return self.at(list(picked))

    def neighbours(self, row: Rows, near: Near = "hamming") -> Rows:
        """Valid configurations in which one parameter is different: any other value of it, or of numbers only the one before or behind.

        Where conditions look at that parameter, others may come or go with it; the step is one all the same (see `settled`).

        Args:
            row: (parameters,).
        """
        row = np.asarray(row, np.int64)
        found, places = [], []
        for place, size in enumerate(self.sizes.tolist()):
            steps = near == "adjacent" and self._domains[place].ordered
            for value in (row[place] - 1, row[place] + 1) if steps else range(size):
                if 0 <= value < size and value != row[place]:
                    other = row.copy()
                    other[place] = value
                    found.append(other)
                    places.append(place)
        rows = np.array(found, np.int64).reshape(-1, len(self.names))
        valid = self.valid(rows)
        for number in np.flatnonzero(~valid & np.isin(places, self._switches)).tolist():
            other_row = self.settled(rows[number])
            if other_row is not None and other_row[places[number]] == rows[number, places[number]]:
                rows[number], valid[number] = other_row, True
        return rows[valid]

    def settled(self, row: Rows) -> Rows | None:
        """The configuration with the same values in which exactly those parameters are active whose conditions hold; null where there is none.

        A parameter that becomes active takes a value with which the whole is valid.

        Args:
            row: (parameters,), such as one with a switch turned or with a value for what is not active.
        """
        allowed: list[Rows | None] = [np.array([value]) for value in np.asarray(row, np.int64).tolist()]
        for place in self._conditional:
            inactive = int(self.sizes[place]) - 1
            # It keeps its value or goes; or it comes, with any value.
            allowed[place] = None if row[place] == inactive else np.array([row[place], inactive])
        return self._first_through(allowed) if self._count else None

    def _first_through(self, allowed: Sequence[Rows | None]) -> Rows | None:
        """The first configuration with these values, null for any value of a parameter; null where none is valid."""
        here, steps = np.zeros(1, np.int64), list[tuple[int, Rows, Rows]]()
        for layer in self._layers:
            first, count = layer.first[here], layer.first[here + 1] - layer.first[here]
            parent = np.repeat(np.arange(len(here)), count)
            edge = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
            wanted = allowed[layer.parameter]
            if wanted is not None:
                kept = np.isin(layer.value[edge], wanted)
                edge, parent = edge[kept], parent[kept]
            # Of the ways to a state the first, and states in the order of these ways.
            place = np.sort(np.unique(layer.behind[edge], return_index=True)[1])
            here = layer.behind[edge[place]]
            steps.append((layer.parameter, layer.value[edge[place]], parent[place]))
            if not len(here):
                return None
        found, at = np.zeros(len(self.names), np.int64), 0
        for parameter, value, parent in reversed(steps):
            found[parameter], at = value[at], int(parent[at])
        return found

    def worked_out(self, text: str, rows: Rows) -> NDArray[np.float64]:
        """An expression over parameters at configurations, (n, parameters) → (n,): NaN where it has no value, or one that is no number.

        Raises:
            UsageError: no expression, or a name that is no parameter.
        """
        expressions = Expressions(self.names)
        root, rows, known = expressions.add(text), np.asarray(rows, np.int64), dict[int, Values]()
        for number, node in enumerate(expressions.nodes):
            if node.kind == "name":
                of, places = self._domains[node.content].array, rows[:, node.content]
                known[number] = Values(of.values[places], None if of.state is None else of.state[places])
        found = known[root] if root in known else expressions.work_out(root, known, len(rows))
        numbers = found.values
        if numbers.dtype == object:
            numbers = np.array([each if isinstance(each, int | float) else np.nan for each in numbers.tolist()], np.float64)
        return np.where(True if found.state is None else found.state == FINE, numbers.astype(np.float64), np.nan)

    def config(self, row: Rows) -> dict[str, Any]:
        """Name → value of one configuration; parameters that are not active are left out."""
        pairs = ((name, self.values[place][int(row[place])]) for place, name in enumerate(self.names))
        return {name: value for name, value in pairs if value is not INACTIVE}

    def row(self, config: Mapping[str, Any]) -> Rows:
        """The row of a configuration by names, which need not be valid.

        Raises:
            UsageError: a name or a value that the space has not, or a name that is missing.
        """
        strange = sorted(set(config).difference(self.names))
        if strange:
            raise UsageError(f"parameters {', '.join(self.names)}", found=", ".join(strange)[:200], remedy="name those of the space")
        return np.array([self._place(place, name, config) for place, name in enumerate(self.names)], np.int64)

    def _place(self, place: int, name: str, config: Mapping[str, Any]) -> int:
        value = config.get(name, INACTIVE)
        for number, each in enumerate(self.values[place]):
            if each is value or (each == value and isinstance(each, bool) == isinstance(value, bool)):
                return number
        found = "none" if value is INACTIVE else repr(value)[:80]
        listed = ", ".join(repr(each) for each in self.values[place][:20])
        raise UsageError(f"a value of {name}: {listed}", found=found, remedy="give one of them")


def _below(count: int, generator: np.random.Generator) -> int:
    """A number from 0 to count − 1, each as likely; count of any size."""
    if count < 2**62:
        return int(generator.integers(count))
    bits = count.bit_length()
    while True:
        found = int.from_bytes(generator.bytes(-(-bits // 8)), "little") >> (-bits % 8)
        if found < count:
            return found


def _edge_of(layer: Layer, here: Rows, left: Array) -> Rows:
    """The edge of each state on whose paths the number lies: by halving, for all at once."""
    low, high = layer.first[here], layer.first[here + 1]
    while (high - low > 1).any():
        middle = (low + high) // 2
        behind = np.asarray(layer.before[middle] <= left, bool) & (high - low > 1)
        low, high = np.where(behind, middle, low), np.where(behind | (high - low <= 1), high, middle)
    return low


def _keys(layer: Layer, size: int) -> Rows:
    """State and value of each edge as one number, which rises."""
    states_ = np.repeat(np.arange(len(layer.first) - 1), np.diff(layer.first))
    return states_ * size + layer.value
