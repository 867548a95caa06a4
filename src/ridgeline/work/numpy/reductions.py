"""Reductions and scans: one operation an element read, on the engine `reduce`; sorting, searching and counting beside them.

A selection (median, partition) needs fewer comparisons than a sort and its rate is no device's ceiling, so its operations are unknown, not a sort's.
"""

from __future__ import annotations

from ridgeline.work.work import Work

from .call import Call, formula, moved

__all__: list[str] = []

_ONE_PASS = """sum prod mean max min amax amin any all argmax argmin cumsum cumprod count_nonzero trace add.reduce multiply.reduce maximum.reduce
 minimum.reduce logical_and.reduce logical_or.reduce bitwise_and.reduce bitwise_or.reduce bitwise_xor.reduce add.accumulate multiply.accumulate
 maximum.accumulate minimum.accumulate add.reduceat maximum.reduceat minimum.reduceat linalg.norm array_equal cumulative_sum cumulative_prod"""
_SEVERAL_PASSES = """std var nansum nanmean nanstd nanvar nanmax nanmin nanargmax nanargmin nancumsum nanprod average ptp allclose array_equiv
 special.logsumexp special.softmax special.log_softmax"""


@formula(_ONE_PASS)
def _reduction(call: Call) -> Work:
    elements = sum(array.size for array in call.inputs[:1])
    if call.kind == "numpy.linalg.norm" and call.option("ord", 1) in (2, -2, "nuc") and len(call.inputs[0].shape) == 2:
        return moved(call, "reduction", None, None, reason="a spectral norm is a singular value decomposition", threaded=True)
    return moved(call, "reduction", elements, "reduce", factor=2.0 if call.complex else 1.0)


@formula(_SEVERAL_PASSES)
def _passes(call: Call) -> Work:
    elements = sum(array.size for array in call.inputs[:1])
    return moved(call, "reduction", elements, "reduce", reason="counted as one pass; the library makes several, through temporaries")


@formula("sort", "argsort", "unique", "lexsort", "sort_complex", "union1d", "intersect1d", "setdiff1d", "isin", "in1d")
def _sort(call: Call) -> Work:
    return moved(call, "sort", max((array.size for array in call.inputs), default=0), "sort")


@formula("partition argpartition median percentile quantile nanmedian nanpercentile nanquantile")
def _selection(call: Call) -> Work:
    return moved(call, "sort", None, None, reason="a selection: its number of comparisons depends on the data")


@formula("searchsorted digitize interp")
def _search(call: Call) -> Work:
    return moved(call, "gather", None, None, reason="binary searches: their cost depends on what the cache holds of the table")


@formula("bincount histogram histogram2d histogramdd add.at subtract.at multiply.at maximum.at minimum.at")
def _scatter(call: Call) -> Work:
    elements = max((array.size for array in call.inputs), default=0)
    reads = call if call.outputs else Call(kind=call.kind, inputs=call.inputs, outputs=call.inputs[:1], options=call.options)
    return moved(reads, "gather", elements, "gather", reason="one scattered update an element")
