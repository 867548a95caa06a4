"""Functions that exporters write in small operators and runtimes compute in one: GELU, x · sigmoid(x), layer normalisation.

As `rules`; this module holds the patterns that are more than one operator behind another.
Source: onnxruntime/core/optimizer (gelu_fusion.cc, bias_gelu_fusion.cc, quick_gelu_fusion.cc, layer_norm_fusion.cc, skip_layer_norm_fusion.cc),
release 1.32.
"""

from __future__ import annotations

from .rewriting import Net, Part

__all__ = ["bias_gelu", "gelu", "layer_norm", "quick_gelu", "skip_layer_norm"]

_MS = "com.microsoft:"


def _other(part: Part, name: str) -> str:
    return part.inputs[1] if part.inputs[0] == name else part.inputs[0]


def _next(net: Net, part: Part | None, kind: str) -> Part | None:
    """The one reader of a part, if it is of that kind."""
    found = net.only_reader(part) if part is not None else None
    return found if found is not None and found.kind == kind else None


def gelu(net: Net) -> None:
    """x · (1 + erf(x ÷ √2)) ÷ 2, halved in front or behind."""
    for part in net.parts:
        scaled = net.maker(part.inputs[0]) if part.kind == "Erf" else None
        if scaled is None or scaled.kind not in ("Div", "Mul") or not net.single(scaled.inputs[1]):
            continue
        source, one = scaled.inputs[0], _next(net, part, "Add")
        product = _next(net, one, "Mul")
        if one is None or product is None or not net.single(_other(one, part.result)):
            continue
        chain = _halved(net, source, one, product)
        if chain is not None:
            part.kind, part.work = _MS + "Gelu", ("elementwise", "erf", 1.0)
            net.absorb(part, [scaled, one, *chain], [source], chain[-1].outputs)


def _halved(net: Net, source: str, one: Part, product: Part) -> list[Part] | None:
    """The products behind the sum, the last one last."""
    factor = _other(product, one.result)
    half = net.maker(factor)
    if half is not None and half.kind == "Mul" and source in half.inputs and net.single(_other(half, source)) and net.only_reader(half) is product:
        return [half, product]
    behind = _next(net, product, "Mul")
    if behind is None:
        return None
    if factor == source and net.single(_other(behind, product.result)):
        return [product, behind]
    return [product, behind] if net.single(factor) and _other(behind, product.result) == source else None


def bias_gelu(net: Net) -> None:
    """The sum with a row in front of it."""
    for part in net.parts:
        added = net.maker(part.inputs[0]) if part.kind == _MS + "Gelu" else None
        if added is None or added.kind != "Add" or net.only_reader(added) is not part:
            continue
        if net.constant(added.inputs[1]) and len(net.shape(added.inputs[1]) or ()) == 1:
            part.kind = _MS + "BiasGelu"
            net.absorb(part, [added], added.inputs, part.outputs)


def quick_gelu(net: Net) -> None:
    """x · sigmoid(x), or of x by a constant."""
    for part in net.parts:
        if part.kind != "Sigmoid" or (product := _next(net, part, "Mul")) is None:
            continue
        source, inner = _other(product, part.result), net.maker(part.inputs[0])
        if part.inputs[0] == source:
            inner = None
        elif inner is None or inner.kind != "Mul" or source not in inner.inputs or not net.single(_other(inner, source)):
            continue
        part.kind, part.work = _MS + "QuickGelu", ("elementwise", "exp", 1.0)
        net.absorb(part, [product, *([inner] if inner is not None else [])], [source], product.outputs)


def layer_norm(net: Net) -> None:
    """(x − mean) ÷ √(mean of squares + ε) · scale + shift; without mean and shift the simplified one."""
    for part in net.parts:
        if part.kind == "Sqrt" and (found := _normalised(net, part)) is not None:
            lead, others, inputs, result = found
            lead.kind = "LayerNormalization" if len(inputs) == 3 else "SimplifiedLayerNormalization"
            lead.work = ("normalisation", "reduce", 1.0)
            lead.attributes = {"axis": "-1"}
            net.absorb(lead, others, inputs, [result])


