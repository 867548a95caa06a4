"""Kernels of a network on a device that works beside its host: what one call takes.

This module decides only how the two go together: the host launches one kernel after the other while the device works them off, so that the slower of
the two counts. What a kernel takes is decided in the rooms of the devices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ridgeline.core import UsageError

__all__ = ["Composed", "composed"]


class Composed(NamedTuple):
    """One call, s: `seconds` of the whole, `device_s` of all its kernels, `host_s` of all launches, `exposed_s` that the device waits for it."""

    seconds: float
    device_s: float
    host_s: float
    exposed_s: float


def composed(kernel_s: ArrayLike, repeats: ArrayLike, launch_s: float = 0.0) -> Composed:
    """max(Σ repeats × kernel, Σ repeats × launch), of work that is launched in order and waited for once.

    Args:
        kernel_s: of each kernel, s, (N,); repeats: how often a call runs it, (N,).
        launch_s: of the host for one launch; 0 where it is not known, which holds for networks whose kernels are longer than that.

    Raises:
        UsageError: a time or a count that cannot be.

    >>> composed([1e-3, 2e-3], [2, 1], launch_s=5e-3).seconds
    0.015
    """
    kernels, counts = np.asarray(kernel_s, np.float64), np.asarray(repeats, np.float64)
    sound = kernels.shape == counts.shape and np.isfinite(kernels).all() and (kernels >= 0).all() and (counts >= 0).all()
    if not sound or not 0 <= launch_s < np.inf:
        raise UsageError(
            "finite times of kernels, each with its count", found=f"{kernels.shape} and {counts.shape}, launch {launch_s}", remedy="mend them"
        )
    device, host = float((kernels * counts).sum()), float(counts.sum() * launch_s)
    return Composed(max(device, host), device, host, max(0.0, host - device))
