"""Bytes that each memory level serves: operands that fit further inside never come from outside, products are blocked for the level above.

An operand lives in the first level that holds all that was touched since it was last used (its reuse distance); every level up to there serves it. A
matrix product reads its operands again and again as its blocks leave the level above (`model.analytic.tiling`). Strided operands take whole lines.

This module decides bytes; rates are those of `roofs`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..analytic.tiling import choose_gemm_tile, gemm_traffic
from .asked import Asked, Product
from .roofs import Level, Roofs

__all__ = ["traffic"]

Floats = NDArray[np.float64]
#: Bytes of blocks that registers hold, where the device does not say.
_REGISTERS = 2048.0
#: A line that is fetched for a part of it serves its neighbours too, unless it was dropped before: at most so much is wasted.
_MOST_WASTE = 4.0
#: What holds this holds everything.
_MOST_BYTES = 1e18


def traffic(work: Asked, roofs: Roofs, reuse_bytes: Floats | None = None) -> dict[str, Floats]:
    """Bytes by serving level, from the inside outwards, (N,) each; 0 of a level whose rate is not known.

    Args:
        work: of one family.
        reuse_bytes: bytes touched between two executions of the operator, so that its weights live where that much fits; its own if not given.
    """
    own = work.read_bytes + work.weight_bytes + work.write_bytes
    again = own if reuse_bytes is None else np.maximum(own, reuse_bytes)
    waste = np.minimum(np.maximum(_line(roofs) / work.run_bytes, 1.0), _MOST_WASTE)
    known = _inside(roofs)
    total, one = (np.array([[each[part]] for each in known.values()]) for part in (0, 1))  # (levels, 1) against (N,)
    left, right, written = _passed(work, one, total)
    left, right = np.minimum.accumulate(left, axis=0), np.minimum.accumulate(right, axis=0)
    # Of a table rows are taken here and there; indexes and results stand side by side.
    scattered = (1.0, waste) if work.kind == "gather" else (waste, 1.0)
    # Beyond a level that holds everything since the last use, nothing is asked for.
    found = dict(zip(known, (own > total) * (left + written) * scattered[0] + (again > total) * right * scattered[1], strict=True))
    nothing = np.zeros(own.shape)
    return {level.name: found.get(level.name, nothing) for level in roofs.levels}


def _inside(roofs: Roofs) -> dict[str, tuple[float, float]]:
    """Level whose rate is known → (bytes that all levels inside of it hold, bytes of one instance of them).

    What a level serves whose rate is not known takes no time here; what it holds counts all the same.
    """
    found: dict[str, tuple[float, float]] = {}
    total, one = 0.0, _registers(roofs)
    for level in roofs.levels:
        if level.byte_per_s > 0:
            found[level.name] = (total, one)
        total, one = max(total, level.capacity_bytes), max(one, level.instance_bytes)
    return found


def _line(roofs: Roofs) -> float:
    outer: Level = roofs.levels[-1]
    return float(outer.line_bytes)


def _registers(roofs: Roofs) -> float:
    return float(roofs.device.registers_bytes or _REGISTERS)


def _passed(work: Asked, one: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """(What changes, weights, results) that pass levels of which one instance has `one` bytes and all have `total`: (L, 1) → (L, N) or (N,)."""
    if work.product is not None and work.kind in ("gemm", "convolution", "moe"):
        left, right = _blocked(work, work.product, one)
        return left, right, work.write_bytes
    # A row that the level above held is not fetched a second time.
    passes = np.where(work.row_bytes <= one, 1.0, work.passes)
    repeats = np.where(work.weight_bytes <= total, 1.0, work.repeats)
    return work.read_bytes * passes, work.weight_bytes * repeats, work.write_bytes


def _blocked(work: Asked, p: Product, capacity: Floats) -> tuple[Floats, Floats]:
    """Operands of a product, each by its factor of re-reading; the patches of a convolution overlap, so that its image counts once a block."""
    # Rows may be a mean: of experts, or of products that share a right operand.
    m, n = np.ceil(p.m), p.n * np.where(p.vector, p.batch, 1.0)
    widths = work.width, work.held, work.width
    capacity = np.minimum(capacity, _MOST_BYTES)
    tile = choose_gemm_tile(m, n, p.k, capacity_bytes=capacity, element_bytes=widths, depth=8)
    moved = gemm_traffic(m, n, p.k, tile=tile, capacity_bytes=capacity, element_bytes=widths)
    left, right = moved.left_bytes / (m * p.k * widths[0]), moved.right_bytes / (p.k * n * widths[1])
    # The depthwise ones share nothing between their filters.
    return work.read_bytes * np.where(p.vector, 1.0, left), work.weight_bytes * np.where(p.vector, 1.0, right)
