"""The chains of the dispatch fit, and what the fit counts; its seconds are the machine's business."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")

from ridgeline.measurement.operators.tflite import fit_dispatch
from ridgeline.measurement.operators.tflite.dispatch import chain
from ridgeline.work.tflite import graph, load
from support.facts_by_hand import row


def test_a_chain_has_its_length_and_computes_what_it_says() -> None:
    from ai_edge_litert.interpreter import Interpreter

    found = graph(load(chain(5)))
    assert [op.kind for op in found.ops] == ["ABS", "NEG", "ABS", "NEG", "ABS"]
    interpreter = Interpreter(model_content=chain(4))
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.array([[1.0, -2.0, 3.0, -4.0]], np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(4).tolist() == [[-1.0, -2.0, -3.0, -4.0]]


@pytest.mark.parametrize(
    ("kernels", "operators"),
    [
        ([("XNNPACK", "Abs (NC)"), ("XNNPACK", "Copy (NC) + Copy (NC)"), ("XNNPACK", ""), ("builtin", "GATHER")], 4),
        ([("builtin", "GATHER"), ("builtin", "CUMSUM")], 2),
        ([("XNNPACK", "")], 0),
        ([], 0),
    ],
)
def test_each_operator_that_is_issued_counts_once(kernels, operators) -> None:
    rows = [
        msgspec.structs.replace(made, placement=msgspec.structs.replace(made.placement, provider=provider, kernel=kernel))
        for made, (provider, kernel) in ((row("r", 1e-6), pair) for pair in kernels)
    ]
    found = fit_dispatch(rows, 1)
    assert found.operators == operators
    assert found.library == "litert"
    assert 0 <= found.per_operator_s.low <= found.per_operator_s.value <= found.per_operator_s.high
    assert bool(found.per_operator_s.value) == bool(operators)