def _normalised(net: Net, root: Part) -> tuple[Part, list[Part], list[str], str] | None:
    """From the square root back to the source and on to the scale: the part that leads, the others, operands and result."""
    back = _variance(net, root)
    divided = _next(net, root, "Div")
    if back is None or divided is None:
        return None
    chain, centred = back
    scaled = _past_cast(net, divided, "Mul")
    if scaled is None or not net.constant(scale := scaled[-1].inputs[1] if net.constant(scaled[-1].inputs[1]) else scaled[-1].inputs[0]):
        return None
    mean = net.maker(centred)
    shifted = _next(net, scaled[-1], "Add")
    if mean is not None and mean.kind == "Sub" and shifted is not None and divided.inputs[0] in _subtractions(net, mean):
        first = net.maker(mean.inputs[1])
        shift = _other(shifted, scaled[-1].result)
        if first is None or first.kind != "ReduceMean" or not net.constant(shift):
            return None
        subtractions = [each for each in net.readers(first.result) if each.kind == "Sub"]
        return first, [*chain, root, divided, *scaled, shifted, *subtractions], [mean.inputs[0], scale, shift], shifted.result
    if divided.inputs[0] != centred:
        return None
    return chain[-1], [*chain[:-1], root, divided, *scaled], [centred, scale], scaled[-1].result


def _subtractions(net: Net, one: Part) -> set[str]:
    """Results of this and of others that subtract the same."""
    return {each.result for each in net.readers(one.inputs[1]) if each.kind == "Sub" and each.inputs == one.inputs}


def _past_cast(net: Net, part: Part, kind: str) -> list[Part] | None:
    cast = _next(net, part, "Cast")
    found = _next(net, cast or part, kind)
    return None if found is None else [*([cast] if cast is not None else []), found]


def _variance(net: Net, root: Part) -> tuple[list[Part], str] | None:
    """The sum with ε, the mean and the square in front of a square root, and what is squared."""
    added = net.maker(root.inputs[0])
    if added is None or added.kind != "Add" or not any(map(net.single, added.inputs)):
        return None
    mean = net.maker(added.inputs[1] if net.single(added.inputs[0]) else added.inputs[0])
    square = net.maker(mean.inputs[0]) if mean is not None and mean.kind == "ReduceMean" else None
    if mean is None or square is None or not (square.kind == "Pow" or (square.kind == "Mul" and square.inputs[0] == square.inputs[1])):
        return None
    cast = net.maker(square.inputs[0])
    if cast is not None and cast.kind == "Cast":
        return [added, mean, square, cast], cast.inputs[0]
    return [added, mean, square], square.inputs[0]


def skip_layer_norm(net: Net) -> None:
    """The sum of two tensors of three dimensions in front of a layer normalisation that alone reads it."""
    kinds = {"LayerNormalization": "SkipLayerNormalization", "SimplifiedLayerNormalization": "SkipSimplifiedLayerNormalization"}
    for part in net.parts:
        added = net.maker(part.inputs[0]) if part.kind in kinds else None
        if added is None or added.kind != "Add" or net.only_reader(added) is not part:
            continue
        shapes = [net.shape(name) for name in added.inputs]
        if shapes[0] is not None and len(shapes[0]) == 3 and shapes[0] == shapes[1] and not any(map(net.constant, added.inputs)):
            part.kind, part.work = _MS + kinds[part.kind], ("normalisation", "reduce", 1.0)
            rows = [(position, row) for position in (0, 1) if (row := _row(net, net.maker(added.inputs[position]), added)) is not None]
            inputs, extra = [*added.inputs, *part.inputs[1:]], list[str]()
            for position, row in rows[:1]:
                inputs[position] = row.inputs[0]
                extra = [*([""] if len(inputs) < 4 else []), row.inputs[1]]
            net.absorb(part, [added, *(row for _, row in rows[:1])], [*inputs, *extra], part.outputs)


def _row(net: Net, part: Part | None, reader: Part) -> Part | None:
    """The sum with a constant row, for this reader alone."""
    fits = part is not None and part.kind == "Add" and net.only_reader(part) is reader
    return part if fits and part is not None and net.constant(part.inputs[1]) and len(net.shape(part.inputs[1]) or ()) == 1 else None
