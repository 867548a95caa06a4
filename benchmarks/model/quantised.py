"""Small 8-bit TFLite networks with seeded weights, made here: the shapes of well-known families of the edge, none of their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SAME, VALID = 0, 1


class Network:
    """A network in the making; `last` is the tensor that the next layer reads."""

    def __init__(self, name: str, *shape: int) -> None:
        from ai_edge_litert import schema_py_generated as schema

        self.schema, self.random = schema, np.random.default_rng(len(name) + sum(shape))
        self.model, self.graph, self.codes = schema.ModelT(), schema.SubGraphT(), dict[str, int]()
        self.model.version, self.model.description, self.model.buffers = 3, name, [schema.BufferT()]
        self.model.operatorCodes, self.model.subgraphs = [], [self.graph]
        self.graph.name, self.graph.tensors, self.graph.operators = name, [], []
        self.first = self.last = self.tensor("input", (1, *shape))

    def tensor(self, name: str, shape: tuple[int, ...], data: np.ndarray | None = None, scale: float = 0.05, channels: int = 1, axis: int = 0) -> int:
        """Index of a new quantised tensor; one with data is a constant."""
        tensor = self.schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer = f"{name}{len(self.graph.tensors)}", list(shape), 0
        tensor.type = self.schema.TensorType.INT8 if data is None or data.dtype == np.int8 else self.schema.TensorType.INT32
        tensor.quantization = self.schema.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = [scale] * channels, [0] * channels
        tensor.quantization.quantizedDimension = axis
        if data is not None:
            buffer = self.schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Sizes of a tensor."""
        return tuple(self.graph.tensors[tensor].shape)

    def operator(self, kind: str, inputs: list[int], output: int, options: str, **fields: Any) -> Network:
        """Append an operator that makes `output`."""
        if kind not in self.codes:
            code = self.schema.OperatorCodeT()
            code.builtinCode = getattr(self.schema.BuiltinOperator, kind)
            code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 3
            self.codes[kind] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(code)
        operator = self.schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = self.codes[kind], inputs, [output]
        operator.builtinOptionsType = getattr(self.schema.BuiltinOptions, options)
        operator.builtinOptions = getattr(self.schema, f"{options}T")()
        for field, value in fields.items():
            setattr(operator.builtinOptions, field, value)
        self.graph.operators.append(operator)
        self.last = output
        return self

    def weights(self, shape: tuple[int, ...], axis: int, channels: int) -> list[int]:
        """Seeded 8-bit weights without zeros, and biases."""
        data = self.random.normal(0, 30, shape).round().clip(-127, 127).astype(np.int8)
        data[data == 0] = 1
        taps = self.tensor("weights", shape, data, 0.01, channels, axis)
        return [taps, self.tensor("bias", (channels,), np.zeros(channels, np.int32), 0.0005, channels)]

    def windowed(
        self, kind: str, options: str, kernel: tuple[int, int], stride: int, padding: int, channels: int, constants: list[int], **fields: Any
    ) -> Network:
        """Append an operator with a window."""
        _, height, width, _ = self.shape(self.last)
        lost = (0, 0) if padding == SAME else (kernel[0] - 1, kernel[1] - 1)
        size = (1, -(-(height - lost[0]) // stride), -(-(width - lost[1]) // stride), channels)
        output = self.tensor(kind.lower(), size)
        return self.operator(kind, [self.last, *constants], output, options, strideW=stride, strideH=stride, padding=padding, **fields)

    def convolve(self, channels: int, kernel: tuple[int, int] = (1, 1), stride: int = 1, padding: int = SAME) -> Network:
        """A convolution with bias and rectifier."""
        constants = self.weights((channels, *kernel, self.shape(self.last)[3]), 0, channels)
        return self.windowed(
            "CONV_2D", "Conv2DOptions", kernel, stride, padding, channels, constants, fusedActivationFunction=1, dilationWFactor=1, dilationHFactor=1
        )

    def depthwise(self, kernel: tuple[int, int] = (3, 3), stride: int = 1, padding: int = SAME) -> Network:
        """A depthwise convolution with bias and rectifier."""
        channels = self.shape(self.last)[3]
        constants = self.weights((1, *kernel, channels), 3, channels)
        fields = {"fusedActivationFunction": 1, "depthMultiplier": 1, "dilationWFactor": 1, "dilationHFactor": 1}
        return self.windowed("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", kernel, stride, padding, channels, constants, **fields)

    def pool(self, kind: str, kernel: tuple[int, int], stride: int) -> Network:
        """A pool without padding."""
        channels = self.shape(self.last)[3]
        fields = {"filterHeight": kernel[0], "filterWidth": kernel[1], "fusedActivationFunction": 0}
        return self.windowed(kind, "Pool2DOptions", kernel, stride, VALID, channels, [], **fields)

    def add(self, other: int) -> Network:
        """The sum with another tensor."""
        return self.operator("ADD", [self.last, other], self.tensor("add", self.shape(self.last), scale=0.07), "AddOptions")

    def connect(self, features: int) -> Network:
        """A fully connected layer."""
        constants = self.weights((features, int(np.prod(self.shape(self.last)))), 0, features)
        # A matrix has one scale for all its rows.
        for constant, scale in zip(constants, (0.01, 0.0005), strict=True):
            self.graph.tensors[constant].quantization.scale, self.graph.tensors[constant].quantization.zeroPoint = [scale], [0]
        return self.operator("FULLY_CONNECTED", [self.last, *constants], self.tensor("connected", (1, features)), "FullyConnectedOptions")

    def finished(self) -> bytes:
        """The file."""
        import flatbuffers

        self.graph.inputs, self.graph.outputs = [self.first], [self.last]
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def keywords() -> bytes:
    net = Network("keywords", 49, 10, 1).convolve(64, (10, 4), 2)
    for _ in range(4):
        net.depthwise().convolve(64)
    return net.pool("AVERAGE_POOL_2D", (25, 5), 1).connect(12).finished()


def mobile() -> bytes:
    net = Network("mobile", 96, 96, 3).convolve(16, (3, 3), 2)
    for channels, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (256, 1)):
        net.depthwise(stride=stride).convolve(channels)
    return net.pool("AVERAGE_POOL_2D", (6, 6), 1).connect(10).finished()


def residual() -> bytes:
    net = Network("residual", 32, 32, 3).convolve(16, (3, 3))
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        if stride > 1:
            net.convolve(channels, (3, 3), stride)
        shortcut = net.last
        net.convolve(channels, (3, 3)).convolve(channels, (3, 3)).add(shortcut)
    return net.pool("AVERAGE_POOL_2D", (8, 8), 1).connect(10).finished()


def stacked() -> bytes:
    net = Network("stacked", 32, 32, 3)
    for channels in (32, 64, 128):
        net.convolve(channels, (3, 3)).convolve(channels, (3, 3)).pool("MAX_POOL_2D", (2, 2), 2)
    return net.connect(128).connect(10).finished()


def temporal() -> bytes:
    net = Network("temporal", 98, 1, 40).convolve(32, (3, 1), padding=VALID)
    for channels, stride in ((48, 2), (64, 1), (64, 2), (96, 1)):
        net.convolve(channels, (9, 1), stride)
    return net.pool("AVERAGE_POOL_2D", (24, 1), 1).connect(12).finished()


def inverted() -> bytes:
    net = Network("inverted", 64, 64, 3).convolve(16, (3, 3), 2)
    for channels, stride in ((16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        before, shortcut = net.shape(net.last)[3], net.last
        net.convolve(before * 6).depthwise(stride=stride).convolve(channels)
        if stride == 1 and before == channels:
            net.add(shortcut)
    return net.pool("AVERAGE_POOL_2D", (2, 2), 1).connect(10).finished()


NETWORKS: dict[str, Callable[[], bytes]] = {
    "keywords": keywords,
    "mobile": mobile,
    "residual": residual,
    "stacked": stacked,
    "temporal": temporal,
    "inverted": inverted,
}
