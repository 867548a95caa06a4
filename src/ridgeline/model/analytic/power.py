"""Power and energy of work: what is always drawn, what each unit adds while it works, and what each byte costs by level; caps and heat.

Decides watts, joules, the time under a cap, and the temperature that follows. Energies of an operation and of a byte are data of the device. Sources:
J. Choi et al., "A roofline model of energy", IPDPS 2013 (energy = constant power × time + energy of operations + energy of bytes); M. Horowitz,
"Computing's energy problem", ISSCC 2014 (orders of size by level); W. Huang et al., "HotSpot", IEEE TVLSI 14(5), 2006 (thermal resistance and
capacity); leakage over temperature, linear near a working point: Y. Liu et al., "Accurate temperature-dependent integrated circuit leakage power
estimation is easy", DATE 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import NON_NEGATIVE, POSITIVE, SHARE, Reals, by_name, choose, fit, larger, numbers, outside, total

__all__ = ["Energy", "capped_time", "energy", "steady_temperature", "time_to_temperature", "unit_power"]


@dataclass(frozen=True, eq=False)
class Energy:
    """Energy of work that takes a given time.

    Args:
        energy_j: altogether; power_w: energy ÷ time.
        static_j: drawn whatever is done; by_engine_j, by_level_j: of operations and of bytes.
    """

    energy_j: Reals
    power_w: Reals
    static_j: Reals
    by_engine_j: dict[str, Reals]
    by_level_j: dict[str, Reals]


def energy(
    *,
    time_s: ArrayLike,
    static_w: ArrayLike,
    work: Mapping[str, ArrayLike],
    joules_per_op: Mapping[str, ArrayLike],
    traffic_bytes: Mapping[str, ArrayLike],
    joules_per_byte: Mapping[str, ArrayLike],
) -> Energy:
    """E = P₀ t + Σ W_e ε_e + Σ Q_l ε_l in J; P = E ÷ t in W.

    Args:
        time_s: t, > 0.
        static_w: P₀, constant power while the device is on, ≥ 0.
        work, joules_per_op: by engine FLOP or operations, ≥ 0, and energy of one beyond P₀, J, ≥ 0.
        traffic_bytes, joules_per_byte: by level bytes, ≥ 0, and energy of one beyond P₀, J, ≥ 0.

    Raises:
        UsageError: a number out of its range, engines or levels without partner.

    >>> spent = energy(time_s=1e-3, static_w=50.0, work={"fma": 1e10}, joules_per_op={"fma": 5e-12},
    ...                traffic_bytes={"DRAM": 1e8}, joules_per_byte={"DRAM": 1e-10})
    >>> round(float(spent.energy_j), 6), round(float(spent.power_w), 6)
    (0.11, 110.0)
    """
    t, p0 = numbers(time_s=(time_s, POSITIVE), static_w=(static_w, NON_NEGATIVE))
    amounts, op = by_name("work", work, NON_NEGATIVE), by_name("joules_per_op", joules_per_op, NON_NEGATIVE, like=work)
    moved, byte = by_name("traffic_bytes", traffic_bytes, NON_NEGATIVE), by_name("joules_per_byte", joules_per_byte, NON_NEGATIVE, like=traffic_bytes)
    fit(time_s=t, static_w=p0, **_named(work=amounts, joules_per_op=op, traffic_bytes=moved, joules_per_byte=byte))
    static = p0 * t
    engines = {name: amount * op[name] for name, amount in amounts.items()}
    levels = {name: amount * byte[name] for name, amount in moved.items()}
    spent = total([static, *engines.values(), *levels.values()])
    return Energy(energy_j=spent, power_w=spent / t, static_j=static, by_engine_j=engines, by_level_j=levels)


def _named(**mappings: Mapping[str, Reals]) -> dict[str, Reals]:
    return {f"{what}.{name}": value for what, mapping in mappings.items() for name, value in mapping.items()}


def unit_power(*, static_w: ArrayLike, dynamic_w: Mapping[str, ArrayLike], utilisation: Mapping[str, ArrayLike]) -> Reals:
    """P = P₀ + Σ u P_dyn by unit, in W.

    Args:
        static_w: P₀, ≥ 0.
        dynamic_w: by unit (tensor, vector, memory, …) power at full use beyond P₀, ≥ 0.
        utilisation: by the same units, in [0, 1].

    Raises:
        UsageError: a number out of its range, or units without partner.

    >>> float(unit_power(static_w=50, dynamic_w={"tensor": 200, "memory": 100}, utilisation={"tensor": 0.5, "memory": 1.0}))
    250.0
    """
    (p0,) = numbers(static_w=(static_w, NON_NEGATIVE))
    dynamic = by_name("dynamic_w", dynamic_w, NON_NEGATIVE)
    used = by_name("utilisation", utilisation, SHARE, like=dynamic_w)
    fit(static_w=p0, **_named(dynamic_w=dynamic, utilisation=used))
    return total([p0, *(dynamic[name] * share for name, share in used.items())])


def capped_time(time_s: ArrayLike, *, dynamic_j: ArrayLike, static_w: ArrayLike, cap_w: ArrayLike) -> Reals:
    """t = max(t₀, E_dyn ÷ (cap − P₀)) in s: work that would draw more than the cap is slowed until it does not.

    Args:
        time_s: t₀, without a cap, > 0.
        dynamic_j: E_dyn, energy beyond P₀, taken to be the same at any speed, ≥ 0.
        static_w: P₀, ≥ 0; cap_w: > 0.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: a cap that P₀ alone reaches.

    Limits: a device that lowers its voltage with its clock spends less energy on the same work, so this is an upper bound of the time; with a curve
    of voltages use `dvfs.capped_clock`.

    >>> capped_time(1.0, dynamic_j=[100.0, 300.0], static_w=50.0, cap_w=250.0).tolist()
    [1.0, 1.5]
    """
    t, e, p0, cap = numbers(
        time_s=(time_s, POSITIVE), dynamic_j=(dynamic_j, NON_NEGATIVE), static_w=(static_w, NON_NEGATIVE), cap_w=(cap_w, POSITIVE)
    )
    outside(cap <= p0, "cap_w", cap, "a cap above the static power", "raise the cap")
    return larger(t, e / (cap - p0))


def steady_temperature(
    *,
    ambient_k: ArrayLike,
    resistance_k_per_w: ArrayLike,
    dynamic_w: ArrayLike,
    leakage_w: ArrayLike = 0.0,
    leakage_per_k: ArrayLike = 0.0,
    at_k: ArrayLike = 298.15,
) -> Reals:
    """T of T = Tₐ + R (P_dyn + P_l (1 + κ (T − T₀))), which is (Tₐ + R (P_dyn + P_l (1 − κ T₀))) ÷ (1 − R P_l κ), in K.

    Args:
        ambient_k: Tₐ, > 0.
        resistance_k_per_w: R from junction to ambient, K/W, > 0.
        dynamic_w: all power but leakage, ≥ 0.
        leakage_w: P_l at T₀, ≥ 0; leakage_per_k: κ, its relative growth, 1/K, ≥ 0; at_k: T₀, > 0.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: R P_l κ ≥ 1: leakage heats faster than the cooler cools, and there is no steady state; or so far below T₀ that the linear law
            makes leakage negative.

    Limits: leakage is linear in T only near T₀.

    >>> round(float(steady_temperature(ambient_k=300.0, resistance_k_per_w=0.2, dynamic_w=200.0)), 3)
    340.0
    >>> warm = steady_temperature(ambient_k=300, resistance_k_per_w=0.2, dynamic_w=200, leakage_w=50, leakage_per_k=0.01, at_k=300)
    >>> round(float(warm), 3)  # 300 + 0.2 (200 + 50) ÷ (1 − 0.1)
    355.556
    """
    ambient, r, dynamic, leak, growth, at = numbers(
        ambient_k=(ambient_k, POSITIVE),
        resistance_k_per_w=(resistance_k_per_w, POSITIVE),
        dynamic_w=(dynamic_w, NON_NEGATIVE),
        leakage_w=(leakage_w, NON_NEGATIVE),
        leakage_per_k=(leakage_per_k, NON_NEGATIVE),
        at_k=(at_k, POSITIVE),
    )
    gain = r * leak * growth
    outside(gain >= 1, "leakage_per_k", growth, "resistance × leakage × growth below 1", "no steady state: cool better")
    steady = (ambient + r * (dynamic + leak * (1.0 - growth * at))) / (1.0 - gain)
    cold = (leak > 0) & (1.0 + growth * (steady - at) < 0)
    outside(cold, "at_k", at, "a temperature at which leakage is not yet negative by the linear law", "give leakage nearer to the steady state")
    return steady


def time_to_temperature(limit_k: ArrayLike, *, start_k: ArrayLike, steady_k: ArrayLike, time_constant_s: ArrayLike) -> Reals:
    """t = τ ln((T∞ − T₀) ÷ (T∞ − T_limit)) in s until a limit is reached; infinite if it never is, 0 if it is at the start.

    Args:
        limit_k, start_k, steady_k: T_limit, T₀ and T∞, > 0.
        time_constant_s: τ = R C, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> times = time_to_temperature([350.0, 420.0], start_k=300.0, steady_k=400.0, time_constant_s=10.0)
    >>> [round(float(t), 3) for t in times]
    [6.931, inf]
    """
    limit, start, steady, tau = numbers(
        limit_k=(limit_k, POSITIVE), start_k=(start_k, POSITIVE), steady_k=(steady_k, POSITIVE), time_constant_s=(time_constant_s, POSITIVE)
    )
    reached = steady > limit
    ratio = (steady - start) / choose(reached, steady - limit, 1.0)
    waited = tau * np.log(choose(reached & (start < limit), ratio, 1.0))
    return choose(start >= limit, 0.0, choose(reached, waited, np.inf))
