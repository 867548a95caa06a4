"""Models that come with the onnx package: the classic networks and the single-operator models of its tests."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from ridgeline.core import Graph
from ridgeline.work.onnx import graph, known_kinds

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
LIGHT = sorted(DATA.glob("light/*.onnx"))
SINGLE = sorted(DATA.glob("pytorch-*/*/model.onnx")) + sorted(DATA.glob("simple/*/model.onnx"))
# Whose work is data or text, or which make sequences, that have no shape.
WITHOUT_A_COUNT = {"StringNormalizer", "ai.onnx.preview.training:Gradient"}


def test_the_models_are_there() -> None:
    assert len(LIGHT) == 9
    assert len(SINGLE) >= 82


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_classic_networks_have_no_unknown(path: Path) -> None:
    found = graph(path)
    assert found.unknown == ()
    assert all(op.read_bytes is not None and op.write_bytes is not None for op in found.ops)


# Multiply-adds of the published networks, in millions, by hand from their layer tables.
@pytest.mark.parametrize(
    ("name", "flop"),
    [
        # 13 … 16 convolutions of 3×3 and three dense layers: 2 · Σ Cin·Cout·9·H·W + 2 · (25088·4096 + 4096² + 4096·1000)
        ("vgg19", 2 * (9 * (224**2 * (3 * 64 + 64 * 64) + 112**2 * (64 * 128 + 128**2) + 56**2 * (128 * 256 + 3 * 256**2)
                            + 28**2 * (256 * 512 + 3 * 512**2) + 14**2 * 4 * 512**2) + 25088 * 4096 + 4096**2 + 4096 * 1000)),
        # five convolutions, the second, fourth and fifth in two groups
        ("bvlc_alexnet", 2 * (3 * 96 * 121 * 54**2 + 48 * 256 * 25 * 26**2 + 256 * 384 * 9 * 12**2 + 192 * 384 * 9 * 12**2 + 192 * 256 * 9 * 12**2
                              + 9216 * 4096 + 4096**2 + 4096 * 1000)),
    ],
)  # fmt: skip
def test_hand_counts(name: str, flop: int) -> None:
    assert graph(DATA / "light" / f"light_{name}.onnx").flop == flop


def _kinds_without_formula(found: Graph) -> set[str]:
    return {op.kind for op in found.ops if op.flop is None} - WITHOUT_A_COUNT


@pytest.mark.parametrize("path", SINGLE, ids=lambda path: path.parent.name)
def test_single_operator_models_have_no_unknown(path: Path) -> None:
    found = graph(path)
    # A model whose shapes depend on the input's values keeps them open; that is said, and the operator has a formula.
    for op in found.ops:
        if op.flop is None and op.kind not in WITHOUT_A_COUNT:
            assert "no formula" not in op.reason, op
            assert op.reason
    if "sequence" not in path.parent.name and "expand_shape" not in path.parent.name:
        assert not _kinds_without_formula(found)


def test_every_standard_operator_is_known() -> None:
    schemas = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""}
    known = {kind for domain, kind in known_kinds() if not domain}
    # A file format, not a tensor, decides the work of the one that is left.
    assert schemas - known <= {"ImageDecoder"}


def test_every_operator_with_a_formula_exists() -> None:
    """Against onnxruntime's own registry: a misspelt name would be a formula that never applies."""
    import onnxruntime.capi.onnxruntime_pybind11_state as state

    registered = {("" if schema.domain == "ai.onnx" else schema.domain, schema.name) for schema in state.get_all_operator_schema()}
    registered |= {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas()}
    # Copies that onnxruntime inserts between devices, never written in a model.
    assert known_kinds() - registered <= {("", "MemcpyToHost"), ("", "MemcpyFromHost")}
