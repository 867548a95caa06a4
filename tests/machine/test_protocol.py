from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import ReadError, RidgelineError, TargetFailed, UsageError, errors
from ridgeline.machine.protocol import MAX_FRAME_BYTES, Failure, Frames, Message, failure_of, frame, message, rebuild, value_of

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(plain, max_size=5), st.data())
def test_messages_survive_any_cutting_of_the_bytes(values: list[object], data: st.DataObject) -> None:
    stream = b"".join(frame(message("report", value)) for value in values)
    frames, received = Frames(), list[Message]()
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        received += frames.feed(stream[:cut])
        stream = stream[cut:]
    assert [value_of(one, Any) for one in received] == values


def test_a_length_beyond_the_limit_is_refused_before_it_is_allocated() -> None:
    with pytest.raises(ReadError):
        Frames().feed((MAX_FRAME_BYTES + 1).to_bytes(8, "big"))


@given(st.binary(max_size=64))
def test_a_frame_of_foreign_content_is_a_read_error(body: bytes) -> None:
    try:
        expected = msgspec.msgpack.decode(body, type=Message)
    except msgspec.DecodeError:
        with pytest.raises(ReadError):
            Frames().feed(len(body).to_bytes(8, "big") + body)
    else:
        assert Frames().feed(len(body).to_bytes(8, "big") + body) == [expected]


@pytest.mark.parametrize("kind", [getattr(errors, name) for name in errors.__all__])
def test_every_error_comes_back_as_itself(kind: type[RidgelineError]) -> None:
    error = kind("expected \ud800", found="found", remedy="remedy")
    back = rebuild(failure_of(error))
    assert type(back) is kind
    assert (back.found, back.remedy) == ("found", "remedy")
    frame(Message(kind="failure", failure=failure_of(error)))  # even with a lone surrogate in it


def test_a_name_that_is_not_utf8_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="UTF-8") as caught:
        frame(message("call", {"path": os.fsdecode(b"/a\xff/b")}))
    assert r"b'/a\xff/b'" in caught.value.found


@pytest.mark.parametrize("kind", ["Exception", "annotations", "nothing", "ClassVar"])
def test_a_failure_of_unknown_class_is_a_failed_target(kind: str) -> None:
    assert type(rebuild(Failure(kind=kind, expected="x"))) is TargetFailed
