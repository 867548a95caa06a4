"""What a formula of a torch operator takes and gives, and where it registers."""

from __future__ import annotations

from collections.abc import Callable

from ridgeline.work.registry import Registry
from ridgeline.work.work import Work

from .recorded import RecordedOp

__all__ = ["FORMULAS", "Formula", "Work", "formula"]

Formula = Callable[[RecordedOp], Work]
#: Names are base names, see `base_name`.
FORMULAS: Registry[Formula] = Registry()
formula = FORMULAS.register
