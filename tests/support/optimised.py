"""Models that onnxruntime has something to optimise in, and what it says of them: the optimised file and the profile of one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from .onnx_models import model, tensor

Arrays = dict[str, Any]
Shape = tuple[int, ...]


class Executed(NamedTuple):
    """One execution as the profile has it; weights that are packed are left out of its inputs."""

    name: str
    kind: str
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]


def optimise_and_run(proto: Any, folder: Path, shapes: Mapping[str, Shape] | None = None) -> tuple[Path, list[Executed]]:
    """The optimised model, and the executions of one run of it on zeros."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    options.enable_profiling, options.profile_file_prefix = True, str(folder / "profile")
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8}
    session.run(None, {entry.name: np.zeros((shapes or {}).get(entry.name, entry.shape), kinds[entry.type]) for entry in session.get_inputs()})
    events = json.loads(Path(session.end_profiling()).read_text())
    kernels = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    return folder / "optimised.onnx", [_executed(event) for event in kernels]


def _executed(event: Mapping[str, Any]) -> Executed:
    def shapes(listed: list[dict[str, list[int]]]) -> tuple[Shape, ...]:
        return tuple(tuple(next(iter(each.values()))) for each in listed)

    arguments = event["args"]
    name = event["name"].removesuffix("_kernel_time")
    return Executed(name, arguments["op_name"], shapes(arguments["input_type_shape"]), shapes(arguments["output_type_shape"]))


