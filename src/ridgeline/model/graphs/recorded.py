"""A recorded call of PyTorch as a plan: each operator that its dispatcher saw as a workload, one kernel each, as eager mode runs them.

This module decides which family an operator belongs to, from the names of its arguments and the shapes it saw. What a family does not describe counts
by its multiply-adds as one product, or by its bytes alone, and is said. Views cost nothing here: what the interpreter takes for them is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ridgeline.core import OutOfRange, Precision, Workload
from ridgeline.work.torch import RecordedOp, TensorUse, Work, work_of
from ridgeline.work.torch.recorded import base_name, precision_of

from ..operators.asked import WIDTH
from .tasks import Footprint, Plan, Task, precision_of_tasks

__all__ = ["plan_of_record"]

Sizes = dict[str, int]
_IDLE = frozenset(("view", "allocation"))
_AS_PRODUCT = "no family describes its multiply-adds: they count as one product"
_BYTES_ONLY = "no family describes it: only its bytes count"


def plan_of_record(ops: Sequence[RecordedOp], name: str) -> Plan:
    """Tasks of one recorded call, which counts as one item.

    Args:
        ops: of one call, from `ridgeline.work.torch`.

    Raises:
        OutOfRange: nothing in the call computes or moves anything.
    """
    tasks = []
    for number, op in enumerate(ops):
        work = work_of(op)
        if work.group in _IDLE or (work.read_bytes == 0 and work.write_bytes == 0):
            continue
        tasks.append(_task(f"{base_name(op.kind)} {number}", op, work))
    if not tasks:
        raise OutOfRange("a call with at least one operator of PyTorch that does something", found=name, remedy="give a function that runs the model")
    reasons = ("a recorded call counts as one item, whatever its batch is", "what the interpreter takes between operators is not counted")
    return Plan(name, tuple(tasks), None, precision_of_tasks(tasks), _footprint(ops), "torch", reasons)


def _task(name: str, op: RecordedOp, work: Work) -> Task:
    precision: Precision = work.precision if work.precision != "any" else precision_of(op)
    found = _family(op, work)
    if found is not None and all(size > 0 for key, size in found[1].items() if key not in ("constants", "causal", "weights")):
        sizes = {key: size for key, size in found[1].items() if size > 0}
        return Task(name, op.kind, Workload(kind=found[0], sizes=sizes, precision=precision, variant=base_name(op.kind)), 1.0)
    out = op.outputs[0].numel if op.outputs else 1
    if work.engine == "fma" and work.flop:
        inner = max(1, round(work.flop / 2 / max(1, out)))
        columns = op.outputs[0].shape[-1] if op.outputs and op.outputs[0].shape else 1
        sizes = {"m": max(1, out // max(1, columns)), "n": max(1, columns), "k": inner}
        return Task(name, op.kind, Workload(kind="gemm", sizes=sizes, precision=precision), 1.0, _AS_PRODUCT)
    if work.read_bytes is None or work.write_bytes is None:
        return Task(name, op.kind, None, 1.0, f"{work.reason or 'its work is not known'}: its time is missing in the latency")
    elements = max(1, math.ceil((work.read_bytes + work.write_bytes) / 2 / WIDTH[precision]))
    moved = Workload(kind="copy", sizes={"elements": elements, "run": 64}, precision=precision, variant=base_name(op.kind))
    return Task(name, op.kind, moved, 1.0, "" if work.group in ("movement", "copy") else _BYTES_ONLY)


def _family(op: RecordedOp, work: Work) -> tuple[str, Sizes] | None:
    name = base_name(op.kind)
    if not op.outputs or not op.inputs:
        return None
    if "softmax" in name:
        return "softmax", _by_dimension(op)
    if "pool" in name and op.arguments.get("kernel_size"):
        return "pooling", _pooling(op)
    found = _GROUPS.get(work.group)
    if found is None:
        return None
    sizes = found[1](op)
    return None if sizes is None else (found[0], sizes)


# ── families ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _by_dimension(op: RecordedOp) -> Sizes:
    shape = op.outputs[0].shape or (1,)
    columns = shape[int(op.number("dim", -1))]
    return {"rows": math.prod(shape) // max(1, columns), "columns": columns}


def _matmul(op: RecordedOp) -> Sizes | None:
    weight = op.tensor("weight")
    if weight is not None:
        left = op.tensor("input") or op.inputs[0]
        return _product(left, weight.shape[0], op.outputs[0], 1) if len(weight.shape) == 2 else None
    if len(op.inputs) < 2:
        return None
    left, right = op.inputs[-2], op.inputs[-1]
    columns = right.shape[-1] if len(right.shape) > 1 else 1
    # A right operand that is only repeated is one operand.
    own = [size for size, stride in zip(right.shape[:-2], right.stride[:-2], strict=False) if stride != 0]
    return _product(left, columns, op.outputs[0], math.prod(own))


def _product(left: TensorUse, columns: int, out: TensorUse, groups: int) -> Sizes | None:
    if not left.shape or not columns or out.numel % (columns * max(1, groups)):
        return None
    return {"m": out.numel // columns // max(1, groups), "n": columns, "k": left.shape[-1], "batch": groups, "groups": groups}


def _convolution(op: RecordedOp) -> Sizes | None:
    image, weight, out = op.tensor("input") or op.inputs[0], op.tensor("weight"), op.outputs[0]
    if weight is None or len(weight.shape) != len(image.shape) or len(out.shape) != len(image.shape) or len(image.shape) < 3:
        return None
    before, after = (out.shape, image.shape) if op.flag("transposed") else (image.shape, out.shape)
    taps = weight.shape[2:]
    return {
        "n": before[0], "c": before[1], "h": math.prod(before[2:-1]), "w": before[-1], "k": after[1], "p": math.prod(after[2:-1]), "q": after[-1],
        "r": math.prod(taps[:-1]), "s": taps[-1], "groups": int(op.number("groups", 1)),
    }  # fmt: skip


def _elementwise(op: RecordedOp) -> Sizes:
    out = op.outputs[0].numel
    changing = sum(use.numel == out and not use.constant for use in op.inputs)
    return {"elements": out, "inputs": max(1, changing), "constants": sum(use.numel for use in op.inputs if use.constant)}


def _normalisation(op: RecordedOp) -> Sizes | None:
    shape = (op.tensor("input") or op.inputs[0]).shape
    if not shape:
        return None
    length = op.arguments.get("normalized_shape")
    columns = math.prod(length) if isinstance(length, tuple) else math.prod(shape[2:]) if len(shape) > 2 else shape[-1]
    return {"rows": math.prod(shape) // max(1, columns), "columns": columns, "weights": 2 if isinstance(length, tuple) else 0}


def _reduction(op: RecordedOp) -> Sizes | None:
    rows, elements = op.outputs[0].numel, max(use.numel for use in op.inputs)
    return {"rows": rows, "columns": elements // rows} if rows and elements >= rows else None


def _pooling(op: RecordedOp) -> Sizes:
    image, out = (op.tensor("self") or op.inputs[0]).shape, op.outputs[0].shape
    window = op.arguments["kernel_size"]
    sides = tuple(window) if isinstance(window, tuple) else (int(window),)
    sides = sides * (len(out) - 2) if len(sides) == 1 else sides
    batch = out[0] if len(out) > 3 else 1
    return {
        "n": batch, "c": math.prod(out) // max(1, batch * math.prod(out[-2:])), "h": image[-2], "w": image[-1], "p": out[-2], "q": out[-1],
        "r": math.prod(sides[:-1]), "s": sides[-1],
    }  # fmt: skip


def _gather(op: RecordedOp) -> Sizes | None:
    table, indices = op.tensor("weight") or op.tensor("self"), op.tensor("indices") or op.tensor("index")
    if table is None or indices is None or not indices.numel or op.outputs[0].numel % indices.numel or not table.shape:
        return None
    return {"rows": table.shape[0], "width": op.outputs[0].numel // indices.numel, "indices": indices.numel}


def _attention(op: RecordedOp) -> Sizes | None:
    queries, keys = op.tensor("query"), op.tensor("key")
    if queries is None or keys is None or len(queries.shape) != 4 or len(keys.shape) != 4:
        return None
    batch, heads, count, size = queries.shape
    return {
        "batch": batch, "heads": heads, "kv_heads": keys.shape[1], "queries": count, "keys": keys.shape[2], "head_size": size,
        "causal": int(op.flag("is_causal")),
    }  # fmt: skip


_GROUPS: Mapping[str, tuple[str, Callable[[RecordedOp], Sizes | None]]] = {
    "matmul": ("gemm", _matmul), "convolution": ("convolution", _convolution), "elementwise": ("elementwise", _elementwise),
    "normalisation": ("normalisation", _normalisation), "reduction": ("reduction", _reduction), "gather": ("gather", _gather),
    "attention": ("attention", _attention),
}  # fmt: skip


def _footprint(ops: Sequence[RecordedOp]) -> Footprint:
    """Storages that were there before the call, and of the others the most that live at a time, from their first use to their last."""
    held: dict[int, int] = {}
    size: dict[int, int] = {}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, op in enumerate(ops):
        for use in (*op.inputs, *op.outputs):
            target = held if use.persistent else size
            target[use.buffer] = max(target.get(use.buffer, 0), use.storage_bytes or use.touched_bytes)
            first.setdefault(use.buffer, place)
            last[use.buffer] = place
    change = [0] * (len(ops) + 1)
    for buffer, count in size.items():
        if buffer not in held:
            change[first[buffer]] += count
            change[last[buffer] + 1] -= count
    live, most = 0, 0
    for each in change:
        live += each
        most = max(most, live)
    return Footprint(float(sum(held.values())), float(most))
