"""Targets `model.tflite`: LiteRT's interpreter on the CPU, and why a file is not one.

This module decides how the interpreter is made: threads, and the XNNPACK delegate that it applies by itself. A call sets the inputs, runs, and reads
every output. The file is read by `work.tflite` first, so that a damaged one is an error in one line and never reaches the runtime's C++.
Needs ai-edge-litert (extra `tflite`), loaded here and only here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, ReadError, RidgelineError, UsageError
from ridgeline.machine import read_machine, shortened
from ridgeline.work.tflite import load

from .first_bytes import what_it_is
from .input_slot import InputSlot
from .onnx_inputs import feeds_for, trial_feeds
from .prepared import Prepared
from .source import Transform
from .spec import TargetSpec
from .surroundings import model_info

__all__ = ["TfliteFlavour", "caller", "prepare_tflite"]

#: numpy's names of element types as `InputSlot` writes them, where they differ.
_KINDS = {"float32": "float", "float64": "double", "bytes_": "string", "object": "string"}
_DELEGATE, _BUILTIN = "XNNPACK", "builtin"


@dataclass(kw_only=True)
class TfliteFlavour:
    """A model and how to make further interpreters of it.

    Attributes:
        model_path: the model file.
        feeds: tensor index → array, as every call uses them.
        shapes: tensor index → shape, for inputs whose shape is not the file's.
        threads: threads of the interpreter.
        delegate: whether XNNPACK is applied.
        make: (threads, delegate, further arguments of the interpreter by name) → interpreter with these shapes, tensors allocated.
        interpreter: the one of the clean calls.
    """

    model_path: str
    feeds: dict[int, NDArray[Any]]
    shapes: dict[int, tuple[int, ...]]
    threads: int
    delegate: bool
    make: Callable[..., Any]
    interpreter: Any


def prepare_tflite(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """Load a model, make its inputs; a call sets them, runs, and reads all outputs. `transform` has nothing to work on.

    Raises:
        ReadError: no TFLite model, or one that the runtime cannot run.
        UsageError: `--input` or `--shape` does not fit the model.
        BackendUnavailable: ai-edge-litert is not installed.
    """
    path = spec.path or ""
    runtime = _runtime()
    _read(path)
    threads = spec.threads or read_machine().cpus_usable
    entries = _entries(runtime, path)
    slots = [_slot(entry, spec) for entry in entries]
    feeds = feeds_for(slots, spec)
    if feeds.guesses:
        feeds = trial_feeds(slots, spec, feeds, lambda arrays: _attempt(runtime, path, entries, arrays))
    if not feeds.of_one_shape():
        raise UsageError("inputs of one shape", found=f"several in {spec.input or spec.inputs}", remedy="measure those of each shape on their own")
    arrays = {int(entry["index"]): _in_range(entry, feeds.arrays[entry["name"]], spec) for entry in entries}
    shapes = {int(e["index"]): arrays[int(e["index"])].shape for e in entries if arrays[int(e["index"])].shape != tuple(e["shape"])}

    def make(count: int, delegate: bool, **more: Any) -> Any:
        return _made(runtime, path, shapes, count, delegate, more)

    interpreter = make(threads, True)
    delegated = any(str(entry["op_name"]) == "DELEGATE" for entry in interpreter._get_ops_details())
    providers = (_DELEGATE, _BUILTIN) if delegated else (_BUILTIN,)
    return Prepared(
        call=caller(interpreter, arrays),
        info=model_info(spec, "tflite", threads=threads, inputs=feeds.descriptions, providers=providers),
        flavour=TfliteFlavour(model_path=path, feeds=arrays, shapes=shapes, threads=threads, delegate=delegated, make=make, interpreter=interpreter),
        inputs=feeds.inputs(arrays, [int(entry["index"]) for entry in entries]),
        warnings=list(feeds.cautions),
        user_files=(path,),
    )


def _runtime() -> Any:
    try:
        from ai_edge_litert import interpreter
    except ImportError as error:
        raise BackendUnavailable("ai-edge-litert for a TFLite model", found=str(error), remedy="pip install 'ridgeline[tflite]'") from error
    return interpreter


def _read(path: str) -> None:
    """Read the file; what is no model at all is named by what it is."""
    try:
        load(path)
    except ReadError as error:
        what = what_it_is(path, "tflite") if os.path.getsize(path) else None
        if what is None:
            raise
        raise ReadError(f"a TensorFlow Lite model in {os.path.basename(path)}", found=what[0], remedy=what[1]) from error


def _entries(runtime: Any, path: str) -> list[dict[str, Any]]:
    """What the interpreter says of the inputs, without allocating anything; names are unique."""
    try:
        plain = runtime.Interpreter(model_path=path, experimental_op_resolver_type=runtime.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        entries: list[dict[str, Any]] = [dict(entry) for entry in plain.get_input_details()]
    except (RuntimeError, ValueError, TypeError) as error:
        raise _why_not(path, error) from error
    for position, entry in enumerate(entries):
        if not entry["name"] or any(other["name"] == entry["name"] for other in entries[:position]):
            entry["name"] = f"{entry['name'] or 'input'}#{position}"
    return entries


def _slot(entry: Mapping[str, Any], spec: TargetSpec) -> InputSlot:
    name = str(entry["name"])
    own = tuple(int(size) for size in entry["shape"])
    signature = tuple(int(size) for size in entry["shape_signature"]) if len(entry["shape_signature"]) == len(own) else own
    kind = np.dtype(entry["dtype"]).name
    sizes: list[int | None] = [None if size < 0 else size for size in signature]
    if name in spec.shapes and sizes:
        sizes[0] = None  # the interpreter resizes the batch of any input
    return InputSlot(name=name, kind=f"tensor({_KINDS.get(kind, kind)})", shape=tuple(sizes))


def _in_range(entry: Mapping[str, Any], array: NDArray[Any], spec: TargetSpec) -> NDArray[Any]:
    """A generated array of a quantised input: standard normal values through its scale and zero point; data as they are."""
    scale, zero = (float(part) for part in entry["quantization"])
    if spec.input is not None or spec.inputs or not scale > 0 or array.dtype.kind not in "iu":
        return array
    limits = np.iinfo(array.dtype)
    values = np.random.default_rng(spec.seed).standard_normal(array.shape)
    return np.clip(np.rint(values / scale + zero), limits.min, limits.max).astype(array.dtype)


def _made(runtime: Any, path: str, shapes: Mapping[int, Sequence[int]], threads: int, delegate: bool, more: Mapping[str, Any] = {}) -> Any:
    kinds = runtime.OpResolverType
    resolver = kinds.AUTO if delegate else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        interpreter = runtime.Interpreter(model_path=path, num_threads=threads, experimental_op_resolver_type=resolver, **more)
        for index, shape in shapes.items():
            interpreter.resize_tensor_input(index, list(shape))
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError, TypeError) as error:
        raise _why_not(path, error, resized=bool(shapes)) from error
    return interpreter


def _attempt(runtime: Any, path: str, entries: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Empty if the model runs on these arrays, else why not."""
    by_index = {int(entry["index"]): arrays[entry["name"]] for entry in entries}
    try:
        interpreter = _made(runtime, path, {index: array.shape for index, array in by_index.items()}, 1, True)
        caller(interpreter, by_index)()
    except (RidgelineError, RuntimeError, ValueError) as error:
        return shortened(str(error), 300)
    return ""


