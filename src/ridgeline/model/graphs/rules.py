"""Rewriting rules of graph optimisers: what is computed before the run, and what is joined to the operator in front of it or behind.

This module says each rule once (patterns of many operators are in `patterns`); which of them a runtime applies, and in which order, is in `fusion`. A
graph knows no values: a pattern is told by its operators, its shapes and which operands are constants.
Source: onnxruntime/core/optimizer (conv_bn_fusion.cc, conv_mul_fusion.cc, conv_add_fusion.cc, conv_activation_fusion.cc, gemm_activation_fusion.cc,
matmul_add_fusion.cc, matmul_transpose_fusion.cc, matmul_scale_fusion.cc, dynamic_quantize_matmul_fusion.cc), release 1.32.
"""

from __future__ import annotations

from .rewriting import Net, Part

__all__ = [
    "ACTIVATIONS", "batch_norm", "common", "constants", "conv_activation", "conv_sum", "dynamic_products", "gemm", "gemm_activation", "no_operation",
    "per_channel", "scaled_products", "transposed_products",
]  # fmt: skip

ACTIVATIONS = frozenset(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"))
_GEMM_ACTIVATIONS = frozenset(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "ParametricSoftplus", "ScaledTanh", "Selu", "Softplus",
                               "Softsign", "ThresholdedRelu"))  # fmt: skip
