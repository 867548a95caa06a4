"""What a tensor touches and what an operator is called: closed forms, no torch."""

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.work.torch import RecordedOp, TensorUse
from ridgeline.work.torch.recorded import base_name, precision_of
from ridgeline.work.torch.traffic import merge, reads, writes


def use(buffer: int, *shape: int, stride: tuple[int, ...] | None = None, dtype: str = "float32", storage: int = 0, **flags: bool) -> TensorUse:
    if stride is None:
        steps, step = [], 1
        for size in reversed(shape):
            steps.append(step)
            step *= size
        stride = tuple(reversed(steps))
    return TensorUse(buffer=buffer, shape=shape, dtype=dtype, stride=stride, storage_bytes=storage, **flags)


def test_an_expanded_dimension_is_read_once():
    assert use(0, 1000, 8, stride=(0, 1)).touched_bytes == 32


def test_overlapping_windows_touch_no_more_than_their_span():
    # unfold of 10 elements into 8 windows of 3
    assert use(0, 8, 3, stride=(1, 1)).touched_bytes == 10 * 4


def test_a_tensor_without_elements_touches_nothing():
    assert use(0, 0, 8).touched_bytes == 0


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.permutations(range(4)))
def test_a_permutation_touches_what_the_original_does(shape, order):
    plain = use(0, *shape)
    dims = [dim for dim in order if dim < len(shape)]
    permuted = use(0, *(shape[dim] for dim in dims), stride=tuple(plain.stride[dim] for dim in dims))
    assert permuted.touched_bytes == plain.touched_bytes == 4 * plain.numel
    assert permuted.order == tuple(sorted((i for i in range(len(dims)) if permuted.shape[i] > 1), key=lambda i: dims[i]))


def test_the_same_view_counts_once_and_two_views_no_more_than_the_storage():
    half = use(3, 4, storage=20)
    other = TensorUse(buffer=3, shape=(4,), dtype="float32", stride=(1,), offset=1, storage_bytes=20)
    assert [entry.size_bytes for entry in merge([half, half])] == [16]
    assert [entry.size_bytes for entry in merge([half, other])] == [20]


def test_in_place_operators_read_and_write_their_target_but_a_copy_does_not_read_it():
    x, y = use(0, 4), use(1, 4)
    add = RecordedOp(kind="aten::add_", arguments={"self": x, "other": y}, inputs=(x, y), outputs=(x,), mutated=("self",))
    copy = RecordedOp(kind="aten::copy_", arguments={"self": x, "src": y}, inputs=(x, y), outputs=(x,), mutated=("self",))
    assert [entry.buffer for entry in reads(add)] == [0, 1]
    assert [entry.buffer for entry in reads(copy)] == [1]
    assert [entry.buffer for entry in writes(add)] == [entry.buffer for entry in writes(copy)] == [0]


def test_names():
    names = ("aten::add_", "aten::_foreach_mul_", "aten::__iand__", "mylib::f_")
    assert [base_name(name) for name in names] == [
        "add",
        "mul",
        "__iand__",
        "mylib::f",
    ]


def test_the_widest_input_decides_the_precision():
    mixed = RecordedOp(kind="aten::add", inputs=(use(0, 2, dtype="bfloat16"), use(1, 2)), outputs=(use(2, 2),))
    argmax = RecordedOp(kind="aten::argmax", inputs=(use(0, 2, dtype="float64"),), outputs=(use(1, 1, dtype="int64"),))
    made = RecordedOp(kind="aten::ones", outputs=(use(0, 2, dtype="float16"),))
    assert [precision_of(op) for op in (mixed, argmax, made)] == ["fp32", "fp64", "fp16"]
