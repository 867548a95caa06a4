"""Rates of exp, tanh, erf, division, reduction, gather and sort: those of the libraries that programs call, with data resident in L2.

A ceiling nobody's code reaches would call every tanh slow. So the rate is that of numpy and scipy on one thread, and of torch on one and on all, in
elements per second, each with results written to a buffer that is already there.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Engine, Precision

from .items import Item, RateOf, Reading, best_window

__all__ = ["library_items", "numpy_items", "torch_items"]

_PRECISIONS: tuple[tuple[Precision, str], ...] = (("fp32", "float32"), ("fp64", "float64"))
#: Arrays of a call: two operands, a result, and 8-byte indices, which count as two fp32 arrays.
_ARRAYS = 5
_LEAST_ELEMENTS = 1024


def library_items(l2_bytes: int, threads: int) -> Iterable[Item]:
    """Items of every library that is installed."""
    yield from numpy_items(l2_bytes)
    if importlib.util.find_spec("torch") is not None:
        yield from torch_items(l2_bytes, threads)


def numpy_items(l2_bytes: int) -> Iterable[Item]:
    """Rates of numpy, and of scipy.special for erf; one thread."""
    from scipy import special

    for precision, dtype in _PRECISIONS:
        first, second, indices = _operands(l2_bytes, dtype, 1)
        out, order = np.empty_like(first), np.empty_like(first)
        for engine, call in _numpy_calls(first, second, indices, out, order, special.erf).items():
            yield Item(
                goal=RateOf(engine=engine, precision=precision, threads=1, library="numpy"),
                read=_rate(call, first.size),
                origin=f"{'scipy.special' if engine == 'erf' else 'numpy'}, {first.size} elements, in L2",
            )


def _numpy_calls(
    first: NDArray[Any], second: NDArray[Any], indices: NDArray[np.int64], out: NDArray[Any], order: NDArray[Any], erf: Callable[..., Any]
) -> dict[Engine, Callable[[], object]]:
    def sort() -> None:
        np.copyto(order, first)
        order.sort()

    return {
        "add": lambda: np.add(first, second, out=out),
        "exp": lambda: np.exp(first, out=out),
        "tanh": lambda: np.tanh(first, out=out),
        "erf": lambda: erf(first, out=out),
        "divide": lambda: np.divide(first, second, out=out),
        "reduce": lambda: np.add.reduce(first),
        # mode clip: the default checks all indices first and buffers the result.
        "gather": lambda: np.take(first, indices, out=out, mode="clip"),
        "sort": sort,
    }


def torch_items(l2_bytes: int, threads: int) -> Iterable[Item]:
    """Rates of torch on one thread and on all."""
    import torch

    for count in sorted({1, threads}):
        for precision, dtype in _PRECISIONS:
            first, second, indices = (torch.from_numpy(array) for array in _operands(l2_bytes, dtype, count))
            for engine, call in _torch_calls(torch, first, second, indices).items():
                yield Item(
                    goal=RateOf(engine=engine, precision=precision, threads=count, library="torch"),
                    read=_with_threads(torch, count, _rate(call, first.numel())),
                    origin=f"torch {torch.__version__}, {first.numel()} elements, in L2",
                )


def _torch_calls(torch: Any, first: Any, second: Any, indices: Any) -> dict[Engine, Callable[[], object]]:
    out, values, order = torch.empty_like(first), torch.empty_like(first), torch.empty_like(indices)
    return {
        "add": lambda: torch.add(first, second, out=out),
        "exp": lambda: torch.exp(first, out=out),
        "tanh": lambda: torch.tanh(first, out=out),
        "erf": lambda: torch.erf(first, out=out),
        "divide": lambda: torch.div(first, second, out=out),
        "reduce": lambda: torch.sum(first),
        "gather": lambda: torch.index_select(first, 0, indices, out=out),
        "sort": lambda: torch.sort(first, out=(values, order)),
    }


def _operands(l2_bytes: int, dtype: str, threads: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Two arrays away from zero and overflow, and random indices, that together fill half of the threads' L2."""
    count = max(_LEAST_ELEMENTS, threads * l2_bytes // 2 // (_ARRAYS * np.dtype(dtype).itemsize))
    random = np.random.default_rng(0)
    first = random.uniform(-2.0, 2.0, count).astype(dtype)
    second = random.uniform(0.5, 2.0, count).astype(dtype)
    return first, second, random.integers(0, count, count, dtype=np.int64)


def _rate(call: Callable[[], object], elements: int) -> Reading:
    """Elements per second over repeated calls, the first one not counted."""

    def read(seconds: float, _number: int) -> float:
        call()
        calls = 0
        start = now = time.perf_counter()
        while calls == 0 or now - start < seconds:
            call()
            calls += 1
            now = time.perf_counter()
        return calls * elements / (now - start)

    return best_window(read)


def _with_threads(torch: Any, threads: int, read: Reading) -> Reading:
    def limited(seconds: float, number: int) -> float:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            with torch.inference_mode():
                return read(seconds, number)
        finally:
            torch.set_num_threads(before)

    return limited
