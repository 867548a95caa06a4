"""The call in progress at a sampled line: one that the program makes once has a name, one of a loop has none."""

from __future__ import annotations

import json
import sys
from types import CodeType

import pytest

from ridgeline.measurement.one_call import OneCall


class _Looks(str):
    """A text that notes the frame of whoever asks for its length: where the program stands while a library works."""

    def __len__(self) -> int:
        frame = sys._getframe(1)
        frames.append(OneCall(_is_user).of(frame))
        return 0


frames: list[str] = []
text = _Looks()


def _is_user(code: CodeType) -> bool:
    return code.co_filename == __file__ and code.co_name not in ("asked", "__len__") and not code.co_name.startswith("test_")


def once() -> int:
    return len(text)


def led_to_once() -> int:
    return once() + 1


def looped() -> int:
    total = 0
    for _ in range(2):
        total += len(text)
    return total


def led_to_in_a_loop() -> int:
    return sum([once() for _ in range(2)])


def gone_through_once() -> int:
    count = 0
    for _ in range(len(text)):
        count += 1
    return count


def called_back() -> list[str]:
    return sorted(["a", "b"], key=ranked)


def ranked(name: str) -> int:
    return len(text)


def through_a_library() -> object:
    return json.loads("[1]", object_hook=None, parse_int=lambda digits: len(text))


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (once, "len"),
        (led_to_once, "len"),
        (looped, ""),
        (led_to_in_a_loop, ""),
        (gone_through_once, "len"),
        (called_back, ""),
        (through_a_library, ""),
    ],
)
def test_the_name_of_the_call_in_progress(program, name):
    frames.clear()
    program()
    assert frames
    assert set(frames) == {name}


def test_a_frame_without_a_source_has_no_name():
    code = compile("len(text)", "<nowhere>", "eval")
    frames.clear()

    class Text(str):
        def __len__(self) -> int:
            frames.append(OneCall(lambda code: code.co_filename == "<nowhere>").of(sys._getframe(1)))
            return 0

    eval(code, {"text": Text()})
    assert frames == [""]
