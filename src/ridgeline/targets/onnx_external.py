"""Which files of external weights a model names, and which of these are not there. Reads the model's names only, never its weights."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["external_files", "missing_weights"]

_SHOWN = 3


def missing_weights(path: str) -> tuple[str, ...]:
    """Names of missing files of external data, at most three; empty if none is missing, or it cannot be told without the onnx package."""
    folder = os.path.dirname(path)
    return tuple(name for name in external_files(path) if not os.path.isfile(os.path.join(folder, name)))[:_SHOWN]


def external_files(path: str) -> tuple[str, ...]:
    """Names of all files of external data, relative to the model's folder; empty if there are none, or it cannot be told without the onnx package."""
    try:
        onnx: Any = import_module("onnx")
        model = onnx.load(path, load_external_data=False)
    except Exception:  # not installed, or no model: the caller has the runtime's own error
        return ()
    named = (entry.value for tensor in _tensors(model.graph) for entry in tensor.external_data if entry.key == "location")
    return tuple(dict.fromkeys(named))


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
