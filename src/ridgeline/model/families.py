"""Operator families: what sizes an operator has, and what it must compute and move at the least.

This module is the vocabulary of the models: a family names the dimensions that the time of its operators depends on, and says FLOPs and elements by
operand from them, for many operators at once. Which operator of a framework belongs to which family is decided in `graphs`; how long one takes in the
other rooms. One multiply-add is two FLOPs; elements are compulsory, each distinct one once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

__all__ = ["FAMILIES", "Demand", "Family", "demand", "sizes_of"]

Floats = NDArray[np.float64]
Sizes = Mapping[str, Floats]


class Demand(NamedTuple):
    """What operators must do at the least, shape (n,) each.

    `flop`: multiply-adds × 2, or elements where there are none; `inputs`, `weights`, `outputs`: elements read of what changes from call to call, read
    of what does not, and written.
    """

    flop: Floats
    inputs: Floats
    weights: Floats
    outputs: Floats


class Family(NamedTuple):
    """One family.

    `sizes`: the dimensions that must be given; `defaults`: those that may be, with what they are otherwise; `demand`: from all of them.
    """

    sizes: tuple[str, ...]
    defaults: Mapping[str, float]
    demand: Callable[[Sizes], Demand]


def _gemm(s: Sizes) -> Demand:
    """`batch` products of (m, k) with (k, n); weights (k, n) of their own for each of `groups` products."""
    left, right, out = s["batch"] * s["m"] * s["k"], s["groups"] * s["k"] * s["n"], s["batch"] * s["m"] * s["n"]
    return Demand(2 * s["batch"] * s["m"] * s["n"] * s["k"], left, right, out)


def _convolution(s: Sizes) -> Demand:
    """`n` images of (c, h, w) with `k` filters of (c ÷ groups, r, s), to (k, p, q)."""
    out = s["n"] * s["k"] * s["p"] * s["q"]
    taps = s["c"] / s["groups"] * s["r"] * s["s"]
    return Demand(2 * out * taps, s["n"] * s["c"] * s["h"] * s["w"], s["k"] * taps, out)


def _elementwise(s: Sizes) -> Demand:
    """A result of `elements`; of two operands the smaller is met again: `span` elements (0: all) until it moves on (`held`) or starts over."""
    return Demand(s["elements"], s["elements"] * s["inputs"], s["constants"], s["elements"])


def _rows(s: Sizes) -> Demand:
    elements = s["rows"] * s["columns"]
    return Demand(elements, elements, s["columns"] * s["weights"], elements)


def _reduction(s: Sizes) -> Demand:
    """`rows` results of `columns` elements each, which lie `inner` elements apart."""
    elements = s["rows"] * s["columns"]
    return Demand(elements, elements, np.zeros(elements.shape), s["rows"])


def _pooling(s: Sizes) -> Demand:
    out = s["n"] * s["c"] * s["p"] * s["q"]
    return Demand(out * s["r"] * s["s"], s["n"] * s["c"] * s["h"] * s["w"], np.zeros(out.shape), out)


def _copy(s: Sizes) -> Demand:
    """Elements moved in runs that stay together, of one operand or of `parts` joined.

    A transposition of `axes` axes, after those that stay together count as one: the fastest of the result has `rows`, the fastest of the operand
    `columns` runs.
    """
    zero = np.zeros(s["elements"].shape)
    return Demand(zero, s["elements"], zero, s["elements"])


def _gather(s: Sizes) -> Demand:
    out = s["indices"] * s["width"]
    # An index is read for each row; of the table only what is taken.
    return Demand(np.zeros(out.shape), s["indices"], np.minimum(out, s["rows"] * s["width"]), out)


def _attention(s: Sizes) -> Demand:
    """Both products over the pairs that are looked at; `keys` counts those in the cache before and the new ones.

    With `causal` 1, query i sees the keys up to its own place; a `window` > 0 only the last so many of them.
    """
    queries, keys = s["queries"], s["keys"]
    before = keys - queries
    # Σ over queries of min(before + i, keys): all pairs, less the triangle that is not yet there.
    pairs = np.where(s["causal"] > 0, queries * before + queries * (queries + 1) / 2, queries * keys)
    windowed = _windowed(queries, before, s["window"])
    pairs = np.where((s["window"] > 0) & (s["causal"] > 0), windowed, pairs)
    rows = s["batch"] * s["heads"]
    seen = np.where(s["window"] > 0, np.minimum(keys, s["window"] + queries - 1), keys)
    queried = rows * queries * s["head_size"]
    return Demand(4 * rows * pairs * s["head_size"], queried, 2 * s["batch"] * s["kv_heads"] * seen * s["head_size"], queried)


def _windowed(queries: Floats, before: Floats, window: Floats) -> Floats:
    """Σ for i = 1 … queries of min(before + i, window)."""
    rising = np.clip(window - before, 0, queries)
    return rising * before + rising * (rising + 1) / 2 + (queries - rising) * window


def _moe(s: Sizes) -> Demand:
    """Gated experts: three matrices of (hidden, inner) each; `active` of `experts` for every token, and `shared` ones for all.

    Weights are those of the experts that at least one token is expected to reach, E·(1 − (1 − k ÷ E)^tokens), with tokens spread evenly.
    """
    reached = s["experts"] * -np.expm1(s["tokens"] * np.log1p(-np.minimum(s["active"] / s["experts"], 1 - 1e-16)))
    matrix = 3 * s["hidden"] * s["inner"]
    tokens = s["tokens"] * s["hidden"]
    return Demand(2 * s["tokens"] * (s["active"] + s["shared"]) * matrix, tokens, (reached + s["shared"]) * matrix, tokens)


def _recurrent(s: Sizes) -> Demand:
    """Gates of (input + hidden, hidden) in each direction, step by step: four in a long short-term memory, three in a gated unit."""
    gates = s["gates"] * s["hidden"] * (s["input"] + s["hidden"])
    steps = s["steps"] * s["batch"]
    return Demand(2 * steps * s["directions"] * gates, steps * s["input"], s["directions"] * gates, steps * s["directions"] * s["hidden"])


def _call(s: Sizes) -> Demand:
    """One call of a graph and `nodes` operators in it that do nothing: what a runtime takes besides its operators' work."""
    zero = np.zeros(s["nodes"].shape)
    return Demand(zero, zero, zero, zero)


