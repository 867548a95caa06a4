"""All cases, by family."""

from __future__ import annotations

from . import attention, convolutions, elements, movement, products, quantised
from .case import Case

CASES: list[Case] = [case for family in (products, convolutions, attention, quantised, elements, movement) for case in family.CASES]
