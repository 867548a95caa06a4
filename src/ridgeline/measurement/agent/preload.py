"""What a child that instruments a target imports before it: each module binds its clock then, and a target may replace the clock in its module."""

from __future__ import annotations

__all__ = ["EVERY_LEVEL"]

_MODULES = ("changed", "level1", "level2", "level3", "level4", "level5", "target", "tflite", "trace", "waits")
#: For `machine.Worker(preload=…)`.
EVERY_LEVEL = ",".join(f"{__package__}.{module}" for module in _MODULES)
