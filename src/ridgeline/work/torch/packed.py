"""Weights behind an argument that is no tensor: the packed parameters of torch's quantised layers.

Such an object holds its weight in a kernel's own order. This module decides what of it can be seen: the tensors it unpacks to, whose shape and dtype
are those of the weight, and the other packed objects inside it (the two halves of a recurrent cell).
"""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["identity", "tensors"]

_DEEPEST = 8


def tensors(value: Any, depth: int = 0) -> list[Any]:
    """The tensors that a packed object holds, weight before bias; empty if it is none or does not tell."""
    if depth > _DEEPEST:
        return []
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for entry in value for tensor in tensors(entry, depth + 1)]
    if not isinstance(value, torch.ScriptObject):
        return []
    try:
        held = value.unpack() if value._has_method("unpack") else value.__getstate__()
    except Exception:  # an object of a stranger's, or a fake one: what it holds stays unknown
        return []
    return tensors(held, depth + 1)


def identity(value: Any) -> int | None:
    """A number that is the same for every handle of one object while it lives; `None` for what is not packed."""
    if not isinstance(value, torch.ScriptObject):
        return None
    try:
        return hash(value)
    except Exception:  # a class of a stranger's that has a hash of its own, and it fails
        return id(value)
