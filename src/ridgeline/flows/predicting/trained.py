"""Trained models from their files: which kind a file holds is told by its schema.

This module decides which documents are known here; each kind checks its own arrays as it is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ridgeline.core import ReadError, UsageError
from ridgeline.model.graphs.predicting import Knowledge
from ridgeline.model.operators.assumed import assumed

from ..modelling.documents import read_document, schema_of

__all__ = ["knowledge_of"]

#: Schema without version → where its type is, and which part of `Knowledge` it is.
_KINDS = {
    "ridgeline.operator-model": ("ridgeline.model.operators.model:OperatorModel", "operators"),
    "ridgeline.gpu-model": ("ridgeline.model.gpu.model:GpuModel", "gpus"),
}


def knowledge_of(paths: Sequence[str]) -> Knowledge:
    """What trained models know.

    Args:
        paths: files that `ridgeline model train` wrote, at most one of each kind.

    Raises:
        ReadError: not readable, too large, not a trained model, damaged, or of a newer version. UsageError: two of one kind.
    """
    parts: dict[str, Any] = {}
    for path in paths:
        part, model = _read(path)
        if part in parts:
            raise UsageError("at most one trained model of a kind", found=f"{path} is the second", remedy="leave one out")
        parts[part] = model
    return Knowledge(**parts)


def _read(path: str) -> tuple[str, Any]:
    if not os.path.isfile(path):
        raise ReadError("a trained model", found=f"{path}: {'a folder' if os.path.isdir(path) else 'nothing is there'}", remedy="check the path")
    schema = schema_of(path) or ""
    name = schema.rpartition("/")[0]
    if name not in _KINDS:
        found = f"{path}: {f'schema {schema!r}' if schema else 'none that says so'}"
        raise ReadError(f"a trained model: {', '.join(_KINDS)}", found=found, remedy="give a file that `ridgeline model train` wrote")
    where, part = _KINDS[name]
    module, _, kind = where.partition(":")
    model: Any = read_document(path, getattr(import_module(module), kind))
    if part == "operators" and model.formulas != assumed().version:
        found = f"{path}: of formulas {model.formulas or 'before they had a version'}, where these are {assumed().version}"
        raise ReadError("a model that was trained on the estimates of these formulas", found=found, remedy="train it again from its rows")
    return part, model
