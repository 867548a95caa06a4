"""Digests of shapes: whether the very operator was measured on the very device, asked for many at once.

64 bits of family, variant, precision, device and all sizes, mixed by the finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014): among a million shapes two have the same with a probability of 3 in 10⁸.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

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
    texts = list(zip(found.variant, found.precision, devices, strict=True))
    known = {each: _digest(found.kind, *each) for each in set(texts)}
    parts = np.empty((len(found.sizes) + 1, len(found)), np.uint64)
    parts[0] = [known[each] for each in texts]
    if found.sizes:
        names = tuple(sorted(found.sizes))
        parts[1:] = np.array([found.sizes[name] for name in names]).astype(np.uint64) + _starts(names)
    return _mixed(np.bitwise_xor.reduce(_mixed(parts), axis=0)).view(np.int64)


@lru_cache(maxsize=4096)
def _digest(*words: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(words).encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=256)
def _starts(names: tuple[str, ...]) -> NDArray[np.uint64]:
    """Each dimension counts from a number of its own, so that no two can be exchanged, (names, 1)."""
    return np.array([[_digest(name) >> 1] for name in names], np.uint64)


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