class Builder:
    """Nodes and weights of a model, added one after another; the weights are random, so that no two are equal."""

    def __init__(self, **inputs: tuple[int | str, ...]) -> None:
        self.nodes: list[Any] = []
        self.weights: Arrays = {}
        self._inputs = [tensor(name, *shape) for name, shape in inputs.items()]
        self._random = np.random.default_rng(6)

    def weight(self, *shape: int, dtype: Any = np.float32) -> str:
        values = self._random.normal(size=shape) if dtype is np.float32 else self._random.integers(0, 100, shape)
        return self.constant(values.astype(dtype))

    def constant(self, value: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def add(self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        names = [f"v{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, name=f"{kind}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, source: str, channels: int, filters: int, size: int = 3, bias: bool = True, **attributes: Any) -> str:
        group = attributes.get("group", 1)
        operands = [source, self.weight(filters, channels // group, size, size), *([self.weight(filters)] if bias else [])]
        return str(self.add("Conv", *operands, pads=[size // 2] * 4, **attributes))

    def norm(self, source: str, channels: int) -> str:
        """A batch normalisation as it is exported."""
        variance = self.constant(np.abs(self._random.normal(size=channels)).astype(np.float32) + 0.5)
        return str(self.add("BatchNormalization", source, self.weight(channels), self.weight(channels), self.weight(channels), variance))

    def model(self, *results: str, opset: int = 17) -> onnx.ModelProto:
        return model(self.nodes, self._inputs, list(results), self.weights, opset)


def convolutions() -> onnx.ModelProto:
    """Channels that do and do not fill a block, strides, a depthwise one, normalisation and activations behind them."""
    b = Builder(x=("n", 3, 32, 40))
    found = b.add("Relu", b.norm(b.conv("x", 3, 8, bias=False, strides=[2, 2]), 8))
    found = b.add("Clip", b.conv(found, 8, 16), b.constant(np.float32(0)), b.constant(np.float32(6)))
    found = b.add("Relu", b.norm(b.conv(found, 16, 16, group=16), 16))
    found = b.add("HardSigmoid", b.conv(found, 16, 24, 1))
    found = b.add("LeakyRelu", b.conv(found, 24, 64, 1), alpha=0.1)
    return b.model(b.add("Sigmoid", b.conv(found, 64, 10, 1)))


def residual() -> onnx.ModelProto:
    """Sums around two convolutions each, a projection, joined branches, pooling, a dense layer."""
    b = Builder(x=("n", 3, 32, 32))
    found = b.add("MaxPool", b.add("Relu", b.norm(b.conv("x", 3, 64, 7, bias=False), 64)), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inner = b.norm(b.conv(b.add("Relu", b.norm(b.conv(found, 64, 64, bias=False), 64)), 64, 64, bias=False), 64)
    found = b.add("Relu", b.add("Add", inner, found))
    inner = b.norm(b.conv(b.add("Relu", b.norm(b.conv(found, 64, 32, bias=False), 32)), 32, 96, bias=False), 96)
    found = b.add("Relu", b.add("Add", inner, b.norm(b.conv(found, 64, 96, 1, bias=False), 96)))
    pooled = b.add("AveragePool", found, kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1])
    found = b.add("Concat", b.conv(found, 96, 32, 1), b.conv(found, 96, 48), pooled, axis=1)
    found = b.add("Resize", found, "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest", coordinate_transformation_mode="asymmetric",
                  nearest_mode="floor")  # fmt: skip
    found = b.add("Flatten", b.add("GlobalAveragePool", b.conv(found, 176, 40)))
    return b.model(b.add("Softmax", b.add("Gemm", b.add("Relu", b.add("Gemm", found, b.weight(40, 30), b.weight(30))), b.weight(30, 5), b.weight(5))))


def gated() -> onnx.ModelProto:
    """Squeeze and excitation on channels that fill no block, and x · sigmoid(x)."""
    b = Builder(x=(1, 3, 16, 16))
    found = b.conv("x", 3, 24)
    found = b.add("Mul", found, b.add("Sigmoid", found))
    gate = b.add("HardSigmoid", b.conv(b.add("Relu", b.conv(b.add("GlobalAveragePool", found), 24, 6, 1)), 6, 24, 1))
    found = b.conv(b.add("Mul", found, gate), 24, 32, 1)
    return b.model(b.conv(b.add("Mul", found, b.add("Sigmoid", found)), 32, 12, 1))


def transformer(length: int | str = 7) -> onnx.ModelProto:
    """Two layers as an exporter writes them: layer normalisation and GELU in pieces, four-dimensional attention, sums around."""
    b = Builder(x=("n", length, 32))
    found = "x"
    for _ in range(2):
        found = _layer(b, found)
    return b.model(_layer_norm(b, found, 32))


def _layer(b: Builder, source: str) -> str:
    normal = _layer_norm(b, source, 32)
    query, key, value = (_heads(b, _dense(b, normal, 32, 32), order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = b.add("Softmax", b.add("Div", b.add("MatMul", query, key), b.constant(np.float32(8**0.5))), axis=-1)
    joined = b.add("Reshape", b.add("Transpose", b.add("MatMul", scores, value), perm=[0, 2, 1, 3]), b.constant(np.array([0, -1, 32], np.int64)))
    found = b.add("Add", _dense(b, joined, 32, 32), source)
    return str(b.add("Add", _dense(b, _gelu(b, _dense(b, _layer_norm(b, found, 32), 32, 64)), 64, 32), found))


def _dense(b: Builder, source: str, wide: int, to: int) -> str:
    return str(b.add("Add", b.add("MatMul", source, b.weight(wide, to)), b.weight(to)))


def _heads(b: Builder, source: str, order: list[int]) -> str:
    return str(b.add("Transpose", b.add("Reshape", source, b.constant(np.array([0, -1, 4, 8], np.int64))), perm=order))


def _layer_norm(b: Builder, source: str, wide: int) -> str:
    centred = b.add("Sub", source, b.add("ReduceMean", source, axes=[-1]))
    variance = b.add("ReduceMean", b.add("Pow", centred, b.constant(np.float32(2))), axes=[-1])
    normal = b.add("Div", centred, b.add("Sqrt", b.add("Add", variance, b.constant(np.float32(1e-5)))))
    return str(b.add("Add", b.add("Mul", normal, b.weight(wide)), b.weight(wide)))


def _gelu(b: Builder, source: str) -> str:
    error = b.add("Add", b.add("Erf", b.add("Div", source, b.constant(np.float32(2**0.5)))), b.constant(np.float32(1)))
    return str(b.add("Mul", b.add("Mul", source, error), b.constant(np.float32(0.5))))


def quantised() -> onnx.ModelProto:
    """Convolutions, a sum, pooling and a product between pairs of QuantizeLinear and DequantizeLinear."""
    b = Builder(x=(1, 3, 16, 16))
    found = _pair(b, "x")
    found = _pair(b, b.add("Relu", b.add("Conv", found, _stored(b, 16, 3, 3, 3), pads=[1] * 4)))
    other = _pair(b, b.add("Conv", found, _stored(b, 16, 16, 1, 1)))
    found = _pair(b, b.add("Add", _pair(b, b.add("Conv", found, _stored(b, 16, 16, 3, 3), pads=[1] * 4)), other))
    found = _pair(b, b.add("Concat", _pair(b, b.add("MaxPool", found, kernel_shape=[2, 2], strides=[2, 2])),
                           _pair(b, b.add("AveragePool", found, kernel_shape=[2, 2], strides=[2, 2])), axis=1))  # fmt: skip
    found = _pair(b, b.add("Flatten", _pair(b, b.add("GlobalAveragePool", found))))
    return b.model(_pair(b, b.add("Sigmoid", _pair(b, b.add("MatMul", found, _stored(b, 32, 10))))))


def _pair(b: Builder, source: str) -> str:
    scale, zero = b.constant(np.float32(0.05)), b.constant(np.uint8(128))
    return str(b.add("DequantizeLinear", b.add("QuantizeLinear", source, scale, zero), scale, zero))


def _stored(b: Builder, *shape: int) -> str:
    return str(b.add("DequantizeLinear", b.weight(*shape, dtype=np.int8), b.constant(np.float32(0.02)), b.constant(np.int8(0))))


def dynamic() -> onnx.ModelProto:
    """Products in eight bits whose activations are quantised as they come, and a convolution so."""
    b = Builder(x=("n", 3, 12, 12))
    eight, scale, zero = b.add("DynamicQuantizeLinear", "x", outputs=3)
    sums = b.add("Cast", b.add("ConvInteger", eight, b.weight(8, 3, 3, 3, dtype=np.uint8), zero, b.constant(np.uint8(7))), to=TensorProto.FLOAT)
    found = b.add("Flatten", b.add("Mul", sums, b.add("Mul", scale, b.constant(np.float32(0.02)))))
    for wide, to in ((800, 20), (20, 10)):
        eight, scale, zero = b.add("DynamicQuantizeLinear", found, outputs=3)
        sums = b.add("Cast", b.add("MatMulInteger", eight, b.weight(wide, to, dtype=np.uint8), zero, b.constant(np.uint8(9))), to=TensorProto.FLOAT)
        found = b.add("Add", b.add("Mul", sums, b.add("Mul", scale, b.constant(np.float32(0.02)))), b.weight(to))
    return b.model(found)


def recurrent() -> onnx.ModelProto:
    """A long short-term memory both ways between dense layers, its result turned and flattened by computed shapes."""
    b = Builder(x=("t", 2, 12))
    found = b.add("LSTM", "x", b.weight(2, 32, 12), b.weight(2, 32, 8), b.weight(2, 64), outputs=3, hidden_size=8, direction="bidirectional")[0]
    turned = b.add("Transpose", found, perm=[0, 2, 1, 3])
    length = b.add("Gather", b.add("Shape", turned), b.constant(np.array([0], np.int64)), axis=0)
    flat = b.add("Reshape", turned, b.add("Concat", length, b.constant(np.array([2, 16], np.int64)), axis=0))
    return b.model(_dense(b, flat, 16, 5))


def products(opset: int = 17) -> onnx.ModelProto:
    """Transposes and factors around products: of matrices, of batches, with the batch in the middle."""
    b = Builder(x=(2, 5, 6), y=(2, 5, 7), z=(5, 2, 6))
    one = b.add("MatMul", b.add("Transpose", "x", perm=[0, 2, 1]), "y")
    two = b.add("Mul", b.add("MatMul", "x", one), b.constant(np.float32(0.5)))
    three = b.add("MatMul", b.add("Transpose", "x", perm=[0, 2, 1]), b.weight(5, 4))
    return b.model(two, three, b.add("MatMul", b.add("Transpose", "z", perm=[1, 0, 2]), b.weight(2, 6, 3)), opset=opset)


#: Name → a model and the shapes of its free inputs.
MODELS: Mapping[str, tuple[Callable[[], onnx.ModelProto], dict[str, Shape]]] = {
    "convolutions": (convolutions, {"x": (2, 3, 32, 40)}), "residual": (residual, {"x": (1, 3, 32, 32)}), "gated": (gated, {}),
    "transformer": (transformer, {"x": (2, 7, 32)}), "quantised": (quantised, {}), "dynamic": (dynamic, {"x": (1, 3, 12, 12)}),
    "recurrent": (recurrent, {"x": (9, 2, 12)}), "products": (products, {}), "old products": (lambda: products(11), {}),
}  # fmt: skip
