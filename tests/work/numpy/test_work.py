"""Work of numpy operations against hand counts, and laws that hold for all of them."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.work.numpy import ArrayFacts, precision_of, work_of


def f8(*shape: int, buffer: int = 0, fresh: bool = False, strides: tuple[int, ...] = (), dtype: str = "float64") -> ArrayFacts:
    return ArrayFacts(shape=shape, dtype=dtype, item_bytes=np.dtype(dtype).itemsize, strides=strides, buffer=buffer, fresh=fresh, buffer_bytes=0)


def out(*shape: int, dtype: str = "float64") -> ArrayFacts:
    return f8(*shape, buffer=99, fresh=True, dtype=dtype)


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "options", "flop", "engine", "group"),
    [
        ("numpy.add", [f8(10, 20), f8(10, 20, buffer=1)], [out(10, 20)], {}, 200, "add", "elementwise"),
        ("numpy.add", [f8(10, 20), f8(20, buffer=1)], [out(10, 20)], {}, 200, "add", "elementwise"),
        ("numpy.multiply", [f8(5, dtype="complex128")], [out(5, dtype="complex128")], {}, 30, "add", "elementwise"),
        ("numpy.add", [f8(5, dtype="complex128")], [out(5, dtype="complex128")], {}, 10, "add", "elementwise"),
        ("numpy.exp", [f8(7)], [out(7)], {}, 7, "exp", "elementwise"),
        ("numpy.tanh", [f8(7)], [out(7)], {}, 7, "tanh", "elementwise"),
        ("scipy.special.erf", [f8(7)], [out(7)], {}, 7, "erf", "elementwise"),
        ("numpy.sqrt", [f8(7)], [out(7)], {}, 7, "divide", "elementwise"),
        ("numpy.power", [f8(7)], [out(7)], {"args": (None, 2)}, 7, "add", "elementwise"),
        ("numpy.power", [f8(7)], [out(7)], {"args": (None, 0.5)}, 7, "divide", "elementwise"),
        ("numpy.power", [f8(7)], [out(7)], {"args": (None, 1.7)}, 7, "exp", "elementwise"),
        ("numpy.clip", [f8(7)], [out(7)], {"args": (None, 0, 1)}, 7, "add", "elementwise"),
        ("numpy.where", [f8(7, dtype="bool"), f8(7, buffer=1)], [out(7)], {}, 7, "add", "elementwise"),
        ("numpy.outer", [f8(3), f8(4, buffer=1)], [out(3, 4)], {}, 12, "add", "elementwise"),
        ("numpy.sum", [f8(6, 7)], [out(7)], {"axis": 0}, 42, "reduce", "reduction"),
        ("numpy.add.reduce", [f8(6, 7)], [], {}, 42, "reduce", "reduction"),
        ("numpy.argmax", [f8(6, 7)], [], {}, 42, "reduce", "reduction"),
        ("numpy.matmul", [f8(3, 4), f8(4, 5, buffer=1)], [out(3, 5)], {}, 2 * 3 * 4 * 5, "fma", "matmul"),
        ("numpy.matmul", [f8(6, 3, 4), f8(4, 5, buffer=1)], [out(6, 3, 5)], {}, 6 * 2 * 3 * 4 * 5, "fma", "matmul"),
        ("numpy.matmul", [f8(3, 4), f8(4, buffer=1)], [out(3)], {}, 24, "fma", "matmul"),
        ("numpy.dot", [f8(4), f8(4, buffer=1)], [], {}, 8, "fma", "matmul"),
        ("numpy.vdot", [f8(3, 4), f8(3, 4, buffer=1)], [], {}, 24, "fma", "matmul"),
        ("numpy.inner", [f8(3, 4), f8(5, 4, buffer=1)], [out(3, 5)], {}, 120, "fma", "matmul"),
        ("numpy.dot", [f8(3, 4)], [out(3, 4)], {"args": (None, 2.0)}, 12, "add", "elementwise"),
        ("numpy.matmul", [f8(2, 2, dtype="complex128"), f8(2, 2, buffer=1, dtype="complex128")], [out(2, 2)], {}, 64, "fma", "matmul"),
        ("numpy.tensordot", [f8(3, 4, 5), f8(4, 5, 6, buffer=1)], [out(3, 6)], {}, 2 * 3 * 20 * 6, "fma", "matmul"),
        ("numpy.einsum", [f8(3, 4), f8(4, 5, buffer=1)], [out(3, 5)], {"args": ("ij,jk->ik", None, None)}, 120, "fma", "matmul"),
        ("numpy.einsum", [f8(3, 4), f8(3, 4, buffer=1)], [out(3, 4)], {"args": ("ij,ij->ij", None, None)}, 12, "add", "elementwise"),
        ("numpy.einsum", [f8(3, 4), f8(3, 4, buffer=1)], [out(3)], {"args": ("ij,ij->i", None, None)}, 24, "fma", "matmul"),
        ("numpy.einsum", [f8(7, 3, 4), f8(4, 5, buffer=1)], [out(7, 3, 5)], {"args": ("...j,jk", None, None)}, 840, "fma", "matmul"),
        ("numpy.einsum", [f8(3, 3)], [], {"args": ("ii", None)}, 3, "reduce", "reduction"),
        ("numpy.linalg.solve", [f8(30, 30), f8(30, 2, buffer=1)], [out(30, 2)], {}, 2 / 3 * 27000 + 2 * 900 * 2, "fma", "matmul"),
        ("scipy.linalg.solve", [f8(30, 30), f8(30, buffer=1)], [out(30)], {}, 2 / 3 * 27000 + 2 * 900, "fma", "matmul"),
        ("numpy.linalg.inv", [f8(5, 10, 10)], [out(5, 10, 10)], {}, 5 * 2000, "fma", "matmul"),
        ("numpy.linalg.cholesky", [f8(30, 30)], [out(30, 30)], {}, 9000, "fma", "matmul"),
        ("numpy.convolve", [f8(100), f8(5, buffer=1)], [out(104)], {"args": (None, None)}, 1000, "fma", "convolution"),
        ("numpy.convolve", [f8(100), f8(5, buffer=1)], [out(96)], {"args": (None, None, "valid")}, 960, "fma", "convolution"),
        ("numpy.correlate", [f8(100), f8(5, buffer=1)], [out(96)], {"args": (None, None)}, 960, "fma", "convolution"),
        ("scipy.signal.convolve2d", [f8(10, 10), f8(3, 3, buffer=1)], [out(8, 8)], {"mode": "valid"}, 2 * 64 * 9, "fma", "convolution"),
        ("numpy.fft.fft", [f8(8, 1024)], [out(8, 1024, dtype="complex128")], {}, 8 * 5 * 1024 * 10, "fma", "other"),
        ("numpy.fft.fft2", [f8(32, 64)], [out(32, 64, dtype="complex128")], {}, 5 * 2048 * 11, "fma", "other"),
        ("numpy.fft.fft", [f8(16, 8)], [out(16, 8, dtype="complex128")], {"axis": 0}, 5 * 128 * 4, "fma", "other"),
        ("numpy.fft.rfft", [f8(1024)], [out(513, dtype="complex128")], {}, 2.5 * 1024 * 10, "fma", "other"),
        ("numpy.sort", [f8(100)], [out(100)], {}, 100, "sort", "sort"),
        ("numpy.polyval", [f8(4), f8(100, buffer=1)], [out(100)], {}, 800, "fma", "elementwise"),
        ("numpy.bincount", [f8(100, dtype="int64")], [out(10)], {}, 100, "gather", "gather"),
    ],
)
def test_hand_counts(kind: str, inputs: list[ArrayFacts], outputs: list[ArrayFacts], options: Any, flop: float, engine: str, group: str) -> None:
    work = work_of(kind, inputs, outputs, options)
    assert work.flop == pytest.approx(flop, rel=1e-12)
    assert (work.engine, work.group) == (engine, group)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@given(st.integers(1, 20), st.integers(1, 20))
def test_convolution_counts_the_products_that_there_are(mode: str, n: int, k: int) -> None:
    """Against counting: convolving ones counts, at each place, the products that are summed there."""
    products = np.convolve(np.ones(n), np.ones(k), mode).sum()  # type: ignore[call-overload]
    shape = np.convolve(np.ones(n), np.ones(k), mode).shape  # type: ignore[call-overload]
    work = work_of("numpy.convolve", [f8(n), f8(k, buffer=1)], [out(*shape)], {"mode": mode})
    assert work.flop == pytest.approx(2 * products)


def test_broadcast_operands_are_read_once_and_in_place_results_written_in_place() -> None:
    work = work_of("numpy.add", [f8(100, 50), f8(50, buffer=1)], [out(100, 50)])
    assert (work.read_bytes, work.write_bytes) == (40000 + 400, 40000)
    expanded = f8(100, 50, buffer=1, strides=(0, 8))
    assert work_of("numpy.add", [f8(100, 50), expanded], [out(100, 50)]).read_bytes == 40400
    inplace = work_of("numpy.add", [f8(100), f8(100, buffer=1)], [f8(100)])
    assert [use.buffer for use in inplace.writes or ()] == [0]
    assert not (inplace.writes or ())[0].fresh
    assert work_of("numpy.multiply", [f8(100), f8(100)], [out(100)]).read_bytes == 800


def test_views_cost_nothing_and_copies_are_told_apart() -> None:
    source = f8(30, 40, strides=(320, 8))
    assert work_of("numpy.reshape", [source], [f8(1200)]).group == "view"
    assert work_of("numpy.transpose", [source], [f8(40, 30, strides=(8, 320))]).read_bytes == 0
    plain = work_of("numpy.copy", [source], [out(30, 40)])
    assert (plain.group, plain.flop, plain.read_bytes, plain.write_bytes) == ("copy", 0, 9600, 9600)
    turned = work_of("numpy.ascontiguousarray", [f8(40, 30, strides=(8, 320))], [ArrayFacts(shape=(40, 30), strides=(240, 8), buffer=9, fresh=True)])
    assert turned.group == "movement"
    assert work_of("numpy.astype", [source], [out(30, 40, dtype="float32")]).group == "movement"
    every_other = f8(10, strides=(16,))
    assert (work_of("numpy.copy", [every_other], [out(10)]).group, work_of("numpy.copy", [every_other], [out(10)]).reason) == (
        "copy",
        "strided source",
    )
    joined = work_of("numpy.concatenate", [f8(10), f8(20, buffer=1)], [out(30)])
    assert (joined.group, joined.read_bytes, joined.write_bytes) == ("copy", 240, 240)
    assert work_of("numpy.tile", [f8(10)], [out(50)]).read_bytes == 80
    stored = work_of("numpy.copyto", [f8(10, buffer=1)], [f8(10)])
    assert (stored.group, stored.write_bytes) == ("copy", 80)


def test_a_copy_of_a_broadcast_row_is_no_layout_conversion() -> None:
    row = f8(3, 40, strides=(0, 8))
    result = ArrayFacts(shape=(3, 40), strides=(320, 8), buffer=9, fresh=True)
    assert (work_of("numpy.copy", [row], [result]).group, work_of("numpy.copy", [row], [result]).read_bytes) == ("copy", 320)


def test_gathers_read_what_they_take_and_rows_are_copies_of_bytes() -> None:
    index = f8(100, buffer=1, dtype="int64")
    single = work_of("numpy.take", [f8(10000), index], [out(100)])
    assert (single.flop, single.engine, single.read_bytes, single.write_bytes) == (100, "gather", 800 + 800, 800)
    rows = work_of("numpy.take", [f8(1000, 64), index], [out(100, 64)])
    assert (rows.flop, rows.engine, rows.read_bytes) == (0, None, 100 * 64 * 8 + 800)
    mask = f8(10000, buffer=1, dtype="bool")
    assert work_of("numpy.take", [f8(10000), mask], [out(50)]).read_bytes == 400 + 10000
    # A small table is read once, however often its entries are taken.
    assert work_of("numpy.take", [f8(4), f8(1000, buffer=1, dtype="int64")], [out(1000)]).read_bytes == 32 + 8000


@pytest.mark.parametrize(
    ("kind", "group"),
    [("cv2.resize", "other"), ("numpy.no_such", "other"), ("numpy.random.normal", "random"), ("numpy.median", "sort"), ("builtins.sum", "python"),
     ("numpy.einsum", "matmul"), ("numpy.linalg.norm", "reduction"), ("scipy.special.gammaln", "other"), ("numpy.apply_along_axis", "python")],
)  # fmt: skip
def test_what_is_not_known_is_not_zero(kind: str, group: str) -> None:
    work = work_of(kind, [f8(3, 3)], [out(3)], {"ord": 2})
    assert work.flop is None
    assert work.engine is None
    assert work.reason
    assert work.group == group


def test_memory_that_is_only_asked_for_is_not_written() -> None:
    assert work_of("numpy.zeros", [], [out(100)]).write_bytes == 0
    assert work_of("numpy.ones", [], [out(100)]).write_bytes == 800
    assert work_of("numpy.array", [], [out(100)]).group == "python"


def test_threads_only_where_a_library_has_them() -> None:
    double, whole = [f8(9, 9), f8(9, 9, buffer=1)], [f8(9, 9, dtype="int64"), f8(9, 9, buffer=1, dtype="int64")]
    assert work_of("numpy.matmul", double, [out(9, 9)]).threaded
    assert not work_of("numpy.matmul", whole, [out(9, 9)]).threaded
    assert not work_of("numpy.add", double, [out(9, 9)]).threaded
    assert not work_of("numpy.einsum", double, [out(9, 9)], {"args": ("ij,jk", None, None)}).threaded


def test_precision_is_the_widest_that_is_read() -> None:
    assert precision_of([f8(2), f8(2, dtype="float32")], []) == "fp64"
    assert precision_of([f8(2, dtype="float32")], [out(2)]) == "fp32"
    assert precision_of([], [out(2)]) == "fp64"
    assert precision_of([f8(2, dtype="int64")], []) == "any"


_SHAPES = st.lists(st.integers(0, 9), min_size=0, max_size=4).map(tuple)
_DTYPES = st.sampled_from(["float64", "float32", "int64", "bool", "complex64", "float16"])
_NAMES = """add exp power sum std matmul dot vdot inner tensordot einsum outer linalg.solve linalg.qr linalg.svd linalg.norm
 convolve correlate fft.fft fft.fftn fft.rfft copy reshape concatenate take put sort median searchsorted where nonzero zeros ones arange
 tolist load add.at polyval linalg.multi_dot linalg.matrix_power cov putmask random.random vecmat histogram"""
_KINDS = st.sampled_from([f"numpy.{name}" for name in _NAMES.split()])
_ARRAYS = st.builds(
    lambda shape, dtype, buffer, fresh: f8(*shape, buffer=buffer, fresh=fresh, dtype=dtype), _SHAPES, _DTYPES, st.integers(0, 3), st.booleans()
)
_OPTION = st.one_of(st.none(), st.integers(-9, 9), st.floats(allow_nan=True), st.text(max_size=6), st.tuples(st.integers(-3, 3)))
_OPTIONS = st.fixed_dictionaries({}, optional={"args": st.lists(_OPTION, max_size=3).map(tuple), "axis": _OPTION, "mode": _OPTION, "ord": _OPTION,
                                               "axes": _OPTION, "optimize": _OPTION})  # fmt: skip


@given(_KINDS, st.lists(_ARRAYS, max_size=3), st.lists(_ARRAYS, max_size=2), _OPTIONS)
def test_any_call_has_an_answer_that_keeps_the_laws(kind: str, inputs: list[ArrayFacts], outputs: list[ArrayFacts], options: Any) -> None:
    work = work_of(kind, inputs, outputs, options)
    assert work.flop is None or (math.isfinite(work.flop) and work.flop >= 0)
    assert work.flop is not None or work.reason
    assert work.engine is None or work.flop is not None
    assert work.read_bytes is not None
    assert work.read_bytes <= sum(array.size * array.item_bytes for array in (*inputs, *outputs)) + sum(a.size * 16 for a in outputs)
    assert work.write_bytes is not None
    assert work.write_bytes <= sum(array.size * array.item_bytes for array in (*outputs, *inputs))


@given(st.sampled_from(["numpy.add", "numpy.exp", "numpy.sum", "numpy.copy", "numpy.sort"]), st.integers(1, 1000), st.integers(2, 5))
def test_k_times_the_elements_are_k_times_the_work(kind: str, n: int, k: int) -> None:
    one, many = (work_of(kind, [f8(size)], [out(size)]) for size in (n, k * n))
    assert many.flop == pytest.approx(k * (one.flop or 0))
    assert many.read_bytes == k * (one.read_bytes or 0)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.randoms())
def test_touched_bytes_of_views_are_those_of_numpy(shape: list[int], random: Any) -> None:
    """Against numpy: the number of distinct addresses behind a view."""
    base = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)
    view = base.transpose(random.sample(range(len(shape)), len(shape)))[:: random.choice([1, 2, -1])]
    view = np.broadcast_to(view, (3, *view.shape)) if random.random() < 0.5 else view
    facts = ArrayFacts(shape=view.shape, strides=view.strides)
    assert facts.touched_bytes == len(np.unique(view)) * 8
    assert facts.dense == (facts.touched_bytes == (view.max() - view.min() + 1) * 8 if view.size else True)
