"""Validation: what is held out and how, that nothing leaks, how far predictions are off, and the report on it."""

from .leakage import Leak, device_key, leaks, refuse_leaks, same_devices
from .metrics import deciles, errors, errors_by, worst_rows
from .report import HeldOut, validation_report
from .splits import Split, folds, group_codes, hold_out, nested, one_after_another

__all__ = [
    "HeldOut", "Leak", "Split", "deciles", "device_key", "errors", "errors_by", "folds", "group_codes", "hold_out", "leaks", "nested",
    "one_after_another", "refuse_leaks", "same_devices", "validation_report", "worst_rows",
]  # fmt: skip
