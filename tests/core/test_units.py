"""Units: what text means in SI, that formatting and parsing undo each other, and that hostile text ends in one line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.core.units import BASE_UNITS, format_quantity, format_share, format_speedup, parse


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1 TB", "B", 1e12),  # never 1e13, never 2**40
        ("1 TB/s", "B/s", 1e12),
        ("1 TiB", "B", 2.0**40),
        ("1GB", "B", 1e9),
        ("1GiB", "B", 2.0**30),
        ("64 KiB", "B", 65536.0),
        ("17.1 GB/s", "B/s", 17.1e9),
        ("3.35 TB/s", "B/s", 3.35e12),
        ("128 GFLOP/s", "FLOP/s", 128e9),
        ("128 GFLOPS", "FLOP/s", 128e9),
        ("3.4 GFLOP", "FLOP", 3.4e9),
        ("33.3ms", "s", 0.0333),
        ("20 us", "s", 20e-6),
        ("20 µs", "s", 20e-6),
        ("20 μs", "s", 20e-6),
        ("2 min", "s", 120.0),
        ("1.5h", "s", 5400.0),
        ("60%", "1", 0.6),
        ("0.6", "1", 0.6),
        ("1e-3", "s", 1e-3),
        ("-3 ms", "s", -3e-3),
        (".5 s", "s", 0.5),
        ("1.5 EB", "B", 1.5e18),
        ("2 GHz", "Hz", 2e9),
        ("1_000_000", "count", 1e6),
        ("300 k", "count", 3e5),
        ("1.89 USD/h", "USD/h", 1.89),
        ("300 K", "K", 300.0),
        ("12 FLOP/B", "FLOP/B", 12.0),
    ],
)
def test_text_means_one_number(text: str, unit: str, value: float) -> None:
    assert parse(text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("", "s"),
        (" ", "s"),
        ("ms", "s"),
        ("nan", "s"),
        ("inf", "s"),
        ("-inf s", "s"),
        ("1e999", "s"),
        ("1e99999999999999999999 s", "s"),
        ("1 Mis", "s"),
        ("1 GFLOP", "FLOP/s"),
        ("1 GB", "B/s"),
        ("1 gb", "B"),
        ("1 kibibyte", "B"),
        ("1,5 s", "s"),
        ("1__0", "s"),
        ("0x10", "count"),
        ("٣ s", "s"),
        ("1 s\n2 s", "s"),
        ("1\x00s", "s"),
        ("1 s; rm", "s"),
        ("1" * 100_000 + "x", "s"),
        ("9" * 100_000, "s"),
    ],
)
def test_what_is_no_quantity_is_refused_in_one_line(text: str, unit: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text, unit)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 3000


@given(st.text(max_size=60), st.sampled_from(sorted(BASE_UNITS)))
def test_any_text_is_a_finite_number_or_a_usage_error(text: str, unit: str) -> None:
    try:
        value = parse(text, unit)
    except UsageError:
        value = 0.0
    assert math.isfinite(value)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(sorted(BASE_UNITS)), st.integers(3, 15))
def test_parse_undoes_format_up_to_the_figures_shown(value: float, unit: str, digits: int) -> None:
    text = format_quantity(value, unit, digits)
    try:
        back = parse(text, unit)
    except UsageError:
        # The only way out: rounding up the largest floats leaves the range of floats.
        assert abs(value) > 1.79e308
        return
    assert math.isclose(back, value, rel_tol=0.51 * 10.0 ** (1 - digits), abs_tol=1e-300)


@given(st.floats(1e-8, 1e20), st.sampled_from(sorted(BASE_UNITS - {"1", "count"})))
def test_a_formatted_value_never_looks_like_nothing(value: float, unit: str) -> None:
    mantissa = format_quantity(value, unit).split()[0]
    assert float(mantissa) > 0


@given(st.floats(1e-9, 9.99e20))
def test_three_figures_are_three_figures(value: float) -> None:
    mantissa = format_quantity(value, "s").split()[0]
    assert len(mantissa.replace(".", "").lstrip("0")) >= 3 or "e" in mantissa
    assert 1 <= float(mantissa) < 1000 or value >= 9.995e20


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0046, "s", "4.60 ms"),
        (0.99996, "s", "1.00 s"),
        (0.00099996, "s", "1.00 ms"),
        (7.29e9, "B/s", "7.29 GB/s"),
        (0.0, "s", "0 s"),
        (-0.003, "s", "-3.00 ms"),
        (300, "count", "300"),
        (1234, "B", "1.23 kB"),
        (5e-324, "s", "4.94e-315 ns"),
        (1e-12, "s", "1.00e-03 ns"),
        (0.25, "1", "0.25"),
    ],
)
def test_format(value: float, unit: str, text: str) -> None:
    assert format_quantity(value, unit) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_known_is_not_formatted(value: float) -> None:
    with pytest.raises(UsageError):
        format_quantity(value, "s")
    with pytest.raises(UsageError):
        format_share(value)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.463, "46.3%"), (0.0004, "<0.1%"), (0.0, "0.0%"), (1.0, "100.0%"), (0.9999, ">99.9%"), (-0.0004, ">-0.1%"), (-0.05, "-5.0%")],
)
def test_a_share_never_rounds_something_to_nothing_or_all(share: float, text: str) -> None:
    assert format_share(share) == text


def test_a_gain_is_an_interval() -> None:
    assert format_speedup(1.8, 2.41) == "1.80–2.41×"
    assert format_speedup(2.0, 2.001) == "2.00×"
    assert format_speedup(1.5, 176899.46) == "1.50–177000×"
    assert format_speedup(62100.36, 62123.4) == "62100×"
    assert format_speedup(99.994, 99.999) == "99.99–100.00×"
    assert format_speedup(0.5, math.inf) == "0.50–inf×"


def test_prices_have_no_prefixes() -> None:
    assert [format_quantity(value, "USD/h") for value in (0.75, 1.89, 12.5, 0.004)] == ["0.750 USD/h", "1.89 USD/h", "12.5 USD/h", "4.00e-03 USD/h"]
    assert format_quantity(1234.5, "USD") == "1234 USD"
