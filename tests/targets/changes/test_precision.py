"""Conversions to a lower precision on models small enough to work out by hand: where they have a place, what they compute, what they leave behind."""

from __future__ import annotations

import tempfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ridgeline.core import Ceiling, Device, Machine, NotComparable, Quantity
from ridgeline.measurement.outputs import compare, leaves
from ridgeline.targets import parse_target, prepare
from ridgeline.targets.changes import find
from ridgeline.targets.changes.quantise import amounts, dynamic_copy, needs_reduced_range, simplified, static_copy
from ridgeline.targets.changes.testing import fake_situation

from ..models import matmul, save

FLOAT = TensorProto.FLOAT
GENERATOR = np.random.default_rng(7)


def normal(*shape):
    return GENERATOR.standard_normal(shape).astype(np.float32)


def machine(architecture, *isa):
    return Machine(
        cpu_model="fake", architecture=architecture, kernel="6", isa=isa, cpus_online=1, cpus_allowed=(0,), memory_bytes=2**30, fingerprint="fake"
    )


def device(**peaks):
    """A device with these rates of multiply-adds."""
    rates = {precision: Quantity.exact(rate, "FLOP/s", source="measured") for precision, rate in peaks.items()}
    return Device(name="fake", kind="cpu", ceilings=tuple(Ceiling(engine="fma", precision=key, threads=1, rate=rate) for key, rate in rates.items()))


