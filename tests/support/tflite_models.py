"""Small TFLite files, by the writer that makes those of the examples."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(importlib.util.find_spec("pymicro_wakeword").origin).parent / "models" if importlib.util.find_spec("pymicro_wakeword") else None


def writer() -> Any:
    """The module `examples/make_models.py`."""
    if "make_models" not in sys.modules:
        spec = importlib.util.spec_from_file_location("make_models", ROOT / "examples" / "make_models.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["make_models"] = module
        spec.loader.exec_module(module)
    return sys.modules["make_models"]


def lite(name: str = "small") -> Any:
    return writer().Lite(name)


def single(
    kind: str, given: tuple[int, ...], *others: Any, result: tuple[int, ...], options: str = "", dtype: str = "float32", **fields: Any
) -> bytes:
    """One operator on an input, further operands: arrays are constants, tuples variable tensors of that shape, None is absent."""
    made = lite(kind)
    operands = [made.tensor("x", *given, kind=dtype)]
    for number, other in enumerate(others):
        if other is None:
            operands.append(-1)
        elif isinstance(other, np.ndarray):
            operands.append(made.tensor(f"c{number}", *other.shape, data=other))
        else:
            operands.append(made.tensor(f"v{number}", *other))
    output = made.tensor("y", *result, kind=dtype)
    made.operator(kind, operands, output, options, **fields)
    return bytes(made.finished(operands[0], output))


def zeros(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.zeros(shape, dtype)


def chain(*kinds: str, side: int = 8, channels: int = 4) -> bytes:
    """Pointwise operators one after the other, such as RELU (XNNPACK has it) and LOCAL_RESPONSE_NORMALIZATION (it does not)."""
    made = lite("chain")
    first = current = made.tensor("x", 1, side, side, channels)
    for number, kind in enumerate(kinds):
        after = made.tensor(f"t{number}", 1, side, side, channels)
        options = "LocalResponseNormalizationOptions" if kind.startswith("LOCAL") else ""
        fields = {"radius": 1, "bias": 1.0, "alpha": 1.0, "beta": 0.5} if options else {}
        current = made.operator(kind, [current], after, options, **fields)
    return bytes(made.finished(first, current))


def branching() -> bytes:
    """y = relu(x) where the second input is true, else tanh(x)."""
    made = lite("branch")
    schema = made.schema
    condition, x = made.tensor("c", 1, kind="bool"), made.tensor("x", 1, 4)
    y = made.operator("IF", [condition, x], made.tensor("y", 1, 4), "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    for number, kind in enumerate(("RELU", "TANH"), 1):
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, kind)
        code.version = 1
        made.model.operatorCodes.append(code)
        body = schema.SubGraphT()
        body.name, body.inputs, body.outputs, body.tensors = kind, [0], [1], []
        for name in ("a", "b"):
            tensor = schema.TensorT()
            tensor.name, tensor.shape, tensor.type, tensor.buffer = name, [1, 4], schema.TensorType.FLOAT32, 0
            body.tensors.append(tensor)
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = number, [0], [1]
        body.operators = [operator]
        made.model.subgraphs.append(body)
    return bytes(made.finished(condition, y, x))


def looping(trips: int, side: int = 32) -> bytes:
    """y = tanh applied `trips` times inside a WHILE, between a tanh before and a normalisation behind it."""
    made = lite("loop")
    schema, shape = made.schema, (1, side, side, 4)
    x = made.tensor("x", *shape)
    first = made.operator("TANH", [x], made.tensor("before", *shape))
    count = made.tensor("count", 1, data=np.zeros(1, np.int32))
    turns, result = made.tensor("turns", 1, kind="int32"), made.tensor("turned", *shape)
    made.operator("WHILE", [count, first], turns, "WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)
    made.graph.operators[-1].outputs = [turns, result]
    fields = {"radius": 1, "bias": 1.0, "alpha": 1.0, "beta": 0.5}
    y = made.operator("LOCAL_RESPONSE_NORMALIZATION", [result], made.tensor("y", *shape), "LocalResponseNormalizationOptions", **fields)
    main = made.graph
    for name in ("more", "turn"):
        made.graph = schema.SubGraphT()
        made.model.subgraphs.append(made.graph)
        made.graph.name, made.graph.tensors, made.graph.operators = name, [], []
        index, value = made.tensor("index", 1, kind="int32"), made.tensor("value", *shape)
        made.graph.inputs = [index, value]
        if name == "more":
            limit = made.tensor("limit", 1, data=np.full(1, trips, np.int32))
            made.graph.outputs = [made.operator("LESS", [index, limit], made.tensor("on", 1, kind="bool"))]
        else:
            step = made.tensor("step", 1, data=np.ones(1, np.int32))
            after = made.operator("ADD", [index, step], made.tensor("next", 1, kind="int32"), "AddOptions")
            made.graph.outputs = [after, made.operator("TANH", [value], made.tensor("turned", *shape))]
    made.graph = main
    return bytes(made.finished(x, y))
