"""Targets for OpenVINO on the CPU: `model.xml`, and `model.onnx` with `--runtime openvino`; and why a file is not one.

This module decides how a model is compiled: one stream, for latency, in fp32 (its own default is bf16 where the CPU has it, which would not compare
with another runtime), and for the shapes of the inputs. A call is one `infer` of a request that is kept, its results copied out. Operators are timed
elsewhere. Needs openvino (extra `openvino`), loaded here and only here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, Caution, ReadError, UsageError
from ridgeline.machine import read_machine

from .first_bytes import what_it_is
from .input_slot import InputSlot
from .onnx import refuse_size
from .onnx_external import missing_weights
from .onnx_inputs import feeds_for, trial_feeds
from .prepared import Prepared
from .source import Transform
from .spec import TargetSpec
from .surroundings import model_info

__all__ = ["PRECISION_HINT", "OpenvinoFlavour", "caller", "prepare_openvino"]

_DEVICE = "CPU"
#: What every model is compiled for unless a change says otherwise.
PRECISION_HINT = "f32"
#: OpenVINO's element types as `InputSlot` writes them, where they differ.
_KINDS = {
    "f64": "double", "f32": "float", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "boolean": "bool",
}  # fmt: skip


@dataclass(kw_only=True)
class OpenvinoFlavour:
    """A model and how to compile it again.

    Attributes:
        model_path: the model file.
        feeds: position of an input → array, as every call uses them.
        threads: threads of the one stream, as compiled: OpenVINO takes no more than there are CPUs for them.
        model: the graph as it was read, with the shapes of the inputs; never changed.
        compile: (properties beside those of the clean calls) → compiled model.
    """

    model_path: str
    feeds: dict[int, NDArray[Any]]
    threads: int
    model: Any
    compile: Callable[[Mapping[str, Any]], Any]


def prepare_openvino(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """Read and compile a model, make its inputs; a call is one inference. `transform` has nothing to work on.

    Raises:
        ReadError: no model that OpenVINO reads, or one that it cannot compile.
        UsageError: `--input` or `--shape` does not fit the model.
        BackendUnavailable: openvino is not installed.
    """
    path = spec.path or ""
    runtime = _runtime()
    core = runtime.Core()
    model = _read(core, path)
    threads = spec.threads or read_machine().cpus_usable
    slots = _slots(model, path, spec)
    feeds = feeds_for(slots, spec)
    properties = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": PRECISION_HINT}
    if feeds.guesses:
        feeds = trial_feeds(slots, spec, feeds, lambda arrays: _attempt(core, path, [arrays[slot.name] for slot in slots], properties))
    arrays = dict(enumerate(feeds.arrays[slot.name] for slot in slots))
    open_sizes, alike = bool(model.is_dynamic()), feeds.of_one_shape()
    if alike:
        _reshape(model, arrays, path)

    def compiled(more: Mapping[str, Any]) -> Any:
        return _compiled(core, model, {**properties, **more}, path)

    clean = compiled({})
    used = int(clean.get_property("INFERENCE_NUM_THREADS"))
    return Prepared(
        call=caller(clean, arrays),
        info=model_info(spec, "openvino", threads=used, inputs=feeds.descriptions, providers=(f"OpenVINO {_DEVICE}",)),
        flavour=OpenvinoFlavour(model_path=path, feeds=arrays, threads=used, model=model, compile=compiled),
        inputs=feeds.inputs(arrays, list(arrays)),
        warnings=[*feeds.cautions, *_cautions(core, open_sizes=open_sizes and alike), *_fewer(threads, used)],
        user_files=(path,),
    )


def caller(compiled: Any, arrays: Mapping[int, NDArray[Any]]) -> Callable[[], list[Any]]:
    """One inference of a request of its own; inputs are read where they lie, results are copied out, as `compiled_model(inputs)` does.

    Args:
        arrays: read anew by every call, so that another input can be put there.
    """
    infer = compiled.create_infer_request().infer

    def call() -> list[Any]:
        return list(infer(arrays, share_inputs=True).values())

    return call


def _runtime() -> Any:
    try:
        return import_module("openvino")
    except ImportError as error:
        remedy = "pip install 'ridgeline[openvino]'"
        raise BackendUnavailable("openvino to run the model", found=str(error), remedy=remedy) from error


def _read(core: Any, path: str) -> Any:
    """The graph, by the one front end that the ending names: asked openly, OpenVINO tries every format and each of them complains on stderr."""
    form = "onnx" if path.lower().endswith(".onnx") else "ir"
    if form == "onnx":
        refuse_size(path)
    elif b"<net" not in _head(path):
        remedy = "give the .xml that openvino.save_model wrote"
        raise ReadError(f"a model of OpenVINO in {os.path.basename(path)}", found="a file without <net at its start", remedy=remedy)
    try:
        if form == "ir":
            return core.read_model(path)
        manager = import_module("openvino.frontend").FrontEndManager()
        front_end = manager.load_by_framework(form)
        return front_end.convert(front_end.load(path))
    except Exception as error:  # RuntimeError and classes of the front ends, which have no base of their own
        raise _why_not(path, error) from error


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(512)


def _slots(model: Any, path: str, spec: TargetSpec) -> list[InputSlot]:
    symbols = _symbols(path)
    slots: list[InputSlot] = []
    for position, entry in enumerate(model.inputs):
        name = entry.get_any_name() if entry.get_names() else f"input_{position}"
        kind = entry.get_element_type().get_type_name()
        if kind == "string":
            # Its binding takes them, and ends the process when it frees them.
            raise UsageError("inputs that are numbers", found=f"text for {name}", remedy="wrap the model in a function that makes its inputs")
        sizes = _sizes(entry.get_partial_shape(), name, symbols.get(name, ()), spec)
        slots.append(InputSlot(name=name, kind=f"tensor({_KINDS.get(kind, kind)})", shape=sizes))
    return slots


def _sizes(partial: Any, name: str, names: Sequence[str | None], spec: TargetSpec) -> tuple[int | str | None, ...]:
    """Sizes of an input; an open one by its name, where the file has one."""
    if not partial.rank.is_dynamic:
        return tuple((names[axis] if axis < len(names) else None) if size.is_dynamic else int(size.get_length()) for axis, size in enumerate(partial))
    if name not in spec.shapes:
        raise UsageError(f"a shape for {name}, whose rank the model leaves open", found="none", remedy=f"give --shape {name}=1x3x224x224")
    return (None,) * len(spec.shapes[name])


def _symbols(path: str) -> dict[str, tuple[str | None, ...]]:
    """Input → names of its open sizes, which OpenVINO forgets; none for another format or without the onnx package."""
    if not path.lower().endswith(".onnx"):
        return {}
    try:
        onnx: Any = import_module("onnx")
        graph = onnx.load(path, load_external_data=False).graph
    except Exception:  # not installed, or a file that only OpenVINO reads
        return {}
    return {value.name: tuple(size.dim_param or None for size in value.type.tensor_type.shape.dim) for value in graph.input}


def _reshape(model: Any, arrays: Mapping[int, NDArray[Any]], path: str) -> None:
    shapes = {position: list(array.shape) for position, array in arrays.items()}
    now = {position: entry.get_partial_shape() for position, entry in enumerate(model.inputs)}
    if all(not now[position].is_dynamic and list(now[position].get_shape()) == shapes[position] for position in shapes):
        return
    try:
        model.reshape(shapes)
    except Exception as error:  # as in _read
        remedy = "give sizes that fit each other with --shape NAME=1x3x224x224, or data with --input"
        raise UsageError(f"input shapes that {os.path.basename(path)} runs with", found=_short(error), remedy=remedy) from error


def _compiled(core: Any, model: Any, properties: Mapping[str, Any], path: str) -> Any:
    try:
        return core.compile_model(model, _DEVICE, dict(properties))
    except Exception as error:  # as in _read
        remedy = "update openvino, or run it with onnxruntime" if path.lower().endswith(".onnx") else "update openvino, or convert the model again"
        raise ReadError(f"a model that OpenVINO can compile in {os.path.basename(path)}", found=_short(error), remedy=remedy) from error


def _attempt(core: Any, path: str, arrays: Sequence[NDArray[Any]], properties: Mapping[str, Any]) -> str:
    """Empty if the model runs on these arrays, else why not."""
    given = dict(enumerate(arrays))
    try:
        model = _read(core, path)
        _reshape(model, given, path)
        caller(_compiled(core, model, properties, path), given)()
    except Exception as error:  # our own with a text, or the runtime's
        return _short(error)
    return ""


def _cautions(core: Any, *, open_sizes: bool) -> list[Caution]:
    found = []
    own = _own_precision(core)
    if own not in ("", PRECISION_HINT):
        found.append(
            Caution(
                code="precision-hint",
                message=f"compiled with INFERENCE_PRECISION_HINT={PRECISION_HINT}; OpenVINO's own choice on this machine is {own}",
                effect="without the hint it may be faster and less exact",
            )
        )
    if open_sizes:
        found.append(
            Caution(
                code="static-shapes",
                message="the model leaves sizes open; it was compiled for those of these inputs",
                effect="compiled with open sizes it may be slower: call model.reshape first",
            )
        )
    return found


def _fewer(asked: int, used: int) -> list[Caution]:
    if used >= asked:
        return []
    message = f"{asked} threads were asked for, OpenVINO takes {used}: no more than there are CPUs"
    return [Caution(code="fewer-threads", message=message, effect=f"the times are those of {used} threads")]


def _own_precision(core: Any) -> str:
    try:
        return str(core.get_property(_DEVICE, "INFERENCE_PRECISION_HINT").get_type_name())
    except Exception:  # a release that does not tell
        return ""


def _why_not(path: str, error: Exception) -> ReadError:
    name = os.path.basename(path)
    what = what_it_is(path) if path.lower().endswith(".onnx") else None
    if what:
        return ReadError(f"an ONNX model in {name}", found=what[0], remedy=what[1])
    missing = missing_weights(path) if path.lower().endswith(".onnx") else ()
    if missing:
        return ReadError(
            f"the external weights of {name}", found=f"no file {', '.join(missing)}", remedy="put the files of its weights beside the model"
        )
    if "weights" in str(error) and "bin file" in str(error):
        beside = os.path.splitext(name)[0] + ".bin"
        return ReadError(f"the weights of {name} in {beside}", found="no such file, or one cut short", remedy="keep both files in one folder")
    remedy = "run it with onnxruntime, or export it again" if path.lower().endswith(".onnx") else "convert the model again"
    return ReadError(f"a model that OpenVINO can read in {name}", found=_short(error), remedy=remedy)


def _short(error: Exception) -> str:
    """The runtime's message without its own source lines."""
    text = re.sub(r"(Exception from|Check '.*?' failed at) \S+\.\w+:\d+:?", "", str(error), flags=re.DOTALL)
    text = re.sub(r"FrontEnd API failed with \w+:|Failed operations detailed log:", "", text)
    return " ".join(text.split())[:300] or type(error).__name__
