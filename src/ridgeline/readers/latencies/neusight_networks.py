"""NeuSight's networks: labels (`{num_layer, e2e_latency, fw_latency, bwall_latency}`, ms) and traces of torch.fx beside them.

This module decides which kernels an operator of such a trace starts. A trace lists one layer of many, which is repeated; nodes that only handle
shapes take time of the host and start nothing. What passes over memory in other than four-byte elements is given as a copy of as many bytes.
Gradients are left to `model.graphs`. Labels and traces that contradict each other are kept with their doubts.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

import msgspec

from ridgeline.core import ReadError, RecordedNetwork, RecordedNode, Workload

from ..delimited import Columns, RowReader, table
from .folder import Folder

__all__ = ["DEVICES", "is_label", "networks"]

#: Names in the recordings → names of the catalogue.
DEVICES = {
    "NVIDIA A100-PCIE-40GB": "NVIDIA A100 PCIe 40GB", "NVIDIA A100-SXM4-40GB": "NVIDIA A100 SXM 40GB",
    "Tesla P100-PCIE-16GB": "NVIDIA P100 PCIe 16GB",
    "Tesla P4": "NVIDIA P4", "Tesla T4": "NVIDIA T4", "Tesla V100-PCIE-32GB": "NVIDIA V100 PCIe 32GB", "AMD Instinct MI100": "AMD Instinct MI100",
    "AMD Instinct MI210": "AMD Instinct MI210",
}  # fmt: skip
_LABEL = re.compile(r"(?:^|/)(?P<name>[^/]+)-(?P<mode>inf|train)-(?P<sequence>\d{1,7})-(?P<batch>\d{1,7})(?:-(?P<variant>[\w-]+))?\.json$")
_LAYER = re.compile(r"layers?\.0\b|\.h\.0\b")
_CALL = re.compile(r"(?:function|method) (\w+)")
#: Modules that are a product with a weight, as torch and its models name them.
_LINEAR = frozenset((
    "addmm", "dense", "query", "key", "value", "q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2", "lm_head", "decoder", "seq_relationship",
    "classifier",
))  # fmt: skip
_EMBEDDING = frozenset(("wte", "wpe", "embed_tokens", "embedding", "word_embeddings", "token_type_embeddings", "position_embeddings"))
_NORMALISATION = frozenset(("ln_1", "ln_2", "ln_f"))
#: Elementwise functions → variant; a power of a whole exponent is a few products, not the function.
_ELEMENTWISE = {
    "add": "add", "sub": "add", "mul": "mul", "truediv": "div", "div": "div", "tanh": "tanh",
    "pow": "power", "gelu": "gelu", "max": "add", "relu": "relu",
    "activation_fn": "relu", "transform_act_fn": "gelu", "activation": "gelu", "cumsum": "add",
}  # fmt: skip
#: What moves bytes only → bytes an element of its result.
_MOVED = {"where": 9, "masked_fill": 13, "masked_fill_": 13, "contiguous": 8, "reshape": 8, "bool": 5}
#: What copies nothing where the operand lies in order.
_VIEWS = frozenset(("contiguous", "reshape"))
_LEAST_ELEMENTS = 10_000
_COPIED = 8
#: A label that is so many times longer than the traced operators together, in a half that should be the shorter one, measured something else.
_TOO_LONG = 1.4
_MOST_MS = 1e7


class _Label(msgspec.Struct):
    e2e_latency: float
    num_layer: int | None = None
    fw_latency: float | None = None
    bwall_latency: float | None = None


class _Call(NamedTuple):
    """One row: what is called, with the shapes of operands and result."""

    function: str
    operands: list[tuple[int, ...]]
    result: tuple[int, ...]
    dtype: str
    in_order: bool

    @property
    def elements(self) -> int:
        return _product(self.result)


def is_label(folder: Folder, file: str) -> bool:
    """Whether a file is named and starts as a label of a network."""
    if not _LABEL.search(file):
        return False
    return any(f'"{name}"' in folder.source(file).head_text for name in ("e2e_latency",)) if folder.first_line(file) else False


def networks(folder: Folder) -> tuple[RecordedNetwork, ...]:
    """All labels with the traces that lie beside them, in order of file.

    Raises:
        ReadError: a label or a trace that is damaged, with the file.
    """
    there = set(folder.files)
    return tuple(_network(folder, file, there) for file in folder.files if is_label(folder, file) and _device_of(file))


def _device_of(file: str) -> str:
    place = file.split("/")[-2] if "/" in file else ""
    return next((name for raw, name in DEVICES.items() if raw.replace(" ", "_") == place), "")


def _network(folder: Folder, file: str, there: set[str]) -> RecordedNetwork:
    named = _LABEL.search(file)
    source = folder.source(file)
    try:
        label = msgspec.json.decode(source.data, type=_Label)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise source.damaged("a label with e2e_latency in ms", str(error)) from error
    if named is None or not 0 < label.e2e_latency < _MOST_MS:
        raise source.damaged("a label with e2e_latency in ms", f"{label.e2e_latency}")
    layers = label.num_layer or 0
    trace = next((name for name in (file.removesuffix(".json") + end for end in (".csv.gz", ".csv")) if name in there), "")
    nodes = _nodes(folder, trace, max(1, layers), named["mode"] == "train") if trace else ()
    forward_s, backward_s = (label.fw_latency or 0.0) / 1e3, (label.bwall_latency or 0.0) / 1e3
    training = named["mode"] == "train"
    return RecordedNetwork(
        name=named["name"], device=_device_of(file), batch=int(named["batch"]), sequence=int(named["sequence"]), training=training,
        variant=named["variant"] or "", latency_s=label.e2e_latency / 1e3, forward_s=forward_s, backward_s=backward_s, layers=layers, nodes=nodes,
        file=file, doubts=_doubts(nodes, label.e2e_latency / 1e3, forward_s, backward_s, training),
    )  # fmt: skip


def _doubts(nodes: tuple[RecordedNode, ...], whole_s: float, forward_s: float, backward_s: float, training: bool) -> tuple[str, ...]:
    kernels_s = sum(node.forward_s * node.repeats for node in nodes if node.forward)
    if not kernels_s:
        return ()
    if training and forward_s > max(backward_s, _TOO_LONG * kernels_s):
        return (f"its forward half took {forward_s:.3f} s, the operators of that half {kernels_s:.3f} s and the backward half {backward_s:.3f} s",)
    if not training and kernels_s > _TOO_LONG * whole_s:
        return (f"its operators together took {kernels_s:.3f} s, the whole {whole_s:.3f} s",)
    return ()


def _nodes(folder: Folder, file: str, layers: int, training: bool) -> tuple[RecordedNode, ...]:
    source = folder.source(file)
    columns, rows = table(source, RowReader(source), lambda found: "target" in found and "fw_latency" in found, "columns target and fw_latency")
    nodes = []
    for row in rows:
        if len(row.fields) < len(columns.names):
            if any(row.fields):
                raise source.damaged("whole rows", f"line {row.line} with {len(row.fields)} of {len(columns.names)} fields")
            continue
        nodes.append(_node(columns, row.fields, layers, training, f"{source.name}, line {row.line}"))
    return tuple(nodes)


def _node(columns: Columns, fields: list[str], layers: int, training: bool, where: str) -> RecordedNode:
    target = columns.text(fields, "target")
    matched = _CALL.search(target)
    function = matched[1] if matched else target.rpartition(".")[2]
    seconds = []
    for name in ("fw_latency", "bw_latency", "acc_latency"):
        text = columns.text(fields, name) or "0"
        value = float(text)
        if not 0 <= value < _MOST_MS:
            raise ReadError("times of a trace in ms", found=f"{where}: {name} {text[:40]!r}", remedy="fetch it again")
        seconds.append(value / 1e3)
    call = _Call(
        function, _shapes(columns.text(fields, "input_shapes"), where), _shape(columns.text(fields, "output_shape"), where),
        columns.text(fields, "dtype"), "False" not in columns.text(fields, "input_contiguous"),
    )  # fmt: skip
    return RecordedNode(
        name=columns.text(fields, "Name"), function=function, repeats=layers if _LAYER.search(columns.text(fields, "meta")) else 1,
        forward=tuple(_kernels(call, training)), forward_s=seconds[0], backward_s=seconds[1], accumulation_s=seconds[2],
    )  # fmt: skip


def _literal(text: str, where: str) -> Any:
    try:
        return ast.literal_eval(text[:4000]) if text else ()
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ReadError("shapes of a trace", found=f"{where}: {text[:60]!r}", remedy="fetch it again") from error


def _shape(text: str, where: str) -> tuple[int, ...]:
    found = _literal(text, where)
    if not isinstance(found, tuple | list) or not all(isinstance(size, int) and 0 <= size < 2**40 for size in found):
        return ()
    return tuple(found)


def _shapes(text: str, where: str) -> list[tuple[int, ...]]:
    found = _literal(text, where)
    if not isinstance(found, tuple | list):
        return []
    return [tuple(each) for each in found if isinstance(each, list) and all(isinstance(size, int) and 0 <= size < 2**40 for size in each)]


def _product(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _kernels(call: _Call, training: bool) -> list[Workload]:
    """The kernels that a call starts."""
    if not call.result or call.elements < 1:
        return []
    for applies, make in ((_is_linear, _linear), (_is_product, _batched), (_is_rows, _rows)):
        if applies(call):
            return make(call)
    if call.function in _EMBEDDING:
        return [_copy(12 * call.elements, "embedding")]
    if "drop" in call.function:
        # It reads, writes, and keeps a byte of mask; in inference it does nothing.
        return [_copy(10 * call.elements, "dropout")] if training else []
    return _passes(call)


def _passes(call: _Call) -> list[Workload]:
    if call.elements < _LEAST_ELEMENTS or (call.function in _VIEWS and call.in_order):
        return []
    if call.function in _MOVED or (call.function == "to" and call.dtype == "torch.bool"):
        return [_copy(_MOVED.get(call.function, 5) * call.elements, "where" if call.function == "where" else "")]
    variant = _ELEMENTWISE.get(call.function)
    if variant is None:
        return []
    inputs = sum(_product(shape) == call.elements for shape in call.operands)
    return [Workload(kind="elementwise", variant=variant, sizes={"elements": call.elements, "inputs": max(1, min(2, inputs))})]


def _copy(moved_bytes: int, variant: str) -> Workload:
    return Workload(kind="copy", variant=variant, sizes={"elements": max(1, round(moved_bytes / _COPIED))})


def _is_linear(call: _Call) -> bool:
    return call.function in _LINEAR and bool(call.operands)


def _linear(call: _Call) -> list[Workload]:
    if call.function == "addmm" and len(call.operands) > 2 and len(call.operands[1]) == len(call.operands[2]) == 2:
        (m, k), (_, n) = call.operands[1], call.operands[2]
    else:
        m, k, n = _product(call.operands[0][:-1]), call.operands[0][-1], call.result[-1]
    return [Workload(kind="gemm", variant="linear", sizes={"m": m, "n": n, "k": k})] if min(m, n, k) > 0 else []


def _is_product(call: _Call) -> bool:
    return call.function in ("matmul", "bmm") and len(call.operands) > 1 and min(map(len, call.operands[:2])) > 1


def _batched(call: _Call) -> list[Workload]:
    left, right = call.operands[:2]
    batch = _product(left[:-2])
    sizes = {"batch": batch, "groups": batch, "m": left[-2], "n": right[-1], "k": left[-1]}
    return [Workload(kind="gemm", variant="matmul", sizes=sizes)] if min(sizes.values()) > 0 else []


def _is_rows(call: _Call) -> bool:
    return call.function == "softmax" or "norm" in call.function.lower() or call.function in _NORMALISATION


def _rows(call: _Call) -> list[Workload]:
    sizes = {"rows": call.elements // call.result[-1], "columns": call.result[-1]}
    return [Workload(kind="softmax" if call.function == "softmax" else "normalisation", sizes=sizes)]
