"""Normalisations: softmax by its exponentials, layer and group norm by the reduction over their input, batch norm in use as scale and shift."""

from __future__ import annotations

from ridgeline.core import Engine

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp

__all__: list[str] = []


def _work(op: RecordedOp, engine: Engine) -> Work:
    return Work(group="normalisation", flop=float(op.inputs[0].numel), engine=engine, reads=traffic.reads(op), writes=traffic.writes(op))


@formula("_softmax softmax _log_softmax log_softmax _safe_softmax _masked_softmax _log_softmax_backward_data")
def _softmax(op: RecordedOp) -> Work:
    return _work(op, "exp")


@formula("_softmax_backward_data")
def _softmax_backward(op: RecordedOp) -> Work:
    return _work(op, "reduce")


@formula(
    """
    native_layer_norm layer_norm native_group_norm _fused_rms_norm rms_norm native_layer_norm_backward native_group_norm_backward
    _fused_rms_norm_backward native_batch_norm_backward batch_norm_backward _batch_norm_with_update batch_norm_stats
    _native_batch_norm_legit mkldnn_batch_norm_backward
    """
)
def _reduced(op: RecordedOp) -> Work:
    return _work(op, "reduce")


@formula(
    """
    native_batch_norm batch_norm _native_batch_norm_legit_no_training _batch_norm_no_update cudnn_batch_norm batch_norm_elemt
    """
)
def _batch_norm(op: RecordedOp) -> Work:
    """With known statistics only a multiply-add an element (on `add`: it streams), else a reduction first."""
    return _work(op, "reduce" if op.flag("training") else "add")
