"""Measured latencies as rows that a correction is trained on: what was measured ÷ what the analytical form says, and its features.

This module decides which rows belong together. Which of them may be learned from at all is decided in `model.rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import LatencyTable

from ..families import FAMILIES as SIZES
from .kernels import FAMILIES, Kernels, floor_s, group_of, kernels
from .sheet import GpuSheet

__all__ = ["GroupRows", "group_rows"]

Floats = NDArray[np.float64]


class GroupRows(NamedTuple):
    """Rows of one group on one device.

    `places`: rows of the table, (n,); `features`: (n, P); `analytic_s`: what one call after the other takes by the analytical form, the host's floor
    included; `measured_s`; `floors`: seconds of the kernel ÷ that floor: under 1 a row says more of its host than of the device.
    """

    places: NDArray[np.int64]
    features: Floats
    analytic_s: Floats
    measured_s: Floats
    floors: Floats

    @property
    def log_ratio(self) -> Floats:
        """log(measured ÷ analytical), (n,)."""
        return np.asarray(np.log(self.measured_s / self.analytic_s))


def group_rows(table: LatencyTable, sheets: Mapping[str, GpuSheet]) -> dict[str, dict[str, GroupRows]]:
    """Group → device → its rows, of the devices that have a sheet, families that have a form, and fp32."""
    parts: dict[tuple[str, str], list[GroupRows]] = {}
    code = table.codes("kind", "variant", "device", "precision")
    for number in range(int(code.max(initial=-1)) + 1):
        index = np.flatnonzero(code == number)
        kind, variant, device, precision = (table.texts_at(name, int(index[0])) for name in ("kind", "variant", "device", "precision"))
        if kind in FAMILIES and device in sheets and precision == "fp32":
            parts.setdefault((group_of(kind, variant), device), []).append(_rows(table, index, kind, variant, sheets[device]))
    found: dict[str, dict[str, GroupRows]] = {}
    for (group, device), several in sorted(parts.items()):
        found.setdefault(group, {})[device] = GroupRows(*(np.concatenate(columns) for columns in zip(*several, strict=True)))
    return found


def _rows(table: LatencyTable, index: NDArray[np.int64], kind: str, variant: str, gpu: GpuSheet) -> GroupRows:
    family = SIZES[kind]
    sizes = {name: table.dimension(name)[index] for name in (*family.sizes, *family.defaults) if name in table.sizes}
    for name, default in family.defaults.items():
        if name in sizes and not sizes[name].any():
            sizes[name] = np.full(len(index), int(default))
    made: Kernels = kernels(kind, variant, sizes, gpu)
    floor = floor_s(kind, variant, gpu)
    seconds = table.latency_s.values[index]
    return GroupRows(index, made.features, np.maximum(made.seconds, floor), seconds, made.seconds / floor)
