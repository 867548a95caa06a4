"""Time of collectives between devices by steps, bytes and reductions: ring, tree, halving and doubling, and in two levels.

Decides seconds in the α-β-γ model: α for each step, bytes ÷ bandwidth, reduced bytes ÷ rate. `size_bytes` is the whole vector: what each device holds
before an all-reduce or reduce-scatter, after an all-gather or broadcast, and sends altogether in an all-to-all. Sources: R. Thakur, R. Rabenseifner,
W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005; P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce
algorithms", JPDC 69(2), 2009; P. Sanders, J. Speck, J. Träff, "Two-tree algorithms", Parallel Computing 35(12), 2009; bus bandwidth: NVIDIA,
nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import COUNT, NON_NEGATIVE, POSITIVE, Reals, choose, numbers

__all__ = ["Algorithm", "Collective", "bus_bandwidth", "collective_time", "hierarchical_all_reduce_time", "point_to_point_time"]

Collective = Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all"]
Algorithm = Literal["ring", "tree", "halving"]


class _Cost(NamedTuple):
    """Steps, bytes sent by a device and bytes reduced by a device, the last two as shares of the vector, each a function of the devices."""

    steps: Callable[[Reals], Reals]
    sent: Callable[[Reals], Reals]
    reduced: Callable[[Reals], Reals]


def _levels(n: Reals) -> Reals:
    found: Reals = np.ceil(np.log2(n))
    return found


def _others(n: Reals) -> Reals:
    return (n - 1.0) / n


def _none(n: Reals) -> Reals:
    return 0.0 * n


def _any(n: Reals) -> Reals:
    """1 as soon as there is more than one device."""
    return choose(n > 1, 1.0, 0.0)


_COSTS: dict[tuple[str, str], _Cost] = {
    ("all-reduce", "ring"): _Cost(lambda n: 2.0 * (n - 1.0), lambda n: 2.0 * _others(n), _others),
    ("all-gather", "ring"): _Cost(lambda n: n - 1.0, _others, _none),
    ("reduce-scatter", "ring"): _Cost(lambda n: n - 1.0, _others, _others),
    # A pipeline of many pieces along the chain: every device passes the vector on once.
    ("broadcast", "ring"): _Cost(lambda n: n - 1.0, _any, _none),
    ("all-to-all", "ring"): _Cost(lambda n: n - 1.0, _others, _none),
    # Two trees, each inner in one and leaf in the other: the vector goes up once and down once, in pieces.
    ("all-reduce", "tree"): _Cost(lambda n: 2.0 * _levels(n), lambda n: 2.0 * _any(n), _any),
    # Binomial, not in pieces: the right choice for small vectors.
    ("broadcast", "tree"): _Cost(_levels, _levels, _none),
    ("all-reduce", "halving"): _Cost(lambda n: 2.0 * _levels(n), lambda n: 2.0 * _others(n), _others),
    ("all-gather", "halving"): _Cost(_levels, _others, _none),
    ("reduce-scatter", "halving"): _Cost(_levels, _others, _others),
    # Bruck: half of the vector in each of log₂ n steps.
    ("all-to-all", "halving"): _Cost(_levels, lambda n: _levels(n) / 2.0, _none),
}

#: Bytes on the wire of a device over bytes of the vector, at best: what nccl-tests multiplies algorithm bandwidth by.
_BUS: dict[str, Callable[[Reals], Reals]] = {
    "all-reduce": lambda n: 2.0 * _others(n),
    "all-gather": _others,
    "reduce-scatter": _others,
    "broadcast": lambda n: 1.0 + 0.0 * n,
    "all-to-all": _others,
}


def collective_time(
    kind: Collective,
    size_bytes: ArrayLike,
    *,
    devices: ArrayLike,
    bandwidth: ArrayLike,
    latency_s: ArrayLike,
    algorithm: Algorithm = "ring",
    reduce_rate: ArrayLike | None = None,
) -> Reals:
    """t = steps α + sent S ÷ B + reduced S ÷ R in s; a ring all-reduce is 2 (n − 1) α + 2 (n − 1)/n S/B + (n − 1)/n S/R.

    Args:
        kind: which collective.
        size_bytes: S, see above, ≥ 0.
        devices: n, whole, ≥ 1; one device takes no time.
        bandwidth: B of a device's link in one direction, B/s, > 0.
        latency_s: α of one step, s, ≥ 0.
        algorithm: `ring`, `tree` (all-reduce and broadcast) or `halving` (not broadcast): recursive halving and doubling, exact for powers of two,
            for other counts a lower bound that rounds the steps up.
        reduce_rate: R, bytes a device reduces per second, > 0; free if not given.

    Raises:
        UsageError: a number out of its range, or a pair of kind and algorithm that is not there.

    >>> round(float(collective_time("all-reduce", 1e9, devices=4, bandwidth=100e9, latency_s=0)), 6)
    0.015
    >>> ring, tree = (collective_time("all-reduce", 1e3, devices=64, bandwidth=100e9, latency_s=1e-6, algorithm=a) for a in ("ring", "tree"))
    >>> round(float(ring) * 1e6, 2), round(float(tree) * 1e6, 2)
    (126.02, 12.02)
    """
    if (kind, algorithm) not in _COSTS:
        known = ", ".join(f"{one} by {way}" for one, way in _COSTS)
        raise UsageError(f"one of {known}", found=f"{kind} by {algorithm}", remedy="choose another algorithm")
    s, n, b, a, r = numbers(
        size_bytes=(size_bytes, NON_NEGATIVE),
        devices=(devices, COUNT),
        bandwidth=(bandwidth, POSITIVE),
        latency_s=(latency_s, NON_NEGATIVE),
        reduce_rate=(1.0 if reduce_rate is None else reduce_rate, POSITIVE),
    )
    cost = _COSTS[kind, algorithm]
    time = cost.steps(n) * a + cost.sent(n) * s / b
    return time if reduce_rate is None else time + cost.reduced(n) * s / r


def point_to_point_time(size_bytes: ArrayLike, *, bandwidth: ArrayLike, latency_s: ArrayLike) -> Reals:
    """t = α + S ÷ B in s.

    Raises:
        UsageError: a number out of its range.

    >>> float(point_to_point_time(1e6, bandwidth=1e9, latency_s=1e-6))
    0.001001
    """
    s, b, a = numbers(size_bytes=(size_bytes, NON_NEGATIVE), bandwidth=(bandwidth, POSITIVE), latency_s=(latency_s, NON_NEGATIVE))
    return a + s / b


def hierarchical_all_reduce_time(
    size_bytes: ArrayLike,
    *,
    local: ArrayLike,
    nodes: ArrayLike,
    local_bandwidth: ArrayLike,
    local_latency_s: ArrayLike,
    bandwidth: ArrayLike,
    latency_s: ArrayLike,
    algorithm: Literal["ring", "tree", "halving"] = "ring",
) -> Reals:
    """Reduce-scatter within the node, all-reduce of S ÷ local between nodes, all-gather within the node, in s.

    Args:
        size_bytes: S, ≥ 0.
        local: devices of a node; nodes: nodes; whole, ≥ 1.
        local_bandwidth, local_latency_s: within the node; bandwidth, latency_s: of one device's share of the network.
        algorithm: between the nodes; a ring within.

    Raises:
        UsageError: a number out of its range.

    >>> two_levels = hierarchical_all_reduce_time(1e9, local=8, nodes=4, local_bandwidth=400e9, local_latency_s=0, bandwidth=50e9, latency_s=0)
    >>> round(float(two_levels) * 1e3, 3)  # 2 · 7/8 · 1e9 / 400e9 + 2 · 3/4 · 1.25e8 / 50e9
    8.125
    """
    s, group, n, near, near_s, far, far_s = numbers(
        size_bytes=(size_bytes, NON_NEGATIVE),
        local=(local, COUNT),
        nodes=(nodes, COUNT),
        local_bandwidth=(local_bandwidth, POSITIVE),
        local_latency_s=(local_latency_s, NON_NEGATIVE),
        bandwidth=(bandwidth, POSITIVE),
        latency_s=(latency_s, NON_NEGATIVE),
    )
    scatter = collective_time("reduce-scatter", s, devices=group, bandwidth=near, latency_s=near_s)
    gather = collective_time("all-gather", s, devices=group, bandwidth=near, latency_s=near_s)
    between = collective_time("all-reduce", s / group, devices=n, bandwidth=far, latency_s=far_s, algorithm=algorithm)
    return scatter + between + gather


def bus_bandwidth(kind: Collective, size_bytes: ArrayLike, *, seconds: ArrayLike, devices: ArrayLike) -> Reals:
    """f S ÷ t in B/s, comparable with the link: f = 2 (n − 1)/n for an all-reduce, (n − 1)/n for gather, scatter and all-to-all, 1 for a broadcast.

    Args:
        kind: which collective.
        size_bytes: S, ≥ 0; seconds: t, > 0; devices: n, whole, ≥ 1.

    Raises:
        UsageError: a number out of its range, or another kind.

    >>> float(bus_bandwidth("all-reduce", 1e9, seconds=0.015, devices=4)) / 1e9
    100.0
    """
    if kind not in _BUS:
        raise UsageError(f"kind to be one of {', '.join(_BUS)}", found=repr(kind), remedy="name one of these")
    s, t, n = numbers(size_bytes=(size_bytes, NON_NEGATIVE), seconds=(seconds, POSITIVE), devices=(devices, COUNT))
    return _BUS[kind](n) * s / t
