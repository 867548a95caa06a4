"""Trained models from their files: which kind a file holds is told by its schema.

This module decides which documents are known here and how large a file may be; each kind checks its own arrays as it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import msgspec

from ridgeline.core import ReadError, UsageError
from ridgeline.core.documents import decode
from ridgeline.model.graphs.predicting import Knowledge
from ridgeline.model.operators.assumed import assumed

__all__ = ["knowledge_of"]

_MOST_BYTES = 512 * 2**20
#: Schema without version → where its type is, and which part of `Knowledge` it is.
_KINDS = {
    "ridgeline.operator-model": ("ridgeline.model.operators.model:OperatorModel", "operators"),
    "ridgeline.gpu-model": ("ridgeline.model.gpu.model:GpuModel", "gpus"),
}


class _Head(msgspec.Struct):
    schema: str = ""


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
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ReadError("a trained model", found=f"{path}: {error.strerror or error}", remedy="check the path") from error
    if len(data) > _MOST_BYTES:
        raise ReadError(f"a trained model of at most {_MOST_BYTES} bytes", found=f"{path}: more", remedy="train it on fewer rows")
    try:
        schema = msgspec.json.decode(data, type=_Head).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError("a trained model in JSON", found=f"{path}: {error}", remedy="give a file that `ridgeline model train` wrote") from error
    name = schema.rpartition("/")[0]
    if name not in _KINDS:
        raise ReadError(f"a trained model: {', '.join(_KINDS)}", found=f"{path}: schema {schema!r}", remedy="give another file")
    where, part = _KINDS[name]
    module, _, kind = where.partition(":")
    model = decode(data, getattr(import_module(module), kind))
    if part == "operators" and model.formulas != assumed().version:
        found = f"{path}: of formulas {model.formulas or 'before they had a version'}, where these are {assumed().version}"
        raise ReadError("a model that was trained on the estimates of these formulas", found=found, remedy="train it again from its rows")
    return part, model
