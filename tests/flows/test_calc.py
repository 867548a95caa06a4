"""`calc`: every card works as it stands, the numbers are those of the laws, and bad input is one clear line."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline import laws
from ridgeline.core import OutOfRange, RidgelineError, UsageError
from ridgeline.flows.calc import CalcResult, calc

CARDS = calc()


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_the_example_of_every_card_answers(card):
    result = calc(card.name, card.example)
    assert result.name == card.name
    assert result.outputs
    assert all(math.isfinite(quantity.value) for quantity in result.outputs.values())
    assert list(result.inputs) == [parameter.name for parameter in card.parameters if parameter.name in result.inputs]
    assert msgspec.json.decode(msgspec.json.encode(result), type=CalcResult) == result


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_required_argument_is_asked_for(card):
    for parameter in card.parameters:
        if parameter.required:
            rest = [argument for argument in card.example if not argument.startswith(parameter.name + "=")]
            with pytest.raises(UsageError, match=parameter.name):
                calc(card.name, rest)


def test_the_matrix_vector_product_of_the_method():
    out = calc("roofline", ["flop=33.55MFLOP", "bytes=33.55MB", "peak=128GFLOP/s", "bandwidth=13GB/s", "time=4.6ms"]).outputs
    assert out["intensity"].value == 1
    assert str(out["attainable"]) == "13.0 GFLOP/s"
    assert str(out["ideal_time"]) == "2.58 ms"
    assert out["f_b"].value == pytest.approx(0.561, abs=1e-3)
    assert out["achieved_byte_per_s"].value == pytest.approx(7.29e9, rel=1e-3)
    assert out["possible_speedup"].value == pytest.approx(1.78, abs=5e-3)


def test_text_and_numbers_are_the_same():
    written = calc("amortise", ["first=340ms", "steady=12ms", "below=15ms"])
    assert written == calc("amortise", {"first": 0.340, "steady": 0.012, "below": 0.015})
    assert written.outputs["calls_until_below"].value == 110


def test_percent_is_a_share():
    assert calc("amdahl", ["share=50%", "local_speedup=2"]).outputs["speedup"].value == pytest.approx(4 / 3)


def test_an_endless_answer_becomes_a_note():
    result = calc("amdahl", ["share=1", "local_speedup=2"])
    assert "bound" not in result.outputs
    assert any("bound" in note for note in result.notes)


@given(operations=st.integers(1, 100), extra=st.integers(0, 10), size=st.floats(1, 1e12).map(lambda x: float(f"{x:.6g}")), rate=st.floats(1e6, 1e13))
def test_fusion_is_the_law(operations, extra, size, rate):
    out = calc("fusion", {"operations": operations, "tensor": size, "extra_reads": extra, "bandwidth": rate}).outputs
    assert out["saved"].value == laws.fusion_saving(operations=operations, tensor_bytes=size, extra_reads=extra)
    assert out["time"].value / out["fused_time"].value == pytest.approx(out["speedup"].value)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nothing", []),
        ("roofline", []),
        ("roofline", ["flop"]),
        ("roofline", ["=3"]),
        ("roofline", ["flop="]),
        ("samples", ["quantile=0.99", "quantile=0.9"]),
        ("samples", ["quantile=0.99", "colour=red"]),
        ("samples", ["quantile=99"]),
        ("samples", ["quantile=0.99s"]),
        ("samples", ["quantile=nan"]),
        ("samples", {"quantile": math.nan}),
        ("samples", ["quantile=0.99", "confidence=1"]),
        ("gap", ["wall=1e400s", "operators=1"]),
        ("gap", ["wall=0", "operators=1"]),
        ("fusion", ["operations=2.5", "tensor=1MB"]),
        ("fusion", ["operations=-2", "tensor=1MB"]),
        ("misses", ["misses=10", "time=1s", "bandwidth=0"]),
        ("misses", ["misses=10", "time=0"]),
        ("amortise", ["first=340ms", "steady=12ms"]),
        ("ipc", ["instructions=1e9"]),
        ("amortise", ["first=1e308", "steady=1e-300", "below=2e-300", "calls=1"]),
        ("sampling", ["kernel_time=1s", "calls_per_second=5Hz", "rate=1kHz"]),
        ("sampling", ["kernel_time=1ms", "calls_per_second=5Hz", "rate=1kHz", "relative_error=1e-200"]),
    ],
)
def test_bad_input_is_one_line(name, arguments):
    with pytest.raises(UsageError) as caught:
        calc(name, arguments)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_out_of_reach_is_said():
    with pytest.raises(OutOfRange):
        calc("amdahl", ["share=0.1", "target_speedup=2"])


@given(card=st.sampled_from(CARDS), data=st.data())
def test_no_numbers_make_anything_but_an_answer_or_an_error_of_ours(card, data):
    number = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1e-308, 1e308, -1.0, 2.0**63]))
    given_values = {parameter.name: data.draw(number) for parameter in card.parameters}
    try:
        result = calc(card.name, given_values)
    except RidgelineError:
        return
    assert result.outputs or result.notes
