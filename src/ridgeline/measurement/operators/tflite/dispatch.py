"""`fit_dispatch`: what one more operator costs a run of the interpreter, inside the delegate and outside of it.

The slope of the run's wall over the length of chains of alternating ABS and NEG on four numbers, best of many runs each, since what disturbs a run of
microseconds only adds to it. The two kernels have a cost of their own each, and the model's operators on them are counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import DispatchFit, OperatorRow, Quantity

from ..chains import LENGTHS, slope
from .rows import BUILTIN, XNNPACK

__all__ = ["chain", "fit_dispatch"]

_RUNS = 50
_ELEMENTS = 4


def fit_dispatch(rows: Sequence[OperatorRow], threads: int) -> DispatchFit:
    """The cost of issuing one operator of a model, weighted by where its operators ran.

    Args:
        rows: of its operator table; each of the delegate's operators that stand for a row is issued once.
        threads: of the interpreter.
    """
    inside = float(sum(row.placement.kernel.count(" + ") + 1 for row in rows if row.placement.provider == XNNPACK and row.placement.kernel))
    outside = float(sum(row.calls for row in rows if row.placement.provider == BUILTIN))
    parts = [(count, _slope(threads, delegate)) for count, delegate in ((inside, True), (outside, False)) if count]
    operators = inside + outside
    ends = {end: sum(count * getattr(slope, end) for count, slope in parts) / operators for end in ("value", "low", "high")} if parts else {}
    how = f"slope over chains of {LENGTHS[0]} to {LENGTHS[-1]} operators on {_ELEMENTS} numbers, {threads} threads"
    cost = msgspec.structs.replace(parts[0][1], **ends) if parts else Quantity.exact(0.0, "s", source="measured", origin=how)
    return DispatchFit(per_operator_s=cost, operators=operators, library="litert", how=how)


def _slope(threads: int, delegate: bool) -> Quantity:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType.AUTO if delegate else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreters = [Interpreter(model_content=chain(length), num_threads=threads, experimental_op_resolver_type=resolver) for length in LENGTHS]
    for interpreter in interpreters:
        interpreter.allocate_tensors()
    where = XNNPACK if delegate else "builtin kernels"
    return slope([interpreter.invoke for interpreter in interpreters], _RUNS, f"slope of the fastest run over the length of a chain, {where}")


def chain(length: int) -> bytes:
    """A model of that many operators, ABS and NEG in turn on a few numbers: none of them can be left out or joined."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs, model.operatorCodes = 3, [schema.BufferT()], [graph], []
    for kind in (schema.BuiltinOperator.ABS, schema.BuiltinOperator.NEG):
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = kind
        code.version = 1
        model.operatorCodes.append(code)
    graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [0], [length]
    for index in range(length + 1):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = f"t{index}", [1, _ELEMENTS], schema.TensorType.FLOAT32, 0
        graph.tensors.append(tensor)
    for index in range(length):
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = index % 2, [index], [index + 1]
        graph.operators.append(operator)
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
