"""Digests of shapes: whether the very operator was measured on the very device, asked for many at once.

64 bits of family, variant, precision, device and all sizes, mixed by the finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014): among a million shapes two have the same with a probability of 3 in 10⁸.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .features import Operators

__all__ = ["shape_keys"]


def shape_keys(found: Operators, device: str | Sequence[str]) -> NDArray[np.int64]:
    """A number for each operator on its device, int64, shape (n,); equal where kind, variant, precision, all sizes and the device are.

    Args:
        device: name of one for all, or one a row.
    """
    devices = [device] * len(found) if isinstance(device, str) else list(device)
    key = _texts(list(zip(found.variant, found.precision, devices, strict=True)), found.kind)
    for name in sorted(found.sizes):
        key = _mixed(key ^ found.sizes[name].astype(np.int64).view(np.uint64))
    return key.view(np.int64)


def _texts(texts: list[tuple[str, str, str]], kind: str) -> NDArray[np.uint64]:
    known = {each: _digest(kind, *each) for each in set(texts)}
    return np.array([known[each] for each in texts], np.uint64)


def _digest(*words: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(words).encode(), digest_size=8).digest(), "little")


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
