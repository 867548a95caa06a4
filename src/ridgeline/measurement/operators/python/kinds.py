"""`Kinds`: whether values of a type are arrays, remembered by type, because hooks ask millions of times."""

from __future__ import annotations

import sys

import numpy as np

__all__ = ["Kinds"]


class Kinds(dict[type, int]):
    """type → `OTHER`, `NUMPY` (arrays of at least one element place, not numpy's scalars) or `TORCH`; decided at first sight.

    >>> kinds = Kinds()
    >>> kinds[np.ndarray], kinds[np.float64], kinds[int]
    (1, 0, 0)
    """

    OTHER, NUMPY, TORCH = 0, 1, 2

    def __missing__(self, key: type) -> int:
        torch = sys.modules.get("torch")
        tensor = getattr(torch, "Tensor", None)
        if issubclass(key, np.ndarray):
            found = self.NUMPY
        elif isinstance(tensor, type) and issubclass(key, tensor):
            found = self.TORCH
        else:
            found = self.OTHER
        self[key] = found
        return found
