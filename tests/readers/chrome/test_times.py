from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.readers.chrome.events import ABSENT, Event, decode_events
from ridgeline.readers.chrome.times import ABSENT_NS, WRONG_NS, nanoseconds


def read(texts: list[str], field: str = "ts") -> list[int]:
    """Times written as given, through the decoder."""
    array = ("[" + ",".join(f'{{"{field}":{text}}}' for text in texts) + "]").encode()
    return list(nanoseconds(decode_events(array), field, array))


@given(st.lists(st.integers(-3 * 2**60, 3 * 2**60), min_size=1, max_size=30))
def test_nanoseconds_written_with_three_places_come_back_exactly_whatever_their_size(ticks: list[int]) -> None:
    texts = [("-" if tick < 0 else "") + f"{abs(tick) // 1000}.{abs(tick) % 1000:03d}" for tick in ticks]
    assert read(texts) == ticks
    assert read([f'"{text}"' for text in texts]) == ticks


@given(st.lists(st.integers(-(2**51), 2**51), min_size=1, max_size=30))
def test_microseconds_as_whole_numbers(values: list[int]) -> None:
    assert read([str(value) for value in values]) == [value * 1000 for value in values]


@given(st.lists(st.decimals(0, 10**15, places=5, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_more_places_are_rounded_to_a_nanosecond(values: list[Decimal]) -> None:
    for found, value in zip(read([f"{value:f}" for value in values]), values, strict=True):
        assert abs(found - value * 1000) <= 1


def test_digits_that_a_double_has_no_room_for() -> None:
    assert read(["1712345678901234.567", "1712345678901234.568"]) == [1712345678901234567, 1712345678901234568]
    assert read(["1712345678901234.567", "5", '"7.25"', "null"]) == [1712345678901234567, 5000, 7250, ABSENT_NS]
    # Without three places each, and beside whole numbers.
    assert read(["1712345678901234.5", "1712345678901234"]) == [1712345678901234500, 1712345678901234000]


@pytest.mark.parametrize(
    "text",
    [
        '"abc"',
        '"1_000"',
        '"١٢"',
        '""',
        '"nan"',
        '"inf"',
        "1e300",
        "99999999999999999999",
        '"1e999999999"',
        "9223372036854775807",
        "-9223372036854775808",
    ],
)
def test_what_is_no_time_is_told(text: str) -> None:
    assert read([text, "1"]) == [WRONG_NS, 1000]


def test_what_is_missing_is_told_in_any_company() -> None:
    assert list(nanoseconds([Event(ts=value) for value in [ABSENT, 1]], "ts", None)) == [ABSENT_NS, 1000]
    assert list(nanoseconds([Event(ts=value) for value in [ABSENT, 1.5]], "ts", None)) == [ABSENT_NS, 1500]
    assert list(nanoseconds([Event(ts=value) for value in [None, "2"]], "ts", None)) == [ABSENT_NS, 2000]
    assert list(nanoseconds([Event(ts=value) for value in ()], "ts", None)) == []


def test_an_exponent_is_a_number_too() -> None:
    assert read(["1e3", "1.5E+1", "1e-9"]) == [1_000_000, 15_000, 0]


def test_one_large_time_does_not_cost_the_others_their_digits() -> None:
    texts = [f"{1712345678901000 + n}.{n:03d}" for n in range(500)] + ["12"]
    assert read(texts) == [(1712345678901000 + n) * 1000 + n for n in range(500)] + [12000]
