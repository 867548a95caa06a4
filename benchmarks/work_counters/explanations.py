"""Why another counter's number is not ours: a reason, and the arithmetic that gives their number from it.

An explanation counts only if its arithmetic gives the number exactly; the few that name a reason without one are marked. What is not explained is
reported as such, and a test fails on it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["REASONS", "Explained", "explain"]

#: Counters whose unit is the multiply-add.
MULTIPLY_ADDS = frozenset({"fvcore", "thop", "onnx-tool"})

REASONS = {
    "mac-as-one": "counts a multiply-add as one operation",
    "no-rule": "has no rule for this operator, or for this way to call it, and counts it as nothing without saying so",
    "modules-only": "sees modules and not the functions that they call: counted as nothing",
    "operator-form": "sees functions and not Python's operators (`@`, `*`): counted as nothing",
    "fails": "cannot take this case and says so",
    "adds-bias": "counts the bias, an addition a result",
    "skips-padding": "leaves out the taps that fall on the padding",
    "by-result": "counts a transposed convolution by its results instead of its input, so taps that meet inserted zeros count",
    "weight-misread": "reads the weight of a transposed convolution as (Cout, Cin ÷ g): by its results, and without the input channels",
    "groups-twice": "divides a transposed convolution by its groups twice",
    "batch-misread": "takes the second dimension of an unbatched input for its channels",
    "one-batch": "multiplies the first operand's elements by the columns: the second operand's own batch is left out",
    "adds-pointwise": "counts the pointwise parts as well (activations and sums of a cell, softmax between two products)",
    "padded-steps": "counts steps after a shorter sequence's end",
    "dense": "counts the zeros of a sparse operand",
    "body-once": "counts the body of a loop once, whatever its trips",
    "weighs": "prices an element at several operations, where ours names the engine that limits it and counts the element once",
    "per-input": "counts elements of the input instead of what each result needs",
    "power-of-two": "counts a reduction as the tree it compiles to, filled up to a power of two",
    "library-path": "takes the count of numpy's einsum report, which has one more",
    "four-neighbours": "counts four neighbours whatever the mode",
}


@dataclass(frozen=True)
class Explained:
    """The reasons for one number; `checked` if their arithmetic gives it exactly."""

    reasons: tuple[str, ...]
    checked: bool = True


def _taps(size: int, kernel: int, stride: int, pad: int) -> int:
    """Taps along one dimension that do not fall on the padding, over all results."""
    results = (size + 2 * pad - kernel) // stride + 1
    return sum(0 <= result * stride - pad + tap < size for result in range(results) for tap in range(kernel))


def _lstm_calflops(width: int) -> int:
    """A step of calflops' LSTM, 16 wide: both products less one addition a gate, ten pointwise operations, both biases."""
    return 2 * 64 * width - 64 + 2 * 64 * 16 - 64 + 10 * 16 + 2 * 64


def _lstm_thop(width: int) -> int:
    """A step of thop's LSTM in multiply-adds: four gates with a sum each, the cell, eight for the biases."""
    return 4 * ((width + 16) * 16 + 16) + 4 * 16 + 8 * 16


def _tree(length: int) -> int:
    """XLA's operations on a row of a softmax: subtract and divide each element, and a maximum and a sum over a power of two."""
    padded = 1 << (length - 1).bit_length()
    return 2 * length + padded + padded - 1