@pytest.fixture
def convolutions(tmp_path):
    """Two convolutions with a ReLU each, whose sum goes through a product of 1×8 with a bias of 1×3."""
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "b"], ["d"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["d"], ["s"]),
        helper.make_node("Add", ["r", "s"], ["t"]),
        helper.make_node("GlobalAveragePool", ["t"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w", "bias"], ["g"]),
        helper.make_node("Softmax", ["g"], ["y"]),
    ]
    weights = {"a": normal(8, 3, 3, 3), "b": normal(8, 8, 3, 3), "w": normal(8, 3), "bias": normal(1, 3)}
    return save(tmp_path / "convolutions.onnx", nodes, {"x": (FLOAT, [1, 3, 6, 6])}, "y", weights)


def prepared(path, **more):
    return prepare(parse_target(str(path), **more))


def simple(path, folder):
    """The simplified model and the inputs of its target."""
    flavour = prepared(path).flavour
    return simplified(flavour.session_options(), flavour.model_path, flavour.providers, flavour.feeds, folder), flavour.feeds


def kinds(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def test_amounts_are_counted_by_kind(convolutions):
    found = amounts(str(convolutions), prepared(convolutions).flavour.feeds)
    # 36 positions · 8 outputs · (3 or 8 inputs) · 9 taps, and 8 · 3 for the product.
    assert found.convolutions == 2 * 36 * 8 * (3 + 8) * 9
    assert found.products == 2 * 8 * 3
    assert found.all == found.convolutions + found.products


def test_only_convolutions_of_one_group_or_a_channel_a_group_are_counted_and_converted(tmp_path):
    def grouped(groups):
        node = helper.make_node("Conv", ["x", "a"], ["y"], group=groups)
        return save(tmp_path / f"{groups}.onnx", [node], {"x": (FLOAT, [1, 4, 5, 5])}, "y", {"a": normal(4, 4 // groups, 3, 3)})

    for groups, share in ((1, 1.0), (2, 0.0), (4, 1.0)):
        path = grouped(groups)
        found = amounts(str(path), prepared(path).flavour.feeds)
        assert found.all == 2 * 9 * 4 * 9 * 4 / groups
        assert found.convolutions == share * found.all
        model, feeds = simple(path, tmp_path)
        if share:
            assert "QuantizeLinear" in kinds(static_copy(model, tmp_path / "int8.onnx", feeds, reduce_range=False))
        else:
            with pytest.raises(NotComparable, match="none"):
                static_copy(model, tmp_path / "int8.onnx", feeds, reduce_range=False)


def test_a_sum_of_two_convolutions_stays_in_int8(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["c"]),
        helper.make_node("Conv", ["x", "b"], ["d"]),
        helper.make_node("Sum", ["c", "d"], ["s"]),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("Sum", ["r"], ["y"]),
    ]
    path = save(tmp_path / "sum.onnx", nodes, {"x": (FLOAT, [1, 2, 5, 5])}, "y", {"a": normal(3, 2, 3, 3), "b": normal(3, 2, 3, 3)})
    target = prepared(path)
    model, feeds = simple(path, tmp_path)
    made = onnx.load(static_copy(model, tmp_path / "int8.onnx", feeds, reduce_range=False)).graph
    written = {name: node.op_type for node in made.node for name in node.output}
    (addition,) = [node for node in made.node if node.op_type == "Add"]
    assert {written[name] for name in addition.input} == {"DequantizeLinear"}
    (expected,), (found,) = target.call(), find("ort-int8-static").apply(target).call()
    assert 0 < np.abs(found - expected).max() <= 0.05 * np.abs(expected).max()


def test_a_product_of_two_activations_has_no_integer_kernel(tmp_path):
    node = helper.make_node("MatMul", ["x", "x"], ["y"])
    path = save(tmp_path / "square.onnx", [node], {"x": (FLOAT, [5, 5])}, "y")
    found = amounts(str(path), prepared(path).flavour.feeds)
    assert (found.products, found.all) == (0, 2 * 5 * 5 * 5)
    with pytest.raises(NotComparable, match="0% of them"):
        find("ort-int8-dynamic").apply(prepared(path))


def test_a_static_copy_computes_nearly_the_same_and_leaves_the_folder_as_it_was(convolutions, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    target, content = prepared(convolutions), convolutions.read_bytes()
    change = find("ort-int8-static")
    applied = change.apply(target)
    check = compare([leaves(target.call())], [leaves(applied.call())], change.tolerance)
    assert check.state == "equal"
    assert check.difference > 0, "nothing was converted"
    assert list(scratch.iterdir()) == []
    assert convolutions.read_bytes() == content
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["convolutions.onnx", "scratch"]


def test_what_lies_between_convolutions_stays_in_int8(convolutions, tmp_path):
    model, feeds = simple(convolutions, tmp_path)
    path = static_copy(model, tmp_path / "int8.onnx", feeds, reduce_range=False)
    made = onnx.load(path).graph
    written = {name: node.op_type for node in made.node for name in node.output}
    for node in made.node:
        if node.op_type in ("Conv", "Add", "GlobalAveragePool", "Gemm"):
            assert {written.get(name, "weight") for name in node.input} <= {"DequantizeLinear", "weight"}, node.op_type
        if node.op_type == "Softmax":
            assert written[node.input[0]] in ("DequantizeLinear", "Gemm")
    # Per channel: as many scales as outputs.
    scales = {entry.name: list(entry.dims) for entry in made.initializer if entry.name.endswith("_scale")}
    assert scales["a_scale"] == scales["b_scale"] == [8]


def test_weights_keep_to_seven_bits_where_sums_saturate(convolutions, tmp_path):
    model, feeds = simple(convolutions, tmp_path)
    for reduce, largest in ((False, 127), (True, 64)):
        path = static_copy(onnx.load_from_string(model.SerializeToString()), tmp_path / f"{reduce}.onnx", feeds, reduce_range=reduce)
        weights = next(entry for entry in onnx.load(path).graph.initializer if entry.name == "a_quantized")
        assert np.abs(numpy_helper.to_array(weights).astype(int)).max() == largest


@pytest.mark.parametrize(
    ("where", "reduced"),
    [
        (machine("x86_64", "avx2", "avx512f"), True),
        (machine("x86_64", "avx2", "avx512_vnni"), False),
        (machine("x86_64", "avx_vnni"), False),
        (machine("aarch64", "asimd"), False),
    ],
)
def test_only_x86_without_vnni_needs_a_reduced_range(where, reduced):
    assert needs_reduced_range(where) is reduced


def test_a_dynamic_copy_of_the_identity_is_off_by_at_most_half_a_step(tmp_path):
    target = prepared(matmul(tmp_path / "m.onnx", 16), shapes=["N=4"])
    (expected,), (found,) = target.call(), find("ort-int8-dynamic").apply(target).call()
    # Weights of 0 and 1 are exact in int8; activations are rounded to 255 steps between the least (or 0) and the largest (or 0).
    step = (max(expected.max(), 0) - min(expected.min(), 0)) / 255
    assert np.abs(found - expected).max() <= 0.501 * step
    assert (found != expected).any()


def test_a_dynamic_copy_has_integer_products(tmp_path):
    model, _ = simple(matmul(tmp_path / "m.onnx", 16), tmp_path)
    found = kinds(dynamic_copy(model, tmp_path / "int8.onnx", reduce_range=False))
    assert "MatMulInteger" in found
    assert "MatMul" not in found


def test_a_product_with_several_matrices_stays_in_float(tmp_path):
    # The runtime has no kernel for a zero point per channel of each of them.
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("MatMul", ["m", "v"], ["y"])]
    path = save(tmp_path / "several.onnx", nodes, {"x": (FLOAT, [2, 4, 8])}, "y", {"w": normal(2, 8, 8), "v": normal(8, 64)})
    target = prepared(path)
    found = amounts(str(path), target.flavour.feeds)
    assert (found.products, found.all) == (2 * 8 * 8 * 64, 2 * 8 * 8 * (64 + 8))
    (expected,), (made,) = target.call(), find("ort-int8-dynamic").apply(target).call()
    assert 0 < np.abs(made - expected).max() <= 0.05 * np.abs(expected).max()


def test_a_copy_in_which_nothing_was_converted_is_no_trial(tmp_path):
    # The quantiser leaves products with a factor as they are.
    node = helper.make_node("Gemm", ["x", "w"], ["y"], alpha=0.5)
    path = save(tmp_path / "half.onnx", [node], {"x": (FLOAT, [4, 8])}, "y", {"w": normal(8, 8)})
    with pytest.raises(NotComparable, match="none that the quantiser converts"):
        find("ort-int8-dynamic").apply(prepared(path))


@pytest.mark.filterwarnings("ignore:All-NaN axis")
def test_what_the_quantiser_cannot_convert_is_one_line(tmp_path):
    weights = {"a": np.full((2, 1, 3, 3), np.nan, dtype=np.float32)}
    path = save(tmp_path / "nan.onnx", [helper.make_node("Conv", ["x", "a"], ["y"])], {"x": (FLOAT, [1, 1, 5, 5])}, "y", weights)
    with pytest.raises(NotComparable, match="quantiser can convert") as raised:
        find("ort-int8-static").apply(prepared(path))
    assert "\n" not in str(raised.value)


def test_each_conversion_has_its_own_place(convolutions, tmp_path):
    with pytest.raises(NotComparable, match="0% of them"):
        find("ort-int8-dynamic").apply(prepared(convolutions))
    with pytest.raises(NotComparable, match="0% of them"):
        find("ort-int8-static").apply(prepared(matmul(tmp_path / "m.onnx", 8)))


def test_what_is_in_int8_already_is_no_place_for_either(convolutions, tmp_path):
    model, feeds = simple(convolutions, tmp_path)
    path = static_copy(model, tmp_path / "int8.onnx", feeds, reduce_range=False)
    for name in ("ort-int8-static", "ort-int8-dynamic"):
        with pytest.raises(NotComparable, match="0% of them"):
            find(name).apply(prepared(path))


def test_a_bias_of_one_row_is_no_reason_to_fail(tmp_path):
    # The bias of the product above is 1×3; here it is so large that the quantiser would adjust the scale of the weights to it.
    nodes = [helper.make_node("Conv", ["x", "a"], ["c"]), helper.make_node("Flatten", ["c"], ["f"]), helper.make_node("Gemm", ["f", "w", "k"], ["y"])]
    weights = {"a": normal(2, 1, 3, 3), "w": 1e-6 * normal(2, 3), "k": np.array([[1e4, -2e4, 3e4]], dtype=np.float32)}
    path = save(tmp_path / "bias.onnx", nodes, {"x": (FLOAT, [1, 1, 3, 3])}, "y", weights)
    target = prepared(path)
    (expected,), (found,) = target.call(), find("ort-int8-static").apply(target).call()
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_an_old_opset_with_weights_among_the_inputs_is_converted(tmp_path):
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["ones"], value=helper.make_tensor("value", FLOAT, [1], [1.0])),
        helper.make_node("Mul", ["a", "ones"], ["b"]),
        helper.make_node("Conv", ["x", "b"], ["c"]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    weights = [numpy_helper.from_array(normal(4, 3, 3, 3), "a"), numpy_helper.from_array(np.array([4, 3, 3, 3]), "shape")]
    values = [
        helper.make_tensor_value_info("x", FLOAT, [1, 3, 8, 8]),
        helper.make_tensor_value_info("a", FLOAT, [4, 3, 3, 3]),
        helper.make_tensor_value_info("shape", TensorProto.INT64, [4]),
    ]
    graph = helper.make_graph(nodes, "old", values, [helper.make_tensor_value_info("y", FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=3), tmp_path / "old.onnx")
    target = prepared(tmp_path / "old.onnx")
    change = find("ort-int8-static")
    check = compare([leaves(target.call())], [leaves(change.apply(target).call())], change.tolerance)
    assert check.state == "equal"
    assert check.difference > 0


def test_weights_in_a_file_of_their_own_are_found(convolutions, tmp_path):
    path = tmp_path / "elsewhere" / "parted.onnx"
    path.parent.mkdir()
    onnx.save(onnx.load(convolutions), path, save_as_external_data=True, location="parted.bin", size_threshold=0)
    (expected,), (found,) = (find("ort-int8-static").apply(prepared(model)).call() for model in (convolutions, path))
    np.testing.assert_array_equal(found, expected)
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["parted.bin", "parted.onnx"]


def test_a_copy_in_half_precision_keeps_its_inputs_and_outputs(convolutions):
    target = prepared(convolutions)
    change = find("ort-fp16")
    (expected,), (found,) = target.call(), change.apply(target).call()
    assert found.dtype == np.float32
    assert 0 < np.abs(found - expected).max() <= change.tolerance * np.abs(expected).max()


ALLOWED = {"precisions": ["bf16", "fp16", "int8"]}


@pytest.mark.parametrize(
    ("name", "situation", "words"),
    [
        ("ort-int8-static", fake_situation("onnx"), "--allow-precision int8"),
        ("ort-int8-dynamic", fake_situation("onnx", precisions=["fp16"]), "--allow-precision int8"),
        ("torch-int8-dynamic", fake_situation("torch"), "--allow-precision int8"),
        ("ort-fp16", fake_situation("onnx"), "--allow-precision fp16"),
        ("ort-bf16", fake_situation("onnx", **ALLOWED), "Arm"),
        ("ort-fp16", fake_situation("onnx", **ALLOWED, device=device(fp32=1e11)), "no fp16 ceiling"),
        ("ort-fp16", fake_situation("onnx", **ALLOWED, device=device(fp32=1e11, fp16=1e11)), "1.0×"),
        ("autocast-bf16", fake_situation("torch", **ALLOWED, device=device(fp32=1e11, bf16=9e10)), "0.9×"),
        ("autocast-fp16", fake_situation("torch", **ALLOWED, device=device(fp32=1e11)), "no fp16 ceiling"),
        # What the machine cannot do is said before what the person has not allowed.
        ("autocast-bf16", fake_situation("torch", device=device(fp32=1e11)), "no bf16 ceiling"),
    ],
)
def test_a_precondition_of_a_precision_says_why_not(name, situation, words):
    assert words in find(name).refusal(situation)


@pytest.mark.parametrize(
    ("name", "situation"),
    [
        ("ort-int8-static", fake_situation("onnx", **ALLOWED, device=device(fp32=1e11))),
        ("ort-fp16", fake_situation("onnx", **ALLOWED)),
        ("ort-fp16", fake_situation("onnx", **ALLOWED, device=device(fp32=1e11, fp16=2e11))),
        ("autocast-bf16", fake_situation("torch", **ALLOWED, device=device(fp32=1e11, bf16=2e11))),
        ("torch-int8-dynamic", fake_situation("torch", **ALLOWED)),
    ],
)
def test_a_precision_that_is_allowed_and_faster_may_be_tried(name, situation):
    assert find(name).refusal(situation) == ""


PROGRAM = """
import torch

torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
alone = torch.nn.Linear(16, 4)
row = torch.randn(2, 16, requires_grad=True)

def rows():
    return net(row)
"""


def test_linear_layers_are_converted_where_they_stand(tmp_path):
    import torch

    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    target = prepared(f"{path}:rows")
    before = target.call()
    change = find("torch-int8-dynamic")
    after = change.apply(target).call()
    layers = [type(layer).__module__ for layer in target.flavour.module.net if not isinstance(layer, torch.nn.ReLU)]
    assert all("quantized" in name for name in layers), layers
    assert isinstance(target.flavour.module.alone, torch.nn.Linear)
    check = compare([leaves(before)], [leaves(after)], change.tolerance)
    assert check.state == "equal"
    assert check.difference > 0


def test_there_is_no_place_without_a_module_around_the_layers(tmp_path):
    path = tmp_path / "alone.py"
    path.write_text("import torch\nalone = torch.nn.Linear(2, 2)\ndef f():\n    return alone(torch.ones(1, 2))\n")
    with pytest.raises(NotComparable, match="none"):
        find("torch-int8-dynamic").apply(prepared(f"{path}:f"))
