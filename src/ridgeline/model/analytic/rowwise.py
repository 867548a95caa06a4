"""Traffic of elementwise operators, reductions, softmax and normalisation: how many passes over the data leave the level that holds a row.

Decides bytes beyond a level from elements, passes and capacity. Which chain of operators a runtime fuses is decided elsewhere
(`ridgeline.laws.fusion` counts what that saves). Sources: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax",
arXiv:1805.02867, 2018 (three passes, two online, one where a row stays); B. Welford, "Note on a method for calculating corrected sums of squares and
products", Technometrics 4(3), 1962 (mean and variance in one pass).
"""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import COUNT, COUNT_OR_NONE, NON_NEGATIVE, POSITIVE, Reals, choose, larger, numbers, outside

__all__ = ["PASSES", "beyond", "elementwise_bytes", "reduction_bytes", "rowwise_bytes"]

#: Reads of the input by algorithm: each pass over a row that does not stay in the level reads it again.
PASSES = {"reduce": 1, "softmax": 3, "softmax-online": 2, "normalise": 3, "normalise-welford": 2}


def elementwise_bytes(
    elements: ArrayLike, *, inputs: ArrayLike = 1, element_bytes: ArrayLike = 4.0, out_element_bytes: ArrayLike | None = None
) -> Reals:
    """n (i·b + c) in B: every input read once and the result written.

    Args:
        elements: n, whole, ≥ 0.
        inputs: i, inputs of full size, whole, ≥ 0 (0 for a fill).
        element_bytes, out_element_bytes: b and c, > 0; c is b if not given.

    Raises:
        UsageError: a number out of its range.

    >>> float(elementwise_bytes(1000, inputs=2))
    12000.0
    """
    n, i, b, c = numbers(
        elements=(elements, COUNT_OR_NONE),
        inputs=(inputs, COUNT_OR_NONE),
        element_bytes=(element_bytes, POSITIVE),
        out_element_bytes=(element_bytes if out_element_bytes is None else out_element_bytes, POSITIVE),
    )
    return n * (i * b + c)


def reduction_bytes(elements: ArrayLike, *, outputs: ArrayLike = 1, element_bytes: ArrayLike = 4.0, out_element_bytes: ArrayLike = 4.0) -> Reals:
    """n b + m c in B: n elements read once, m results written.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: more results than elements.

    >>> float(reduction_bytes(1000, outputs=10))
    4040.0
    """
    n, m, b, c = numbers(
        elements=(elements, COUNT_OR_NONE),
        outputs=(outputs, COUNT_OR_NONE),
        element_bytes=(element_bytes, POSITIVE),
        out_element_bytes=(out_element_bytes, POSITIVE),
    )
    outside(m > n, "outputs", m, "a reduction with at most as many outputs as elements", "exchange the two numbers")
    return n * b + m * c


def rowwise_bytes(
    rows: ArrayLike,
    columns: ArrayLike,
    *,
    algorithm: Literal["reduce", "softmax", "softmax-online", "normalise", "normalise-welford"],
    capacity_bytes: ArrayLike,
    rows_at_once: ArrayLike = 1,
    element_bytes: ArrayLike = 4.0,
    out_element_bytes: ArrayLike | None = None,
) -> Reals:
    """R C (p b + c) in B, with p the passes of the algorithm, or 1 where the rows in work stay in the level between passes.

    Args:
        rows, columns: of the input; the operator works along a row; whole, ≥ 1.
        algorithm: a key of `PASSES`; `reduce` writes one element a row, the others a whole row.
        capacity_bytes: what of the level may be used, B, > 0.
        rows_at_once: rows that share it (threads, work-groups), whole, ≥ 1.
        element_bytes, out_element_bytes: b and c, > 0.

    Raises:
        UsageError: a number out of its range, or an algorithm that is not known.

    >>> float(rowwise_bytes(10, 1000, algorithm="softmax", capacity_bytes=32768)) == 10 * 1000 * (4 + 4)
    True
    >>> float(rowwise_bytes(10, 100_000, algorithm="softmax", capacity_bytes=32768)) == 10 * 100_000 * (3 * 4 + 4)
    True
    """
    if algorithm not in PASSES:
        raise UsageError(f"algorithm to be one of {', '.join(PASSES)}", found=repr(algorithm), remedy="name one of these")
    r, n, capacity, side, b, c = numbers(
        rows=(rows, COUNT),
        columns=(columns, COUNT),
        capacity_bytes=(capacity_bytes, POSITIVE),
        rows_at_once=(rows_at_once, COUNT),
        element_bytes=(element_bytes, POSITIVE),
        out_element_bytes=(element_bytes if out_element_bytes is None else out_element_bytes, POSITIVE),
    )
    stays = side * n * b <= capacity
    read = r * n * b * choose(stays, 1.0, float(PASSES[algorithm]))
    return read + r * c * (1.0 if algorithm == "reduce" else n)


def beyond(
    traffic_bytes: ArrayLike, *, working_set_bytes: ArrayLike, capacity_bytes: ArrayLike, policy: Literal["lru", "part-stays"] = "lru"
) -> Reals:
    """Bytes of a loop over the same data that pass beyond a level: all, none, or what does not stay, in B.

    Args:
        traffic_bytes: bytes that reach the level, ≥ 0.
        working_set_bytes: distinct bytes of the loop, > 0.
        capacity_bytes: Z, B, > 0.
        policy: `lru`: a loop one byte larger than the level misses on everything; `part-stays`: Q (1 − Z/W), a level that keeps a part of what it
            cannot hold (adaptive or random replacement). Real caches lie between the two near their capacity.

    Raises:
        UsageError: a number out of its range.

    Source: Mattson et al. 1970 for LRU; M. Qureshi et al., "Adaptive insertion policies for high performance caching", ISCA 2007, for the other.

    >>> beyond(1e6, working_set_bytes=1e6, capacity_bytes=[2e6, 5e5]).tolist()
    [0.0, 1000000.0]
    >>> float(beyond(1e6, working_set_bytes=1e6, capacity_bytes=5e5, policy="part-stays"))
    500000.0
    """
    moved, held, capacity = numbers(
        traffic_bytes=(traffic_bytes, NON_NEGATIVE), working_set_bytes=(working_set_bytes, POSITIVE), capacity_bytes=(capacity_bytes, POSITIVE)
    )
    if policy not in ("lru", "part-stays"):
        raise UsageError("policy to be lru or part-stays", found=repr(policy), remedy="name one of these")
    if policy == "lru":
        return choose(held <= capacity, 0.0, moved)
    return moved * larger(1.0 - capacity / held, 0.0)
