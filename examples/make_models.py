"""Makes the ONNX and TFLite models of the examples: `python examples/make_models.py [DIRECTORY]`. Weights are seeded; nothing is downloaded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent


def _weights(random: np.random.Generator, name: str, *shape: int) -> onnx.TensorProto:
    fan_in = int(np.prod(shape[1:])) or 1
    return numpy_helper.from_array((random.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32), name)


def _model(
    name: str, nodes: list[onnx.NodeProto], given: tuple[str, list[int]], result: tuple[str, list[int]], constants: list[onnx.TensorProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(given[0], TensorProto.FLOAT, given[1])],
        [helper.make_tensor_value_info(result[0], TensorProto.FLOAT, result[1])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="ridgeline-examples")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def windows() -> onnx.ModelProto:
    """Adds a learned bias within windows of an image, block after block with windows of another size, as window attention leaves it."""
    random = np.random.default_rng(50)
    side, channels = 112, 64
    nodes, constants, current = [], [], "image"

    def reshaped(source: str, name: str, shape: list[int]) -> str:
        constants.append(numpy_helper.from_array(np.array(shape, np.int64), f"{name}_shape"))
        nodes.append(helper.make_node("Reshape", [source, f"{name}_shape"], [name], name=name))
        return name

    for block, window in enumerate((8, 7, 16, 14)):
        count = side // window
        constants.append(_weights(random, f"bias{block}", window * window, channels))
        split = reshaped(current, f"split{block}", [1, channels, count, window, count, window])
        nodes.append(helper.make_node("Transpose", [split], [f"gather{block}"], name=f"to_windows{block}", perm=[0, 2, 4, 3, 5, 1]))
        rows = reshaped(f"gather{block}", f"rows{block}", [count * count, window * window, channels])
        nodes.append(helper.make_node("Add", [rows, f"bias{block}"], [f"biased{block}"], name=f"add{block}"))
        back = reshaped(f"biased{block}", f"back{block}", [1, count, count, window, window, channels])
        nodes.append(helper.make_node("Transpose", [back], [f"planes{block}"], name=f"to_planes{block}", perm=[0, 5, 1, 3, 2, 4]))
        current = reshaped(f"planes{block}", f"image{block}", [1, channels, side, side])
    nodes.append(helper.make_node("Relu", [current], ["out"], name="head"))
    return _model("windows", nodes, ("image", [1, channels, side, side]), ("out", [1, channels, side, side]), constants)


def morphology() -> onnx.ModelProto:
    """Opening and closing of many masks at once: an erosion is the negative of a maximum over the negative."""
    nodes: list[onnx.NodeProto] = []
    current = "masks"
    for step in range(6):
        pooled = f"max{step}"
        nodes.append(helper.make_node("MaxPool", [current], [pooled], name=pooled, kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1]))
        nodes.append(helper.make_node("Neg", [pooled], [f"turned{step}"], name=f"turn{step}"))
        current = f"turned{step}"
    nodes.append(helper.make_node("Identity", [current], ["cleaned"], name="out"))
    return _model("morphology", nodes, ("masks", [1, 96, 112, 112]), ("cleaned", [1, 96, 112, 112]), [])


def gesture() -> onnx.ModelProto:
    """Three hundred operators on sixteen numbers: a recurrent cell unrolled by its exporter. No two neighbours can be folded."""
    random = np.random.default_rng(51)
    nodes, constants, current = [], [], "motion"
    for step in range(100):
        constants += [_weights(random, f"w{step}", 16, 16), numpy_helper.from_array(random.standard_normal(16).astype(np.float32), f"b{step}")]
        nodes += [
            helper.make_node("MatMul", [current, f"w{step}"], [f"m{step}"], name=f"mix{step}"),
            helper.make_node("Sub", [f"b{step}", f"m{step}"], [f"s{step}"], name=f"shift{step}"),
            helper.make_node("Abs", [f"s{step}"], [f"a{step}"], name=f"fold{step}"),
        ]
        current = f"a{step}"
    nodes.append(helper.make_node("Identity", [current], ["gesture"], name="out"))
    return _model("gesture", nodes, ("motion", [1, 16]), ("gesture", [1, 16]), constants)


def backbone() -> onnx.ModelProto:
    """Plain 3×3 convolutions with activations: a runtime does well on it."""
    random = np.random.default_rng(52)
    nodes, constants, current = [], [], "image"
    channels = [128, 128, 128, 128]
    previous = 64
    for layer, width in enumerate(channels):
        constants.append(_weights(random, f"w{layer}", width, previous, 3, 3))
        nodes += [
            helper.make_node("Conv", [current, f"w{layer}"], [f"c{layer}"], name=f"conv{layer}", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"], name=f"relu{layer}"),
        ]
        current, previous = f"r{layer}", width
    nodes.append(helper.make_node("GlobalAveragePool", [current], ["features"], name="pool"))
    return _model("backbone", nodes, ("image", [1, 64, 72, 72]), ("features", [1, 128, 1, 1]), constants)


class Lite:
    """A TFLite file in the making; the layout of the file is the schema's that comes with ai-edge-litert."""

    def __init__(self, name: str) -> None:
        from ai_edge_litert import schema_py_generated as schema

        self.schema = schema
        self.codes: dict[str, int] = {}
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.description, self.model.buffers = 3, name, [schema.BufferT()]
        self.model.operatorCodes, self.model.subgraphs = [], [self.graph]
        self.graph.name, self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = name, [], [], [], []

    def tensor(self, name: str, *shape: int, data: np.ndarray | None = None, kind: str = "float32", scale: float = 0.0, free: bool = False) -> int:
        """Index of a new tensor; one with data is a constant. With a scale it is quantised; `free` leaves its first size open."""
        tensor = self.schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer = name, list(shape), 0
        tensor.type = getattr(self.schema.TensorType, (str(data.dtype) if data is not None else kind).upper())
        if free:
            tensor.shapeSignature = [-1, *shape[1:]]
        if scale:
            tensor.quantization = self.schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [scale], [0]
        if data is not None:
            buffer = self.schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def operator(self, kind: str, inputs: list[int], output: int, options: str = "", **fields: float) -> int:
        """Append an operator with options such as `Conv2DOptions`; returns its output."""
        if kind not in self.codes:
            code = self.schema.OperatorCodeT()
            code.builtinCode = getattr(self.schema.BuiltinOperator, kind)
            code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
            self.codes[kind] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(code)
        operator = self.schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = self.codes[kind], inputs, [output]
        if options:
            operator.builtinOptionsType = getattr(self.schema.BuiltinOptions, options)
            operator.builtinOptions = getattr(self.schema, f"{options}T")()
            for field, value in fields.items():
                setattr(operator.builtinOptions, field, value)
        self.graph.operators.append(operator)
        return output

    def convolution(self, source: int, name: str, side: int, before: int, after: int, random: np.random.Generator, *, pointwise: bool = False) -> int:
        """A convolution with bias and rectifier on an image of that side, 3×3 or 1×1."""
        window = 1 if pointwise else 3
        taps = (random.standard_normal((after, window, window, before)) / np.sqrt(window * window * before)).astype(np.float32)
        weights = self.tensor(f"{name}_weights", *taps.shape, data=taps)
        bias = self.tensor(f"{name}_bias", after, data=np.zeros(after, np.float32))
        rectified = self.schema.ActivationFunctionType.RELU
        result = self.tensor(name, 1, side, side, after)
        fields = {"strideW": 1, "strideH": 1, "padding": self.schema.Padding.SAME, "fusedActivationFunction": rectified}
        return self.operator("CONV_2D", [source, weights, bias], result, "Conv2DOptions", **fields)

    def finished(self, given: int, result: int, *more: int) -> bytes:
        """The file; `more` are further inputs."""
        import flatbuffers

        self.graph.inputs, self.graph.outputs = [given, *more], [result]
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def tagger() -> bytes:
    """A tagger of photographs of the older school: responses are normalised across channels after each of its first convolutions."""
    random = np.random.default_rng(53)
    lite, side = Lite("tagger"), 96
    image = current = lite.tensor("photo", 1, side, side, 3)
    before = 3
    for layer in range(4):
        current = lite.convolution(current, f"features{layer}", side, before, 32, random)
        before = 32
        if layer < 3:
            normal = lite.tensor(f"normal{layer}", 1, side, side, 32)
            fields = {"radius": 2, "bias": 1.0, "alpha": 1e-4, "beta": 0.75}
            current = lite.operator("LOCAL_RESPONSE_NORMALIZATION", [current], normal, "LocalResponseNormalizationOptions", **fields)
    return lite.finished(image, lite.convolution(current, "tags", side, 32, 32, random, pointwise=True))


