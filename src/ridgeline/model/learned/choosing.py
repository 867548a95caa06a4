"""Which kind of expert a group of operators gets: the one that errs least on devices left out.

This module decides how that is found: each known device in turn is asked about with the experts of all others, weighted as a new device would be, and
every device counts the same, however many rows it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

from .experts import METHODS, Experts, Method, Mixture, fit_expert

__all__ = ["DeviceRows", "Likeness", "choose", "left_out"]

Floats = NDArray[np.float64]
#: (device asked about, known device) → weight of what the second says of the first.
Likeness = Callable[[str, str], float]


class DeviceRows(NamedTuple):
    """Rows of one device: `features` (n, P), `log_ratio` (n,) of measured ÷ analytical time, and that `analytic_s`, s."""

    features: Floats
    log_ratio: Floats
    analytic_s: Floats


def left_out(experts: Experts, rows: Mapping[str, DeviceRows], likeness: Likeness, without: Iterable[str] = ()) -> dict[str, Floats]:
    """What is left of log(measured ÷ predicted) of each device when all others answer for it, (n,) a device.

    Args:
        experts: of all devices; rows: those to ask about.
        without: devices that never answer, such as one that is kept for a test.
    """
    never = set(without)
    found = {}
    for device, own in rows.items():
        weights = {expert.device: likeness(device, expert.device) for expert in experts.experts if expert.device not in never | {device}}
        found[device] = own.log_ratio - Mixture(experts, weights).correct(own.features).log
    return found


def choose(
    group: str, features: tuple[str, ...], rows: Mapping[str, DeviceRows], likeness: Likeness, *, methods: Iterable[Method] = METHODS, seed: int = 0,
    data_version: str = "",
) -> Experts:  # fmt: skip
    """The experts of the method whose mean absolute error in log on devices left out is least.

    Args:
        rows: by device; likeness: between devices.
        methods: to be tried; with one, or with one device, nothing is compared.

    Raises:
        UsageError: no device with rows.
    """
    given = {device: own for device, own in rows.items() if len(own.log_ratio)}
    if not given:
        raise UsageError(f"rows of {group} of at least one device", found="none", remedy="leave the group out")
    tried: list[Experts] = []
    errors: dict[str, float] = {}
    for method in methods:
        experts = tuple(fit_expert(device, own.features, own.log_ratio, features, method, seed) for device, own in given.items())
        made = Experts(group=group, features=features, method=method, experts=experts, data_version=data_version)
        rest = left_out(made, given, likeness) if len(given) > 1 else {}
        errors[method] = float(np.mean([np.abs(each).mean() for each in rest.values()])) if rest else 0.0
        tried.append(made)
    best = min(tried, key=lambda made: errors[made.method])
    return Experts(group=group, features=features, method=best.method, experts=best.experts, errors=errors, data_version=data_version)
