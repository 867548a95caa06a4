"""What a corrector sees of an operator: dimensionless numbers of the work, of the estimate and of the device.

This module decides the columns: how the estimate is made up (balance of arithmetic and memory, share of overhead, occupancy), how the data compare
with the caches, sizes and their ratios in logarithms, how far whole vectors are filled, and one column of 0 and 1 for each variant and precision.
Which of them a corrector uses is in the corrector; ratios carry from one device to another, sizes tell the shapes of one apart. Sources of such
features: G. Yu et al., "Habitat", USENIX ATC 2021; S. Lee et al., "NeuSight", ASPLOS 2025 (utilisation and waves instead of times).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, ReadError, Workload

from ..families import FAMILIES, Demand, sizes_of
from .cases import cases, filled
from .estimates import Estimates

__all__ = ["RISING", "Operators", "feature_matrix", "feature_names", "is_feature", "operators", "taken", "variant_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Feature → −1: loads of whole vectors are never slower, copies of longer runs neither. All else may go either way once the estimate is taken out.
RISING: Mapping[str, int] = {"aligned": -1, "run": -1, "cold": 1}
_BITS = {"fp64": 64, "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "fp4": 4, "int4": 4}
#: Logarithms beyond this tell nothing apart.
_MOST_LOG = 30.0
_MICROSECOND = 1e-6
#: Between neighbouring cores, s; bytes of a cache line.
_HOP, _LINE = 1e-7, 64.0
_TINY = 1e-300
#: Where a device does not say how wide its vectors are.
_VECTOR_BITS, _WARP = 256, 32
#: Families with operators in onnxruntime's blocked layout, and what their variants begin with then.
_BLOCKED_KINDS, _BLOCKED = frozenset(("convolution", "pooling", "reduction")), "NCHWc "
#: Seconds of an element that is copied out of an image for a product of matrices, about.
_UNROLLED_S = 3e-10
_MAIN = frozenset(("DRAM", "HBM", "MEMORY", "VRAM"))
#: Operators whose name says that their weights are narrow.
_NARROW = frozenset(("MatMulNBits",))
_VARIANT, _PRECISION = "variant ", "precision "


class Operators(NamedTuple):
    """n operators of one family as columns.

    `sizes`: all sizes of the family, (n,) each; `demand`: FLOPs and elements; `variant`, behind its layout, and `precision`: a text each; `unlike`:
    what else a workload says of itself that no measured row can say (width of the weights, sparsity), empty where nothing; `between_bytes`: touched
    between two executions, `since_bytes`: since its inputs were written, `place_bytes`: since the
    memory of its results was last used; 0 where it is not known, (n,).
    """

    kind: str
    sizes: dict[str, Floats]
    demand: Demand
    variant: tuple[str, ...]
    precision: tuple[str, ...]
    unlike: tuple[str, ...]
    between_bytes: Floats
    since_bytes: Floats
    place_bytes: Floats

    def __len__(self) -> int:
        return len(self.variant)


def operators(kind: str, workloads: Sequence[Workload]) -> Operators:
    """Workloads of one family as columns.

    Raises:
        UsageError: as `families.sizes_of`.
    """
    family = FAMILIES.get(kind)
    given: dict[str, Floats] = {}
    if family is not None:
        each = [workload.sizes for workload in workloads]
        known = (*family.sizes, *family.defaults)
        strange = set().union(*each).difference(known) if each else set()
        for name in (*known, *strange):
            default = family.defaults.get(name)
            if default is not None:
                given[name] = np.array([sizes.get(name, default) for sizes in each], np.float64)
            elif all(name in sizes for sizes in each):
                given[name] = np.array([sizes[name] for sizes in each], np.float64)
            elif name in strange:
                given[name] = np.ones(len(each))
    sizes = sizes_of(kind, given)
    return Operators(
        kind, sizes, FAMILIES[kind].demand(sizes), tuple([variant_of(workload) for workload in workloads]),
        tuple([workload.precision for workload in workloads]), tuple([_unlike(workload) for workload in workloads]),
        *(np.array([getattr(work, name) or 0.0 for work in workloads]) for name in ("reuse_bytes", "age_bytes", "result_age_bytes")),
    )  # fmt: skip


def variant_of(work: Workload) -> str:
    """The variant behind its layout, as a `LatencyTable` has it."""
    return f"{work.layout} {work.variant}" if work.layout else work.variant


def _unlike(workload: Workload) -> str:
    if workload.sparsity is None and (workload.weight_precision in (None, workload.precision) or workload.variant in _NARROW):
        return ""
    words = []
    if workload.weight_precision not in (None, workload.precision) and workload.variant not in _NARROW:
        words.append(f"weights in {workload.weight_precision}")
    if workload.sparsity is not None:
        words.append(f"{workload.sparsity.pattern} sparsity")
    return ", ".join(words)


def taken(estimates: Estimates, at: NDArray[np.intp]) -> Estimates:
    """The estimates of some workloads; what is no array of all of them stays as it is."""
    count = len(estimates.latency_s)

    def part(value: object) -> object:
        if isinstance(value, np.ndarray) and value.shape[:1] == (count,):
            return value[at]
        if isinstance(value, dict):
            return {name: part(inner) for name, inner in value.items()}
        return value

    return Estimates(*(part(value) for value in estimates))  # type: ignore[arg-type]


class _Terms(NamedTuple):
    """Columns before their logarithm is taken: name → (numerator, denominator), and those that are none."""

    logs: dict[str, tuple[Floats | float, Floats | float]]
    plain: dict[str, Floats | float]


def is_feature(name: str) -> bool:
    """Whether a family, or any part of one, has a feature of that name."""
    return name.startswith((_VARIANT, _PRECISION)) or name in _all_names()


@lru_cache(maxsize=1)
def _all_names() -> frozenset[str]:
    """Names of the features of all families, from an operator of each whose sizes are all 1."""
    one = np.ones(1)
    numbers = dict.fromkeys(Estimates._fields, one) | {"memory_s": {"DRAM": one}, "traffic_bytes": {"DRAM": one}, "bounds": (), "out_of_range": {}}
    estimated, device = Estimates(**numbers), Device(name="", kind="cpu")  # type: ignore[arg-type]
    found: set[str] = set()
    for kind, family in FAMILIES.items():
        sizes = dict.fromkeys((*family.sizes, *family.defaults), 1)
        found.update(feature_names(operators(kind, [Workload(kind=kind, sizes=sizes)]), estimated, device))
    return frozenset(found)


def feature_names(found: Operators, estimates: Estimates, device: Device) -> tuple[str, ...]:
    """All features of a family but those of variants and precisions."""
    terms = _terms(found, estimates, device)
    return (*terms.plain, *terms.logs)


def feature_matrix(found: Operators, estimates: Estimates, device: Device, names: Sequence[str]) -> Floats:
    """Features side by side, dimensionless and finite, shape (n, len(names)); `variant X` and `precision X` are 1 where it is that one, else 0.

    Args:
        estimates: of the same operators on that device.

    Raises:
        ReadError: a name that this version does not compute.
    """
    terms = _terms(found, estimates, device)
    count, places = len(found), [place for place, name in enumerate(names) if name in terms.logs]
    # One logarithm of all: a call for one operator must not take a hundred steps of numpy.
    parts = np.empty((2, len(places), count))
    for row, place in enumerate(places):
        parts[0, row], parts[1, row] = terms.logs[names[place]]
    logs = np.log(np.maximum(parts, _TINY))
    out = np.empty((len(names), count))
    out[places] = np.minimum(np.maximum(logs[0] - logs[1], -_MOST_LOG), _MOST_LOG)
    for place, name in enumerate(names):
        if name in terms.plain:
            out[place] = terms.plain[name]
        elif name.startswith(_VARIANT):
            out[place] = [text == name[len(_VARIANT) :] for text in found.variant]
        elif name.startswith(_PRECISION):
            out[place] = [text == name[len(_PRECISION) :] for text in found.precision]
        elif name not in terms.logs:
            raise ReadError(f"features of {found.kind} as this version computes them", found=repr(name)[:80], remedy="train the model again")
    if not np.isfinite(out).all():
        out[~np.isfinite(out)] = 0.0
    return out.T


def _terms(found: Operators, estimates: Estimates, device: Device) -> _Terms:
    demand, total = found.demand, np.maximum(estimates.latency_s, _TINY)
    moved = estimates.read_bytes + estimates.weight_bytes + estimates.write_bytes
    memory = list(estimates.memory_s.values()) or [np.zeros(len(found))]
    most, inner = memory[-1], np.zeros(len(found))
    for seconds in memory[:-1]:
        inner = np.maximum(inner, seconds)
    most = np.maximum(most, inner)
    near, far = _caches(device)
    plain: dict[str, Floats | float] = {
        "compute": estimates.compute_s / total, "outer memory": memory[-1] / total, "inner memory": inner / total,
        "overhead": estimates.overhead_s / total, "occupancy": estimates.occupancy,
    }  # fmt: skip
    logs: dict[str, tuple[Floats | float, Floats | float]] = {
        "duration": (estimates.latency_s, _MICROSECOND), "balance": (estimates.compute_s + 1e-6 * most, most + 1e-6 * estimates.compute_s),
        "intensity": (estimates.flop, moved), "near cache": (moved, near), "far cache": (moved, far),
        # Where it is not known what runs between two executions, nothing does.
        "cold": (np.maximum(found.between_bytes, moved), far), "cold inner": (np.maximum(found.between_bytes, moved), near),
        "place": (np.maximum(found.place_bytes, moved), far), "place inner": (np.maximum(found.place_bytes, moved), near),
        "old": (np.maximum(found.since_bytes, moved), far), "old inner": (np.maximum(found.since_bytes, moved), near),
        # Threads that work together pay for each line that the other one wrote, and for meeting; one that works alone does not.
        "hop": (estimates.core_to_core_s, _HOP), "hop share": (estimates.core_to_core_s, total),
        "hop lines": (estimates.core_to_core_s * (1.0 + estimates.read_bytes / _LINE), total),
        "outputs": (demand.outputs, 1.0), "inputs": (demand.inputs, 1.0), "weights": (1.0 + demand.weights, 1.0),
        "depth": (demand.flop, demand.outputs),
        "ridge point": (estimates.peak_flop_per_s, estimates.bandwidth_byte_per_s),
        "units": (float(device.execution_units or 1), 1.0),
        **{f"size {name}": (1.0 + values, 1.0) for name, values in found.sizes.items()},
    }  # fmt: skip
    if found.kind == "convolution":
        windows = found.sizes["n"] * found.sizes["p"] * found.sizes["q"] * found.sizes["c"] * found.sizes["r"] * found.sizes["s"]
        logs["unrolled"] = (total + _UNROLLED_S * windows, total)
    further = _ratios(found, device)
    return _Terms(logs | further.logs, plain | further.plain)


def _ratios(found: Operators, device: Device) -> _Terms:
    """What sizes of some families say together, and how well the innermost one fills vectors and blocks of 64."""
    sizes, lanes = found.sizes, _lanes(found, device)
    logs, plain = cases(found.kind, sizes, found.demand, float(device.execution_units or 1))
    if found.kind in _BLOCKED_KINDS:
        plain["blocked"] = np.array([text.startswith(_BLOCKED) for text in found.variant], np.float64)
    inner = next((sizes[name] for name in ("n", "k", "columns", "width", "head_size", "hidden", "elements") if name in sizes), None)
    if found.kind == "convolution":
        inner = sizes["k"] / sizes["groups"]
        plain["line"] = filled(sizes["q"], lanes)
    if inner is not None:
        plain |= {"aligned": filled(inner, lanes), "blocks": filled(inner, 64.0)}
    return _Terms(logs, plain)


def _lanes(found: Operators, device: Device) -> Floats | float:
    if device.kind == "gpu":
        return float(device.warp_threads or _WARP)
    bits = device.vector_bits or _VECTOR_BITS
    if len(set(found.precision)) == 1:
        return bits / _BITS.get(found.precision[0], 32)
    return np.array([bits / _BITS.get(text, 32) for text in found.precision])


def _caches(device: Device) -> tuple[float, float]:
    """Capacities in bytes of the smallest and the largest level that is no main memory; 1 MiB where none is known."""
    known = [float(level.capacity_bytes) for level in device.levels if level.name.upper() not in _MAIN]
    return (min(known), max(known)) if known else (2.0**20, 2.0**20)