# How a quantised weight is stored: a runtime keeps it.
_KEPT = frozenset(("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"))
_RANDOM = frozenset(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"))
# Whose attributes a graph does not hold whole.
_NOT_COMPARED = _RANDOM | {"Constant", "ConstantOfShape", "If", "Loop", "Scan", "SequenceMap"}


def constants(net: Net, fixed: bool) -> None:
    """Drop what depends on constants alone; with `fixed` shapes, what depends on shapes as well."""
    known: set[str] = set()
    for part in net.parts:
        if not part.outputs or part.kind in _KEPT or part.kind in _RANDOM:
            continue
        shaped = fixed and part.kind in ("Shape", "Size") and net.shape(part.inputs[0]) is not None
        folded = shaped or (part.inputs and all(not name or name in known or net.constant(name) for name in part.inputs))
        if part.kind == "Constant" or (folded and part.kind not in ("If", "Loop", "Scan")):
            known.update(part.outputs)
            for name in part.outputs:
                net.fix(name)
            net.drop(part)


def no_operation(net: Net, fixed: bool = False) -> None:
    """Drop what hands its first operand on: the same type, the whole of it, or a copy; at the end of a body only where that is `fixed`."""
    for part in net.parts:
        kind = part.kind
        if not part.inputs or not part.inputs[0] or (len(part.outputs) > 1 and any(net.readers(name) for name in part.outputs[1:])):
            continue
        before, after = net.shape(part.inputs[0]), net.shape(part.result)
        whole = before is not None and before == after
        same_type = kind == "Cast" and net.tensors[part.inputs[0]].dtype == net.tensors[part.result].dtype
        by_constant = kind in ("Expand", "Slice") and whole and all(net.constant(name) for name in part.inputs[1:] if name)
        # onnxruntime looks for slices that are written as "to the end", as exporters do along one axis.
        by_constant = by_constant and (kind == "Expand" or net.shape(part.inputs[1]) == (1,))
        # A result of the graph or of a body that comes from outside must stay a copy.
        copied = (net.is_end(part.result) and net.maker(part.inputs[0]) is None) or not (fixed or net.readers(part.result) or net.is_end(part.result))
        if (kind in ("Identity", "Dropout") or same_type or by_constant) and not copied:
            net.drop(part, instead=part.inputs[0])


def common(net: Net) -> None:
    """Do once what is done twice: the same operator on the same operands."""
    seen: dict[tuple[object, ...], Part] = {}
    for part in net.parts:
        if part.kind in _NOT_COMPARED or len(part.outputs) != 1 or net.is_end(part.result):
            continue
        key = (part.kind, tuple(part.inputs), tuple(sorted(part.attributes.items())))
        first = seen.setdefault(key, part)
        if first is not part:
            net.drop(part, instead=first.result)


# ── convolutions ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _conv_before(net: Net, part: Part, position: int = 0) -> Part | None:
    """A convolution with constant weights whose one reader this part is."""
    conv = net.maker(part.inputs[position]) if position < len(part.inputs) else None
    if conv is None or conv.kind != "Conv" or "activation" in conv.attributes or net.only_reader(conv) is not part:
        return None
    return conv if all(net.constant(name) for name in conv.inputs[1:3] if name) else None


def batch_norm(net: Net) -> None:
    """Fold a batch normalisation into the weights of the convolution in front of it."""
    for part in net.parts:
        if part.kind == "BatchNormalization" and (conv := _conv_before(net, part)) is not None and all(map(net.constant, part.inputs[1:])):
            _with_bias(net, conv, part, part.inputs[2])


def per_channel(net: Net, *, either: bool = False) -> None:
    """Fold a factor or a summand for each channel into the weights or the bias.

    Args:
        either: whether the constant may stand in front; onnxruntime looks at the second operand alone.
    """
    for part in net.parts:
        if part.kind not in ("Mul", "Add"):
            continue
        for position in (0, 1) if either else (0,):
            conv, constant = _conv_before(net, part, position), part.inputs[1 - position]
            if conv is not None and net.constant(constant) and _by_channel(net, conv, constant, part.kind):
                _with_bias(net, conv, part, constant if part.kind == "Add" else "")
                break


def _by_channel(net: Net, conv: Part, constant: str, kind: str) -> bool:
    weight, shape = net.shape(conv.inputs[1]), net.shape(constant)
    if weight is None or shape is None:
        return False
    if shape == () and kind == "Mul":
        return True
    axis = len(shape) - len(weight) + 1
    return axis in (0, 1) and all(dim == (weight[0] if place == axis else 1) for place, dim in enumerate(shape))


def _with_bias(net: Net, conv: Part, part: Part, bias: str) -> None:
    """Merge with the part behind; a convolution without a bias gets one of a number a channel."""
    inputs = list(conv.inputs)
    if len(inputs) < 3 and bias:
        weight = net.shape(conv.inputs[1])
        inputs.append(net.tensor(bias, f"{bias}/bias", (weight[0],)) if weight else bias)
    net.absorb(conv, [part], inputs, part.outputs)


def conv_activation(net: Net, *, kinds: frozenset[str] = ACTIVATIONS, kind: str = "com.microsoft:FusedConv") -> None:
    """Join an activation to the convolution in front of it."""
    for part in net.parts:
        conv = net.maker(part.inputs[0]) if part.kind in kinds else None
        if conv is None or conv.kind not in ("Conv", kind) or "activation" in conv.attributes or net.only_reader(conv) is not part:
            continue
        if all(net.constant(name) for name in part.inputs[1:] if name):
            conv.kind, conv.attributes["activation"] = kind, part.kind
            net.follow(conv, part)


def conv_sum(net: Net, *, kind: str = "com.microsoft:FusedConv", rest: tuple[str, ...] = ("Add",)) -> None:
    """Join the sum with another tensor of the same shape to the last convolution in front of it."""
    for part in net.parts:
        if part.kind not in rest or len(part.inputs) != 2 or any(map(net.constant, part.inputs)):
            continue
        if (shape := net.shape(part.inputs[0])) is None or shape != net.shape(part.inputs[1]):
            continue
        found = [conv for position in (0, 1) if (conv := _conv_before(net, part, position)) is not None]
        if found:
            conv = max(found, key=lambda each: each.place)
            other = part.inputs[1] if part.inputs[0] == conv.result else part.inputs[0]
            conv.kind = kind
            net.absorb(conv, [part], [*conv.inputs, *([""] if len(conv.inputs) < 3 else []), other], part.outputs)


# ── products ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def gemm(net: Net, *, matrices_alone: bool = True) -> None:
    """A product and the sum with a row behind it."""
    for part in net.parts:
        for position in (0, 1) if part.kind == "Add" else ():
            product, bias = net.maker(part.inputs[position]), part.inputs[1 - position]
            if product is None or product.kind != "MatMul" or net.only_reader(product) is not part:
                continue
            left, right, row = (net.shape(name) for name in (*product.inputs, bias))
            plain = left is not None and right is not None and len(right) == 2 and (len(left) == 2 or not matrices_alone)
            if plain and row is not None and right is not None and row in ((right[1],), (1, right[1])):
                product.kind = "Gemm"
                net.follow(product, part, [bias])
                break


def gemm_activation(net: Net, *, kind: str = "com.microsoft:FusedGemm") -> None:
    """A product with a row and the activation behind it."""
    for part in net.parts:
        product = net.maker(part.inputs[0]) if part.kind in _GEMM_ACTIVATIONS else None
        if product is not None and product.kind == "Gemm" and net.only_reader(product) is part:
            product.kind, product.attributes["activation"] = kind, part.kind
            net.follow(product, part)


def transposed_products(net: Net) -> None:
    """Read an operand the other way round where a transpose of its last two dimensions, or of the first and the batch, made it."""
    for part, position, side in [(part, position, side) for part in net.parts if part.kind == "MatMul" for position, side in enumerate("AB")]:
        turned = net.maker(part.inputs[position])
        found = _turned(turned.attributes.get("perm", "")) if turned is not None and turned.kind == "Transpose" else ()
        if turned is not None and found and net.tensors[turned.result].dtype == "float32":
            _reads_instead(net, part, position, turned)
            part.kind = "com.microsoft:FusedMatMul"
            part.attributes.update({name.format(side): "1" for name in found})


def _turned(order: str) -> tuple[str, ...]:
    """Attributes of a product that reads an operand without this transpose: of its last two dimensions, or of the batch in between."""
    axes = order.split(",")
    named = [str(axis) for axis in range(len(axes))]
    if len(axes) < 2:
        return ()
    turns = {
        (*named[:-2], named[-1], named[-2]): ("trans{}",),
        (*named[1:-1], named[0], named[-1]): ("transBatch{}",) if len(axes) > 2 else (),
        (*named[1:-1], named[-1], named[0]): ("trans{}", "transBatch{}") if len(axes) > 2 else ("trans{}",),
    }
    return turns.get(tuple(axes), ())


def _reads_instead(net: Net, part: Part, position: int, maker: Part) -> None:
    """Read what the maker reads; it goes if nobody else wants its result."""
    inputs = list(part.inputs)
    inputs[position] = maker.inputs[0]
    if net.only_reader(maker) is part and part.inputs.count(maker.result) == 1:
        net.absorb(part, [maker], inputs, part.outputs)
    else:
        net.absorb(part, [], inputs, part.outputs)


def scaled_products(net: Net) -> None:
    """Take a constant factor into the product that it stands before or behind."""
    for part in net.parts:
        if part.kind not in ("MatMul", "com.microsoft:FusedMatMul") or net.tensors[part.result].dtype != "float32":
            continue
        for position in (0, 1):
            factor = net.maker(part.inputs[position])
            if factor is not None and _scales(net, factor) and net.only_reader(factor) is part:
                _reads_instead(net, part, position, factor)
                part.kind = "com.microsoft:FusedMatMul"
        behind = net.only_reader(part)
        if behind is not None and _scales(net, behind) and behind.inputs[0] == part.result:
            part.kind = "com.microsoft:FusedMatMul"
            net.follow(part, behind)


def _scales(net: Net, part: Part) -> bool:
    return part.kind in ("Mul", "Div") and net.single(part.inputs[1]) and not net.constant(part.inputs[0])


def dynamic_products(net: Net) -> None:
    """Quantise, multiply, convert and scale in one."""
    for part in net.parts:
        eight = net.maker(part.inputs[0]) if part.kind == "MatMulInteger" else None
        cast = net.only_reader(part) if eight is not None else None
        scaled = net.only_reader(cast) if cast is not None and cast.kind == "Cast" else None
        if eight is None or cast is None or scaled is None or scaled.kind != "Mul" or eight.kind != "DynamicQuantizeLinear":
            continue
        factor = net.maker(scaled.inputs[1] if scaled.inputs[0] == cast.result else scaled.inputs[0])
        if factor is None or factor.kind != "Mul" or eight.outputs[1] not in factor.inputs:
            continue
        bias = _row_behind(net, scaled)
        alone = net.only_reader(eight) is part and len(net.readers(eight.outputs[1])) == 1
        followers = [cast, scaled, *([bias] if bias is not None else []), *([factor] if net.only_reader(factor) is scaled else [])]
        extra = [name for name in (bias.inputs if bias is not None else ()) if name != scaled.result]
        part.kind = "com.microsoft:DynamicQuantizeMatMul" if alone else "com.microsoft:MatMulIntegerToFloat"
        source = eight.inputs[0] if alone else part.inputs[0]
        net.absorb(part, [*followers, *([eight] if alone else [])], [source, *part.inputs[1:2], *extra], (bias or scaled).outputs)


def _row_behind(net: Net, part: Part) -> Part | None:
    """The sum with a constant row behind a part."""
    found = net.only_reader(part)
    if found is None or found.kind != "Add":
        return None
    other = found.inputs[1] if found.inputs[0] == part.result else found.inputs[0]
    return found if net.constant(other) and len(net.shape(other) or ()) == 1 else None
