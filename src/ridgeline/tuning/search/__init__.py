"""Searches through ask and tell: `base` says what one is, `guided` is the default, `surrogate` and `parzen` are what it believes; `plain`, `walking`
and `bandit` are the others. `registry` finds them by name, `testing` holds what each must keep.
"""

from .base import Strategy
from .registry import DEFAULT, strategies, strategy, strategy_kind

__all__ = ["DEFAULT", "Strategy", "strategies", "strategy", "strategy_kind"]
