"""What of an operator's sizes decides which way a kernel takes: windows at edges, one row, transpositions of single elements, more threads.

A corrector is smooth in the logarithms of sizes; where a kernel has a case of its own the time jumps, and a column of 0 and 1, or of how full the
last block is, lets it: one row or one block of channels is never shared with another thread, which is woken for two. This module decides those
columns, all dimensionless; what else a corrector sees is decided in `features`. Sources: onnxruntime's MLAS (blocks of 12 rows in sgemm, of 6 results
in convolutions of blocked channels, MLAS_SGEMM_THREAD_COMPLEXITY), its transpose.cc (runs of one and of two elements have loops of their own).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..families import Demand

__all__ = ["Cases", "cases", "filled"]

Floats = NDArray[np.float64]
Sizes = Mapping[str, Floats]
#: Multiply-adds from which a product is shared with another thread.
_THREAD = 65536.0


class Cases(NamedTuple):
    """Columns: `logs`, name → (numerator, denominator) of which the logarithm is taken; `plain`, name → (n,)."""

    logs: dict[str, tuple[Floats | float, Floats | float]]
    plain: dict[str, Floats | float]


def cases(kind: str, sizes: Sizes, demand: Demand) -> Cases:
    """The columns of a family; none of one without cases."""
    made = _FAMILIES.get(kind)
    return made(sizes, demand) if made is not None else Cases({}, {})


def filled(size: Floats, step: Floats | float) -> Floats:
    """Share of the last vector or block that is used: size ÷ ⌈size ÷ step⌉ step; 0 where there is no size."""
    return np.asarray(size / (np.maximum(np.ceil(size / step), 1.0) * step))


def _is(condition: NDArray[np.bool_]) -> Floats:
    return np.asarray(condition.astype(np.float64))


def _gemm(s: Sizes, demand: Demand) -> Cases:
    rows = s["m"]
    plain: dict[str, Floats | float] = {
        "rows of blocks": filled(rows, 16.0), "rows of twelve": filled(rows, 12.0), "one row": _is(rows == 1),
        "threaded": _is(rows * s["n"] * s["k"] >= _THREAD),
    }  # fmt: skip
    return Cases({"aspect": (rows, s["n"])}, plain)


def _convolution(s: Sizes, demand: Demand) -> Cases:
    alone = s["n"] * s["groups"]
    plain = {
        "channels of four": filled(s["c"], 4.0), "channels of sixteen": filled(s["c"], 16.0), "filters of sixteen": filled(s["k"], 16.0),
        "whole channels": _is(s["c"] % 16 == 0), "whole filters": _is(s["k"] % 16 == 0),
        "depthwise": _is(s["groups"] > 1), "pointwise": _is(s["r"] * s["s"] == 1), "threaded": _is(demand.flop >= 2.0 * _THREAD * alone),
        **_window(s),
    }  # fmt: skip
    taps = s["c"] / s["groups"] * s["r"] * s["s"]
    pixels = s["p"] * s["q"]
    return Cases({"taps": (taps, 1.0), "pixels": (pixels, 1.0), "stride": (s["h"] * s["w"], pixels), "filters": (s["k"] / s["groups"], 1.0)}, plain)


def _pooling(s: Sizes, demand: Demand) -> Cases:
    return Cases({}, _window(s))


def _window(s: Sizes) -> dict[str, Floats | float]:
    """Steps of the window, and how much of it hangs over the edge: there kernels take their slow way."""
    over = (s["q"] - 1) * np.round(s["w"] / s["q"]) + s["s"] - s["w"]
    return {
        "steps": s["w"] / s["q"], "line of six": filled(s["q"], 6.0), "exact": _is(s["w"] % s["q"] == 0),
        "padded": np.minimum(1.0, np.maximum(0.0, over) / s["s"]),
    }  # fmt: skip


def _elementwise(s: Sizes, demand: Demand) -> Cases:
    span = np.where(s["span"] > 0, s["span"], s["elements"])
    return Cases({"spans": (span, 1.0)}, {"one again": _is(s["held"] == 1), "smaller": _is((s["span"] > 0) | (s["held"] > 0))})


def _rows(s: Sizes, demand: Demand) -> Cases:
    return Cases({}, {"one row": _is(s["rows"] == 1)})


def _reduction(s: Sizes, demand: Demand) -> Cases:
    inner, outer = s["inner"], s["rows"] / s["inner"]
    plain: dict[str, Floats | float] = {
        "strided": _is(inner > 1), "one row": _is(s["rows"] == 1), "one block": _is(outer == 1), "pairs": filled(outer, 2.0),
        "pairs of blocks": filled(np.ceil(s["rows"] / 16.0), 2.0), "inner of four": filled(inner, 4.0), "inner of eight": filled(inner, 8.0),
        "whole fours": _is(inner % 4 == 0),
    }  # fmt: skip
    return Cases({"outer": (outer, 1.0)}, plain)


def _copy(s: Sizes, demand: Demand) -> Cases:
    rows, columns = np.maximum(1.0, s["rows"]), np.maximum(1.0, s["columns"])
    plain: dict[str, Floats | float] = {
        "one block": _is(rows <= 16), "single": _is(s["run"] == 1), "pair": _is(s["run"] == 2), "rows of sixteen": filled(rows, 16.0),
        "columns of four": filled(columns, 4.0),
    }  # fmt: skip
    return Cases({"outer": (s["elements"], rows * columns * s["run"]), "side": (rows, columns), "run": (1.0 + s["run"], 1.0)}, plain)


_FAMILIES: Mapping[str, Callable[[Sizes, Demand], Cases]] = {
    "gemm": _gemm, "convolution": _convolution, "pooling": _pooling, "elementwise": _elementwise, "softmax": _rows,
    "normalisation": _rows, "reduction": _reduction, "copy": _copy,
}  # fmt: skip
