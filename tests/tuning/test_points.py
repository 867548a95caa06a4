"""One expression at one point, and values put in for names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.tuning.space import names_in, substituted, worked_out


@pytest.mark.parametrize(
    ("text", "values", "right"),
    [
        ("n", {"n": 3}, 3),
        ("7", {}, 7),
        ("n // tile * 16", {"n": 512, "tile": 8}, 1024),
        ("n / 3", {"n": 7}, 7 / 3),
        ("max(a, b, 5)", {"a": 1, "b": 9}, 9),
        ("a if flag else b", {"flag": True, "a": 1, "b": 2}, 1),
        ("way == 'fast'", {"way": "fast"}, True),
        ("2 ** 70", {}, 2**70),
        ("way", {"way": "fast"}, "fast"),
    ],
)
def test_an_expression_has_its_value(text: str, values: dict[str, Any], right: Any) -> None:
    assert worked_out(text, values) == right


@pytest.mark.parametrize("text", ["n // zero", "n % zero", "n / (zero * 2)", "log2(zero)", "sqrt(-n)", "'a' * n", "gone + 1", "gone"])
def test_without_a_value_it_is_null(text: str) -> None:
    assert worked_out(text, {"n": 4, "zero": 0}, absent=("gone",)) is None


def test_what_is_absent_does_not_matter_where_it_is_not_looked_at() -> None:
    assert worked_out("tile if blocked else 1", {"blocked": False}, absent=("tile",)) == 1


@pytest.mark.parametrize("text", ["n +", "nn * 2", "open('x')", "n.__class__", "[x for x in n]", ""])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        worked_out(text, {"n": 4})


def test_names_of_functions_are_none() -> None:
    assert names_in("min(tile, n) + min(n, 3)") == ("tile", "n")


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_a_value_put_in_is_the_same_as_a_name(a: int, n: int) -> None:
    """A negative one beside a power too: -3 ** 2 is -9, and (-3) ** 2 is 9."""
    for text in ("n ** 2 + a", "a - n", "-n * a", "a <= n ** 2 <= 50", "min(a, n) % 5", "a in (1, 2, 3) or n > a"):
        put = substituted(text, {"n": n})
        assert names_in(put) in (("a",), ())
        assert worked_out(put, {"a": a}) == worked_out(text, {"a": a, "n": n})


def test_text_is_left_as_it_was_written_where_nothing_is_put_in() -> None:
    assert substituted("a*b  <= 3", {"n": 1}) == "a*b  <= 3"
    assert substituted("way == kind", {"kind": "it's"}) == 'way == "it\'s"'
