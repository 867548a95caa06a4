"""Numbers for properties."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["from_zero"]


def from_zero(most: float) -> st.SearchStrategy[float]:
    """Zero, or a number up to `most` that is not so small that products of a few of them vanish."""
    return st.one_of(st.just(0.0), st.floats(most * 1e-15, most))
