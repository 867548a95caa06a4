"""Traffic of a two-dimensional convolution: as an implicit or direct product over tiles of outputs, and with the columns written out (im2col).

Decides bytes from shape, tile and capacity with the reuse model of `tiling`. An implicit product reads an input element once for all kernel offsets
of a tile, and the halo between tiles again, also where a neighbour's would still be there: an upper estimate. Writing the columns out repeats every
element for each offset. Sources: S. Chetlur et al., "cuDNN: efficient primitives for deep learning", arXiv:1410.0759, 2014 (implicit product);
K. Chellapilla et al., "High performance convolutional neural networks for document processing", IWFHR 2006 (im2col). Transformed algorithms
(Winograd, FFT) have traffic of their own that is not here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import COUNT, COUNT_OR_NONE, POSITIVE, Reals, ceil_div, fit, larger, numbers, outside, smaller
from .tiling import Operands, Traffic, Widths, blocked, choose_gemm_tile, gemm_traffic

__all__ = ["Convolution", "ConvolutionTile", "choose_convolution_tile", "convolution", "convolution_traffic", "im2col_traffic"]


@dataclass(frozen=True, eq=False)
class Convolution:
    """Shapes of many convolutions at once, checked; made by `convolution`.

    Args:
        batch, channels, height, width, filters, kernel_height, kernel_width, groups: as `convolution`.
        out_height, out_width: P and Q.
        touched_height, touched_width: input rows and columns that some output uses.
        reach_height, reach_width: input rows and columns between the first and the last that one output uses, both included.
        stride: between outputs, in inputs.
    """

    batch: Reals
    channels: Reals
    height: Reals
    width: Reals
    filters: Reals
    kernel_height: Reals
    kernel_width: Reals
    groups: Reals
    stride: Reals
    out_height: Reals
    out_width: Reals
    touched_height: Reals
    touched_width: Reals
    reach_height: Reals
    reach_width: Reals

    @property
    def flop(self) -> Reals:
        """2 · batch · P · Q · filters · channels ÷ groups · kernel, FLOP."""
        m, n, k = self.product
        return 2.0 * m * n * k * self.groups

    @property
    def product(self) -> tuple[Reals, Reals, Reals]:
        """(m, n, k) of the matrix product of one group: outputs, filters, channels × kernel."""
        k = self.channels / self.groups * self.kernel_height * self.kernel_width
        return self.batch * self.out_height * self.out_width, self.filters / self.groups, k


@dataclass(frozen=True, eq=False)
class ConvolutionTile:
    """Output rows, output columns, filters and input channels that a level holds at once; whole numbers ≥ 1."""

    rows: Reals
    columns: Reals
    filters: Reals
    channels: Reals


def convolution(
    *,
    batch: ArrayLike,
    channels: ArrayLike,
    height: ArrayLike,
    width: ArrayLike,
    filters: ArrayLike,
    kernel_height: ArrayLike,
    kernel_width: ArrayLike,
    stride: ArrayLike = 1,
    padding: ArrayLike = 0,
    dilation: ArrayLike = 1,
    groups: ArrayLike = 1,
) -> Convolution:
    """The shapes of a convolution, P = ⌊(H + 2 pad − (d(R − 1) + 1)) ÷ stride⌋ + 1 and Q alike.

    Args:
        batch, channels, height, width: of the input, whole, ≥ 1.
        filters: output channels; kernel_height, kernel_width: R and S.
        stride, padding, dilation: alike in both directions; padding on each side, ≥ 0.
        groups: channels and filters must be multiples of it; equal to the channels for a depthwise convolution.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: a kernel longer than the padded input, or groups that do not divide.

    >>> layer = convolution(batch=1, channels=3, height=224, width=224, filters=64, kernel_height=7, kernel_width=7, stride=2, padding=3)
    >>> float(layer.out_height), float(layer.flop) == 2 * 112 * 112 * 64 * 3 * 49
    (112.0, True)
    """
    b, c, h, w, f, r, s, step, pad, spread, g = numbers(
        batch=(batch, COUNT),
        channels=(channels, COUNT),
        height=(height, COUNT),
        width=(width, COUNT),
        filters=(filters, COUNT),
        kernel_height=(kernel_height, COUNT),
        kernel_width=(kernel_width, COUNT),
        stride=(stride, COUNT),
        padding=(padding, COUNT_OR_NONE),
        dilation=(dilation, COUNT),
        groups=(groups, COUNT),
    )
    reach_h, reach_w = spread * (r - 1) + 1, spread * (s - 1) + 1
    outside(h + 2 * pad < reach_h, "kernel_height", r, "a kernel within the padded input", "enlarge the input or its padding")
    outside(w + 2 * pad < reach_w, "kernel_width", s, "a kernel within the padded input", "enlarge the input or its padding")
    outside((c % g != 0) | (f % g != 0), "groups", g, "groups that divide channels and filters", "choose a common divisor")
    p: Reals = np.floor((h + 2 * pad - reach_h) / step) + 1
    q: Reals = np.floor((w + 2 * pad - reach_w) / step) + 1
    return Convolution(
        batch=b,
        channels=c,
        height=h,
        width=w,
        filters=f,
        kernel_height=r,
        kernel_width=s,
        groups=g,
        stride=step,
        out_height=p,
        out_width=q,
        touched_height=smaller(h, smaller((p - 1) * step + reach_h, p * r)),
        touched_width=smaller(w, smaller((q - 1) * step + reach_w, q * s)),
        reach_height=reach_h,
        reach_width=reach_w,
    )


def _with_halo(touched: Reals, outputs: Reals, tile: Reals, reach: Reals, stride: Reals, kernel: Reals) -> Reals:
    """Input rows read when outputs come in tiles: what is touched, and the overlap of neighbours once more; never more than kernel × outputs."""
    overlap = larger(reach - stride, 0.0)
    return larger(smaller(touched + (ceil_div(outputs, tile) - 1) * overlap, outputs * kernel), touched)


def _patch(tile: Reals, touched: Reals, reach: Reals, stride: Reals, kernel: Reals) -> Reals:
    """Input rows that a tile of outputs uses."""
    return smaller(smaller((tile - 1) * stride + reach, tile * kernel), touched)


def convolution_traffic(
    shape: Convolution,
    *,
    tile: ConvolutionTile,
    capacity_bytes: ArrayLike,
    element_bytes: Widths = (4.0, 4.0, 4.0),
) -> Traffic:
    """Traffic of a direct or implicit convolution in B: `left` is the input, `right` the weights.

    Args:
        shape: from `convolution`.
        tile: what the level holds; cut to the shape.
        capacity_bytes: what of the level may be used, B, > 0.
        element_bytes: of input, weights and output, > 0.

    Returns:
        Bytes that the level below serves; all groups together.

    Raises:
        UsageError: a number out of its range.

    >>> layer = convolution(batch=1, channels=64, height=56, width=56, filters=64, kernel_height=3, kernel_width=3, padding=1)
    >>> tile = choose_convolution_tile(layer, capacity_bytes=1 << 20)
    >>> moved = convolution_traffic(layer, tile=tile, capacity_bytes=1 << 20)
    >>> bool(moved.compulsory_bytes <= moved.total_bytes) and bool(moved.total_bytes < 0.01 * moved.untiled_bytes)
    True
    """
    capacity, a, b, c, rows, columns, filters, channels = numbers(
        capacity_bytes=(capacity_bytes, POSITIVE),
        input_element_bytes=(element_bytes[0], POSITIVE),
        weight_element_bytes=(element_bytes[1], POSITIVE),
        out_element_bytes=(element_bytes[2], POSITIVE),
        tile_rows=(tile.rows, COUNT),
        tile_columns=(tile.columns, COUNT),
        tile_filters=(tile.filters, COUNT),
        tile_channels=(tile.channels, COUNT),
    )
    s = shape
    fit(shape=s.out_height * s.groups * s.kernel_height, capacity_bytes=capacity, element_bytes=a * b * c, tile=rows * columns * filters * channels)
    deep, out = s.channels / s.groups, s.filters / s.groups
    rows, columns = smaller(rows, s.out_height), smaller(columns, s.out_width)
    filters, channels = smaller(filters, out), smaller(channels, deep)
    m, n, k = s.product
    read_h = _with_halo(s.touched_height, s.out_height, rows, s.reach_height, s.stride, s.kernel_height)
    read_w = _with_halo(s.touched_width, s.out_width, columns, s.reach_width, s.stride, s.kernel_width)
    patch = _patch(rows, s.touched_height, s.reach_height, s.stride, s.kernel_height)
    patch = patch * _patch(columns, s.touched_width, s.reach_width, s.stride, s.kernel_width)
    window = s.kernel_height * s.kernel_width
    outputs = rows * columns
    one_group = Operands(
        left_whole=s.batch * s.touched_height * s.touched_width * deep * a,
        left_read=s.batch * read_h * read_w * deep * a,
        left_panel=patch * deep * a,
        left_tiles=s.batch * ceil_div(s.out_height, rows) * ceil_div(s.out_width, columns),
        right_whole=n * k * b,
        right_panel=k * filters * b,
        right_tiles=ceil_div(n, filters),
        out_whole=m * n * c,
        out_tile=outputs * filters * c,
        out_row=outputs * n * c,
        out_column=m * filters * c,
        resident=patch * channels * a + filters * channels * window * b + outputs * filters * c,
        untiled_left=m * n * k * a,
        untiled_right=m * n * k * b,
    )
    return _times(blocked(one_group, capacity), s.groups)


def _times(traffic: Traffic, groups: Reals) -> Traffic:
    return Traffic(
        left_bytes=traffic.left_bytes * groups,
        right_bytes=traffic.right_bytes * groups,
        out_bytes=traffic.out_bytes * groups,
        total_bytes=traffic.total_bytes * groups,
        compulsory_bytes=traffic.compulsory_bytes * groups,
        untiled_bytes=traffic.untiled_bytes * groups,
        fits=traffic.fits,
    )


def choose_convolution_tile(
    shape: Convolution,
    *,
    capacity_bytes: ArrayLike,
    element_bytes: Widths = (4.0, 4.0, 4.0),
    channels: ArrayLike = 1,
    multiple: ArrayLike = 1,
) -> ConvolutionTile:
    """The tile that `choose_gemm_tile` gives the implicit product, as whole rows of outputs where they fit, else as a part of one row.

    Args:
        shape: from `convolution`.
        capacity_bytes: B, > 0.
        element_bytes: of input, weights and output, > 0.
        channels: input channels held at once (channel blocking), cut to the shape.
        multiple: of the tile's sides, as `choose_gemm_tile`.

    Raises:
        UsageError: a number out of its range.

    >>> layer = convolution(batch=1, channels=64, height=56, width=56, filters=64, kernel_height=3, kernel_width=3, padding=1)
    >>> tile = choose_convolution_tile(layer, capacity_bytes=1 << 20)
    >>> float(tile.rows), float(tile.columns), float(tile.filters)
    (56.0, 56.0, 64.0)
    """
    (held,) = numbers(channels=(channels, COUNT))
    _, n, k = shape.product
    held = smaller(held, shape.channels / shape.groups)
    window = shape.kernel_height * shape.kernel_width
    chosen = choose_gemm_tile(
        shape.out_height * shape.out_width,
        n,
        k,
        capacity_bytes=capacity_bytes,
        element_bytes=element_bytes,
        depth=held * window,
        multiple=multiple,
    )
    columns = smaller(chosen.rows, shape.out_width)
    rows: Reals = np.floor(chosen.rows / columns)
    return ConvolutionTile(rows=rows, columns=columns, filters=chosen.columns, channels=held + 0.0 * rows)


def im2col_traffic(
    shape: Convolution,
    *,
    capacity_bytes: ArrayLike,
    element_bytes: Widths = (4.0, 4.0, 4.0),
) -> Reals:
    """Bytes of a convolution that writes its columns out: input read once, columns written, and the product over them with the chosen tile, in B.

    Args: as `convolution_traffic`; a 1×1 kernel with stride 1 needs no columns and costs the product alone.

    Raises:
        UsageError: a number out of its range.

    >>> layer = convolution(batch=1, channels=64, height=56, width=56, filters=64, kernel_height=3, kernel_width=3, padding=1)
    >>> implicit = convolution_traffic(layer, tile=choose_convolution_tile(layer, capacity_bytes=1 << 20), capacity_bytes=1 << 20)
    >>> bool(im2col_traffic(layer, capacity_bytes=1 << 20) > 5 * implicit.total_bytes)
    True
    """
    m, n, k = shape.product
    (a,) = numbers(input_element_bytes=(element_bytes[0], POSITIVE))
    tile = choose_gemm_tile(m, n, k, capacity_bytes=capacity_bytes, element_bytes=element_bytes)
    product = gemm_traffic(m, n, k, tile=tile, capacity_bytes=capacity_bytes, element_bytes=element_bytes).total_bytes
    read = shape.batch * shape.touched_height * shape.touched_width * shape.channels / shape.groups * a
    needed = (shape.kernel_height * shape.kernel_width > 1) | (shape.stride > 1)
    return shape.groups * (product + np.where(needed, read + m * k * a, 0.0))
