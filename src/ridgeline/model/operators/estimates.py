"""What operators take on a device by formulas alone: the roofline by memory level with tiles, waves, lanes, launch, contention and clocks.

    latency = dispatch + stretch × (compute⁴ + memory⁴)^¼ + communication,   memory = max over levels of bytes ÷ bandwidth

The fourth power rounds the knee where both parts cost something (`model.analytic.overlap.p_norm`); neither part nor a share of a ceiling can exceed
what the roofs allow. This module decides how operators are grouped and their parts joined; parts are in `arithmetic` and `traffic`, roofs in `roofs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ridgeline.core import Device, KernelParameters, Sparsity, SystemState, UsageError, Workload

from ..analytic.collectives import collective_time
from ..analytic.launch import barrier_time
from .arithmetic import arithmetic, unused
from .asked import Asked, asked
from .assumed import assumed, cost_of, row_cost
from .roofs import Peak, Roofs, roofs
from .traffic import traffic

__all__ = ["Estimates", "estimates", "of_kind"]

Floats = NDArray[np.float64]
#: Formats that matrix units are made for.
_NARROW = frozenset(("bf16", "fp16", "fp8", "fp4", "int8", "int4"))
_LANE_KINDS = frozenset(("elementwise", "softmax", "normalisation", "reduction", "pooling", "copy", "gather", "recurrent"))


class Estimates(NamedTuple):
    """N operators on one device, SI units, arrays of shape (N,).

    `flop`: useful, as `families`; `read_bytes`, `weight_bytes`, `write_bytes`: compulsory; `compute_s`: at the peak that is reached; `memory_s`,
    `traffic_bytes`: by level, from the inside outwards; `overhead_s`: dispatch; `communication_s`: between devices; `latency_s`: all of it joined;
    `occupancy`: share of the execution units that has work; `peak_flop_per_s`: the ceiling that the work is held against; `bandwidth_byte_per_s`:
    ceiling of the level that takes longest; `bound`: index into `bounds`; `out_of_range`: why a number may be wrong → for which operators;
    `core_to_core_s`: of a cache line between cores that work together, 0 elsewhere.
    """

    flop: Floats
    read_bytes: Floats
    weight_bytes: Floats
    write_bytes: Floats
    compute_s: Floats
    memory_s: dict[str, Floats]
    traffic_bytes: dict[str, Floats]
    overhead_s: Floats
    communication_s: Floats
    latency_s: Floats
    occupancy: Floats
    peak_flop_per_s: Floats
    bandwidth_byte_per_s: Floats
    bound: NDArray[np.int64]
    bounds: tuple[str, ...]
    out_of_range: dict[str, NDArray[np.bool_]]
    core_to_core_s: Floats

    def reasons(self, place: int) -> tuple[str, ...]:
        """Why the numbers of one operator may be wrong."""
        return tuple(reason for reason, where in self.out_of_range.items() if where[place])

    def all_reasons(self) -> list[tuple[str, ...]]:
        """`reasons` of each operator; those with the same ones share a tuple."""
        count = len(self.latency_s)
        if not self.out_of_range:
            return [()] * count
        if all(where.all() for where in self.out_of_range.values()):
            return [tuple(self.out_of_range)] * count
        flags = np.stack(list(self.out_of_range.values()))
        alike, at = np.unique(flags, axis=1, return_inverse=True)
        texts = [tuple(reason for reason, here in zip(self.out_of_range, column, strict=True) if here) for column in alike.T.tolist()]
        return [texts[code] for code in at.ravel().tolist()]


def estimates(
    workloads: Sequence[Workload], device: Device | Roofs, state: SystemState | None = None, kernel: KernelParameters | None = None, *,
    reuse_bytes: ArrayLike | None = None, core_to_core_s: ArrayLike | None = None,
) -> Estimates:  # fmt: skip
    """What each operator takes alone, one after the other.

    Args:
        workloads: at least one.
        device: the device, or its roofs if they are at hand (then `state` is already in them).
        state: of the machine; kernel: what is set of the kernels.
        reuse_bytes: bytes touched between two executions of each operator, (N,) or a number; those of the operators if not given.
        core_to_core_s: of each operator, (N,), where the state was not the same for all; that of the state if not given.

    Raises:
        UsageError: no operators, a family that there is not, sizes that it lacks. OutOfRange: as `roofs` and `Roofs.peak`.

    >>> from ridgeline.device import find
    >>> found = estimates([Workload(kind="gemm", sizes={"m": 4096, "n": 4096, "k": 4096})], find("v100"))
    >>> found.bounds[found.bound[0]], bool(found.flop[0] / found.latency_s[0] < found.peak_flop_per_s[0])
    ('compute', True)
    """
    if not workloads:
        raise UsageError("at least one operator", found="none", remedy="give the operators of a graph")
    under = device if isinstance(device, Roofs) else roofs(device, state)
    count = len(workloads)
    distance = _distances(workloads, reuse_bytes)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, work in enumerate(workloads):
        key = (work.kind, work.precision, work.weight_precision, work.sparsity, tuple(sorted(work.sizes)))
        groups.setdefault(key, []).append(place)
    parts = []
    for (kind, precision, weights, sparsity, names), places in groups.items():
        chosen = [workloads[place] for place in places]
        sizes = {name: np.array([each.sizes[name] for each in chosen], np.float64) for name in names}
        cost = np.array([cost_of(each.variant) if kind == "elementwise" else row_cost(kind, each.variant) for each in chosen])
        reuse = None if distance is None else distance[places]
        own = under if core_to_core_s is None else under._replace(core_to_core_s=np.asarray(core_to_core_s, np.float64)[places])  # type: ignore[arg-type]
        parts.append(of_kind(
            kind, sizes, own, precision=precision, weight_precision=weights, cost=cost, sparsity=sparsity, kernel=kernel, reuse_bytes=reuse
        ))  # fmt: skip
    return parts[0] if len(parts) == 1 else _scattered(parts, list(groups.values()), count)


def _distances(workloads: Sequence[Workload], given: ArrayLike | None) -> Floats | None:
    if given is not None:
        return np.broadcast_to(np.asarray(given, np.float64), (len(workloads),))
    own = [getattr(work, "reuse_bytes", None) or 0.0 for work in workloads]
    return np.array(own) if any(own) else None


def of_kind(
    kind: str, sizes: Mapping[str, ArrayLike], under: Roofs, *, precision: str = "fp32", weight_precision: str | None = None,
    cost: ArrayLike | None = None, sparsity: Sparsity | None = None, kernel: KernelParameters | None = None, reuse_bytes: ArrayLike | None = None,
) -> Estimates:  # fmt: skip
    """Operators of one family, from arrays of sizes: the fast way for many.

    Args:
        kind: a key of `families.FAMILIES`; sizes: of it, numbers or arrays that broadcast to (N,).
        under: roofs of the device.
        precision, weight_precision, sparsity: of all; cost: operations of an element of each, for functions and rows.
        kernel, reuse_bytes: as `estimates`.

    Raises:
        UsageError: as `families.sizes_of`. OutOfRange: a precision that the device has no peak for.
    """
    peak = under.peak(precision)
    skips = sparsity is not None and sparsity.group == (2, 4) and peak.sparse > 0
    work = asked(
        kind,
        sizes,
        precision=precision,
        weight_precision=weight_precision,
        cost=row_cost(kind, "") if cost is None else cost,
        sparsity=sparsity,
        skips=skips,
    )
    count = work.flop.shape[0]
    distance = None if reuse_bytes is None else np.broadcast_to(np.asarray(reuse_bytes, np.float64), (count,))
    spent = arithmetic(work, under, peak, kernel)
    moved = traffic(work, under, distance)
    memory_s = {level.name: moved[level.name] / level.byte_per_s for level in under.levels if level.byte_per_s > 0}
    talk_s, talk_reason = _communication(work, under)
    reasons = (*_reasons(work, peak, under, talk_reason), *unused(kernel, work, under))
    return _joined(work, spent.seconds, spent.occupancy, spent.peak, moved, memory_s, talk_s, under, reasons)


def _joined(
    work: Asked, compute_s: Floats, occupancy: Floats, peak: Floats, moved: dict[str, Floats], memory_s: dict[str, Floats], talk_s: Floats,
    under: Roofs, reasons: tuple[str, ...],
) -> Estimates:  # fmt: skip
    names = ("compute", *memory_s, "overhead", "communication")
    longest, level = _longest(memory_s)
    ceilings = np.array([each.ceiling_byte_per_s for each in under.levels if each.name in memory_s])
    large, small = np.maximum(compute_s, longest), np.minimum(compute_s, longest)
    ratio = np.square(np.square(small / np.where(large > 0, large, 1.0)))
    busy_s = large * np.sqrt(np.sqrt(1.0 + ratio)) * under.stretch
    overhead = under.dispatch_s + _meeting(occupancy, busy_s, under)
    if work.kind == "call":
        overhead = assumed().call_s[under.kind] + under.dispatch_s * work.sizes["nodes"]
    bound = np.where(compute_s >= longest, 0, level + 1)
    bound = np.where(overhead > busy_s, len(names) - 2, bound)
    bound = np.where(talk_s > np.maximum(busy_s, overhead), len(names) - 1, bound)
    everywhere = np.ones(work.flop.shape, bool)
    return Estimates(
        flop=work.flop, read_bytes=work.read_bytes, weight_bytes=work.weight_bytes, write_bytes=work.write_bytes, compute_s=compute_s,
        memory_s=memory_s, traffic_bytes=moved, overhead_s=overhead, communication_s=talk_s, latency_s=overhead + busy_s + talk_s,
        occupancy=occupancy, peak_flop_per_s=peak, bandwidth_byte_per_s=ceilings[level], bound=bound, bounds=names,
        out_of_range=dict.fromkeys(reasons, everywhere), core_to_core_s=_hops(under, work.flop.shape),
    )  # fmt: skip


def _hops(under: Roofs, shape: tuple[int, ...]) -> Floats:
    return np.broadcast_to(np.asarray(under.core_to_core_s if under.kind == "cpu" and under.threads > 1 else 0.0, np.float64), shape)


def _meeting(occupancy: Floats, busy_s: Floats, under: Roofs) -> Floats:
    """Threads of a CPU that work together are woken and waited for along a tree; where that is more than they save, one does it all."""
    if under.kind != "cpu" or under.threads < 2:
        return np.zeros_like(occupancy)
    threads = np.maximum(1.0, np.round(occupancy * under.threads))
    barrier_s = barrier_time(threads, hop_s=assumed().passes * under.core_to_core_s)
    return np.asarray(np.minimum(barrier_s, busy_s * (threads - 1.0)), np.float64)


def _longest(memory_s: dict[str, Floats]) -> tuple[Floats, NDArray[np.int64]]:
    """(The longest of the levels, its place)."""
    terms = iter(memory_s.values())
    longest = next(terms)
    place = np.zeros(longest.shape, np.int64)
    for number, term in enumerate(terms, start=1):
        place = np.where(term > longest, number, place)
        longest = np.maximum(longest, term)
    return longest, place


def _communication(work: Asked, under: Roofs) -> tuple[Floats, str]:
    """Seconds of a ring all-reduce over the fastest port; nothing for all other families."""
    if work.kind != "collective":
        return np.zeros_like(work.flop), ""
    ports = under.device.ports
    if not ports:
        return np.zeros_like(work.flop), f"no link of {under.device.name} is known: what passes between devices is not counted"
    port = max(ports, key=lambda each: each.bandwidth.value)
    ranks = work.sizes["ranks"]
    seconds = collective_time("all-reduce", work.read_bytes, devices=ranks, bandwidth=port.bandwidth.value, latency_s=under.dispatch_s)
    return np.asarray(seconds, np.float64), f"an all-reduce around a ring over {port.name} is taken"


def _reasons(work: Asked, peak: Peak, under: Roofs, talk: str) -> tuple[str, ...]:
    lanes = peak.vector_reason if work.kind in _LANE_KINDS else ""
    units = ""
    if work.product is not None and under.kind == "gpu" and peak.precision in _NARROW and peak.matrix == peak.vector:
        units = f"of {under.device.name} only the rate of its vector lanes in {peak.precision} is known: matrix units, if it has them, are faster"
    return tuple(dict.fromkeys(reason for reason in (*under.reasons, peak.reason, lanes, units, talk, *work.reasons) if reason))


def _scattered(parts: list[Estimates], places: list[list[int]], count: int) -> Estimates:
    """Groups put back into the order of the operators; all are of one device, so that levels and bounds are alike."""
    first = parts[0]
    numbers: dict[str, Any] = {}
    for name in ("flop", "read_bytes", "weight_bytes", "write_bytes", "compute_s", "overhead_s", "communication_s", "latency_s", "occupancy",
                 "peak_flop_per_s", "bandwidth_byte_per_s", "core_to_core_s"):  # fmt: skip
        numbers[name] = _put([getattr(part, name) for part in parts], places, count)
    for name in ("memory_s", "traffic_bytes"):
        numbers[name] = {level: _put([getattr(part, name)[level] for part in parts], places, count) for level in getattr(first, name)}
    reasons: dict[str, NDArray[np.bool_]] = {}
    for part, at in zip(parts, places, strict=True):
        for reason in part.out_of_range:
            reasons.setdefault(reason, np.zeros(count, bool))[at] = True
    bound = np.zeros(count, np.int64)
    for part, at in zip(parts, places, strict=True):
        bound[at] = part.bound
    return Estimates(**numbers, bound=bound, bounds=first.bounds, out_of_range=reasons)


def _put(values: list[Floats], places: list[list[int]], count: int) -> Floats:
    whole = np.empty(count)
    for part, at in zip(values, places, strict=True):
        whole[at] = part
    return whole
