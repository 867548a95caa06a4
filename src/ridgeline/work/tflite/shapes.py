"""Shapes of every tensor for input shapes that a person gives: asked of the runtime, which has a shape function for each of its operators.

Only models that `file.load` found whole come here; the runtime's own checks do the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ridgeline.core import BackendUnavailable, ReadError, UsageError

from .file import Model

__all__ = ["Shapes", "fitting", "resized"]

#: (subgraph, tensor) → executed shape.
Shapes = Mapping[tuple[int, int], tuple[int, ...]]
_LARGEST_SIZE = 2**31 - 1


def resized(model: Model, path: str | None, shapes: Mapping[str, tuple[int, ...] | int]) -> Shapes:
    """Shapes of the main graph's tensors for these input shapes; empty where they are the file's own.

    Raises:
        UsageError: a name, rank or size that does not fit.
        ReadError: the runtime cannot give the model these shapes.
    """
    wanted = fitting(model, shapes)
    if not wanted:
        return {}
    if path is None:
        raise UsageError("a path, to give the model other shapes", found="a model that is loaded", remedy="give the file")
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise BackendUnavailable("ai-edge-litert", found="not installed", remedy="pip install 'ridgeline[tflite]'") from error
    try:
        interpreter = Interpreter(model_path=path, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        for index, shape in wanted.items():
            interpreter.resize_tensor_input(index, list(shape))
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        remedy = "give shapes that the model can take"
        raise ReadError("shapes that the model can take", found=" ".join(str(error).split())[:200], remedy=remedy) from error
    return {(0, int(entry["index"])): _shape(entry) for entry in interpreter.get_tensor_details()}


def _shape(entry: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(size) for size in entry["shape"])


def fitting(model: Model, shapes: Mapping[str, tuple[int, ...] | int]) -> dict[int, tuple[int, ...]]:
    """Tensor index → shape of the inputs whose shape is to change.

    A shape may change where the model leaves a size open, and in the first size, the batch, of any input.

    Raises:
        UsageError: see `resized`.
    """
    main = model.subgraphs[0]
    by_name = {main.tensors[index].name: index for index in main.inputs}
    wanted: dict[int, tuple[int, ...]] = {}
    for name, given in shapes.items():
        if name not in by_name:
            there = ", ".join(by_name) or "it has none"
            raise UsageError(f"an input of the model: {there}", found=name, remedy="name an input and its shape")
        index = by_name[name]
        own = tuple(int(size) for size in main.tensors[index].shape or ())
        shape = (given,) if isinstance(given, int) else given
        free = main.open_sizes.get(index, own)
        fits = len(shape) == len(own) and all(
            new == old or position == 0 or free[position] < 0 for position, (new, old) in enumerate(zip(shape, own, strict=True))
        )
        if not fits or not all(0 < size <= _LARGEST_SIZE for size in shape):
            declared = "x".join("?" if size < 0 or position == 0 else str(size) for position, size in enumerate(free)) or "no axes"
            raise UsageError(f"a shape of {name} that fits {declared}", found="x".join(map(str, shape)), remedy="change only the open sizes")
        if shape != own:
            wanted[index] = shape
    return wanted
