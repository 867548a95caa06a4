"""What inferences cost: price per hour, throughput and utilisation to price per million.

Decides the arithmetic only; prices with date and currency are data of the device.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from ._arrays import COUNT, NON_NEGATIVE, PART, POSITIVE, Reals, numbers

__all__ = ["cost_per_million", "energy_cost_per_million"]


def cost_per_million(
    price_per_hour: ArrayLike, *, latency_s: ArrayLike, batch: ArrayLike = 1, devices: ArrayLike = 1, utilisation: ArrayLike = 1.0
) -> Reals:
    """10⁶ p n t ÷ (3600 b u) in the price's currency.

    Args:
        price_per_hour: p of one device, ≥ 0.
        latency_s: t of one batch, > 0: the period between batches where they overlap.
        batch: b inferences in it; devices: n that work on it; whole, ≥ 1.
        utilisation: u, share of the paid time that serves, in (0, 1].

    Raises:
        UsageError: a number out of its range; a utilisation of 0 serves nothing.

    >>> round(float(cost_per_million(3.6, latency_s=10e-3, batch=8, utilisation=0.5)), 6)
    2.5
    """
    p, t, b, n, u = numbers(
        price_per_hour=(price_per_hour, NON_NEGATIVE),
        latency_s=(latency_s, POSITIVE),
        batch=(batch, COUNT),
        devices=(devices, COUNT),
        utilisation=(utilisation, PART),
    )
    return 1e6 * p * n * t / (3600.0 * b * u)


def energy_cost_per_million(energy_j: ArrayLike, *, price_per_kwh: ArrayLike, batch: ArrayLike = 1, overhead: ArrayLike = 1.0) -> Reals:
    """10⁶ E η p ÷ (3.6·10⁶ b) in the price's currency.

    Args:
        energy_j: E of one batch, ≥ 0.
        price_per_kwh: p, ≥ 0.
        batch: b, whole, ≥ 1.
        overhead: η, power of the site ÷ power of the device (PUE), > 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(float(energy_cost_per_million(3.6, price_per_kwh=0.25)), 6)
    0.25
    """
    e, p, b, site = numbers(
        energy_j=(energy_j, NON_NEGATIVE), price_per_kwh=(price_per_kwh, NON_NEGATIVE), batch=(batch, COUNT), overhead=(overhead, POSITIVE)
    )
    return e * site * p / (3.6 * b)