def _collective(s: Sizes) -> Demand:
    zero = np.zeros(s["elements"].shape)
    return Demand(zero, s["elements"], zero, s["elements"])


_IMAGE = {"n": 1.0, "r": 1.0, "s": 1.0}
FAMILIES: Mapping[str, Family] = {
    "gemm": Family(("m", "n", "k"), {"batch": 1.0, "groups": 1.0}, _gemm),
    "convolution": Family(("c", "h", "w", "k", "p", "q"), _IMAGE | {"groups": 1.0}, _convolution),
    "elementwise": Family(("elements",), {"inputs": 1.0, "constants": 0.0, "span": 0.0, "held": 0.0}, _elementwise),
    "softmax": Family(("rows", "columns"), {"weights": 0.0}, _rows),
    "normalisation": Family(("rows", "columns"), {"weights": 2.0}, _rows),
    "reduction": Family(("rows", "columns"), {"inner": 1.0}, _reduction),
    "pooling": Family(("c", "h", "w", "p", "q"), _IMAGE, _pooling),
    "copy": Family(("elements",), {"run": 1.0, "axes": 0.0, "rows": 0.0, "columns": 0.0, "parts": 1.0}, _copy),
    "gather": Family(("rows", "width", "indices"), {}, _gather),
    "attention": Family(("heads", "queries", "keys", "head_size", "kv_heads"), {"batch": 1.0, "window": 0.0, "causal": 0.0}, _attention),
    "moe": Family(("tokens", "hidden", "inner", "experts", "active"), {"shared": 0.0}, _moe),
    "recurrent": Family(("steps", "input", "hidden"), {"batch": 1.0, "directions": 1.0, "gates": 4.0}, _recurrent),
    "call": Family(("nodes",), {}, _call),
    "collective": Family(("elements", "ranks"), {}, _collective),
}


def sizes_of(kind: str, sizes: Mapping[str, object]) -> dict[str, Floats]:
    """All sizes of a family as arrays of one shape, what is not given at its default.

    Raises:
        UsageError: a family that there is not, a size that is missing or that the family does not have, or one that cannot be.
    """
    family = FAMILIES.get(kind)
    if family is None:
        raise UsageError(f"an operator family: {', '.join(FAMILIES)}", found=repr(kind), remedy="see ridgeline.model.families")
    unknown = [name for name in sizes if name not in family.sizes and name not in family.defaults]
    missing = [name for name in family.sizes if name not in sizes]
    if unknown or missing:
        found = " and ".join(text for text in (f"no {', '.join(missing)}" if missing else "", f"{', '.join(unknown)}" if unknown else "") if text)
        known = ", ".join((*family.sizes, *(f"{name} (if not {value:g})" for name, value in family.defaults.items())))
        raise UsageError(f"the sizes of {kind}: {known}", found=found, remedy="name each of its sizes once")
    given = {name: np.asarray(value, np.float64) for name, value in sizes.items()}
    for name, values in given.items():
        least = 0.0 if family.defaults.get(name) == 0 else 1.0
        if not _within(values, least):
            wrong = int(np.argmax(~(np.isfinite(values) & (values >= least))))
            raise UsageError(
                f"{name} of {kind} to be a positive whole number", found=f"{values.ravel()[wrong]} at {wrong}", remedy="leave such operators out"
            )
    return _filled_up(family, given)


def _within(values: Floats, least: float) -> bool:
    if values.size == 1:  # one operator does not wait for reductions of arrays
        return least <= values.item() < np.inf
    # A NaN is in minimum and maximum, and every comparison with it is false.
    return not values.size or bool(values.min() >= least and values.max() < np.inf)


def _filled_up(family: Family, given: Mapping[str, Floats]) -> dict[str, Floats]:
    """All sizes of a family in its order, those that are not given at their default, of one shape."""
    shapes = {values.shape for values in given.values()}
    if len(shapes) == 1:
        shape = shapes.pop()
        return {name: given[name] for name in family.sizes} | {
            name: given[name] if name in given else np.full(shape, default) for name, default in family.defaults.items()
        }
    names = (*family.sizes, *family.defaults)
    arrays = np.broadcast_arrays(*(given.get(name, np.float64(family.defaults.get(name, 1.0))) for name in names))
    return dict(zip(names, arrays, strict=True))


def demand(kind: str, sizes: Mapping[str, object]) -> Demand:
    """FLOPs and elements of operators of one family.

    Args:
        kind: a key of `FAMILIES`.
        sizes: dimension → size or array of sizes; arrays broadcast.

    Raises:
        UsageError: as `sizes_of`.

    >>> demand("gemm", {"m": 2, "n": 3, "k": 4}).flop.item()
    48.0
    """
    full = sizes_of(kind, sizes)
    return FAMILIES[kind].demand(full)
