"""Operators that take their operands element by element, also where one of them is smaller and met again; and between formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ridgeline.core import UsageError, Workload

from .nodes import MICROSOFT, Node, Operand, constant, operand

__all__ = ["BINARY", "UNARY", "elementwise"]

UNARY = (
    "Abs", "Ceil", "Cos", "Elu", "Erf", "Exp", "FastGelu", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Neg", "Not", "QuickGelu",
    "Reciprocal", "Relu", "Round", "Sigmoid", "Sin", "Softplus", "Sqrt", "Tanh",
)  # fmt: skip
BINARY = ("Add", "And", "BiasGelu", "Div", "Equal", "Greater", "Less", "Max", "Min", "Mul", "PRelu", "Pow", "Sub", "Sum", "Where")
_MICROSOFTS = frozenset(("BiasGelu", "FastGelu", "Gelu", "QuickGelu", "QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu"))
_COMPARING = frozenset(("Equal", "Greater", "Less"))
_LOGICAL = frozenset(("And", "Not"))


def elementwise(work: Workload) -> Node:
    """One operand, or two of which the smaller is met again as `span` and `held` say."""
    name, elements = work.variant, work.sizes["elements"]
    quantised = _QUANTISED.get(name)
    if quantised is not None:
        return quantised(elements)
    if name == "Clip":
        return Node(name, (operand(elements), constant(0.0), constant(6.0)), (((elements,), "float32"),))
    if name in UNARY:
        dtype = "bool" if name in _LOGICAL else "float32"
        domain = MICROSOFT if name in _MICROSOFTS else ""
        return Node(name, (operand(elements, dtype=dtype),), (((elements,), dtype),), domain, {"alpha": 1.702} if name == "QuickGelu" else {})
    if name not in BINARY:
        known = ", ".join((*UNARY, *BINARY, "Clip", *_QUANTISED))
        raise UsageError(f"an elementwise operator that onnxruntime has: {known}", found=name, remedy="name one of them")
    return _binary(work, elements)


def _binary(work: Workload, elements: int) -> Node:
    name, constants = work.variant, work.sizes.get("constants", 0)
    large, small = _shapes(elements, work.sizes.get("span", 0), bool(work.sizes.get("held", 0)))
    dtype = "bool" if name in _LOGICAL else "float32"
    second = Operand(small, dtype, kept=True, own=True) if constants or small == () else operand(*small, dtype=dtype)
    first: tuple[Operand, ...] = (operand(*large, dtype=dtype),)
    result = ((large, "bool" if name in _COMPARING else dtype),)
    if name == "Where":
        return Node(name, (operand(*large, dtype="bool"), *first, second), result)
    return Node(name, (*first, second), result, MICROSOFT if name in _MICROSOFTS else "")


def _shapes(elements: int, span: int, held: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of the result and of the smaller operand."""
    if not span:
        return (elements,), () if held else (elements,)
    if elements % span:
        raise UsageError("elements that are whole spans", found=f"{elements} of spans of {span}", remedy="give sizes that go")
    outer = elements // span
    return (outer, span), (outer, 1) if held else (span,)


_BYTE = (constant(0.05), constant(0, "uint8"))


def _dynamic(elements: int) -> Node:
    return Node("DynamicQuantizeLinear", (operand(elements),), (((elements,), "uint8"), ((), "float32"), ((), "uint8")))


def _quantised(elements: int) -> Node:
    return Node("QuantizeLinear", (operand(elements), *_BYTE), (((elements,), "uint8"),))


def _back(elements: int) -> Node:
    return Node("DequantizeLinear", (operand(elements, dtype="uint8"), *_BYTE), (((elements,), "float32"),))


def _two(name: str, elements: int) -> Node:
    bytes_ = operand(elements, dtype="uint8")
    return Node(name, (bytes_, *_BYTE, bytes_, *_BYTE, *_BYTE), (((elements,), "uint8"),), MICROSOFT)


def _table(name: str, elements: int) -> Node:
    return Node(name, (operand(elements, dtype="uint8"), *_BYTE, *_BYTE), (((elements,), "uint8"),), MICROSOFT)


def _named(name: str, make: Callable[[str, int], Node]) -> Callable[[int], Node]:
    return lambda elements: make(name, elements)


_QUANTISED: Mapping[str, Callable[[int], Node]] = {
    "DynamicQuantizeLinear": _dynamic, "QuantizeLinear": _quantised, "DequantizeLinear": _back,
    **{name: _named(name, _two) for name in ("QLinearAdd", "QLinearMul")},
    **{name: _named(name, _table) for name in ("QLinearSigmoid", "QLinearLeakyRelu")},
}  # fmt: skip
