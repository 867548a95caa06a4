"""Layers of a network as an Ethos-U runs them: shapes as arrays, and what each multiplies.

Decides the shapes that are accepted and how multiply-adds are counted. Leaves cycles to `ethos_cycles` and traffic to `ethos_costs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import UsageError
from ._numbers import Counts, Reals, exact, reals, whole

__all__ = ["EthosKind", "EthosLayers", "ethos_layers"]

#: What the processor does at full rate: `add` also subtracts and compares, `unary` is a table or a scaled copy.
EthosKind: TypeAlias = Literal["convolution", "depthwise", "fully-connected", "max-pool", "average-pool", "add", "multiply", "unary"]
KINDS: tuple[str, ...] = get_args(EthosKind)
# bias and scale of an output channel, packed
SCALE_BYTES = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class EthosLayers:
    """Layers, one for each place of the arrays (one-dimensional).

    Args:
        kind: index into the kinds.
        height, width, channels: of the output, batch 1.
        in_channels: of the input.
        kernel_height, kernel_width, stride_down, stride_across: of the window, 1 where there is none.
        sparse: of each four weights along the input channels at most two are not zero.
        weight_bytes: weights, biases and scales as stored, after compression.
        off_chip_input, off_chip_result: the input or result of the network, where the arena is off chip.
    """

    kind: NDArray[np.int64]
    height: Counts
    width: Counts
    channels: Counts
    in_channels: Counts
    kernel_height: Counts
    kernel_width: Counts
    stride_down: Counts
    stride_across: Counts
    sparse: NDArray[np.bool_]
    weight_bytes: Reals
    off_chip_input: NDArray[np.bool_]
    off_chip_result: NDArray[np.bool_]

    def of(self, *kinds: EthosKind) -> NDArray[np.bool_]:
        """Which layers are of one of the kinds."""
        return np.isin(self.kind, [KINDS.index(kind) for kind in kinds])

    def some(self, at: Counts) -> EthosLayers:
        """Some of the layers, by their places."""
        return EthosLayers(**{each.name: getattr(self, each.name)[at] for each in fields(self)})

    @property
    def results(self) -> Counts:
        """Elements of the output."""
        return exact("results", self.height, self.width, self.channels)

    @property
    def macs(self) -> Counts:
        """Multiply-adds without regard to zeros: outputs · window (· input channels); 0 for elementwise layers; a pool's window counts."""
        window = exact("window", self.kernel_height, self.kernel_width)
        deep = np.where(self.of("convolution", "fully-connected"), self.in_channels, 1)
        counted = exact("multiply-adds", self.results, window, deep)
        return np.where(self.of("add", "multiply", "unary"), 0, counted)


def ethos_layers(
    kind: Sequence[EthosKind] | EthosKind,
    *,
    height: ArrayLike,
    width: ArrayLike,
    channels: ArrayLike,
    in_channels: ArrayLike | None = None,
    kernel: tuple[ArrayLike, ArrayLike] = (1, 1),
    stride: tuple[ArrayLike, ArrayLike] = (1, 1),
    sparse: ArrayLike = False,
    weight_bytes: ArrayLike | None = None,
    off_chip_input: ArrayLike = False,
    off_chip_result: ArrayLike = False,
) -> EthosLayers:
    """Layers from shapes; numbers broadcast.

    Args:
        kind: of each layer.
        height, width, channels: of the output.
        in_channels: of the input; as `channels` if not given.
        kernel, stride: (down, across).
        sparse: whether weights are two in four.
        weight_bytes: as stored; if not given, one byte a weight and 10 a channel: weights that do not compress.
        off_chip_input, off_chip_result: see `EthosLayers`.

    Raises:
        UsageError: a kind that is not known, a number that is not whole, NaN, < 1 or > 2⁵³.
        OutOfRange: more than 2⁵³ elements or multiply-adds.

    >>> int(ethos_layers("convolution", height=25, width=5, channels=64, in_channels=1, kernel=(10, 4)).macs[0])
    320000
    """
    names = [kind] if isinstance(kind, str) else list(kind)
    unknown = [name for name in names if name not in KINDS]
    if unknown or not names:
        raise UsageError("a kind of layer", found=f"{unknown[:1]!r:.60}", remedy=f"one of {', '.join(KINDS)}")
    codes = np.array([KINDS.index(name) for name in names], np.int64)
    numbers = whole(
        kinds=np.ones(len(names), np.int64),
        height=height,
        width=width,
        channels=channels,
        in_channels=channels if in_channels is None else in_channels,
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride_down=stride[0],
        stride_across=stride[1],
    )
    _, h, w, c, i, kh, kw, sh, sw = (np.atleast_1d(each) for each in numbers)
    deep = np.isin(codes, [KINDS.index("convolution"), KINDS.index("fully-connected")])
    stored = np.where(deep, i, 1) * exact("weights", kh, kw, c) + SCALE_BYTES * c
    weighted = deep | (codes == KINDS.index("depthwise"))
    (given,) = reals(False, weight_bytes=stored if weight_bytes is None else weight_bytes)
    shape = h.shape
    layers = EthosLayers(
        kind=np.broadcast_to(codes, shape),
        height=h,
        width=w,
        channels=c,
        in_channels=i,
        kernel_height=kh,
        kernel_width=kw,
        stride_down=sh,
        stride_across=sw,
        sparse=np.broadcast_to(np.asarray(sparse, np.bool_), shape),
        weight_bytes=np.broadcast_to(np.where(weighted, given, 0.0), shape),
        off_chip_input=np.broadcast_to(np.asarray(off_chip_input, np.bool_), shape),
        off_chip_result=np.broadcast_to(np.asarray(off_chip_result, np.bool_), shape),
    )
    # Refuses counts that would not be exact before anything is computed from them.
    _ = layers.macs
    return layers