#: (counter, case) → (reasons, their number), the number as they come to it.
_EXACT: dict[tuple[str, str], tuple[str, float]] = {
    ("fvcore", "batch broadcast on one side"): ("mac-as-one one-batch", 4 * 5 * 7 * 3),
    ("onnx-tool", "batch broadcast on one side"): ("mac-as-one one-batch", 4 * 5 * 7 * 3),
    ("onnx-tool", "linear layer with bias"): ("mac-as-one adds-bias", 16 * 32 * 10 + 16 * 10),
    ("XLA", "linear layer with bias"): ("adds-bias", 2 * 16 * 32 * 10 + 16 * 10),
    ("calflops", "einsum of a batch of matrices"): ("library-path", 2 * 2 * 3 * 4 * 5 + 1),
    ("calflops", "einsum of three matrices, left to right"): ("library-path", 2 * 2 * 3 * 4 + 2 * 2 * 4 * 5 + 1),
    ("calflops", "einsum of an outer product"): ("library-path", 2 * 3 + 1),
    ("fvcore", "einsum of an outer product"): ("mac-as-one", 2 * 3 / 2),
    ("XLA", "conv2d, first layer of resnet"): ("skips-padding", 2 * 3 * 64 * _taps(224, 7, 2, 3) ** 2),
    ("XLA", "conv2d of one pixel with padding taps"): ("skips-padding", 2 * _taps(1, 3, 1, 1) ** 2),
    ("XLA", "conv2d depthwise"): ("skips-padding", 2 * 64 * _taps(14, 3, 1, 1) ** 2),
    ("XLA", "conv1d without a batch, 205,824 multiply-adds"): ("skips-padding", 2 * 32 * 32 * _taps(128, 3, 2, 4)),
    ("thop", "conv1d without a batch, 205,824 multiply-adds"): ("mac-as-one batch-misread", 128 * (32 * 67) * 3),
    ("calflops", "conv2d with bias, no padding"): ("adds-bias", 2 * 2 * 3 * 4 * 9 * 36 + 2 * 4 * 36),
    ("onnx-tool", "conv2d with bias, no padding"): ("mac-as-one adds-bias", 2 * 3 * 4 * 9 * 36 + 2 * 4 * 36),
    ("thop", "conv_transpose2d(32, 1, 3) of one pixel, 288 multiply-adds"): ("mac-as-one by-result", 32 * (1 * 3 * 3) * 9),
    ("thop", "conv_transpose2d(3, 1, 2, stride 2) on 2x2, 48 multiply-adds"): ("mac-as-one by-result", 3 * (1 * 4 * 4) * 4),
    ("thop", "conv_transpose2d, groups, padding and output padding"): ("mac-as-one by-result", 8 // 2 * (6 * 26 * 32) * 9),
    ("thop", "conv_transpose1d"): ("mac-as-one by-result", 4 * (6 * 14) * 5),
    ("onnx-tool", "conv_transpose2d(32, 1, 3) of one pixel, 288 multiply-adds"): ("mac-as-one weight-misread", (1 * 3 * 3) * (1 * 9)),
    ("onnx-tool", "conv_transpose2d(3, 1, 2, stride 2) on 2x2, 48 multiply-adds"): ("mac-as-one weight-misread", (1 * 4 * 4) * (1 * 4)),
    ("onnx-tool", "conv_transpose2d, groups, padding and output padding"): ("mac-as-one weight-misread", (6 * 26 * 32) * (3 * 9)),
    ("onnx-tool", "conv_transpose with an output shape"): ("mac-as-one weight-misread", (2 * 10 * 10) * (2 * 9)),
    ("onnx-tool", "conv_transpose1d"): ("mac-as-one weight-misread", (6 * 14) * (6 * 5)),
    ("calflops", "conv_transpose2d, groups, padding and output padding"): ("groups-twice", 2 * (9 * 11) * 9 * 8 * (3 // 2)),
    ("XLA", "attention (1, 12, 64, 64), 12,582,912 FLOP"): ("adds-pointwise power-of-two", 2 * 12 * 64 * 64 * 128 + 12 * 64 * _tree(64)),
    ("calflops", "LSTM over five steps"): ("adds-pointwise", 15 * _lstm_calflops(8)),
    ("calflops", "LSTM of two layers and two directions"): ("adds-pointwise", 30 * (_lstm_calflops(8) + _lstm_calflops(32))),
    ("thop", "LSTM over five steps"): ("mac-as-one adds-pointwise", 15 * _lstm_thop(8)),
    ("thop", "LSTM of two layers and two directions"): ("mac-as-one adds-pointwise", 30 * (_lstm_thop(8) + _lstm_thop(32))),
    ("thop", "LSTM over packed sequences of 5, 3 and 2 steps"): ("mac-as-one adds-pointwise padded-steps", 15 * _lstm_thop(8)),
    ("calflops", "GRU over five steps"): ("adds-pointwise", 15 * (2 * 48 * 8 - 48 + 2 * 48 * 16 - 48 + 7 * 16)),
    ("calflops", "GRU with the batch first, both directions"): ("adds-pointwise", 30 * (2 * 48 * 8 - 48 + 2 * 48 * 16 - 48 + 7 * 16)),
    ("thop", "GRU over five steps"): ("mac-as-one adds-pointwise", 15 * (3 * (24 * 16 + 16) + 4 * 16)),
    ("thop", "GRU with the batch first, both directions"): ("mac-as-one adds-pointwise", 30 * (3 * (24 * 16 + 16) + 4 * 16)),
    ("calflops", "plain recurrent layer"): ("adds-pointwise", 15 * (2 * 16 * 8 - 16 + 2 * 16 * 16 - 16 + 16)),
    ("thop", "plain recurrent layer"): ("mac-as-one adds-pointwise", 15 * (24 * 16 + 16)),
    **{("torch", f"sparse {kind} by a matrix"): ("dense", 2 * 8 * 8 * 3) for kind in ("rows (CSR)", "coordinates (COO)", "blocks (BSR)")},
    ("torch", "linear layer with a sparse weight"): ("dense", 2 * 3 * 8 * 8),
    ("calflops", "linear layer with a sparse weight"): ("dense", 2 * 3 * 8 * 8),
    ("onnx-tool", "QuantizeLinear"): ("weighs", 2 * 100),
    ("onnx-tool", "DequantizeLinear"): ("weighs", 2 * 100),
    ("onnx-tool", "sigmoid"): ("weighs", 32 * 400),
    ("onnx-tool", "tanh"): ("weighs", 76 * 400),
    ("onnx-tool", "gelu"): ("weighs", 34 * 400),
    ("onnx-tool", "division"): ("weighs", 4 * 400),
    ("onnx-tool", "softmax"): ("weighs", 36 * 400),
    ("onnx-tool", "batch norm in use"): ("weighs", 31 * 200),
    ("onnx-tool", "global average pool"): ("weighs", 64 * 49 + 4 * 64),
    ("XLA", "softmax"): ("weighs power-of-two", 4 * _tree(100)),
    ("XLA", "sum of everything"): ("power-of-two", 512 - 1),
    ("XLA", "a scan of ten steps"): ("body-once", 2 * 4 * 8 * 8 + 2),
    ("fvcore", "layer norm"): ("weighs", 5 * 400),
    ("calflops", "layer norm"): ("weighs", 5 * 400),
    ("thop", "layer norm"): ("weighs", 4 * 400),
    ("fvcore", "batch norm in use"): ("weighs", 2 * 200),
    ("calflops", "batch norm in use"): ("weighs", 2 * 200),
    ("thop", "batch norm in use"): ("weighs", 4 * 200),
    ("thop", "global average pool"): ("weighs", 64 * (49 + 1)),
    ("calflops", "max pool, 3x3 windows"): ("per-input", 2 * 8 * 8),
    ("calflops", "resize, bilinear"): ("per-input", 3 * 10 * 10),
    ("fvcore", "grid sampling, nearest"): ("four-neighbours", 4 * 2 * 3 * 3),
}
#: The reason is known, the arithmetic behind it was not traced.
_NAMED = {
    ("onnx-tool", "LSTM over five steps"): "mac-as-one adds-pointwise",
    ("onnx-tool", "LSTM over packed sequences of 5, 3 and 2 steps"): "mac-as-one adds-pointwise padded-steps",
    ("onnx-tool", "layer norm"): "weighs",
}


def explain(counter: str, case: str, ours: float, engine: str | None, theirs: float | str, *, function: bool) -> Explained | None:
    """Why `theirs` is not ours; an empty list of reasons if it is the same, `None` if nobody knows.

    Args:
        counter, case: names.
        ours: operations on `engine`.
        theirs: a number in the counter's unit, or the text of an error.
        function: whether the case is a function rather than a module of torch.
    """
    if isinstance(theirs, str):
        return Explained(("fails",))
    in_multiply_adds = counter in MULTIPLY_ADDS and engine == "fma"
    if theirs == (ours / 2 if in_multiply_adds else ours):
        return Explained(("mac-as-one",) if in_multiply_adds and ours else ())
    if (counter, case) in _EXACT:
        reasons, number = _EXACT[counter, case]
        return Explained(tuple(reasons.split())) if number == theirs else None
    if (counter, case) in _NAMED:
        return Explained(tuple(_NAMED[counter, case].split()), checked=False)
    return Explained((_nothing(counter, case, function),)) if theirs == 0 else None


#: Cases whose product or sum is written with a Python operator.
_OPERATORS = frozenset(
    """
    matmul 5x7x3|matmul of twelve heads, 50,331,648 multiply-adds|batch broadcast on one side|matrix times vector|dot product|matmul in fp64
    matmul in bf16|matmul in fp16|gemm with a transposed first operand|sparse rows (CSR) by a matrix|sparse coordinates (COO) by a matrix
    sparse blocks (BSR) by a matrix|[2, 3, 4] times [4]|a square, one operand read once|division|a scan of ten steps
    """.strip()
    .replace("\n    ", "|")
    .split("|")
)


def _nothing(counter: str, case: str, function: bool) -> str:
    if counter == "thop" and function:
        return "modules-only"
    return "operator-form" if counter == "calflops" and case in _OPERATORS else "no-rule"
