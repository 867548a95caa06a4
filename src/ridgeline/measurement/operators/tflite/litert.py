"""The profiler inside `libLiteRt.so`, reached by ctypes.

Python's interpreter of ai-edge-litert has no profiler; the C library beside it has one, with an ABI that no document fixes. So this module trusts
nothing: it works with the releases it was checked against, looks for every symbol, refuses a model whose inputs are not the sizes that it expects,
and reads events only after their layout has proved itself. It must run in a process that may crash, and in none that is needed afterwards.
Source of names and structures: litert/c/litert_*.h of google-ai-edge/LiteRT; the size of an event was found by looking (three words for each memory
usage, where the C header says two).
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, TargetFailed

__all__ = ["CHECKED", "DELEGATE_EVENT", "NODE_EVENT", "Event", "ProfiledModel", "ProfiledRun", "library_path"]

#: Releases whose structures were checked (major and minor).
CHECKED = ("2.3",)
NODE_EVENT, DELEGATE_EVENT = 2, 8
_DEFAULT_EVENT = 1
_USED = (_DEFAULT_EVENT, NODE_EVENT, DELEGATE_EVENT)
#: An hour: no single event of a call that fits a time budget.
_LONGEST_US = 3_600_000_000
_CPU = 1
_WRITE = 1
_EVENT_TYPES = frozenset(1 << shift for shift in range(9))
#: The ring of the profiler (kept by the runtime); a run that fills it has lost events.
_RING = 2048
_SYMBOLS = (
    "LiteRtCreateEnvironment", "LiteRtCreateModelFromFile", "LiteRtCreateOptions", "LiteRtSetOptionsHardwareAccelerators",
    "LiteRtCreateOpaqueOptions", "LiteRtAddOpaqueOptions", "LiteRtCreateCompiledModel", "LiteRtCompiledModelGetProfiler",
    "LiteRtGetModelSignature", "LiteRtGetNumSignatureInputs", "LiteRtGetNumSignatureOutputs", "LiteRtGetSignatureInputTensorByIndex",
    "LiteRtGetSignatureOutputTensorByIndex", "LiteRtGetSignatureInputName", "LiteRtGetRankedTensorType",
    "LiteRtGetCompiledModelInputBufferRequirements", "LiteRtGetCompiledModelOutputBufferRequirements",
    "LiteRtCreateManagedTensorBufferFromRequirements", "LiteRtGetTensorBufferPackedSize", "LiteRtLockTensorBuffer", "LiteRtUnlockTensorBuffer",
    "LiteRtRunCompiledModel", "LiteRtResetProfiler", "LiteRtStartProfiler", "LiteRtStopProfiler", "LiteRtGetNumProfilerEvents",
    "LiteRtGetProfilerEvents", "LiteRtGetTensorName", "LiteRtCompiledModelResizeInputTensorNonStrict",
    "LiteRtGetCompiledModelOutputTensorLayouts",
)  # fmt: skip
_Pointer = ctypes.c_void_p
_MOST_AXES, _MOST_TENSORS = 8, 10_000


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event.

    Args:
        tag: such as `CONV_2D` for a node, `Convolution (NHWC, F32) IGEMM` inside a delegate.
        kind: `NODE_EVENT`, `DELEGATE_EVENT` or another of the runtime's.
        start_us, elapsed_us: whole microseconds; the start of a delegate's event is 0.
        index: node of the subgraph, or the delegate's own operator.
        subgraph: number of the subgraph.
    """

    tag: str
    kind: int
    start_us: int
    elapsed_us: int
    index: int
    subgraph: int


class ProfiledRun(msgspec.Struct, frozen=True, kw_only=True):
    """One call under the profiler: its events in order, and a timer of our own around it."""

    events: tuple[Event, ...]
    wall_s: float


