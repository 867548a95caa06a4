"""Targets `model.onnx`: a session of onnxruntime on the CPU, and why a file is not one.

This module decides session options and turns the many errors of the runtime into one line with a remedy. Inputs come from `onnx_inputs`; FLOPs and
bytes are counted elsewhere. Needs onnxruntime (extra `onnx`), loaded here and only here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ridgeline.core import BackendUnavailable, ReadError
from ridgeline.machine import read_machine

from .first_bytes import what_it_is
from .input_slot import InputSlot
from .onnx_external import missing_weights
from .onnx_inputs import feeds_for, trial_feeds
from .prepared import OnnxFlavour, Prepared
from .source import Transform
from .spec import TargetSpec
from .surroundings import model_info

__all__ = ["load_runtime", "prepare_onnx", "refuse_size", "why_not"]

#: protobuf's limit for one message.
_LARGEST_BYTES = 2**31 - 1
_PROVIDER = "CPUExecutionProvider"
_ERRORS_ONLY, _FATAL_ONLY = 3, 4


def prepare_onnx(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """Load a model, make its inputs; a call is one `session.run` of all outputs. `transform` has nothing to work on.

    Raises:
        ReadError: no ONNX model, or one with parts missing.
        UsageError: `--input` or `--shape` does not fit the model.
        BackendUnavailable: onnxruntime is not installed.
    """
    path = spec.path or ""
    refuse_size(path)
    runtime = load_runtime()
    threads = spec.threads or read_machine().cpus_usable
    options = _options_maker(runtime, threads)

    def make(*, silent: bool = False) -> Any:
        made = options()
        made.log_severity_level = _FATAL_ONLY if silent else _ERRORS_ONLY
        return runtime.InferenceSession(path, made, providers=[_PROVIDER])

    session = _load(runtime, path, make)
    slots = [InputSlot(name=entry.name, kind=entry.type, shape=tuple(entry.shape)) for entry in session.get_inputs()]
    outputs = tuple(entry.name for entry in session.get_outputs())
    feeds = feeds_for(slots, spec)
    if feeds.guesses:
        # In a session of its own: one that has run is warm, and the first call must not be.
        feeds = trial_feeds(slots, spec, feeds, _runs(make(silent=True)))
    run, arrays = session.run, feeds.arrays
    return Prepared(
        call=lambda: run(None, arrays),
        info=model_info(spec, "onnx", threads=threads, inputs=feeds.descriptions, providers=tuple(session.get_providers())),
        flavour=OnnxFlavour(model_path=path, feeds=arrays, outputs=outputs, threads=threads, session_options=options, providers=(_PROVIDER,)),
        inputs=feeds.inputs(arrays, list(arrays)),
        warnings=list(feeds.cautions),
        user_files=(path,),
    )


def load_runtime() -> Any:
    """The module onnxruntime.

    Raises:
        BackendUnavailable: it is not installed.
    """
    try:
        return import_module("onnxruntime")
    except ImportError as error:
        remedy = "pip install 'ridgeline[onnx]'"
        raise BackendUnavailable("onnxruntime for an ONNX model", found=str(error), remedy=remedy) from error


def _options_maker(runtime: Any, threads: int) -> Callable[[], Any]:
    def options() -> Any:
        made = runtime.SessionOptions()
        made.intra_op_num_threads = threads
        if threads > len(os.sched_getaffinity(0)):
            # Threads that spin for work would keep the few CPUs from those that have some, and a call would take seconds.
            made.add_session_config_entry("session.intra_op.allow_spinning", "0")
        made.inter_op_num_threads = 1
        made.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
        made.log_severity_level = _ERRORS_ONLY
        return made

    return options


def _runs(session: Any) -> Callable[[dict[str, Any]], str]:
    """A function that tries inputs: empty if the model runs on them, else why not."""

    def attempt(arrays: dict[str, Any]) -> str:
        try:
            session.run(None, arrays)
        except Exception as error:  # each release of the runtime has its own set of exception classes
            return _short(error)
        return ""

    return attempt


def _load(runtime: Any, path: str, make: Callable[..., Any]) -> Any:
    try:
        return make()
    except Exception as error:  # as above
        raise why_not(path, error) from error


def why_not(path: str, error: Exception) -> ReadError:
    """What an error of the runtime says about a file, with a remedy."""
    name = os.path.basename(path)
    what = what_it_is(path)
    if what:
        return ReadError(f"an ONNX model in {name}", found=what[0], remedy=what[1])
    missing = missing_weights(path)
    if missing:
        remedy = "put the files of its weights beside the model"
        return ReadError(f"the external weights of {name}", found=f"no file {', '.join(missing)}", remedy=remedy)
    text = _short(error)
    if "INVALID_PROTOBUF" in text or "Protobuf parsing failed" in text:
        size = os.path.getsize(path)
        remedy = "copy or export the model again"
        return ReadError(f"an ONNX model in {name}", found=f"{size} bytes that are no whole model: cut short or damaged", remedy=remedy)
    if "NOT_IMPLEMENTED" in text or "is not a registered function/op" in text or "No Op registered" in text or "opset" in text.lower():
        remedy = "update onnxruntime, or export the model with operators and an opset that it knows"
        return ReadError(f"a model that onnxruntime can run in {name}", found=text, remedy=remedy)
    return ReadError(f"a model that onnxruntime can load in {name}", found=text, remedy="check the model with onnx.checker, or export it again")


def _short(error: Exception) -> str:
    """The runtime's message without its own error number, source line and build path."""
    text = " ".join(str(error).split())
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : (\w+) : ", r"\1: ", text)
    text = re.sub(r"Load model from .+? failed: ?", "", text)
    return re.sub(r"\S+\.(cc|h):\d+ .*?\) (?=[A-Z])", "", text)


def refuse_size(path: str) -> None:
    """Raise `ReadError` for an empty file, and for one above protobuf's limit."""
    size = os.path.getsize(path)
    if size == 0:
        raise ReadError(f"an ONNX model in {os.path.basename(path)}", found="an empty file", remedy="copy or export the model again")
    if size > _LARGEST_BYTES:
        remedy = "save its weights as external data (onnx.save with save_as_external_data=True)"
        raise ReadError("a model file of at most 2 GiB, the limit of protobuf", found=f"{size} bytes in {os.path.basename(path)}", remedy=remedy)
