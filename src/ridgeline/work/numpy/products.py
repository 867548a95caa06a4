"""Products, factorisations, convolutions and transforms: multiply-adds from shapes.

A multiply-add is 2 FLOPs, 8 real ones when complex. Factorisations: Golub and Van Loan, Matrix Computations, 4th edition, sections 3.2 (LU), 4.2
(Cholesky), 5.2 (QR), 8.6 (SVD), 7.5 (eigenvalues); iterative ones are approximate and say so. FFT: 5 n log2 n real operations, the customary count of
a radix-2 transform (van Loan, Computational Frameworks for the FFT, section 1.4), on the multiply-add engine; half of it for real input.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from ridgeline.work.work import Work

from .call import Call, formula, moved
from .facts import ArrayFacts
from .transposed import BLAS, results_computed

__all__ = ["multiply_adds"]


def multiply_adds(call: Call, count: float, *, group: str = "matmul", reason: str = "", threaded: bool | None = None) -> Work:
    """Work of a call that makes `count` multiply-adds; where BLAS makes them, on as many threads as it likes unless `threaded` says otherwise."""
    # Only these formats have a BLAS; the rest run in numpy's own loops, on one thread.
    blas = all(array.dtype in BLAS for array in call.inputs)
    return moved(call, group, 2.0 * count, "fma", reason=reason, threaded=blas if threaded is None else threaded, factor=4.0 if call.complex else 1.0)


@formula("matmul dot linalg.matmul vecdot linalg.vecdot matvec vecmat inner vdot")
def _matmul(call: Call) -> Work:
    if len(call.inputs) < 2:
        if len(call.inputs) == 1 and call.outputs:
            return moved(call, "elementwise", call.outputs[0].size, "add", reason="a product with a number")
        return moved(call, "matmul", None, None, reason="an operand that is no array")
    first, second = call.inputs[:2]
    if not first.shape or not second.shape:
        return moved(call, "elementwise", max(first.size, second.size), "add", reason="a product with a number")
    name = call.kind.rpartition(".")[2]
    depth = first.size if name == "vdot" else second.shape[0] if name == "vecmat" else first.shape[-1]
    results = call.outputs[0].size if call.outputs else 1
    if name in ("matmul", "dot") and depth:
        # Without an output array (a number came back) there is one result.
        results = call.outputs[0].size if call.outputs else first.size // depth
        results = results_computed(first, second, results, copies=name == "dot")
    elif name == "inner" and len(second.shape) == 2:
        results = results_computed(
            first, msgspec.structs.replace(second, shape=second.shape[::-1], strides=second.strides[::-1]), results, copies=True
        )
    return multiply_adds(call, float(depth) * results)


# -- factorisations --

_Count = Callable[[float, float, float], float]


def _factorisation(names: str, count: _Count, reason: str = "") -> None:
    """Register FLOPs of an m × n matrix with r right-hand sides; a stack of matrices costs as many times that."""

    @formula(names)
    def work(call: Call) -> Work:
        matrix = call.inputs[0] if call.inputs else ArrayFacts(shape=())
        if len(matrix.shape) < 2:
            return moved(call, "matmul", None, None, reason="no matrix among its arguments")
        rows, columns = float(matrix.shape[-2]), float(matrix.shape[-1])
        stack = math.prod(matrix.shape[:-2])
        other = call.inputs[1] if len(call.inputs) > 1 else None
        sides = float(other.shape[-1]) if other is not None and len(other.shape) > 1 else 1.0
        return multiply_adds(call, stack * count(rows, columns, sides) / 2, reason=reason)


_factorisation("linalg.solve", lambda m, n, r: 2 / 3 * n**3 + 2 * n**2 * r)
_factorisation("linalg.inv", lambda m, n, r: 2 * n**3)
_factorisation("linalg.cholesky linalg.cho_factor", lambda m, n, r: n**3 / 3)
_factorisation("linalg.det linalg.slogdet linalg.lu_factor linalg.lu", lambda m, n, r: 2 / 3 * n**3)
_factorisation("linalg.solve_triangular", lambda m, n, r: n**2 * r)
_factorisation("linalg.qr", lambda m, n, r: 4 * max(m, n) * min(m, n) ** 2 - 4 / 3 * min(m, n) ** 3, "Householder, with the reduced Q formed")
_ITERATIVE = "approximate: the method iterates"
_factorisation("linalg.svd linalg.pinv", lambda m, n, r: 6 * max(m, n) * min(m, n) ** 2 + 20 * min(m, n) ** 3, _ITERATIVE)
_factorisation("linalg.svdvals linalg.matrix_rank linalg.cond", lambda m, n, r: 2 * max(m, n) * min(m, n) ** 2 + 2 * min(m, n) ** 3, _ITERATIVE)
_factorisation("linalg.eig", lambda m, n, r: 25 * n**3, _ITERATIVE)
_factorisation("linalg.eigvals", lambda m, n, r: 10 * n**3, _ITERATIVE)
_factorisation("linalg.eigh", lambda m, n, r: 9 * n**3, _ITERATIVE)
_factorisation("linalg.eigvalsh", lambda m, n, r: 4 / 3 * n**3, _ITERATIVE)
_factorisation("linalg.lstsq", lambda m, n, r: 4 * m * n**2 + 8 * n**3 + 2 * m * n * r, _ITERATIVE)


# -- convolutions --


@formula("convolve correlate signal.convolve2d signal.correlate2d ndimage.convolve ndimage.correlate")
def _convolution(call: Call) -> Work:
    """Direct: in one dimension, `full` pairs every element with every tap; `valid` and the plane have one product a result and tap."""
    if len(call.inputs) < 2 or not call.outputs:
        return moved(call, "convolution", None, None, reason="an operand that is no array")
    long, short = sorted(call.inputs[:2], key=lambda array: -array.size)
    pairs = float(long.size) * short.size
    default = "valid" if call.kind == "numpy.correlate" else "full"
    mode = call.option("mode", 2, default)
    if len(long.shape) == 1 and mode == "full":
        count, reason = pairs, ""
    elif len(long.shape) == 1 and mode == "same":
        # The products that a full convolution would make at both ends are left out: k(k+1)/2 each, k the taps that hang over.
        left, right = short.size // 2, (short.size - 1) // 2
        count, reason = pairs - (left * (left + 1) + right * (right + 1)) / 2, ""
    else:
        count = float(call.outputs[0].size) * short.size
        reason = "" if mode == "valid" else "edges counted as if the whole kernel lay inside"
    # Only the one-dimensional kind runs on a dot product of BLAS, one row at a time; none of them on several threads.
    return multiply_adds(call, count, group="convolution", reason=reason, threaded=False)


# -- transforms --

_FFT_REASON = "5 n log2 n, the customary count"


@formula("fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fftpack.fft fftpack.ifft")
def _fft(call: Call) -> Work:
    return _transform(call, 5.0, call.outputs)


@formula("fft.rfft fft.irfft fft.rfft2 fft.irfft2 fft.rfftn fft.irfftn fft.hfft fft.ihfft fft.dct fft.idct fft.dst fft.idst")
def _real_fft(call: Call) -> Work:
    return _transform(call, 2.5, tuple(array for array in (*call.inputs, *call.outputs) if not array.complex) or call.outputs)


def _transform(call: Call, factor: float, sized: tuple[ArrayFacts, ...]) -> Work:
    if not sized or not sized[0].shape or not call.inputs:
        return moved(call, "other", None, None, reason="no array among its arguments")
    shape, name = sized[0].shape, call.kind.rpartition(".")[2]
    axes = call.options.get("axes")
    if name.endswith("n"):
        lengths = [shape[axis] for axis in axes] if isinstance(axes, tuple) and all(-len(shape) <= axis < len(shape) for axis in axes) else shape
    elif name.endswith("2"):
        lengths = shape[-2:]
    else:
        axis = call.options.get("axis")
        lengths = [shape[axis if isinstance(axis, int) and -len(shape) <= axis < len(shape) else -1]]
    steps = sum(math.log2(length) for length in lengths if length > 1)
    return moved(call, "other", factor * sized[0].size * steps, "fma", reason=_FFT_REASON)