class _Layout(ctypes.Structure):
    _fields_ = (("rank_and_flag", ctypes.c_uint32), ("sizes", ctypes.c_int32 * _MOST_AXES), ("strides", ctypes.c_uint32 * _MOST_AXES))


class _RankedType(ctypes.Structure):
    _fields_ = (("element", ctypes.c_int32), ("layout", _Layout))


class _RawEvent(ctypes.Structure):
    _fields_ = (
        ("tag", _Pointer), ("kind", ctypes.c_int32), ("start_us", ctypes.c_uint64), ("elapsed_us", ctypes.c_uint64), ("memory", ctypes.c_int64 * 6),
        ("index", ctypes.c_uint64), ("subgraph", ctypes.c_uint64), ("source", ctypes.c_int32),
    )  # fmt: skip


def library_path() -> Path:
    """The library of the installed release.

    Raises:
        BackendUnavailable: none, or a release that was not checked.
    """
    what = "per-operator times of LiteRT"
    found = importlib.util.find_spec("ai_edge_litert")
    if found is None or not found.submodule_search_locations:
        raise BackendUnavailable(what, found="ai-edge-litert is not installed", remedy="pip install 'ridgeline[tflite]'")
    version = importlib.metadata.version("ai-edge-litert")
    path = Path(next(iter(found.submodule_search_locations))) / "libLiteRt.so"
    if ".".join(version.split(".")[:2]) not in CHECKED or not path.is_file():
        known = ", ".join(f"{release}.*" for release in CHECKED)
        raise BackendUnavailable(what, found=f"ai-edge-litert {version}", remedy=f"its profiler is known for the releases {known}")
    return path


def _layout(shape: Sequence[int]) -> _Layout:
    made = _Layout(rank_and_flag=len(shape))
    for axis, size in enumerate(shape[:_MOST_AXES]):
        made.sizes[axis] = size
    return made


