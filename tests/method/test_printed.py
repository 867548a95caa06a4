"""The ruler itself: a comparison that accepts everything would make every test beside it worthless."""

import pytest

from support.printed import is_printed


@pytest.mark.parametrize(
    ("value", "text", "agrees"),
    [
        (4.6, "4.7", True), (4.63, "4.7", True), (4.59, "4.7", False), (4.81, "4.7", False), (58.4, "58", True), (59.1, "58", False),
        (2.10e7, "2.10e7", True), (2.12e7, "2.10e7", False), (0.384, "0.4", True), (0.29, "0.4", False), (3.0, "3", True), (-3.0, "3", False),
    ],
)  # fmt: skip
def test_one_unit_in_the_last_digit(value: float, text: str, agrees: bool) -> None:
    assert is_printed(value, text) is agrees