def scenes() -> bytes:
    """The mixing part of a scene classifier: 1×1 convolutions with rectifiers, one after the other."""
    random = np.random.default_rng(54)
    lite, side, channels = Lite("scenes"), 28, 256
    image = current = lite.tensor("scene", 1, side, side, channels)
    for layer in range(12):
        current = lite.convolution(current, f"mix{layer}", side, channels, channels, random, pointwise=True)
    return lite.finished(image, current)


LITE_MODELS = {"tagger": tagger, "scenes": scenes}
MODELS = {"windows": windows, "morphology": morphology, "gesture": gesture, "backbone": backbone}


def make(directory: Path) -> list[Path]:
    """Write every model that is not there yet and return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, build in MODELS.items():
        path = directory / f"{name}.onnx"
        if not path.exists():
            draft = path.with_suffix(".part")
            draft.write_bytes(build().SerializeToString())
            draft.replace(path)
        paths.append(path)
    return paths + _made_lite(directory)


def _made_lite(directory: Path) -> list[Path]:
    if importlib.util.find_spec("ai_edge_litert") is None:
        print("no TFLite models: ai-edge-litert is not installed", file=sys.stderr)
        return []
    paths = []
    for name, build in LITE_MODELS.items():
        path = directory / f"{name}.tflite"
        if not path.exists():
            draft = path.with_suffix(".part")
            draft.write_bytes(build())
            draft.replace(path)
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "build"):
        print(written)
