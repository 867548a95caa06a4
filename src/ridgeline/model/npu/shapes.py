"""The matrix product that an array of multipliers sees: `m` × `k` activations times `k` × `n` weights, from a GEMM or a convolution.

Decides how a convolution is lowered (one row of activations for each position of the window, groups one after the other); leaves to the models of
arrays what that costs. A convolution read in place has the same products; only its traffic is less than that of the lowered matrix, which is why
`activations` (elements that really exist) is kept beside `m` × `k`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._numbers import Counts, ceil_div, exact, whole

__all__ = ["Products", "convolution", "gemm"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Products:
    """Matrix products, one for each query; arrays of one shape, int64.

    Args:
        m: rows of the result, such as positions of a convolution's window, or tokens.
        n: columns of the result, such as output channels of one group.
        k: length of each sum.
        groups: products of that shape, done one after the other.
        activations: distinct elements of the left operand, of all groups; at most m × k × groups.
    """

    m: Counts
    n: Counts
    k: Counts
    groups: Counts
    activations: Counts

    @property
    def macs(self) -> Counts:
        """Multiply-adds of all groups; one is two FLOPs."""
        return exact("multiply-adds", self.m, self.n, self.k, self.groups)

    @property
    def weights(self) -> Counts:
        """Elements of the right operand, of all groups."""
        return exact("weights", self.n, self.k, self.groups)

    @property
    def results(self) -> Counts:
        """Elements of the result, of all groups."""
        return exact("results", self.m, self.n, self.groups)


def gemm(m: ArrayLike, n: ArrayLike, k: ArrayLike, *, groups: ArrayLike = 1) -> Products:
    """(m × k) · (k × n), `groups` times.

    Args:
        m, n, k, groups: whole numbers from 1 to 2⁵³, single or arrays that broadcast.

    Raises:
        UsageError: a number that is not whole, NaN, < 1 or > 2⁵³.
        OutOfRange: an operand of more than 2⁵³ elements.

    >>> int(gemm(2, 3, 4).macs)
    24
    """
    m_, n_, k_, groups_ = whole(m=m, n=n, k=k, groups=groups)
    return Products(m=m_, n=n_, k=k_, groups=groups_, activations=exact("activations", m_, k_, groups_))


def convolution(
    height: ArrayLike,
    width: ArrayLike,
    in_channels: ArrayLike,
    out_channels: ArrayLike,
    *,
    kernel: tuple[ArrayLike, ArrayLike],
    stride: tuple[ArrayLike, ArrayLike] = (1, 1),
    padding: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike] = (0, 0, 0, 0),
    groups: ArrayLike = 1,
    batch: ArrayLike = 1,
    last_window: Literal["whole", "partial"] = "whole",
) -> Products:
    """A two-dimensional convolution as a matrix product: m = batch · H' · W', n = out ÷ groups, k = K_h · K_w · in ÷ groups.

    H' = ⌊(H + top + bottom − K_h) ÷ stride⌋ + 1, the same for W'.

    Args:
        height, width: of the input, before padding.
        in_channels, out_channels: of all groups.
        kernel: height and width of the window.
        stride: down and across.
        padding: top, left, bottom, right, ≥ 0.
        groups: 1, or `in_channels` for a depthwise convolution.
        batch: images.
        last_window: `partial` counts a window that hangs over the edge as well (⌈·⌉ instead of ⌊·⌋), as SCALE-Sim does.

    Raises:
        UsageError: a number out of its range, a window larger than its padded input, channels that groups do not divide.

    >>> p = convolution(28, 28, 8, 16, kernel=(3, 3), padding=(1, 1, 1, 1))
    >>> int(p.m), int(p.n), int(p.k)
    (784, 16, 72)
    """
    h, w, c, f, kh, kw, sh, sw, g, b = whole(
        height=height,
        width=width,
        in_channels=in_channels,
        out_channels=out_channels,
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride_down=stride[0],
        stride_across=stride[1],
        groups=groups,
        batch=batch,
    )
    top, left, bottom, right = whole(0, top=padding[0], left=padding[1], bottom=padding[2], right=padding[3])
    if ((c % g) | (f % g)).any():
        raise UsageError("groups that divide in_channels and out_channels", found="a remainder", remedy="give the groups of the operator")
    down, across = h + top + bottom - kh, w + left + right - kw
    if ((down < 0) | (across < 0)).any():
        raise UsageError("a window no larger than its padded input", found="a larger one", remedy="give kernel, padding and input of one operator")
    steps = (ceil_div(down, sh), ceil_div(across, sw)) if last_window == "partial" else (down // sh, across // sw)
    m = exact("positions", b, steps[0] + 1, steps[1] + 1)
    k = exact("window", kh, kw, c // g)
    read = np.minimum(exact("input", b, h, w, c), exact("activations", m, k, g))
    m, n, k, g, read = np.broadcast_arrays(m, f // g, k, g, read)
    return Products(m=m, n=n, k=k, groups=g, activations=read)