def caller(interpreter: Any, arrays: Mapping[int, NDArray[Any]]) -> Callable[[], list[Any]]:
    """One inference: inputs set, run, every output read. `arrays` is read anew by every call, so that another input can be put there."""
    outputs = [int(entry["index"]) for entry in interpreter.get_output_details()]
    set_tensor, invoke, get_tensor = interpreter.set_tensor, interpreter.invoke, interpreter.get_tensor

    def call() -> list[Any]:
        for index, array in arrays.items():
            set_tensor(index, array)
        invoke()
        return [get_tensor(index) for index in outputs]

    return call


def _why_not(path: str, error: Exception, *, resized: bool = False) -> ReadError | UsageError:
    name = os.path.basename(path)
    text = shortened(str(error), 300)
    if "unresolved custom op" in text or "Select TensorFlow op" in text:
        return ReadError(f"operators that LiteRT has in {name}", found=text, remedy="convert the model with builtin operators only")
    if "Op builtin_code out of range" in text or "version" in text.lower():
        return ReadError(f"a model for this LiteRT in {name}", found=text, remedy="update ai-edge-litert, or convert the model for an older one")
    if resized:
        return UsageError(f"input shapes that {name} runs with", found=text, remedy="give them with --shape NAME=1x224x224x3, or data with --input")
    return ReadError(f"a model that LiteRT can load in {name}", found=text, remedy="convert the model again")
