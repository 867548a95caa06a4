"""Continuous calibration: pairs of prediction and measurement in, levels that moved with their causes and versioned corrections out."""

from .state import Calibration, Cause, Context, GroupLevel, LevelChange, Pair, Seen, Version
from .updating import start, update, updated
from .versions import Correction, checked, corrected, correction

__all__ = [
    "Calibration", "Cause", "Context", "Correction", "GroupLevel", "LevelChange", "Pair", "Seen", "Version", "checked", "corrected", "correction",
    "start", "update", "updated",
]  # fmt: skip
