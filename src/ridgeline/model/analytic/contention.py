"""What neighbours cost: shares of a bandwidth or of cores that do not suffice for all, and how much longer each then takes.

Decides shares by max-min fairness and stretches by each one's own mix. What the demands are is for the caller: bytes, or busy cores, of each alone in
a second. Sources: D. Bertsekas and R. Gallager, "Data networks", section 6.5.2 (max-min fairness by filling); a level that saturates: D. Xu, C. Wu,
P.-C. Yew, "On mitigating memory bandwidth contention through bandwidth-aware scheduling", PACT 2010.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import OutOfRange, UsageError
from ._arrays import COUNT, COUNT_OR_NONE, NON_NEGATIVE, POSITIVE, SHARE, Reals, choose, larger, numbers, outside

__all__ = ["contended_time", "core_stretch", "max_min_shares", "stretch"]


def max_min_shares(demands: ArrayLike, *, capacity: ArrayLike, weights: ArrayLike = 1.0) -> Reals:
    """xᵢ = min(dᵢ, wᵢ θ) with θ such that Σ xᵢ = min(C, Σ dᵢ): nobody gets more by taking from one who has less.

    Args:
        demands: d along the last axis, one a task, ≥ 0, in any unit of rate.
        capacity: C, without the last axis, > 0, in the same unit.
        weights: w, with the last axis or a number, > 0.

    Returns:
        x with the shape of the demands (and of capacity before the last axis).

    Raises:
        UsageError: a number out of its range, or no tasks.

    >>> max_min_shares([1.0, 4.0, 10.0], capacity=9.0).tolist()
    [1.0, 4.0, 4.0]
    >>> max_min_shares([[8.0, 8.0], [1.0, 2.0]], capacity=10.0).tolist()
    [[5.0, 5.0], [1.0, 2.0]]
    """
    d, w = numbers(demands=(demands, NON_NEGATIVE), weights=(weights, POSITIVE))
    (c,) = numbers(capacity=(capacity, POSITIVE))
    if not d.ndim or not d.shape[-1]:
        raise UsageError("at least one demand along the last axis", found=f"shape {d.shape}", remedy="give an array of demands")
    room = c[..., None]
    try:
        d, w, room = np.broadcast_arrays(d, w, room)
    except ValueError:
        shapes = f"demands {d.shape}, weights {w.shape}, capacity {c.shape}"
        raise UsageError("a capacity for each row of demands", found=shapes, remedy="leave out the last axis of demands") from None
    # Whoever asks least for its weight is satisfied first: at the i-th of them θ would be (C − Σ before) ÷ Σ weights from it on.
    order = np.argsort(d / w, axis=-1)
    asked, weight = np.take_along_axis(d, order, -1), np.take_along_axis(w, order, -1)
    before = np.cumsum(asked, axis=-1) - asked
    weight_left = np.flip(np.cumsum(np.flip(weight, -1), axis=-1), -1)
    water = (room - before) / weight_left
    level = asked / weight
    # The first that is not satisfied sets θ for all after it; rounding must not take it below what those before it got.
    unsatisfied = ~np.logical_and.accumulate(level <= water, axis=-1)
    first = np.argmax(unsatisfied, axis=-1, keepdims=True)
    reached = np.where(first > 0, np.take_along_axis(level, np.maximum(first - 1, 0), -1), 0.0)
    theta = np.where(unsatisfied.any(axis=-1, keepdims=True), np.maximum(np.take_along_axis(water, first, -1), reached), np.inf)
    found: Reals = np.minimum(d, w * theta)
    return found


def stretch(memory_share: ArrayLike, *, demand: ArrayLike, share: ArrayLike, overlap: ArrayLike = 0.0) -> Reals:
    """t ÷ t alone = ω max(1, m d/x) + (1 − ω)(1 + m (d/x − 1)): how much longer a task takes when its bandwidth falls from d to x.

    Args:
        memory_share: m, share of its time alone that waits for this level, in [0, 1].
        demand: d, its rate alone, ≥ 0.
        share: x of `max_min_shares`, ≥ 0; 0 only where the demand is 0.
        overlap: ω in [0, 1]: 0 if the task computes and moves in turns; 1 if it does both at once, so that only memory time beyond its whole time
            lengthens it.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: no share for a demand.

    Limits: the demand of a task that was slowed falls with it; one pass from demands alone is then too pessimistic by as much as the neighbours slow
    down. `contended_time` solves for both at once.

    >>> stretch([0.0, 0.5, 1.0], demand=10.0, share=5.0).tolist()
    [1.0, 1.5, 2.0]
    """
    m, d, x, w = numbers(memory_share=(memory_share, SHARE), demand=(demand, NON_NEGATIVE), share=(share, NON_NEGATIVE), overlap=(overlap, SHARE))
    outside((x < 1e-100) & (d > 0), "share", x, "a share > 0 for every demand", "give the shares of max_min_shares")
    slower = larger(choose(d > 0, d / choose(x > 0, x, 1.0), 1.0), 1.0)
    return w * larger(m * slower, 1.0) + (1.0 - w) * (1.0 + m * (slower - 1.0))


def contended_time(compute_s: ArrayLike, *, traffic_bytes: ArrayLike, single: ArrayLike, capacity: ArrayLike, iterations: int = 2000) -> Reals:
    """tᵢ = cᵢ + Qᵢ/xᵢ, xᵢ = min(bᵢ, θᵢ), Σ_{j≠i} ρⱼ min(bⱼ, θᵢ) + min(bᵢ, θᵢ) = C, ρⱼ = (Qⱼ/xⱼ)/tⱼ: times and demands solved together, in s.

    Tasks compute and move in turns that do not know of each other. While one moves, each other moves too for a share ρ of its own time, and all that
    do so get the same water level θ (max-min fairness), at most their own rate.

    Args:
        compute_s: c along the last axis, one a task, ≥ 0; traffic_bytes: Q alike, ≥ 0.
        single: b, rate of each task alone, with the last axis as the tasks or a number, > 0.
        capacity: C, without the last axis, > 0.
        iterations: of the fixed point at most; it rises from "nobody else moves" and ends when nothing changes any more.

    Returns:
        Seconds of each task while all run.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: times that did not settle within the iterations.

    Limits: other tasks count by their mean, so that rare pile-ups are averaged; all tasks run all the time.

    >>> contended_time([0.0, 0.0], traffic_bytes=[1e9, 1e9], single=10e9, capacity=10e9).round(6).tolist()
    [0.2, 0.2]
    >>> contended_time([1.0, 0.0], traffic_bytes=[0.0, 1e9], single=10e9, capacity=10e9).round(6).tolist()
    [1.0, 0.1]
    """
    c, q, b = numbers(compute_s=(compute_s, NON_NEGATIVE), traffic_bytes=(traffic_bytes, NON_NEGATIVE), single=(single, POSITIVE))
    (room,) = numbers(capacity=(capacity, POSITIVE))
    if not c.ndim:
        raise UsageError("tasks along the last axis", found="a single number", remedy="give an array")
    c, q, b = np.broadcast_arrays(c, q, b)
    own = np.eye(c.shape[-1], dtype=bool)
    moving, rate = np.zeros(()), b
    for _ in range(iterations):
        before = moving
        moving = q / larger(c * rate + q, 1e-100)
        if np.max(np.abs(moving - before), initial=0.0) < 1e-11:
            break
        weight = choose(own, 1.0, larger(moving, 1e-90)[..., None, :])
        shares = max_min_shares(weight * b[..., None, :], capacity=room[..., None], weights=weight)
        rate = np.diagonal(shares, axis1=-2, axis2=-1)
    else:
        raise OutOfRange(f"times that settle within {iterations} steps", found="times that still change", remedy="allow more iterations")
    return c + q / rate


def core_stretch(runnable: ArrayLike, *, cores: ArrayLike, others: ArrayLike = 0) -> Reals:
    """max(1, (n + o) ÷ c): how much longer work takes when more threads are ready than there are cores, all of one priority.

    Args:
        runnable: n, threads of the work, whole, ≥ 1.
        cores: c, whole, ≥ 1.
        others: o, threads of neighbours that are always ready, whole, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    Source: proportional share scheduling, C. Waldspurger and W. Weihl, "Lottery scheduling", OSDI 1994. Limits: with a barrier after every step the
    last thread counts, and n + o just above c costs up to twice.

    >>> core_stretch([1, 2], cores=2, others=1).tolist()
    [1.0, 1.5]
    """
    n, c, o = numbers(runnable=(runnable, COUNT), cores=(cores, COUNT), others=(others, COUNT_OR_NONE))
    return larger((n + o) / c, 1.0)
