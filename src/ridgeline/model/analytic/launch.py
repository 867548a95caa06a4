"""Launch, dispatch and synchronisation: what it costs to start work, and when the host is the bottleneck.

Decides the time of sequences from kernel times and fixed costs; the costs themselves are measured (`Device.costs`). The scalar share of dispatch in a
wall clock is `ridgeline.laws.overhead`. Sources: the queue is the recurrence of two machines in series (S. Johnson, "Optimal two- and three-stage
production schedules", Naval Research Logistics Quarterly 1(1), 1954); barriers: J. Mellor-Crummey and M. Scott, "Algorithms for scalable
synchronization on shared-memory multiprocessors", ACM TOCS 9(1), 1991.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import UsageError
from ._arrays import COUNT, COUNT_OR_NONE, NON_NEGATIVE, Reals, choose, fit, numbers

__all__ = ["QueueTime", "barrier_time", "dispatched_time", "graph_replay_time", "imbalanced_time", "queue_time", "sequence_time"]


@dataclass(frozen=True, eq=False)
class QueueTime:
    """Time of kernels in a queue.

    Args:
        time_s: from the first launch until the host sees the last kernel done.
        host_bound: whether the device waits for launches in the steady state.
        device_idle_s: time of `time_s` in which no kernel runs.
    """

    time_s: Reals
    host_bound: NDArray[np.bool_]
    device_idle_s: Reals


def queue_time(
    kernel_s: ArrayLike, *, kernels: ArrayLike, launch_s: ArrayLike, gap_s: ArrayLike = 0.0, start_s: ArrayLike = 0.0, sync_s: ArrayLike = 0.0
) -> QueueTime:
    """t = l + start + (n − 1) max(l, k + gap) + k + sync in s: n like kernels, submitted one by one without waiting.

    Args:
        kernel_s: k, seconds of one kernel on the device, ≥ 0.
        kernels: n, whole, ≥ 1.
        launch_s: l, seconds the host needs to submit one, ≥ 0.
        gap_s: seconds between two kernels on the device even when both wait there, ≥ 0.
        start_s: from submission to start on an idle device, ≥ 0.
        sync_s: from the end of the last kernel until the host goes on, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> times = queue_time([1e-6, 50e-6], kernels=100, launch_s=5e-6)
    >>> times.host_bound.tolist(), [round(float(t) * 1e6) for t in times.time_s]
    ([True, False], [501, 5005])
    """
    k, n, launch, gap, start, sync = numbers(
        kernel_s=(kernel_s, NON_NEGATIVE),
        kernels=(kernels, COUNT),
        launch_s=(launch_s, NON_NEGATIVE),
        gap_s=(gap_s, NON_NEGATIVE),
        start_s=(start_s, NON_NEGATIVE),
        sync_s=(sync_s, NON_NEGATIVE),
    )
    host_bound = np.asarray(launch > k + gap)
    time = launch + start + (n - 1.0) * choose(host_bound, launch, k + gap) + k + sync
    idle = launch + start + (n - 1.0) * choose(host_bound, launch - k, gap) + sync
    return QueueTime(time_s=time, host_bound=host_bound, device_idle_s=idle)


def sequence_time(kernels_s: ArrayLike, *, launch_s: ArrayLike, gap_s: ArrayLike = 0.0) -> Reals:
    """e_n of e_i = max(i l, e_{i−1} + gap) + k_i in s: unlike kernels in a queue, i counted from 1.

    Args:
        kernels_s: seconds of each kernel on the device in order, ≥ 0, along the last axis, which has at least one entry.
        launch_s: l, seconds the host needs to submit one, ≥ 0; without the last axis.
        gap_s: between two kernels on the device, ≥ 0; without the last axis.

    Returns:
        Seconds until the last kernel is done, without the last axis: max over i of i l + Σ_{j ≥ i} k_j + (n − i) gap.

    Raises:
        UsageError: a number out of its range.

    >>> float(sequence_time([1.0, 1.0, 10.0, 1.0], launch_s=2.0))
    17.0
    """
    (times,) = numbers(kernels_s=(kernels_s, NON_NEGATIVE))
    launch, gap = numbers(launch_s=(launch_s, NON_NEGATIVE), gap_s=(gap_s, NON_NEGATIVE))
    if not times.ndim or not times.shape[-1]:
        raise UsageError("at least one kernel along the last axis", found=f"shape {times.shape}", remedy="give an array of seconds")
    fit(kernels_s=times[..., 0], launch_s=launch, gap_s=gap)
    count = times.shape[-1]
    place = np.arange(1, count + 1, dtype=np.float64)
    after = np.flip(np.cumsum(np.flip(times, -1), -1), -1)
    ends = place * launch[..., None] + after + (count - place) * gap[..., None]
    return np.asarray(np.max(ends, axis=-1), np.float64)


def graph_replay_time(kernels_s: ArrayLike, *, nodes: ArrayLike, launch_s: ArrayLike, node_s: ArrayLike) -> Reals:
    """t = launch + n × node + Σ k in s: a captured graph is submitted once, and each node costs the device a little.

    Args:
        kernels_s: Σ k, seconds of all kernels, ≥ 0.
        nodes: n, whole, ≥ 0.
        launch_s: seconds to launch the graph, ≥ 0.
        node_s: device seconds from one node to the next, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(float(graph_replay_time(100e-6, nodes=100, launch_s=10e-6, node_s=1e-6)) * 1e6)
    210
    """
    k, n, launch, node = numbers(
        kernels_s=(kernels_s, NON_NEGATIVE), nodes=(nodes, COUNT_OR_NONE), launch_s=(launch_s, NON_NEGATIVE), node_s=(node_s, NON_NEGATIVE)
    )
    return launch + n * node + k


def dispatched_time(operators_s: ArrayLike, *, operators: ArrayLike, dispatch_s: ArrayLike, call_s: ArrayLike = 0.0) -> Reals:
    """t = c + Σ k + n d in s: operators that run on the thread that dispatches them, so that nothing hides the dispatch.

    Args:
        operators_s: Σ k, seconds of all operators, ≥ 0.
        operators: n, whole, ≥ 0.
        dispatch_s: d, seconds for each, ≥ 0.
        call_s: c, once a call (binding inputs, converting arguments), ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(float(dispatched_time(6.2e-3, operators=300, dispatch_s=10e-6)) * 1e3, 3)
    9.2
    """
    k, n, d, c = numbers(
        operators_s=(operators_s, NON_NEGATIVE),
        operators=(operators, COUNT_OR_NONE),
        dispatch_s=(dispatch_s, NON_NEGATIVE),
        call_s=(call_s, NON_NEGATIVE),
    )
    return c + k + n * d


def barrier_time(threads: ArrayLike, *, hop_s: ArrayLike, kind: Literal["central", "tree"] = "tree") -> Reals:
    """Seconds of one barrier: (n − 1) h if all count at one place, 2 ⌈log₂ n⌉ h up and down a tree; 0 for one thread.

    Args:
        threads: n, whole, ≥ 1.
        hop_s: h, seconds until another core sees a write, ≥ 0.
        kind: `central` or `tree`.

    Raises:
        UsageError: a number out of its range, or another kind.

    >>> barrier_time([1, 2, 16], hop_s=100e-9).tolist() == [0.0, 2e-07, 8e-07]
    True
    """
    n, hop = numbers(threads=(threads, COUNT), hop_s=(hop_s, NON_NEGATIVE))
    if kind not in ("central", "tree"):
        raise UsageError("kind to be central or tree", found=repr(kind), remedy="name one of these")
    hops: Reals = n - 1.0 if kind == "central" else 2.0 * np.ceil(np.log2(n))
    return hops * hop


def imbalanced_time(mean_s: ArrayLike, *, deviation_s: ArrayLike, threads: ArrayLike) -> Reals:
    """μ + σ √(2 ln n) in s: an upper bound of the expected time until the last of n threads arrives, for times that scatter normally.

    Args:
        mean_s: μ, ≥ 0; deviation_s: σ, ≥ 0, of one thread's time.
        threads: n, whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.

    Source: S. Boucheron, G. Lugosi, P. Massart, "Concentration inequalities", 2013, section 2.5 (sub-Gaussian times, independent or not).

    >>> float(imbalanced_time(1.0, deviation_s=0.1, threads=1)), round(float(imbalanced_time(1.0, deviation_s=0.1, threads=64)), 3)
    (1.0, 1.288)
    """
    mean, deviation, n = numbers(mean_s=(mean_s, NON_NEGATIVE), deviation_s=(deviation_s, NON_NEGATIVE), threads=(threads, COUNT))
    spread: Reals = np.sqrt(2.0 * np.log(n))
    return mean + deviation * spread
