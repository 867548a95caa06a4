"""The workloads of numpy: see `workloads.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from workloads import targets_of  # noqa: E402

_MATRIX = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
_STREAM = np.ones(1_100_000, np.float32)


def _matrices(units: int) -> None:
    for _ in range(units):
        _MATRIX @ _MATRIX


def _stream(units: int) -> None:
    # 40 KB a unit, so that a part of the array more is a part of the bytes more.
    for start in range(0, 10_000 * units, 10_000):
        _STREAM[start : start + 10_000].sum()


globals().update(targets_of({"matrices": _matrices, "stream": _stream}))
