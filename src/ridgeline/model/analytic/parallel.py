"""One step of a model over several devices: tensor, data, pipeline and expert parallelism as arithmetic plus exposed communication.

Decides the time of a step from the time of one device and that of the collectives (`collectives`). How the model is cut is decided elsewhere.
Sources: M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053 (tensor: two all-reduces a layer and direction); Y. Huang et al., "GPipe", 2019, and
D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021, section 2.2 (bubble, interleaving);
S. Li et al., "PyTorch distributed", VLDB 2020 (gradients behind the backward pass).
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from ._arrays import COUNT, COUNT_OR_NONE, FACTOR, NON_NEGATIVE, SHARE, Reals, choose, numbers
from .overlap import exposed

__all__ = ["Pipeline", "data_parallel_time", "expert_parallel_time", "pipeline_parallel", "tensor_parallel_time"]


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A step through pipeline stages.

    Args:
        time_s: seconds of the step; bubble_share: share of it in which a device waits, in [0, 1).
    """

    time_s: Reals
    bubble_share: Reals


def tensor_parallel_time(
    compute_s: ArrayLike,
    *,
    devices: ArrayLike,
    collective_s: ArrayLike,
    collectives: ArrayLike,
    serial_share: ArrayLike = 0.0,
    overlap: ArrayLike = 0.0,
) -> Reals:
    """t = T (s + (1 − s)/n) + exposed(c × collective) in s.

    Args:
        compute_s: T, seconds of all layers on one device, ≥ 0.
        devices: n, whole, ≥ 1.
        collective_s: seconds of one collective among them, ≥ 0.
        collectives: c of all layers: two a layer in inference, four in training; whole, ≥ 0.
        serial_share: s, share of the time that is not cut (normalisation, small products that do not scale), in [0, 1].
        overlap: share of the communication that may hide behind arithmetic, in [0, 1].

    Raises:
        UsageError: a number out of its range.

    >>> float(tensor_parallel_time(8e-3, devices=4, collective_s=1e-5, collectives=64))
    0.00264
    """
    t, n, c, count, serial, hidden = numbers(
        compute_s=(compute_s, NON_NEGATIVE),
        devices=(devices, COUNT),
        collective_s=(collective_s, NON_NEGATIVE),
        collectives=(collectives, COUNT_OR_NONE),
        serial_share=(serial_share, SHARE),
        overlap=(overlap, SHARE),
    )
    own = t * (serial + (1.0 - serial) / n)
    return own + exposed(choose(n > 1, c * count, 0.0), own, overlap=hidden)


def data_parallel_time(compute_s: ArrayLike, *, backward_s: ArrayLike, collective_s: ArrayLike, overlap: ArrayLike = 1.0) -> Reals:
    """t = T + exposed(all-reduce behind backward) in s.

    Args:
        compute_s: T, forward, backward and optimiser of one device, ≥ 0.
        backward_s: the part of it that the gradients' all-reduce may hide behind, ≥ 0.
        collective_s: of all gradients, ≥ 0.
        overlap: share of it that may hide (all but the last bucket), in [0, 1].

    Raises:
        UsageError: a number out of its range.

    >>> float(data_parallel_time(0.3, backward_s=0.2, collective_s=0.25))
    0.35
    """
    t, backward, c, hidden = numbers(
        compute_s=(compute_s, NON_NEGATIVE),
        backward_s=(backward_s, NON_NEGATIVE),
        collective_s=(collective_s, NON_NEGATIVE),
        overlap=(overlap, SHARE),
    )
    return t + exposed(c, backward, overlap=hidden)


def pipeline_parallel(
    stage_s: ArrayLike, *, stages: ArrayLike, micro_batches: ArrayLike, transfer_s: ArrayLike = 0.0, interleaved: ArrayLike = 1
) -> Pipeline:
    """t = (m + (p − 1)/v) (τ + transfer) in s; bubble (p − 1)/v ÷ (m + (p − 1)/v).

    Args:
        stage_s: τ, seconds of the slowest stage for one micro-batch (forward, or forward and backward), ≥ 0.
        stages: p; micro_batches: m; whole, ≥ 1.
        transfer_s: seconds to hand a micro-batch on, where it is not hidden, ≥ 0.
        interleaved: v, pieces of the model on each device, whole, ≥ 1; more pieces transfer more often: give that in transfer_s.

    Raises:
        UsageError: a number out of its range.

    >>> step = pipeline_parallel(0.01, stages=4, micro_batches=8)
    >>> round(float(step.time_s), 4), round(float(step.bubble_share), 4)
    (0.11, 0.2727)
    """
    t, p, m, hop, v = numbers(
        stage_s=(stage_s, NON_NEGATIVE),
        stages=(stages, COUNT),
        micro_batches=(micro_batches, COUNT),
        transfer_s=(transfer_s, NON_NEGATIVE),
        interleaved=(interleaved, COUNT),
    )
    idle = (p - 1.0) / v
    period = t + choose(p > 1, hop, 0.0)
    return Pipeline(time_s=(m + idle) * period, bubble_share=idle / (m + idle) + 0.0 * t)


def expert_parallel_time(
    dense_s: ArrayLike, *, experts_s: ArrayLike, devices: ArrayLike, all_to_all_s: ArrayLike, fullest: ArrayLike = 1.0, overlap: ArrayLike = 0.0
) -> Reals:
    """t = dense + (experts ÷ n) × fullest + exposed(2 all-to-all) in s: dispatch and combine around the experts of a layer.

    Args:
        dense_s: seconds of what every device does for its own tokens, ≥ 0.
        experts_s: seconds of all experts of the layer on one device, ≥ 0.
        devices: n over which they lie, whole, ≥ 1.
        all_to_all_s: seconds of one exchange, ≥ 0.
        fullest: load of the fullest device ÷ the mean, ≥ 1 (`moe.fullest_load` with as many bins as devices).
        overlap: share of the exchange that may hide behind the dense part, in [0, 1].

    Raises:
        UsageError: a number out of its range.

    >>> round(float(expert_parallel_time(1e-3, experts_s=8e-3, devices=8, all_to_all_s=1e-4, fullest=1.5)), 6)
    0.0027
    """
    d, e, n, a, load, hidden = numbers(
        dense_s=(dense_s, NON_NEGATIVE),
        experts_s=(experts_s, NON_NEGATIVE),
        devices=(devices, COUNT),
        all_to_all_s=(all_to_all_s, NON_NEGATIVE),
        fullest=(fullest, FACTOR),
        overlap=(overlap, SHARE),
    )
    slowest = e / n * choose(n > 1, load, 1.0)
    return d + slowest + exposed(choose(n > 1, 2.0 * a, 0.0), d, overlap=hidden)
