"""Weights that were made smaller: narrow numbers with scales, structured and unstructured zeros, and what each saves in bytes and in work.

Decides bytes and work. Bytes shrink with the format; work shrinks only where the hardware skips the zeros of exactly that pattern, and unpacking adds
some of its own. The scalar ratio of widths is `ridgeline.laws.quantise`. Sources: A. Mishra et al., "Accelerating sparse deep neural networks",
arXiv:2104.08378 (2:4 and its two index bits); E. Frantar et al., "GPTQ", arXiv:2210.17323 (groups with scale and zero point); T. Gale et al.,
"Sparse GPU kernels for deep learning", SC 2020 (when unstructured zeros pay).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import COUNT, NON_NEGATIVE, PART, POSITIVE, SHARE, Reals, ceil_div, choose, larger, numbers, outside, smaller

__all__ = ["Pruned", "break_even_density", "dequantise_time", "quantised_bytes", "structured", "unstructured"]


@dataclass(frozen=True, eq=False)
class Pruned:
    """Weights with zeros.

    Args:
        bytes: values and the indices that place them, B.
        dense_bytes: the same matrix without zeros left out, B.
        work_share: FLOP that are done ÷ FLOP of the dense product: 1 where the hardware cannot skip.
    """

    bytes: Reals
    dense_bytes: Reals
    work_share: Reals


def quantised_bytes(
    rows: ArrayLike,
    columns: ArrayLike,
    *,
    bits: ArrayLike,
    group: ArrayLike | None = None,
    scale_bits: ArrayLike = 16,
    zero_point_bits: ArrayLike = 0,
) -> Reals:
    """(R C w + R ⌈C/g⌉ (s + z)) ÷ 8 in B.

    Args:
        rows, columns: of the weights, columns summed over; whole, ≥ 1.
        bits: w of a weight, > 0.
        group: g weights of a row that share a scale, whole, ≥ 1; a whole row (one scale an output channel) if not given.
        scale_bits, zero_point_bits: s and z, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> float(quantised_bytes(4096, 4096, bits=4, group=32)) / (4096 * 4096 * 2)
    0.28125
    """
    r, c, w, g, s, z = numbers(
        rows=(rows, COUNT),
        columns=(columns, COUNT),
        bits=(bits, POSITIVE),
        group=(columns if group is None else group, COUNT),
        scale_bits=(scale_bits, NON_NEGATIVE),
        zero_point_bits=(zero_point_bits, NON_NEGATIVE),
    )
    return (r * c * w + r * ceil_div(c, g) * (s + z)) / 8.0


def dequantise_time(elements: ArrayLike, *, operations: ArrayLike = 2.0, rate: ArrayLike, times: ArrayLike = 1) -> Reals:
    """n × o × r ÷ P in s: unpacking and scaling n weights on an engine of P op/s, r times where tiles unpack them again.

    Args:
        elements: n, ≥ 0.
        operations: o for each: shift, mask, convert, multiply-add; ≥ 0.
        rate: P, op/s, > 0.
        times: r, whole, ≥ 1: ⌈M/tₘ⌉ of the product if every row of tiles unpacks for itself.

    Raises:
        UsageError: a number out of its range.

    It adds to the memory-bound time only as far as it does not overlap (`overlap.overlapped`).

    >>> float(dequantise_time(1e6, operations=2, rate=1e12))
    2e-06
    """
    n, o, p, r = numbers(elements=(elements, NON_NEGATIVE), operations=(operations, NON_NEGATIVE), rate=(rate, POSITIVE), times=(times, COUNT))
    return n * o * r / p


def structured(
    elements: ArrayLike, *, kept: ArrayLike = 2, block: ArrayLike = 4, element_bytes: ArrayLike = 2.0, skips: bool = True, efficiency: ArrayLike = 1.0
) -> Pruned:
    """n of every m values kept: n/m (8 e + ⌈log₂ m⌉) ÷ 8 bytes an element, and n/m of the work on hardware that skips this pattern.

    Args:
        elements: of the dense matrix, ≥ 0.
        kept, block: n and m, whole, ≥ 1, n ≤ m; 2 and 4 by default.
        element_bytes: e, > 0.
        skips: whether the engine has this pattern; without it the zeros are multiplied.
        efficiency: share of the possible saving of work that is reached, in [0, 1].

    Raises:
        UsageError: a number out of its range.
        OutOfRange: more kept than the block has.

    >>> pruned = structured(1e6)
    >>> float(pruned.bytes) / float(pruned.dense_bytes), float(pruned.work_share), float(structured(1e6, skips=False).work_share)
    (0.5625, 0.5, 1.0)
    """
    n, k, m, e, reached = numbers(
        elements=(elements, NON_NEGATIVE),
        kept=(kept, COUNT),
        block=(block, COUNT),
        element_bytes=(element_bytes, POSITIVE),
        efficiency=(efficiency, SHARE),
    )
    outside(k > m, "kept", k, "at most as many kept as the block has", "give for example 2 of 4")
    index_bits: Reals = np.ceil(np.log2(m))
    stored = n * k / m * (e + choose(k < m, index_bits, 0.0) / 8.0)
    share = 1.0 - (1.0 - k / m) * (reached if skips else 0.0)
    return Pruned(bytes=stored, dense_bytes=n * e, work_share=share + 0.0 * n)


def unstructured(
    rows: ArrayLike,
    columns: ArrayLike,
    *,
    density: ArrayLike,
    element_bytes: ArrayLike = 4.0,
    layout: Literal["bitmap", "csr"] = "csr",
    index_bytes: ArrayLike = 4.0,
    skips: bool = False,
    efficiency: ArrayLike = 1.0,
) -> Pruned:
    """Zeros anywhere: values and a bit each (bitmap), or values, column indices and row starts (CSR); the work shrinks only if the kernel skips.

    Args:
        rows, columns: of the dense matrix, whole, ≥ 1.
        density: share of values that are not zero, in [0, 1].
        element_bytes: e; index_bytes: of a column index and of a row start; > 0.
        layout: `bitmap` or `csr`.
        skips: whether the kernel is a sparse one.
        efficiency: η, FLOP/s of the sparse kernel ÷ those of the dense one, in (0, 1]: the work share is density ÷ η.

    Raises:
        UsageError: a number out of its range, or another layout.

    >>> pruned = unstructured(1000, 1000, density=0.1, layout="bitmap")
    >>> round(float(pruned.bytes) / float(pruned.dense_bytes), 5), float(pruned.work_share)
    (0.13125, 1.0)
    """
    r, c, share, e, index, reached = numbers(
        rows=(rows, COUNT),
        columns=(columns, COUNT),
        density=(density, SHARE),
        element_bytes=(element_bytes, POSITIVE),
        index_bytes=(index_bytes, POSITIVE),
        efficiency=(efficiency, PART),
    )
    n = r * c
    if layout == "bitmap":
        stored = n * share * e + n / 8.0
    elif layout == "csr":
        stored = n * share * (e + index) + (r + 1.0) * index
    else:
        raise UsageError("layout to be bitmap or csr", found=repr(layout), remedy="name one of these")
    work = share / reached if skips else 1.0 + 0.0 * share
    return Pruned(bytes=stored, dense_bytes=n * e, work_share=work)


def break_even_density(
    *, efficiency: ArrayLike, element_bytes: ArrayLike = 4.0, index_bytes: ArrayLike = 4.0, memory_share: ArrayLike = 0.0
) -> Reals:
    """Density below which a sparse kernel wins: η where arithmetic binds, e ÷ (e + i) where memory does, and between them by share of time.

    Args:
        efficiency: η, FLOP/s of the sparse kernel ÷ those of the dense one, in [0, 1].
        element_bytes, index_bytes: e and i, > 0.
        memory_share: share of the dense time that is memory, in [0, 1]; t_sparse/t_dense = d ((1 − μ)/η + μ (e + i)/e).

    Raises:
        UsageError: a number out of its range.

    >>> float(break_even_density(efficiency=0.25)), float(break_even_density(efficiency=0.25, memory_share=1.0))
    (0.25, 0.5)
    """
    reached, e, index, share = numbers(
        efficiency=(efficiency, SHARE),
        element_bytes=(element_bytes, POSITIVE),
        index_bytes=(index_bytes, POSITIVE),
        memory_share=(memory_share, SHARE),
    )
    slope = (1.0 - share) / larger(reached, 1e-300) + share * (e + index) / e
    return smaller(1.0 / slope, 1.0)
