"""A model asked about measured rows: predicted seconds with their intervals, and which rows it has learned from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .features import operators
from .keys import shape_keys
from .model import OperatorModel
from .parts import part_of
from .preparing import Prepared

__all__ = ["Answers", "asked_about", "seen_rows"]

Floats = NDArray[np.float64]


class Answers(NamedTuple):
    """Of n rows: predicted seconds and ends of their intervals, s, (n,); how each came about, and why it may be wrong."""

    seconds: Floats
    low_s: Floats
    high_s: Floats
    basis: tuple[str, ...]
    out_of_range: tuple[tuple[str, ...], ...]


def asked_about(model: OperatorModel, rows: Prepared) -> Answers:
    """What the model says of prepared rows, in their order."""
    count = len(rows.table)
    seconds, low, high = np.empty(count), np.empty(count), np.empty(count)
    basis, reasons = [""] * count, [()] * count  # type: list[str], list[tuple[str, ...]]
    for group in rows.groups:
        found = model.correct([rows.workloads[index] for index in group.at.tolist()], group.estimates, group.device)
        for out, log in ((seconds, found.log_ratio), (low, found.low), (high, found.high)):
            out[group.at] = group.estimates.latency_s * np.exp(log)
        for place, index in enumerate(group.at.tolist()):
            basis[index], reasons[index] = found.basis[place], found.out_of_range[place]
    return Answers(seconds, low, high, tuple(basis), tuple(reasons))


def seen_rows(model: OperatorModel, rows: Prepared) -> NDArray[np.bool_]:
    """Which rows are of a shape that the model has learned from on that device, shape (n,)."""
    seen = np.zeros(len(rows.table), bool)
    for group in rows.groups:
        parts = {index: part_of(rows.workloads[index]) for index in group.at.tolist()}
        for part in set(parts.values()) & set(model.correctors):
            at = np.array([index for index in group.at.tolist() if parts[index] == part], np.intp)
            keys = shape_keys(operators(rows.workloads[int(at[0])].kind, [rows.workloads[index] for index in at.tolist()]), group.device.name)
            own = model.correctors[part].measured
            seen[at] = np.isin(keys, own.key.values) | np.isin(keys, own.others.values)
    return seen
