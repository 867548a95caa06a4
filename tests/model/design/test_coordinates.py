"""Sizes as networks have them: every other one of few binary digits, the others any."""

from __future__ import annotations

import pytest

from ridgeline.model.design.coordinates import Point


@pytest.mark.parametrize(
    ("first", "kind", "found"),
    [(0.5, 0.9, 32), (0.57, 0.9, 48), (0.57, 0.1, 47), (0.0, 0.9, 2), (0.999999, 0.9, 512)],
)
def test_half_of_the_sizes_have_two_binary_digits(first: float, kind: float, found: int) -> None:
    assert Point([first, kind]).usual(2, 512) == found


@pytest.mark.parametrize(("kind", "found"), [(0.0, 688), (0.55, 768), (0.7, 768), (0.9, 640)])
def test_channels_fill_blocks_and_half_of_them_are_round(kind: float, found: int) -> None:
    assert Point([0.825, kind]).blocked(16, 1536) == found


def test_widths_stay_in_their_range() -> None:
    for multiple in range(14):
        for first in (0.0, 0.3, 0.999999):
            assert 4 <= Point([first, (multiple + 0.5) / 14]).width(4, 100) <= 100
