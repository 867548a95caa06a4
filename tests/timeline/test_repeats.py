"""Repetition, polling and conversions: closed-form answers."""

from __future__ import annotations

import re

import pytest

from ridgeline.timeline.repeats import CONVERSIONS, conversion_uses, repeats, spin_waits
from timeline.building import HOST, stream, timeline_of
from timeline.generated import SECOND
from timeline.test_operators import FLOATS, shaped

QUEUE = stream(7)


def test_operators_that_come_again_with_the_same_shapes() -> None:
    small, large = [[3, 4], [4, 5]], [[300, 400], [400, 500]]
    t = shaped(*[("aten::mm", small, FLOATS, None)] * 3, ("aten::mm", large, FLOATS, None), ("aten::relu", small, FLOATS, None))
    (found,) = repeats(t)
    assert (found.name, found.calls, found.per_step, found.total_s) == ("aten::mm", 3, None, pytest.approx(15e-9))
    assert repeats(timeline_of([(HOST, "operator", "op", 0, 5), (HOST, "operator", "op", 5, 9)])) == ()


def polls(count: int, *, pause: int = 1, start: int = 0) -> list[tuple[object, str, str, int, int]]:
    return [(HOST, "runtime", "cudaEventQuery", start + index * (4 + pause), start + index * (4 + pause) + 4) for index in range(count)]


def test_a_row_of_calls_that_ask_is_a_wait() -> None:
    rows = [
        (HOST, "python", "loop", 0, 500),
        *polls(20),
        (HOST, "runtime", "cudaLaunchKernel", 120, 125),
        *polls(12, start=130),
        *polls(3, start=400),
    ]
    (found,) = spin_waits(timeline_of([*rows, (SECOND, "runtime", "cudaFree", 10, 90)]))  # type: ignore[list-item]
    assert (found.name, found.lane, found.calls, found.rows) == ("cudaEventQuery", "thread 1", 32, 2)
    assert (found.duration_s, found.longest_s) == pytest.approx((158e-9, 99e-9))


@pytest.mark.parametrize("rows", [polls(9), polls(30, pause=100), [(HOST, "runtime", "cudaLaunchKernel", 5 * i, 5 * i + 4) for i in range(30)], []])
def test_what_is_no_row_of_asking(rows: list[tuple[object, str, str, int, int]]) -> None:
    assert spin_waits(timeline_of(rows)) == ()  # type: ignore[arg-type]


def test_conversions_on_a_device_by_their_own_names_and_by_who_launched_them() -> None:
    rows = [
        (HOST, "operator", "aten::contiguous", 0, 9), (HOST, "runtime", "launch", 2, 4), (QUEUE, "compute", "elementwise_kernel", 10, 20),
        (QUEUE, "compute", "void nchwToNhwcKernel<float>", 15, 40), (QUEUE, "compute", "bfloat16_copy_kernel_cuda", 40, 45),
        (QUEUE, "compute", "gemm", 45, 110), (QUEUE, "copy", "permute", 110, 120),
    ]  # fmt: skip
    layout, cast = conversion_uses(timeline_of(rows, [(1, 2, "launch")]))
    assert (layout.kind, layout.where, layout.events, layout.converting_s, layout.of_s) == (
        "layout",
        "GPU 0",
        2,
        pytest.approx(30e-9),
        pytest.approx(110e-9),
    )
    assert layout.most == ("void nchwToNhwcKernel<float>", "elementwise_kernel")
    assert (cast.kind, cast.events, cast.converting_s) == ("cast", 1, pytest.approx(5e-9))


def test_conversions_on_a_host_without_a_device() -> None:
    rows = [(HOST, "operator", "ReorderOutput", 0, 10), (HOST, "operator", "Conv", 10, 100), (HOST, "operator", "Cast", 100, 103)]
    assert [(use.kind, use.where, round(use.converting_s * 1e9), round(use.of_s * 1e9)) for use in conversion_uses(timeline_of(rows))] == [
        ("layout", "host", 10, 103), ("cast", "host", 3, 103),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("void cudnn::ops::nchwToNhwcKernel<__half>", "layout"), ("transpose_readWrite_kernel", "layout"), ("Reformatting CopyNode", "layout"),
        ("dgrad_ConvTranspose_kernel", ""), ("conv_transpose2d", ""), ("ampere_sgemm_128x64_tn", ""), ("broadcast_kernel", ""), ("fillfunctor", ""),
        ("at::native::float16_copy_kernel_cuda", "cast"), ("void at::native::vectorized_elementwise_kernel<4, add<float>", ""),
    ],
)  # fmt: skip
def test_names_of_kernels_that_convert(name: str, kind: str) -> None:
    assert [each for each, (_, pattern) in CONVERSIONS.items() if re.search(pattern, name.lower())] == ([kind] if kind else [])
