"""What a corrector sees of an operator: dimensionless numbers of the work, of the estimate and of the device.

This module decides the columns: how the estimate is made up (balance of arithmetic and memory, share of overhead, occupancy), how the data compare with
the caches, sizes and their ratios in logarithms, how far whole vectors are filled, and one column of 0 and 1 for each variant and precision.
Which of them a corrector uses is in the corrector; ratios carry from one device to another, sizes tell the shapes of one apart. Sources of such
features: G. Yu et al., "Habitat", USENIX ATC 2021; S. Lee et al., "NeuSight", ASPLOS 2025 (utilisation and waves instead of times).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, ReadError, Workload

from ..families import FAMILIES, Demand, sizes_of
from .estimates import Estimates

__all__ = ["RISING", "Operators", "feature_columns", "feature_matrix", "operators", "taken"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Feature → −1: loads of whole vectors are never slower, copies of longer runs neither. All else may go either way once the estimate is taken out.
RISING: Mapping[str, int] = {"aligned": -1, "run": -1, "cold": 1}
_BITS = {"fp64": 64, "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "fp4": 4, "int4": 4}
#: Logarithms beyond this tell nothing apart.
_MOST_LOG = 30.0
_MICROSECOND = 1e-6
_TINY = 1e-300
#: Where a device does not say how wide its vectors are.
_VECTOR_BITS, _WARP = 256, 32
_VARIANT, _PRECISION = "variant ", "precision "


class Operators(NamedTuple):
    """n operators of one family as columns.

    `sizes`: all sizes of the family, (n,) each; `demand`: FLOPs and elements; `variant`, `precision`: a text each; `unlike`: what else a workload
    says of itself that no measured row can say (layout, width of the weights, sparsity), empty where nothing; `between_bytes`: touched between two
    executions, 0 where it is not known, (n,).
    """

    kind: str
    sizes: dict[str, Floats]
    demand: Demand
    variant: tuple[str, ...]
    precision: tuple[str, ...]
    unlike: tuple[str, ...]
    between_bytes: Floats

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
        kind, sizes, FAMILIES[kind].demand(sizes), tuple([workload.variant for workload in workloads]),
        tuple([workload.precision for workload in workloads]), tuple([_unlike(workload) for workload in workloads]),
        np.array([float(getattr(workload, "reuse_bytes", None) or 0.0) for workload in workloads]),
    )  # fmt: skip


def _unlike(workload: Workload) -> str:
    if not workload.layout and workload.sparsity is None and workload.weight_precision in (None, workload.precision):
        return ""
    words = []
    if workload.layout:
        words.append(f"layout {workload.layout}")
    if workload.weight_precision not in (None, workload.precision):
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


def feature_matrix(columns: Mapping[str, Floats], names: Sequence[str], found: Operators) -> Floats:
    """Some of the columns side by side, shape (n, len(names)), dimensionless; `variant X` and `precision X` are 1 where it is that one, else 0.

    Raises:
        ReadError: a name that this version does not compute.
    """
    out = np.empty((len(found), len(names)))
    for place, name in enumerate(names):
        if name in columns:
            out[:, place] = columns[name]
        elif name.startswith(_VARIANT):
            out[:, place] = [text == name[len(_VARIANT) :] for text in found.variant]
        elif name.startswith(_PRECISION):
            out[:, place] = [text == name[len(_PRECISION) :] for text in found.precision]
        else:
            raise ReadError(f"features of {found.kind} as this version computes them", found=repr(name)[:80], remedy="train the model again")
    return out


def feature_columns(found: Operators, estimates: Estimates, device: Device) -> dict[str, Floats]:
    """All columns but those of variants and precisions, name → shape (n,), dimensionless and finite.

    Args:
        estimates: of the same operators on that device.
    """
    demand, total = found.demand, np.maximum(estimates.latency_s, _TINY)
    moved = estimates.read_bytes + estimates.weight_bytes + estimates.write_bytes
    memory = [np.asarray(seconds) for seconds in estimates.memory_s.values()] or [np.zeros(len(found))]
    most = np.max(memory, axis=0)
    near, far = _caches(device)
    lanes = _lanes(found, device)
    columns = {
        "duration": _log(estimates.latency_s, _MICROSECOND),
        "balance": np.clip(_log(estimates.compute_s, most), -12.0, 12.0),
        "compute": estimates.compute_s / total,
        "outer memory": memory[-1] / total,
        "inner memory": np.max(memory[:-1], axis=0) / total if len(memory) > 1 else np.zeros(len(found)),
        "overhead": estimates.overhead_s / total,
        "occupancy": np.broadcast_to(np.asarray(estimates.occupancy, np.float64), (len(found),)),
        "intensity": _log(estimates.flop, moved),
        "near cache": _log(moved, near),
        "far cache": _log(moved, far),
        # Where it is not known what runs between two executions, nothing does.
        "cold": _log(np.maximum(found.between_bytes, moved), far),
        "outputs": _log(demand.outputs, 1.0),
        "inputs": _log(demand.inputs, 1.0),
        "weights": np.log1p(demand.weights),
        "depth": _log(demand.flop, demand.outputs),
        "ridge point": _log(estimates.peak_flop_per_s, estimates.bandwidth_byte_per_s),
        "units": np.full(len(found), np.log(float(device.execution_units or 1))),
        **{f"size {name}": np.log1p(values) for name, values in found.sizes.items()},
        **_ratios(found, lanes),
    }  # fmt: skip
    return {name: np.where(np.isfinite(values), values, 0.0) for name, values in columns.items()}


def _ratios(found: Operators, lanes: Floats) -> dict[str, Floats]:
    """What sizes of some families say together, and how well the innermost one fills vectors and blocks of 64."""
    sizes = found.sizes
    columns: dict[str, Floats] = {}
    inner = next((sizes[name] for name in ("n", "k", "columns", "width", "head_size", "hidden", "elements") if name in sizes), None)
    if found.kind == "convolution":
        inner = sizes["k"] / sizes["groups"]
        taps = sizes["c"] / sizes["groups"] * sizes["r"] * sizes["s"]
        pixels = sizes["p"] * sizes["q"]
        columns |= {
            "taps": np.log(taps), "pixels": np.log(pixels), "stride": _log(sizes["h"] * sizes["w"], pixels),
            "depthwise": (sizes["groups"] > 1).astype(np.float64), "filters": np.log(inner), "line": _filled(sizes["q"], lanes),
        }  # fmt: skip
    if found.kind == "gemm":
        columns |= {"aspect": _log(sizes["m"], sizes["n"]), "rows of blocks": _filled(sizes["m"], np.float64(16.0))}
    if inner is not None:
        columns |= {"aligned": _filled(inner, lanes), "blocks": _filled(inner, np.float64(64.0))}
    if "run" in sizes:
        columns["run"] = np.log1p(sizes["run"])
    return columns


def _filled(size: Floats, step: Floats | np.float64) -> Floats:
    """Share of the last vector or block that is used: size ÷ ⌈size ÷ step⌉ step."""
    return np.asarray(size / (np.ceil(size / step) * step))


def _lanes(found: Operators, device: Device) -> Floats:
    if device.kind == "gpu":
        return np.full(len(found), float(device.warp_threads or _WARP))
    bits = {text: _BITS.get(text, 32) for text in set(found.precision)}
    return np.array([(device.vector_bits or _VECTOR_BITS) / bits[text] for text in found.precision])


def _caches(device: Device) -> tuple[float, float]:
    """Capacities in bytes of the smallest and the largest level that is no main memory; 1 MiB where none is known."""
    known = [float(level.capacity_bytes) for level in device.levels if level.name.upper() not in ("DRAM", "HBM", "MEMORY", "VRAM")]
    return (min(known), max(known)) if known else (2.0**20, 2.0**20)


def _log(numerator: Floats, denominator: Floats | float) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(np.maximum(numerator, _TINY)) - np.log(np.maximum(denominator, _TINY))
    return np.asarray(np.clip(found, -_MOST_LOG, _MOST_LOG))
