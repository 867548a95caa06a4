"""Seeding what makes random numbers, so that two processes make the same data: Python's generator now, numpy's and torch's once they are imported.

A generator that asks the operating system for its seed (`numpy.random.default_rng()`) is out of reach; its outputs are found to differ from process
to process, and said to be not comparable.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import random
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

__all__ = ["seed_everything"]

#: Module → what seeds its generator.
_SEEDERS: dict[str, Callable[[Any, int], object]] = {
    "numpy.random": lambda module, seed: module.seed(seed),
    "torch": lambda module, seed: module.manual_seed(seed),
}


def seed_everything(seed: int) -> None:
    """Seed the generators of this process; `seed` is an index in 0 … 2³² − 1."""
    random.seed(seed)
    for name, seeded in _SEEDERS.items():
        if name in sys.modules:
            seeded(sys.modules[name], seed)
        else:
            sys.meta_path.insert(0, _SeedLater(name, seed))


class _SeedLater(importlib.abc.MetaPathFinder):
    """Finds a module as the others would, and seeds it right after its import."""

    def __init__(self, name: str, seed: int) -> None:
        self._name, self._seed = name, seed

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        """The spec of that module with a loader that seeds; nothing for any other."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            _seed_after(spec.loader, _SEEDERS[self._name], self._seed)
        return spec


def _seed_after(loader: Any, seeded: Callable[[Any, int], object], seed: int) -> None:
    run = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        run(module)
        seeded(module, seed)

    loader.exec_module = exec_module
