"""What to write, by library and layout; words only, from rows made by hand."""

from __future__ import annotations

import pytest

from ridgeline.core import BufferUse
from ridgeline.diagnosis.advice import how_to_fuse, how_to_lay_out, strided_operand
from ridgeline.diagnosis.case import Case
from ridgeline.diagnosis.judge import Judged
from support.facts_by_hand import facts, row

X = BufferUse(buffer=1, size_bytes=4096)
ACROSS = BufferUse(buffer=2, size_bytes=1_000_000, stride_bytes=512)
WEIGHT = BufferUse(buffer=2, size_bytes=1_000_000, stride_bytes=512, persistent=True)


def judged(*kinds: str, reads=(X,)) -> list[Judged]:
    return list(Case.of(facts([row(f"op{number}", 0.001, kind=kind, reads=reads) for number, kind in enumerate(kinds)])).judged)


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("numpy.add", "numpy.multiply"), "in blocks that fit the cache, or with numexpr, numba or torch.compile"),
        (("aten::add", "aten::mul"), "with torch.compile, or with operators that do several at once"),
        (("Div", "Erf", "Add", "Mul"), "export the operator Gelu instead of its parts"),
        (("Sub", "Sqrt", "Div", "Mul"), "export the operator LayerNormalization instead of its parts"),
        (("Add", "Mul"), ""),
        (("numpy.add", "aten::add"), ""),
    ],
)
def test_how_to_fuse_depends_on_the_library(kinds, words):
    assert how_to_fuse(judged(*kinds)) == words


def test_the_operand_that_lies_across_is_named_with_its_stride():
    (part,) = judged("aten::addmm", reads=(X, ACROSS))
    assert strided_operand(part) == "operand 2 of 2 that it reads (1.00 MB) lies across the walk: stride 512 B"
    (part,) = judged("aten::mul", reads=(WEIGHT,))
    assert strided_operand(part) == "what it reads (1.00 MB, the same in every call) lies across the walk: stride 512 B"
    assert strided_operand(judged("aten::mul")[0]) == ""


def test_what_to_write_depends_on_library_layout_and_on_whether_the_operand_stays():
    assert "channels_last" in how_to_lay_out(judged("aten::convolution")[0], "channels last")
    kept = how_to_lay_out(judged("aten::addmm", reads=(X, WEIGHT))[0], "side by side")
    assert kept == "write weight.t().contiguous() or tensor.contiguous() once, outside the call"
    assert "where it is made" in how_to_lay_out(judged("aten::addmm", reads=(X, ACROSS))[0], "side by side")
    assert "ascontiguousarray" in how_to_lay_out(judged("numpy.add", reads=(ACROSS,))[0], "side by side")
    assert how_to_lay_out(judged("Conv", reads=(ACROSS,))[0], "") == ""
