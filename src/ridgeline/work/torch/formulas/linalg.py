"""Factorisations and solves of dense matrices, by their leading terms; iterative ones (eigenvalues, singular values) have no fixed count.

Source: Golub and Van Loan, Matrix Computations, 4th edition, sections 3.1, 3.2, 4.2 and 5.2.
"""

from __future__ import annotations

import math

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__: list[str] = []


def _work(op: RecordedOp, flop: float) -> Work:
    return Work(group="other", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op), reason="leading terms")


def _square(matrix: TensorUse) -> tuple[int, int]:
    """(matrices in the batch, order of one)."""
    return math.prod(matrix.shape[:-2]), matrix.shape[-1]


@formula("linalg_cholesky_ex cholesky")
def _cholesky(op: RecordedOp) -> Work:
    batch, n = _square(op.inputs[0])
    return _work(op, batch * n**3 / 3)


@formula("linalg_lu_factor_ex linalg_lu _linalg_det _linalg_slogdet")
def _lu(op: RecordedOp) -> Work:
    """m·n² − n³ ÷ 3 multiply-adds' worth of FLOPs for m ≥ n, which is 2n³ ÷ 3 for a square."""
    matrix = op.inputs[0]
    m, n = max(matrix.shape[-2:]), min(matrix.shape[-2:])
    return _work(op, math.prod(matrix.shape[:-2]) * (m * n**2 - n**3 / 3))


@formula("linalg_inv_ex")
def _inverse(op: RecordedOp) -> Work:
    batch, n = _square(op.inputs[0])
    return _work(op, batch * 2.0 * n**3)


@formula("_linalg_solve_ex")
def _solve(op: RecordedOp) -> Work:
    """A factorisation, and two triangular solves for each column of the right-hand sides."""
    batch, n = _square(op.inputs[0])
    return _work(op, batch * 2 * n**3 / 3 + 2.0 * n * op.inputs[1].numel)


@formula("linalg_solve_triangular triangular_solve")
def _triangular(op: RecordedOp) -> Work:
    """n² for each column of the right-hand sides."""
    matrix, sides = op.inputs[:2] if op.kind.endswith("linalg_solve_triangular") else op.inputs[1::-1]
    return _work(op, float(matrix.shape[-1]) * sides.numel)


@formula("linalg_lu_solve cholesky_solve")
def _factored(op: RecordedOp) -> Work:
    """Two triangular solves: 2n² for each column of the result."""
    return _work(op, 2.0 * op.outputs[0].numel * op.outputs[0].shape[-2])


@formula("linalg_qr geqrf")
def _orthogonal(op: RecordedOp) -> Work:
    """Householder: 2n²(m − n ÷ 3) for R, as much again where Q is formed."""
    matrix = op.inputs[0]
    m, n = max(matrix.shape[-2:]), min(matrix.shape[-2:])
    formed = 1 if op.arguments.get("mode") == "r" or op.kind.endswith("geqrf") else 2
    return _work(op, math.prod(matrix.shape[:-2]) * formed * 2 * n**2 * (m - n / 3))
