"""One slot of many objects as an array: exact, and `None` for whatever is no number."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline import _native


class One(msgspec.Struct, gc=False):
    first: Any = 0
    value: Any = 0


class Slots:
    __slots__ = ("value",)


class Sub(One):
    more: int = 0


def column(values: list[Any]):
    found = _native.column([One(value=value) for value in values], One.value)
    return None if found is None else (np.frombuffer(found[0], found[1]).tolist(), found[1])


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers(values: list[int]) -> None:
    assert column(values) == (values, "q")


@given(
    st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))).filter(lambda all: any(isinstance(one, float) for one in all))
)
def test_whole_numbers_beside_fractions_are_floats(values: list[float]) -> None:
    assert column(values) == ([float(value) for value in values], "d")


@pytest.mark.parametrize("odd", [None, "1", True, 2**63, -(2**63) - 1, [1], 1j])
@pytest.mark.parametrize("others", [[], [1], [1.5]])
def test_whatever_is_no_number(odd: Any, others: list[Any]) -> None:
    assert column([*others, odd]) is None
    assert column([odd, *others]) is None


def test_objects_of_another_class_and_slots_without_a_value() -> None:
    assert _native.column([One(), Slots()], One.value) is None
    assert _native.column([Slots()], Slots.value) is None
    assert _native.column([Sub(value=3)], One.value) == (bytearray((3).to_bytes(8, "little")), "q")


@pytest.mark.parametrize("member", [None, "value", One, One.__eq__, property(), int.real])
def test_what_is_no_slot(member: Any) -> None:
    with pytest.raises(TypeError):
        _native.column([One()], member)


@pytest.mark.parametrize("objects", [(), None, "text", {1: 2}])
def test_what_is_no_list(objects: Any) -> None:
    with pytest.raises(TypeError):
        _native.column(objects, One.value)
