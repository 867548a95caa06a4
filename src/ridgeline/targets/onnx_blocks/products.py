"""Products of matrices, with weights and without, in floating point and in eight or four bits; recurrent networks."""

from __future__ import annotations

from ridgeline.core import UsageError, Workload

from .nodes import MICROSOFT, Node, Operand, constant, operand, weights

__all__ = ["gemm", "recurrent"]

#: Values of a block of weights that share a scale, of onnxruntime's quantisation in four bits.
_BLOCK = 32


def gemm(work: Workload) -> Node:
    """(m, k) by (k, n), `batch` times."""
    size = {"batch": 1, "groups": 1, **work.sizes}
    m, n, k, batch = size["m"], size["n"], size["k"], size["batch"]
    name, _, more = work.variant.partition("+")
    several = (batch,) if batch > 1 else ()
    left, right, result = (*several, m, k), (*several, k, n), (*several, m, n)
    if name in ("Gemm", "FusedGemm"):
        return _with_bias(work, more)
    if name in ("MatMul", "FusedMatMul"):
        domain, attributes = ("", {}) if name == "MatMul" else (MICROSOFT, {"alpha": 0.125})
        second = operand(*right) if more == "changing" else weights(*right)
        return Node(name, (operand(*left), second), ((result, "float32"),), domain, attributes)
    quantised = _QUANTISED.get(name)
    if quantised is None or batch > 1:
        raise UsageError(
            f"a product that onnxruntime has: {', '.join(('Gemm', 'MatMul', *_QUANTISED))}", found=work.variant, remedy="name one of them"
        )
    return quantised(m, n, k)


def _with_bias(work: Workload, activation: str) -> Node:
    m, n, k = (work.sizes[name] for name in "mnk")
    attributes = {"transB": 1} | ({"activation": activation} if activation else {})
    operands = (operand(m, k), weights(n, k), weights(n))
    return Node("FusedGemm" if activation else "Gemm", operands, (((m, n), "float32"),), MICROSOFT if activation else "", attributes)


def _integers(m: int, n: int, k: int) -> Node:
    operands = (operand(m, k, dtype="uint8"), weights(k, n, dtype="int8"), constant(128, "uint8"), constant(0, "int8"))
    return Node("MatMulInteger", operands, (((m, n), "int32"),))


def _integers_to_float(m: int, n: int, k: int) -> Node:
    sides = (operand(m, k, dtype="uint8"), weights(k, n, dtype="int8"))
    operands = (*sides, constant(0.05), constant(0.01), constant(128, "uint8"), constant(0, "int8"))
    return Node("MatMulIntegerToFloat", operands, (((m, n), "float32"),), MICROSOFT)


def _dynamic(m: int, n: int, k: int) -> Node:
    operands = (operand(m, k), weights(k, n, dtype="int8"), constant(0.01), constant(0, "int8"))
    return Node("DynamicQuantizeMatMul", operands, (((m, n), "float32"),), MICROSOFT)


def _linear(m: int, n: int, k: int) -> Node:
    left, right = (constant(0.05), constant(128, "uint8")), (constant(0.01), constant(0, "int8"))
    operands = (operand(m, k, dtype="uint8"), *left, weights(k, n, dtype="int8"), *right, *left)
    return Node("QLinearMatMul", operands, (((m, n), "uint8"),))


def _linear_gemm(m: int, n: int, k: int) -> Node:
    left, right = (constant(0.05), constant(128, "uint8")), (constant(0.01), constant(0, "int8"))
    operands = (operand(m, k, dtype="uint8"), *left, weights(n, k, dtype="int8"), *right, weights(n, dtype="int32"), *left)
    return Node("QGemm", operands, (((m, n), "uint8"),), MICROSOFT, {"transB": 1})


def _four_bits(m: int, n: int, k: int) -> Node:
    blocks = -(-k // _BLOCK)
    packed: tuple[Operand, ...] = (weights(n, blocks, _BLOCK // 2, dtype="uint8"), weights(n * blocks))
    attributes = {"K": k, "N": n, "bits": 4, "block_size": _BLOCK}
    return Node("MatMulNBits", (operand(m, k), *packed), (((m, n), "float32"),), MICROSOFT, attributes)


_QUANTISED = {
    "MatMulInteger": _integers, "MatMulIntegerToFloat": _integers_to_float, "DynamicQuantizeMatMul": _dynamic, "QLinearMatMul": _linear,
    "QGemm": _linear_gemm, "MatMulNBits": _four_bits,
}  # fmt: skip


def recurrent(work: Workload) -> Node:
    """A network of one layer over `steps`."""
    size = {"batch": 1, "directions": 1, **work.sizes}
    steps, batch, width, hidden, ways = (size[name] for name in ("steps", "batch", "input", "hidden", "directions"))
    gates = {"LSTM": 4, "DynamicQuantizeLSTM": 4, "GRU": 3, "RNN": 1}.get(work.variant)
    if gates is None:
        raise UsageError("a recurrent network that onnxruntime has: LSTM, GRU, RNN", found=work.variant, remedy="name one of them")
    attributes = {"hidden_size": hidden, "direction": "bidirectional" if ways == 2 else "forward"}
    bias = weights(ways, 2 * gates * hidden)
    result = (((steps, ways, batch, hidden), "float32"),)
    image = operand(steps, batch, width)
    if work.variant != "DynamicQuantizeLSTM":
        return Node(work.variant, (image, weights(ways, gates * hidden, width), weights(ways, gates * hidden, hidden), bias), result, "", attributes)
    scales = (constant([0.01] * ways), constant([0] * ways, "int8"))
    kept = (weights(ways, width, gates * hidden, dtype="int8"), weights(ways, hidden, gates * hidden, dtype="int8"))
    return Node(work.variant, (image, *kept, bias, None, None, None, None, *scales, *scales), result, MICROSOFT, attributes)
