"""Parts of families that one corrector learns: operators whose kernels are alike.

A family says what must be computed and moved, a runtime has several kernels for it: a convolution of channels in blocks and one by a product of
matrices share their FLOPs and nothing else. This module decides which operators are learned together; those of runtimes that it does not know are
learned by family.
"""

from __future__ import annotations

from collections.abc import Mapping

from ridgeline.core import Workload

__all__ = ["part_of"]

#: Operators of ONNX runtimes by name → their part.
_BY_NAME: Mapping[str, str] = {
    "ConvTranspose": "transposed", "ConvInteger": "of whole numbers", "QLinearConv": "quantised",
    **dict.fromkeys(("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearMatMul", "QGemm"), "in eight bits"),
    "MatMulNBits": "in four bits",
    **dict.fromkeys(("DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear", "QLinearAdd", "QLinearMul"), "quantising"),
    **dict.fromkeys(("QLinearSigmoid", "QLinearLeakyRelu"), "quantising"),
    "Transpose": "transposition", "ReorderInput": "change of layout", "ReorderOutput": "change of layout",
    **dict.fromkeys(("Concat", "Split", "QLinearConcat"), "join"), **dict.fromkeys(("Slice", "Pad", "Expand", "Cast"), "cut"),
    **dict.fromkeys(("Resize", "Upsample", "SpaceToDepth"), "resize"),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization", "LRN"), "by channel"),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "QLinearGlobalAveragePool"), "global pooling"),
}  # fmt: skip


def part_of(work: Workload) -> str:
    """The part of its family that an operator is learned in.

    >>> part_of(Workload(kind="copy", variant="Transpose", sizes={"elements": 4}))
    'copy: transposition'
    >>> part_of(Workload(kind="convolution", layout="NCHWc", sizes={"c": 16, "h": 8, "w": 8, "k": 16, "p": 8, "q": 8, "groups": 16}))
    'convolution: blocked depthwise'
    >>> part_of(Workload(kind="softmax", sizes={"rows": 8, "columns": 8}))
    'softmax'
    """
    name, _, more = work.variant.partition("+")
    part = _BY_NAME.get(name) or _PARTS.get(work.kind, _whole)(work, more)
    return f"{work.kind}: {part}" if part else work.kind


def _whole(work: Workload, more: str) -> str:
    return ""


def _convolution(work: Workload, more: str) -> str:
    groups = work.sizes.get("groups", 1)
    alone = groups > 1 and groups == work.sizes.get("c")
    if groups > 1 and not alone:
        return "grouped"
    return " ".join(word for word in ("blocked" if work.layout == "NCHWc" else "", "depthwise" if alone else "") if word)


def _product(work: Workload, more: str) -> str:
    return "of two results" if more == "changing" else ""


def _elementwise(work: Workload, more: str) -> str:
    sizes = work.sizes
    return "two operands" if sizes.get("inputs", 1) > 1 or sizes.get("constants") or sizes.get("span") or sizes.get("held") else ""


def _reduction(work: Workload, more: str) -> str:
    return "strided" if work.sizes.get("inner", 1) > 1 else ""


_PARTS = {"reduction": _reduction, "convolution": _convolution, "gemm": _product, "elementwise": _elementwise}
