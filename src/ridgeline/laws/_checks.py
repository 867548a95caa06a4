"""What every law asks of its arguments: finite numbers of the right sign, named in the error."""

from __future__ import annotations

import math

from ..core.errors import UsageError

__all__ = ["confidence_level", "counting", "factor", "non_negative", "positive", "share_of_whole"]


def positive(**numbers: float) -> None:
    """Raise `UsageError` unless every number is finite and > 0."""
    for name, value in numbers.items():
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} to be a finite number > 0", found=repr(value), remedy=f"give {name} in SI units")


def non_negative(**numbers: float) -> None:
    """Raise `UsageError` unless every number is finite and ≥ 0."""
    for name, value in numbers.items():
        if not (math.isfinite(value) and value >= 0):
            raise UsageError(f"{name} to be a finite number ≥ 0", found=repr(value), remedy=f"give {name} in SI units")


def share_of_whole(**numbers: float) -> None:
    """Raise `UsageError` unless every number lies in [0, 1]."""
    for name, value in numbers.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{name} to be a share in [0, 1]", found=repr(value), remedy="divide by the whole")


def factor(**numbers: float) -> None:
    """Raise `UsageError` unless every number is > 0; infinity is allowed, for the bound that nothing can beat."""
    for name, value in numbers.items():
        if not value > 0:
            raise UsageError(f"{name} to be a factor > 0, or inf", found=repr(value), remedy="give old time ÷ new time")


def confidence_level(confidence: float) -> None:
    """Raise `UsageError` unless 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise UsageError("confidence to lie in (0, 1)", found=repr(confidence), remedy="give for example 0.95")


def counting(**numbers: int) -> None:
    """Raise `UsageError` unless every number is a whole number from 1 to 2⁶³."""
    for name, value in numbers.items():
        if not (isinstance(value, int) and 1 <= value <= 2**63):
            raise UsageError(f"{name} to be a whole number from 1 to 2⁶³", found=f"{value!r:.40}", remedy=f"count {name}")