class ProfiledModel:
    """A model compiled with the profiler on.

    Args:
        path: the model.
        feeds: input name as the model's tensors have it → array.
        threads: of the CPU accelerator.
        delegate: whether XNNPACK is applied.
        resized: whether the arrays have other shapes than the file says.

    Raises:
        BackendUnavailable: the library is not the one that was checked, or does not behave like it.
        TargetFailed: the model does not compile.
    """

    def __init__(self, path: str, feeds: Mapping[str, NDArray[Any]], threads: int, delegate: bool = True, resized: bool = False) -> None:
        self._library = ctypes.CDLL(str(library_path()))
        missing = [name for name in _SYMBOLS if not hasattr(self._library, name)]
        if missing:
            raise BackendUnavailable(
                "the profiler of LiteRT", found=f"no {missing[0]} in its library", remedy="install the release named in the extra"
            )
        self._c = ctypes.CDLL(None)
        self._c.strdup.restype = _Pointer
        self._c.free.argtypes = [_Pointer]
        self._release = ctypes.CFUNCTYPE(None, _Pointer)(self._c.free)
        environment, self._model, options = _Pointer(), _Pointer(), _Pointer()
        self._do("LiteRtCreateEnvironment", ctypes.c_int(0), None, ctypes.byref(environment))
        self._environment = environment
        self._do("LiteRtCreateModelFromFile", environment, os.fsencode(path), ctypes.byref(self._model))
        self._do("LiteRtCreateOptions", ctypes.byref(options))
        self._do("LiteRtSetOptionsHardwareAccelerators", options, ctypes.c_int(_CPU))
        self._add(options, b"runtime_options_string", "enable_profiling = true\n")
        self._add(options, b"xnnpack", f"num_threads = {threads}\nkernel_mode = {0 if delegate else 2}\n")
        self._compiled, self._profiler = _Pointer(), _Pointer()
        self._do("LiteRtCreateCompiledModel", environment, self._model, options, ctypes.byref(self._compiled))
        self._do("LiteRtCompiledModelGetProfiler", self._compiled, ctypes.byref(self._profiler))
        if not self._profiler.value:
            raise BackendUnavailable("the profiler of LiteRT", found="the runtime did not make one", remedy="install the release named in the extra")
        self._signature = _Pointer()
        self._do("LiteRtGetModelSignature", self._model, ctypes.c_size_t(0), ctypes.byref(self._signature))
        tensors = self._tensors("Input")
        arrays = [self._array(tensor, index, feeds) for index, tensor in enumerate(tensors)]
        if resized:
            self._resize(arrays)
        self._inputs = self._buffers("Input", tensors, [_layout(array.shape) for array in arrays] if resized else None)
        for buffer, array in zip(self._inputs, arrays, strict=True):
            self._fill(_Pointer(buffer), array)
        results = self._tensors("Output")
        self._outputs = self._buffers("Output", results, self._layouts(len(results)) if resized else None)

    def run(self) -> ProfiledRun:
        """One call under the profiler.

        Raises:
            BackendUnavailable: events that cannot be what they claim, or more than the runtime keeps.
        """
        self._do("LiteRtResetProfiler", self._profiler)
        self._do("LiteRtStartProfiler", self._profiler)
        before = time.perf_counter()
        self.call()
        wall_s = time.perf_counter() - before
        self._do("LiteRtStopProfiler", self._profiler)
        return ProfiledRun(events=self._events(), wall_s=wall_s)

    def call(self) -> None:
        """One call, not read out."""
        counts = (ctypes.c_size_t(len(self._inputs)), ctypes.c_size_t(len(self._outputs)))
        self._do("LiteRtRunCompiledModel", self._compiled, ctypes.c_size_t(0), counts[0], self._inputs, counts[1], self._outputs)

    def _do(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, name)
        function.restype = ctypes.c_int
        status = function(*arguments)
        if status:
            raise TargetFailed("a model that LiteRT's profiler takes", found=f"{name} gives status {status}", remedy="diagnose without this level")

    def _add(self, options: ctypes.c_void_p, identifier: bytes, text: str) -> None:
        made = _Pointer()
        payload = _Pointer(self._c.strdup(text.encode()))
        self._do("LiteRtCreateOpaqueOptions", ctypes.c_char_p(identifier), payload, self._release, ctypes.byref(made))
        self._do("LiteRtAddOpaqueOptions", options, made)

    def _tensors(self, side: str) -> list[ctypes.c_void_p]:
        count = ctypes.c_size_t()
        self._do(f"LiteRtGetNumSignature{side}s", self._signature, ctypes.byref(count))
        if not 0 <= count.value < _MOST_TENSORS:
            raise BackendUnavailable(
                "the signature of the model", found=f"{count.value} of its {side.lower()}s", remedy="diagnose without this level"
            )
        found = []
        for index in range(count.value):
            tensor = _Pointer()
            self._do(f"LiteRtGetSignature{side}TensorByIndex", self._signature, ctypes.c_size_t(index), ctypes.byref(tensor))
            found.append(tensor)
        return found

    def _resize(self, arrays: Sequence[NDArray[Any]]) -> None:
        for index, array in enumerate(arrays):
            sizes = (ctypes.c_int * array.ndim)(*array.shape)
            place = (ctypes.c_size_t(0), ctypes.c_size_t(index))
            self._do("LiteRtCompiledModelResizeInputTensorNonStrict", self._compiled, *place, sizes, ctypes.c_size_t(array.ndim))

    def _layouts(self, count: int) -> list[_Layout]:
        """Layouts of the outputs after the inputs were resized."""
        found = (_Layout * (2 * count + 1))()  # room for larger structures
        arguments = (ctypes.c_size_t(0), ctypes.c_size_t(count), found, ctypes.c_bool(True))
        self._do("LiteRtGetCompiledModelOutputTensorLayouts", self._compiled, *arguments)
        return list(found[:count])

    def _buffers(self, side: str, tensors: Sequence[ctypes.c_void_p], layouts: Sequence[_Layout] | None) -> Any:
        made = (_Pointer * len(tensors))()
        for index, tensor in enumerate(tensors):
            requirements, buffer, kind = _Pointer(), _Pointer(), _RankedType()
            place = (ctypes.c_size_t(0), ctypes.c_size_t(index))
            self._do(f"LiteRtGetCompiledModel{side}BufferRequirements", self._compiled, *place, ctypes.byref(requirements))
            self._do("LiteRtGetRankedTensorType", tensor, ctypes.byref(kind))
            if layouts is not None:
                kind.layout = layouts[index]
            self._do("LiteRtCreateManagedTensorBufferFromRequirements", self._environment, ctypes.byref(kind), requirements, ctypes.byref(buffer))
            made[index] = buffer
        return made

    def _array(self, tensor: ctypes.c_void_p, index: int, feeds: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        name = ctypes.c_char_p()
        self._do("LiteRtGetTensorName", tensor, ctypes.byref(name))
        text = (name.value or b"").decode("utf-8", "replace")
        if text in feeds:
            return feeds[text]
        if index < len(feeds):
            return list(feeds.values())[index]
        raise BackendUnavailable("an array for every input", found=f"none for {text!r}", remedy="diagnose without this level")

    def _fill(self, buffer: ctypes.c_void_p, array: NDArray[Any]) -> None:
        size, address = ctypes.c_size_t(), _Pointer()
        data = np.ascontiguousarray(array)
        self._do("LiteRtGetTensorBufferPackedSize", buffer, ctypes.byref(size))
        if size.value != data.nbytes:
            raise BackendUnavailable(
                "an input of the size that the file says", found=f"{size.value} bytes for {data.nbytes}", remedy="diagnose without this level"
            )
        self._do("LiteRtLockTensorBuffer", buffer, ctypes.byref(address), ctypes.c_int(_WRITE))
        ctypes.memmove(address, data.ctypes.data, data.nbytes)
        self._do("LiteRtUnlockTensorBuffer", buffer)

    def _events(self) -> tuple[Event, ...]:
        count = ctypes.c_int()
        self._do("LiteRtGetNumProfilerEvents", self._profiler, ctypes.byref(count))
        if not 0 < count.value < _RING:
            remedy = "profile a smaller model"
            raise BackendUnavailable(f"fewer than {_RING} events a call, the runtime's limit", found=str(count.value), remedy=remedy)
        # Room for twice the size that was found: a larger structure then shows itself as nonsense and not as damage to the heap.
        raw = (_RawEvent * (2 * count.value))()
        self._do("LiteRtGetProfilerEvents", self._profiler, count, raw)
        return checked_events(list(raw[: count.value]), list(raw[count.value :]))


def checked_events(raw: list[_RawEvent], beyond: list[_RawEvent]) -> tuple[Event, ...]:
    """The events, once their layout has proved itself: known types, times of one call, nothing written behind the last.

    Raises:
        BackendUnavailable: it has not.
    """
    used = [event for event in raw if event.kind in _USED]
    sound = (
        all(event.kind in _EVENT_TYPES for event in raw)
        and all(event.tag and event.index < 2**32 and event.elapsed_us < _LONGEST_US for event in used)
        and not any(event.tag or event.kind or event.start_us for event in beyond)
        and any(event.kind == _DEFAULT_EVENT for event in used)
    )
    if not sound:
        raise BackendUnavailable(
            "events of LiteRT's profiler as they were checked", found="another layout", remedy="install the release named in the extra"
        )
    return tuple(
        Event(
            tag=ctypes.string_at(event.tag).decode("utf-8", "replace"),
            kind=event.kind,
            start_us=event.start_us,
            elapsed_us=event.elapsed_us,
            index=event.index,
            subgraph=event.subgraph,
        )
        for event in used
    )
