"""Int8 copies of an ONNX model, made by onnxruntime's quantiser: which operators are worth converting, and how.

Static for convolutions and what lies between them: ranges of activations from a calibration, and QuantizeLinear and DequantizeLinear around the
operators, which the runtime fuses into integer kernels. Dynamic for products with a constant matrix and LSTM: ranges found in every call. Whether a
copy is faster and near enough is found by trying it, elsewhere. Needs onnx and onnxruntime.

Sources: documentation of onnxruntime, "Quantize ONNX Models" (static and dynamic, per-channel weights, `reduce_range` where 8-bit products saturate
16-bit sums, that is on x86-64 without VNNI).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, Machine, NotComparable
from ridgeline.work.onnx import graph

__all__ = ["Amounts", "amounts", "dynamic_copy", "needs_reduced_range", "simplified", "static_copy"]

#: Products whose second operand is a constant have integer kernels with dynamic ranges.
_PRODUCTS = ("MatMul", "Gemm")
#: What stays in int8 between two converted operators instead of going through float and back.
_BETWEEN = ("Relu", "Clip", "LeakyRelu", "MaxPool", "AveragePool", "GlobalAveragePool", "Concat", "Add")
_WEIGHT, _MATRIX = 1, 2
#: Per-axis QuantizeLinear and DequantizeLinear are there since opset 13 of ONNX.
_OPSET = 13
#: The version of the file format that came with that opset.
_FORMAT = 7
#: protobuf's limit for one message.
_LARGEST_BYTES = 2**31 - 1
_VNNI = frozenset({"avx_vnni", "avx512_vnni", "amx_int8"})

Feeds = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """Multiply-adds of a model, counted as FLOP: in convolutions with constant weights, in products with a constant matrix and LSTM, in all."""

    convolutions: float
    products: float
    all: float


def amounts(model_path: str, feeds: Feeds) -> Amounts:
    """What of a model's multiply-adds has integer kernels.

    Raises:
        ReadError: it cannot be a model.
    """
    found = graph(model_path, {name: array.shape for name, array in feeds.items()})
    constant = {tensor.name: tensor.shape for tensor in found.tensors if tensor.constant}
    by_kind = {"Conv": 0.0, "product": 0.0, "other": 0.0}
    for op in found.ops:
        if op.engine != "fma" or op.flop is None or op.precision not in ("fp32", "any"):
            continue
        weighted = len(op.inputs) > _WEIGHT and op.inputs[_WEIGHT] in constant
        if weighted and op.kind == "Conv":
            weighted = _fits(int(op.attributes.get("groups", "1")), constant[op.inputs[_WEIGHT]])
        if weighted and op.kind in _PRODUCTS:
            weighted = len(constant[op.inputs[_WEIGHT]] or ()) == _MATRIX
        kind = "product" if op.kind in (*_PRODUCTS, "LSTM") else op.kind
        by_kind[kind if weighted and kind in by_kind else "other"] += op.flop * op.trips.count
    return Amounts(convolutions=by_kind["Conv"], products=by_kind["product"], all=sum(by_kind.values()))


def needs_reduced_range(machine: Machine) -> bool:
    """Whether weights must keep to seven bits: an x86-64 processor without VNNI adds two 8-bit products in 16 bits, which saturate."""
    return machine.architecture in ("x86_64", "AMD64") and not _VNNI & set(machine.isa)


def simplified(session_options: Any, model_path: str, providers: Sequence[str], feeds: Feeds, folder: Path) -> Any:
    """The model after the runtime's basic optimisations (constants folded, batch normalisation in the weights), ready for the quantiser.

    Args:
        session_options: of the clean calls; changed here.
        feeds: what a call gives; other inputs have a value in the file, and are weights.
        folder: for the file that the runtime writes.

    Raises:
        BackendUnavailable: the onnx package is missing.
        NotComparable: an opset that cannot be brought to 13, or a model too large for one file.
    """
    runtime, onnx = import_module("onnxruntime"), _onnx()
    written = folder / "simplified.onnx"
    session_options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session_options.optimized_model_filepath = str(written)
    runtime.InferenceSession(_whole(onnx, model_path, folder), session_options, providers=list(providers))
    model = onnx.load(written)
    for entry in [entry for entry in model.graph.input if entry.name not in feeds]:
        model.graph.input.remove(entry)
    model = _of_opset(onnx, model)
    _name_nodes(model.graph)
    _flatten_biases(model.graph)
    _sums_are_additions(model.graph)
    return model


def static_copy(model: Any, path: Path, feeds: Feeds, *, reduce_range: bool) -> Path:
    """A copy with convolutions, products with a constant matrix, and what lies between them, in int8; ranges are those seen on `feeds`.

    Activations are unsigned, weights signed and per channel: the pair for which the runtime has kernels on x86-64 and Arm.

    Raises:
        NotComparable: there is nothing to convert.
    """
    quantisation = import_module("onnxruntime.quantization")
    nodes = _static_nodes(model.graph)
    if not nodes:  # to the quantiser, an empty list means all
        raise NotComparable("operators with integer kernels", found="none after the basic optimisations", remedy="keep it in fp32")
    with _converting(path.parent):
        quantisation.quantize_static(
            model,
            str(path),
            _once(quantisation, feeds),
            per_channel=True,
            reduce_range=reduce_range,
            activation_type=quantisation.QuantType.QUInt8,
            weight_type=quantisation.QuantType.QInt8,
            nodes_to_quantize=nodes,
        )
    return path


def dynamic_copy(model: Any, path: Path, *, reduce_range: bool) -> Path:
    """A copy whose products with a constant matrix, and LSTM, are in int8; ranges of activations are found in every call.

    Raises:
        NotComparable: there is nothing to convert.
    """
    quantisation = import_module("onnxruntime.quantization")
    before = _kinds(model)
    constant = {entry.name: entry for entry in model.graph.initializer}
    with _converting(path.parent):
        quantisation.quantize_dynamic(
            model,
            str(path),
            op_types_to_quantize=[*_PRODUCTS, "LSTM"],
            nodes_to_exclude=[node.name for node in model.graph.node if node.op_type in _PRODUCTS and not _weighted(node, constant)],
            per_channel=True,
            reduce_range=reduce_range,
            weight_type=quantisation.QuantType.QInt8,
        )
    if _kinds(_onnx().load(path)) == before:
        raise NotComparable("products with integer kernels", found="none that the quantiser converts", remedy="keep it in fp32")
    return path


def _onnx() -> Any:
    try:
        return import_module("onnx")
    except ImportError as error:
        raise BackendUnavailable("onnx to convert a model", found=str(error), remedy="pip install 'ridgeline[onnx]'") from error


def _whole(onnx: Any, model_path: str, folder: Path) -> str:
    """The model in one file: what the runtime writes would look for weights beside itself that are beside the original."""
    model = onnx.load(model_path, load_external_data=False)
    if not any(entry.external_data for entry in model.graph.initializer):
        return model_path
    model, path = onnx.load(model_path), folder / "whole.onnx"
    if model.ByteSize() > _LARGEST_BYTES:
        raise NotComparable("a model of at most 2 GiB with its weights", found=f"{model.ByteSize()} bytes", remedy="convert it in the code")
    onnx.save(model, path)
    return str(path)


def _of_opset(onnx: Any, model: Any) -> Any:
    """The model in an opset that has per-channel quantisation."""
    now = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=_OPSET)
    if now >= _OPSET:
        return model
    # Before version 4 of the format every weight had to be an input as well, and the converter still asks for it.
    model.ir_version = max(model.ir_version, _FORMAT)
    try:
        return onnx.version_converter.convert_version(model, _OPSET)
    except Exception as error:  # the converter has no classes of errors
        said = " ".join(str(error).split())[:120]
        raise NotComparable(f"a model of opset {_OPSET} or newer", found=f"opset {now}, not converted: {said}", remedy="export it anew") from error


def _name_nodes(graph: Any) -> None:
    """Give every node a name of its own: the quantiser is told names."""
    taken: set[str] = set()
    for index, node in enumerate(graph.node):
        if not node.name or node.name in taken:
            node.name = f"{node.name or node.op_type}#{index}"
        taken.add(node.name)


def _flatten_biases(graph: Any) -> None:
    """A bias of shape 1×N becomes one of N, which means the same: the quantiser takes rows of the former for elements."""
    initialisers = {entry.name: entry for entry in graph.initializer}
    read = [name for node in graph.node for name in node.input]
    for node in graph.node:
        bias = initialisers.get(node.input[2]) if node.op_type == "Gemm" and len(node.input) > 2 else None
        if bias is not None and list(bias.dims[:-1]) == [1] and read.count(bias.name) == 1:
            del bias.dims[0]


def _sums_are_additions(graph: Any) -> None:
    """A Sum of two is an Add, for which there is an integer kernel."""
    for node in graph.node:
        if node.op_type == "Sum" and len(node.input) == 2:
            node.op_type = "Add"


def _groups(node: Any) -> int:
    return next((int(attribute.i) for attribute in node.attribute if attribute.name == "group"), 1)


def _fits(groups: int, weights: Sequence[int | str] | None) -> bool:
    """Whether a convolution has a fast integer kernel: one group, or a channel a group.

    Between, the runtime brings every input and output into another order and loses more than it gains.
    """
    return groups == 1 or (weights is not None and len(weights) > 1 and weights[1] == 1)


def _weighted(node: Any, constant: Mapping[str, Any]) -> bool:
    """Whether it has an integer kernel: a product with a constant matrix, or a convolution with constant weights."""
    if node.op_type not in ("Conv", *_PRODUCTS) or len(node.input) <= _WEIGHT or node.input[_WEIGHT] not in constant:
        return False
    shape = constant[node.input[_WEIGHT]].dims
    return _fits(_groups(node), shape) if node.op_type == "Conv" else len(shape) == _MATRIX


def _kinds(model: Any) -> list[str]:
    return sorted(node.op_type for node in model.graph.node)


def _static_nodes(graph: Any) -> list[str]:
    """Names of convolutions and products with constant weights, and of what has nothing but their results as input."""
    constant = {entry.name: entry for entry in graph.initializer}
    chosen: list[str] = []
    integer: set[str] = set()
    for node in graph.node:
        weighted = _weighted(node, constant)
        data = [name for name in node.input if name and name not in constant]
        between = node.op_type in _BETWEEN and bool(data) and integer.issuperset(data)
        if weighted or (between and (node.op_type not in ("Add", "Concat") or len(data) > 1)):
            chosen.append(node.name)
            integer.update(node.output)
    return chosen


def _once(quantisation: Any, feeds: Feeds) -> Any:
    """The reader of calibration data that the quantiser asks for: one set of inputs."""

    class Reader(quantisation.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.waiting = [dict(feeds)]

        def get_next(self) -> dict[str, NDArray[Any]] | None:
            return self.waiting.pop() if self.waiting else None

    return Reader()


@contextmanager
def _converting(folder: Path) -> Iterator[None]:
    """Temporary files of the quantiser go into `folder`, since they hold whole models; whatever it raises is a model that it cannot convert."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    except Exception as error:  # it has no classes of errors
        said = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise NotComparable("a model that onnxruntime's quantiser can convert", found=said, remedy="convert it in the code") from error
    finally:
        tempfile.tempdir = before
