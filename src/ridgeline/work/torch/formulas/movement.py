"""Operators that move or make data without computing: copies, layout conversions, joins, fills, random numbers, allocations.

A copy that changes the order of dimensions or the dtype is `movement` (a layout conversion), one that does not is `copy`.
"""

from __future__ import annotations

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__: list[str] = []


def _moved(op: RecordedOp, group: str = "movement") -> Work:
    return Work(group=group, reads=traffic.reads(op), writes=traffic.writes(op))


def converts(source: TensorUse, target: TensorUse) -> bool:
    """Whether a copy from `source` to `target` changes dtype or the order in which elements lie."""
    if source.dtype != target.dtype:
        return True
    expanded = any(size > 1 and stride == 0 for size, stride in zip(source.shape, source.stride, strict=False))
    return not expanded and source.shape == target.shape and source.order != target.order


@formula(
    """
    clone _to_copy contiguous lift _copy_from _copy_from_and_resize to_mkldnn _to_dense mkldnn_to_dense _efficientzerotensor
    """
)
def _copy(op: RecordedOp) -> Work:
    if not op.inputs or not op.outputs:
        return _moved(op, "copy")
    return _moved(op, "movement" if converts(op.inputs[0], op.outputs[0]) else "copy")


@formula("copy _foreach_copy")
def _copy_into(op: RecordedOp) -> Work:
    if len(op.inputs) < 2:
        return _moved(op, "copy")
    half = len(op.inputs) // 2
    changed = any(converts(source, target) for target, source in zip(op.inputs[:half], op.inputs[half:], strict=False))
    return _moved(op, "movement" if changed else "copy")


@formula(
    """
    cat stack _stack concat repeat repeat_interleave tile roll flip rot90 constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d
    replication_pad1d replication_pad2d replication_pad3d tril triu im2col col2im upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact2d pixel_shuffle pixel_unshuffle channel_shuffle slice_backward select_backward unfold_backward diagonal_backward
    as_strided_scatter slice_scatter select_scatter diagonal_scatter diag_embed diag block_diag permute_copy transpose_copy view_copy
    narrow_copy diagonal_copy _upsample_nearest_exact1d _upsample_nearest_exact3d
    unfold_copy expand_copy split_copy unbind_copy t_copy split_with_sizes_copy slice_copy select_copy squeeze_copy unsqueeze_copy
    as_strided_copy detach_copy alias_copy reflection_pad2d_backward upsample_nearest2d_backward mkldnn_reorder_conv2d_weight
    mkldnn_reorder_conv3d_weight _reorder_linear_weight _conj_copy chunk_cat _chunk_cat _nested_tensor_from_mask
    _padded_dense_to_jagged_forward resolve_conj resolve_neg
    """
)
def _movement(op: RecordedOp) -> Work:
    return _moved(op)


@formula(
    """
    upsample_bilinear2d upsample_linear1d upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
    """
)
def _interpolate(op: RecordedOp) -> Work:
    """One multiply-add for each tap of a result: 2, 4, 8 or 16 of them."""
    taps = {"linear1d": 2, "bilinear2d": 4, "trilinear3d": 8, "bicubic2d": 16}
    tap = next((count for name, count in taps.items() if f"_{name}" in op.kind), 4)
    flop = 2.0 * tap * op.outputs[0].numel
    return Work(group="movement", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op))


@formula(
    """
    fill zero eye zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange linspace logspace range scalar_tensor
    tril_indices triu_indices hann_window hamming_window vander
    """
)
def _fill(op: RecordedOp) -> Work:
    """A fill of storage that was there is movement; of new storage, allocation."""
    fresh = any(use.fresh for use in op.outputs)
    return Work(group="allocation" if fresh else "movement", reads=(), writes=traffic.writes(op))


@formula(
    """
    empty empty_like empty_strided new_empty new_empty_strided empty_permuted resize resize_as set _resize_output empty_quantized
    """
)
def _allocate(op: RecordedOp) -> Work:
    return Work(group="allocation", reason="allocates, touches no data")


_RANDOM = """
rand randn randint randperm rand_like randn_like randint_like normal uniform random bernoulli exponential geometric log_normal cauchy
multinomial poisson binomial native_dropout _fused_dropout _sample_dirichlet _standard_gamma alpha_dropout dropout feature_dropout
normal_functional rrelu
"""


@formula(_RANDOM)
def _random(op: RecordedOp) -> Work:
    reason = "random numbers have no ceiling of their own"
    return Work(group="random", flop=None, reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)


@formula("_local_scalar_dense item")
def _scalar(op: RecordedOp) -> Work:
    return Work(group="copy", reads=traffic.reads(op), reason="one number to the host")


@formula(
    """
    is_same_size squeeze unsqueeze transpose t swapaxes as_strided sym_size sym_stride sym_numel sym_storage_offset
    _has_compatible_shallow_copy_type _version is_contiguous _assert_async
    _assert_tensor_metadata _functional_assert_async _nested_tensor_size _unsafe_view _reshape_alias unsafe_split unsafe_chunk
    unsafe_split_with_sizes detach alias lift_fresh lift_fresh_copy result_type size stride numel record_stream _is_zerotensor is_pinned
    values indices _values _indices crow_indices col_indices ccol_indices row_indices _nnz
    profiler::_record_function_enter_new profiler::_record_function_exit
    """
)
def _nothing(op: RecordedOp) -> Work:
    return Work(group="view", reason="touches no data")
