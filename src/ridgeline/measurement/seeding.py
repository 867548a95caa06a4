"""Seeding what makes random numbers, so that two processes make the same data: Python's and numpy's generator now, torch's once it is imported.

A generator that asks the operating system for its seed (`numpy.random.default_rng()`) is out of reach; its outputs are found to differ from process
to process, and said to be not comparable.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import random
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["seed_everything"]


def seed_everything(seed: int) -> None:
    """Seed the generators of this process; `seed` is an index in 0 … 2³² − 1."""
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    else:
        sys.meta_path.insert(0, _SeedTorch(seed))


class _SeedTorch(importlib.abc.MetaPathFinder):
    """Finds torch as the others would, and seeds it right after its import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        """The spec of torch with a loader that seeds; nothing for any other module."""
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            _seed_after(spec.loader, self._seed)
        return spec


def _seed_after(loader: Any, seed: int) -> None:
    run = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        run(module)
        module.manual_seed(seed)

    loader.exec_module = exec_module
