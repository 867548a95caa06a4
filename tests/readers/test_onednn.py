"""oneDNN's log: lines of versions 2 and 3, marks, other output in between, and damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.readers.onednn import MARK, read_verbose

NEW = (
    "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32:p:blocked:aBcd16b::f0 dst:bf16::blocked:abcd::f0,"
    "attr-scratchpad:user,,4x17x64x64,15.8101"
)
OLD = (
    "dnnl_verbose,exec,cpu,convolution,jit:avx2,forward_training,src_f32::blocked:abcd:f0 wei_f32::blocked:Acdb16a:f0 dst_f32::blocked:aBcd16b:f0,,"
    "alg:convolution_direct,mb4_ic3oc17,2.5"
)
CREATE = "onednn_verbose,v1,primitive,create:cache_hit,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 dst:f32::blocked:abcd::f0,,,4x4,9.0"
INFO = "onednn_verbose,v1,info,oneDNN v3.12.0 (commit 80afa71049cd)"


def test_a_reorder_of_version_3() -> None:
    run = read_verbose(NEW).runs[0]
    assert (run.kind, run.implementation, run.seconds) == ("reorder", "jit:uni", pytest.approx(15.8101e-3))
    assert (run.read_bytes, run.write_bytes) == (4 * 17 * 64 * 64 * 4, 4 * 17 * 64 * 64 * 2)
    assert run.shapes == "4x17x64x64 aBcd16b → abcd"


def test_a_convolution_of_version_2() -> None:
    run = read_verbose(OLD).runs[0]
    assert (run.kind, run.seconds, run.read_bytes) == ("convolution", pytest.approx(2.5e-3), None)
    assert run.shapes == "mb4_ic3oc17 abcd → aBcd16b"


def test_marks_creations_and_other_output() -> None:
    text = "\n".join(["hello", INFO, NEW, f"{MARK}3", CREATE, "epoch,exec,4", OLD, f"{MARK}x", OLD, f"{MARK}7", f"  {NEW}  "])
    log = read_verbose(text)
    assert [(run.kind, run.mark) for run in log.runs] == [("reorder", None), ("convolution", 3), ("convolution", 3), ("reorder", 7)]
    assert (log.version, log.unread) == ("3.12.0", 0)


@pytest.mark.parametrize(
    "broken",
    [
        NEW[:60],
        NEW.replace("15.8101", "soon"),
        NEW.replace("15.8101", "nan"),
        NEW.replace("15.8101", "-1"),
        NEW.replace("15.8101", "1e999"),
        NEW.replace("reorder", ""),
    ],
)
def test_broken_lines_are_counted(broken: str) -> None:
    log = read_verbose("\n".join([broken, NEW]))
    assert (len(log.runs), log.unread) == (1, 1)


@pytest.mark.parametrize("problem", ["9" * 40, "4x" * 30 + "4", "ax4", ""])
def test_a_problem_that_is_no_shape_has_no_bytes(problem: str) -> None:
    run = read_verbose(NEW.replace("4x17x64x64", problem)).runs[0]
    assert run.read_bytes is None or run.read_bytes < 2**53


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert read_verbose(text).unread >= 0
    log = read_verbose(f"onednn_verbose,exec,{text}")
    assert len(log.runs) + log.unread <= 1 + text.count("exec")


def test_nothing_is_an_empty_log() -> None:
    assert read_verbose("").runs == ()
