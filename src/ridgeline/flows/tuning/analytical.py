"""A first guess from what a kernel has to do: its work at the ceilings of the device, where the work depends on the configuration.

    seconds = max(flop ÷ peak, bytes ÷ bandwidth)

It is a lower bound and knows nothing of how well a configuration does its work, so it is weighed as recordings are: what misleads is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, TunedPrior
from ridgeline.tuning.search.transfer import Guess
from ridgeline.tuning.space import Configurations, names_in, substituted

from .left import bandwidth_ceilings, compute_ceiling
from .spec import Expression, TuningSpec

__all__ = ["Analytical", "roofline_guess"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Configurations by which it is known whether the work, and the time, depend on the configuration.
_LOOKED_AT = 2000
#: Relative differences of time below this are none.
_FLAT = 1e-3


class Analytical(NamedTuple):
    """`guess`: ln of the seconds of the roofline; `used`: for the report."""

    guess: Guess
    used: TunedPrior


def roofline_guess(spec: TuningSpec, space: Configurations, device: Callable[[], Device]) -> Analytical | None:
    """The guess; null where the work is the same for all configurations or not known, or no ceiling is known for it.

    Args:
        device: whose ceilings count; only asked where the work depends on the configuration.

    Raises:
        RidgelineError: what `device` raises.
    """
    sample = space.drawn(min(_LOOKED_AT, space.count), np.random.default_rng(0))
    flop, moved = (_amount(each, spec, space, sample) for each in (spec.kernel.work.flop, spec.kernel.work.bytes))
    if not any(_varies(amount(sample)) for amount in (flop, moved) if amount is not None):
        return None
    found = device()
    seconds = _roofline(found, [each.dtype for each in spec.kernel.arguments], flop, moved)
    if seconds is None or not _varies(seconds(sample)):
        return None
    worst = float(np.nanmax(seconds(sample)))

    def guess(rows: Rows) -> Floats:
        made = seconds(rows)
        return np.asarray(np.log(np.where(np.isnan(made), worst, made)), np.float64)

    return Analytical(guess, TunedPrior(source="roofline", device=found.name))


Amount = Callable[[Rows], Floats]


def _amount(text: Expression | None, spec: TuningSpec, space: Configurations, sample: Rows) -> Amount | None:
    """FLOP or bytes of configurations, NaN where they have no value; null where nothing is said, or they have none anywhere."""
    if text is None:
        return None
    written = substituted(text, spec.kernel.constants) if isinstance(text, str) else repr(text)
    if not set(names_in(written)) <= set(space.names):
        return None

    def amount(rows: Rows) -> Floats:
        found = space.worked_out(written, rows)
        return np.where(np.isfinite(found) & (found >= 0), found, np.nan)

    return None if np.isnan(amount(sample)).all() else amount


def _varies(amounts: Floats) -> bool:
    there = amounts[~np.isnan(amounts)]
    return bool(len(there) and there.max() > (1.0 + _FLAT) * there.min())


def _roofline(device: Device, dtypes: Iterable[str], flop: Amount | None, moved: Amount | None) -> Amount | None:
    """Seconds at the ceilings; null where there is none for what is known of the work."""
    peak, levels = compute_ceiling(device, dtypes), bandwidth_ceilings(device)
    parts: list[Amount] = []
    if flop is not None and peak is not None:
        parts.append(lambda rows: flop(rows) / peak.rate.value)
    if moved is not None and levels:
        sizes, rates = np.array([size for size, _ in levels]), np.array([each.rate.value for _, each in levels])

        def of_bytes(rows: Rows) -> Floats:
            found = moved(rows)
            return np.asarray(found / rates[np.minimum(np.searchsorted(sizes, found), len(sizes) - 1)], np.float64)

        parts.append(of_bytes)
    if not parts:
        return None

    def seconds(rows: Rows) -> Floats:
        found = np.maximum.reduce([part(rows) for part in parts])
        return np.asarray(np.where(found > 0, found, np.nan), np.float64)

    return seconds
