"""`kind_of`: the name of a callable as a person would write it: `numpy.add`, `numpy.linalg.solve`, `scipy.special.erf`, `time.sleep`.

Methods of arrays get the name of the function that does the same (`a.sum()` is `numpy.sum`), so that formulas are looked up once.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

__all__ = ["kind_of"]


def kind_of(function: Any) -> str:
    """The kind of a call of `function`.

    >>> kind_of(np.add), kind_of(np.ones(2).sum), kind_of(np.add.reduce), kind_of(np.linalg.solve), kind_of(len)
    ('numpy.add', 'numpy.sum', 'numpy.add.reduce', 'numpy.linalg.solve', 'builtins.len')
    """
    if isinstance(function, np.ufunc):
        return _ufunc(function)
    owner, name = getattr(function, "__self__", None), str(getattr(function, "__name__", "") or "")
    if owner is not None and not isinstance(owner, types.ModuleType | type):
        return f"{_owner(owner)}.{name.strip('_') if isinstance(owner, np.ndarray) else name}"
    module = getattr(function, "__module__", None) or (owner.__name__ if isinstance(owner, types.ModuleType) else "")
    qualified = getattr(function, "__qualname__", None)
    if isinstance(qualified, str) and name:
        if module.startswith("numpy.random") and qualified.startswith(("Generator.", "RandomState.")):
            return f"numpy.random.{name}"
        return _public(f"{module or 'builtins'}.{qualified}")
    # An object that is called: its class has the name.
    return _public(f"{type(function).__module__}.{type(function).__qualname__}.__call__")


def _ufunc(function: np.ufunc) -> str:
    name = function.__name__
    if getattr(np, name, None) is function:
        return f"numpy.{name}"
    special = sys.modules.get("scipy.special")
    return f"scipy.special.{name}" if special is not None and getattr(special, name, None) is function else f"ufunc.{name}"


def _owner(owner: Any) -> str:
    if isinstance(owner, np.ndarray):
        return "numpy"
    if isinstance(owner, np.ufunc):
        return _ufunc(owner)
    if isinstance(owner, np.random.Generator | np.random.RandomState):
        return "numpy.random"
    return _public(f"{type(owner).__module__}.{type(owner).__qualname__}")


def _public(name: str) -> str:
    """A dotted name without private parts: `scipy.linalg._basic.solve` → `scipy.linalg.solve`, `_io.open` → `io.open`."""
    parts = name.lstrip("_").replace(".<locals>", "").split(".")
    return ".".join(part for index, part in enumerate(parts) if index in (0, len(parts) - 1) or not part.startswith("_"))
