"""Which files of external weights a model names that are not there. Reads the model's names only, never its weights."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["missing_weights"]

_SHOWN = 3


def missing_weights(path: str) -> tuple[str, ...]:
    """Names of missing files of external data, at most three; empty if none is missing, or it cannot be told without the onnx package."""
    try:
        onnx: Any = import_module("onnx")
        model = onnx.load(path, load_external_data=False)
    except Exception:  # not installed, or no model: the caller has the runtime's own error
        return ()
    folder = os.path.dirname(path)
    missing: list[str] = []
    for tensor in _tensors(model.graph):
        for entry in tensor.external_data:
            if entry.key == "location" and entry.value not in missing and not os.path.isfile(os.path.join(folder, entry.value)):
                missing.append(entry.value)
    return tuple(missing[:_SHOWN])


def _tensors(graph: Any) -> list[Any]:
    """Initialisers and tensors in attributes, of the graph and of every graph inside it."""
    found, waiting = [], [graph]
    while waiting:
        current = waiting.pop()
        found += list(current.initializer)
        for node in current.node:
            for attribute in node.attribute:
                found.append(attribute.t)
                found += list(attribute.tensors)
                waiting += [inner for inner in (attribute.g, *attribute.graphs) if inner.node]
    return found
