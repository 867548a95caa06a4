"""Time and power of a kernel at clocks at which it was not measured, from one measured pair of clocks and its counters there.

This module decides which share of the time at the reference follows the core's clock, which the memory's and which neither, and how power splits into
static, clock tree, instructions and memory. How the coefficients are found is in `clock_fitting`; how wide an interval must be is left to whoever has
residuals. With T the sum of powers p of three overlapping terms (p → ∞ is the roofline's maximum, p = 1 no overlap):

    t ÷ t₀ = [(A e_c)^p + (M e_m)^p + C^p]^(1/p) ÷ [A^p + M^p + C^p]^(1/p)
    ln e_c = −ln(f_c ÷ f_c0) − curve_c,  ln e_m = −(1 + b) ln(f_m ÷ f_m0) − b₂ ln(f_c ÷ f_c0) − curve_m
    M ÷ T = u ÷ u_max: u is the measured share of the memory's peak at the reference, u_max what a saturated kernel reaches

    P ÷ P₀ = Σ w · (static V^2k, clock V² f, instructions V² rate, memory f_m^k √rate), w a softmax of counters, ln V² = q ln f + one curve

The curves are shared by all kernels of a device: where the clock that was set is not the one that was reached, they take up the difference. A
kernel that neither of the clocks moves, such as one limited by how fast blocks are launched, shows in none of these counters: `outside` is then the
only warning. Sources: roofline: S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009; dynamic power C V² f: T. Mudge, Computer 34(4), 2001;
core and memory terms: Q. Wang and X. Chu, "GPGPU performance estimation with core and memory frequency scaling", IEEE TPDS 31(12), 2020.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, OutOfRange, ReadError, UsageError

from .learned.scaling import Scaling, damaged

__all__ = ["ClockModel", "Clocks", "PowerForm", "References", "TimeForm", "general_clocks"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]

#: How sharply the memory's share saturates at u_max, and what it never exceeds.
_SHARPNESS, _CEILING = 24.0, 0.985
#: A clock beyond the fitted ones by more than this is not answered; the curves are held at their ends.
BEYOND = 1.02
#: Work-groups launched faster than ever before by this factor are a limit of their own.
_FASTER = 1.2


class References(NamedTuple):
    """K kernels at the clocks at which each was measured.

    Attributes:
        core_hz, memory_hz: those clocks, Hz, shape (K,).
        utilisation: DRAM bytes/s ÷ peak at that memory clock, shape (K,), ≥ 0.
        features: further counters by name, dimensionless, mostly logs, shape (K,) each; `core` is how busy the core's units are.
        launch_per_s: work-groups launched a second, shape (K,); `None` where they were not counted.
    """

    core_hz: Floats
    memory_hz: Floats
    utilisation: Floats
    features: Mapping[str, Floats]
    launch_per_s: Floats | None = None


class Clocks(NamedTuple):
    """What is asked: n rows of a kernel, an index into `References`, at other clocks, Hz, shape (n,) each."""

    kernel: Indexes
    core_hz: Floats
    memory_hz: Floats


class TimeForm(msgspec.Struct, frozen=True, kw_only=True):
    """Coefficients of the time form.

    Args:
        offset, slope: of the measured share of memory, in logs; weights: of the scaled features in the memory's share, float64, one a feature.
        saturation: ln u_max; fixed, fixed_core: log of the part that follows no clock, and how it moves with how busy the core is.
        overlap: ln(p − 1); droop: b; coupling: b₂.
        core_curve, memory_curve: one value a level of the core's clock, in logs, float64.
    """

    offset: float = 0.0
    slope: float = 1.0
    saturation: float = -0.25
    fixed: float = -1.5
    fixed_core: float = 0.0
    overlap: float = 1.9459101
    droop: float = 0.1
    coupling: float = 0.0
    weights: Column
    core_curve: Column
    memory_curve: Column

    def memory_share(self, utilisation: Floats) -> Floats:
        """M ÷ T of kernels, in [0, 1), from the measured share of the memory's peak; shape kept."""
        load = np.maximum(utilisation, 0.0) / np.exp(self.saturation)
        return np.asarray(load / (1.0 + load**_SHARPNESS) ** (1.0 / _SHARPNESS) * _CEILING)


class PowerForm(msgspec.Struct, frozen=True, kw_only=True):
    """Coefficients of the power form.

    Args:
        weights: of the scaled features and 1 in the logs of the shares of clock, instructions and memory against static, float64, row by
            row, three a row.
        voltage: q; leakage: k of static power; memory: exponent of the memory's clock.
        curve: deviation of ln V² a level of the core's clock, float64.
    """

    weights: Column
    voltage: float = 0.6
    leakage: float = 0.5
    memory: float = 0.5
    curve: Column


class ClockModel(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.clocks/1"):
    """Fitted forms of one device.

    Args:
        device: its name; data_version: of the recordings.
        levels_hz: clocks of the core at which kernels were recorded, rising, float64; memory_hz: those of the memory, rising.
        time_scaling, power_scaling: of the features of both forms; `core` must be among those of time.
        time, power: the forms; power may be missing.
        most_launch_per_s: the fastest launch of work-groups among the kernels of the training; 0 if that was not counted.

    Raises:
        ReadError: coefficients that do not fit together, or levels that do not rise.
    """

    device: str
    levels_hz: Column
    memory_hz: Column
    time_scaling: Scaling
    time: TimeForm
    power_scaling: Scaling | None = None
    power: PowerForm | None = None
    most_launch_per_s: float = 0.0
    data_version: str = ""

    def __post_init__(self) -> None:
        levels, features = len(self.levels_hz), len(self.time_scaling.features)
        wanted = {
            "levels_hz": (self.levels_hz, levels),
            "memory_hz": (self.memory_hz, len(self.memory_hz)),
            "time.weights": (self.time.weights, features),
        }
        wanted |= {"time.core_curve": (self.time.core_curve, levels), "time.memory_curve": (self.time.memory_curve, levels)}
        if self.power is not None:
            if self.power_scaling is None:
                raise damaged("a form of power without the scaling of its features")
            of_power = 3 * (len(self.power_scaling.features) + 1)
            wanted |= {"power.weights": (self.power.weights, of_power), "power.curve": (self.power.curve, levels)}
        for name, (column, length) in wanted.items():
            if len(column) != length or not length or column.values.dtype.kind != "f":
                raise damaged(f"{name} with {len(column)} numbers in {column.dtype} for {length}")
        for name, rising in (("levels_hz", self.levels_hz.values), ("memory_hz", self.memory_hz.values)):
            if (rising <= 0).any() or (np.diff(rising) <= 0).any():
                raise damaged(f"{name} that do not rise")
        if "core" not in self.time_scaling.features:
            raise ReadError("a feature `core` of the time form", found=", ".join(self.time_scaling.features), remedy="train the model again")

    def time_log_ratio(self, references: References, at: Clocks) -> Floats:
        """ln(t ÷ t₀), shape (n,); 0 at the reference.

        Raises:
            UsageError: features that are missing or not finite. OutOfRange: clocks beyond the recorded ones.
        """
        self._within(references, at)
        form, kernel = self.time, at.kernel
        z = scaled(self.time_scaling, references)
        core, memory = _ratios(references, at)
        overlap = 1.0 + np.exp(form.overlap)
        share = form.memory_share(references.utilisation)
        to_core = form.offset + form.slope * (np.log(share + 1e-3) - np.log1p(-(share**overlap)) / overlap) + z @ form.weights.values
        fixed = form.fixed + form.fixed_core * z[:, self.time_scaling.features.index("core")]
        to_core, fixed = overlap * to_core[kernel], overlap * fixed[kernel]
        faster_core = core + self._curve(form.core_curve, references, at)
        faster_memory = (1.0 + form.droop) * memory + form.coupling * core + self._curve(form.memory_curve, references, at)
        after = _log_sum(-overlap * faster_core, to_core - overlap * faster_memory, fixed)
        return np.asarray((after - _log_sum(np.zeros(len(core)), to_core, fixed)) / overlap)

    def power_log_ratio(self, references: References, at: Clocks, time_log_ratio: Floats) -> Floats:
        """ln(P ÷ P₀), shape (n,).

        Args:
            time_log_ratio: of the same rows, predicted or measured.

        Raises:
            UsageError: the model has no form of power, or as `time_log_ratio`.
        """
        if self.power is None or self.power_scaling is None:
            raise UsageError("a model with a form of power", found=f"none of {self.device}", remedy="train it with power")
        self._within(references, at)
        form, rate = self.power, -np.asarray(time_log_ratio, np.float64)
        z = scaled(self.power_scaling, references)
        logits = np.concatenate((np.zeros((len(z), 1)), np.c_[z, np.ones(len(z))] @ form.weights.values.reshape(-1, 3)), axis=1)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = (shares / shares.sum(axis=1, keepdims=True))[at.kernel]
        core, memory = _ratios(references, at)
        voltage = form.voltage * core + self._curve(form.curve, references, at)  # ln V² ÷ V₀²
        terms = np.stack((form.leakage * voltage, core + voltage, rate + voltage, form.memory * memory + 0.5 * rate), axis=1)
        return np.asarray(np.log((shares * np.exp(terms)).sum(axis=1)))

    def outside(self, references: References) -> NDArray[np.bool_]:
        """Kernels unlike all of the training, shape (K,): a feature of time beyond what was seen, or work-groups launched faster than ever.

        How fast work-groups are launched is a limit that moves with neither clock, and one that no other kernel reaches cannot be learned from them.
        """
        found = self.time_scaling.outside(np.stack([references.features[name] for name in self.time_scaling.features], axis=1))
        if self.most_launch_per_s and references.launch_per_s is not None:
            found = found | (references.launch_per_s > _FASTER * self.most_launch_per_s)
        return np.asarray(found)

    def _curve(self, curve: Column, references: References, at: Clocks) -> Floats:
        known = np.log(self.levels_hz.values)
        now, before = (np.interp(np.log(clock), known, curve.values) for clock in (at.core_hz, references.core_hz[at.kernel]))
        return np.asarray(now - before)

    def _within(self, references: References, at: Clocks) -> None:
        for what, known, asked in (
            ("core clocks", self.levels_hz.values, np.concatenate((at.core_hz, references.core_hz))),
            ("memory clocks", self.memory_hz.values, np.concatenate((at.memory_hz, references.memory_hz))),
        ):
            low, high = known[0] / BEYOND, known[-1] * BEYOND
            wrong = asked[~((asked >= low) & (asked <= high))]
            if len(wrong):
                found = f"{wrong[0] / 1e6:.0f} MHz"
                raise OutOfRange(f"{what} of {known[0] / 1e6:.0f} to {known[-1] / 1e6:.0f} MHz", found=found, remedy="record kernels at such clocks")


def general_clocks(device: str, core_hz: tuple[float, float], memory_hz: tuple[float, float]) -> ClockModel:
    """The time form of a device of which no kernel was recorded at several clocks: constants of `data/clocks.toml`, no counters and no power.

    On a device of another generation than the one that they were fitted on the mean error was 3 to 4 %; 13 % where clocks that were asked for
    were not reached.

    Args:
        core_hz, memory_hz: least and greatest clock of the device, Hz, > 0; equal where there is but one.

    Raises:
        ReadError: clocks that are not positive or fall.
    """
    constants = tomllib.loads(resources.files(__package__).joinpath("data", "clocks.toml").read_text("utf-8"))["time"]
    zero, one = Column([0.0], "1"), Column([1.0], "1")
    levels, memories = (np.unique(np.asarray(clocks, np.float64)) for clocks in (core_hz, memory_hz))
    if core_hz[0] > core_hz[1] or memory_hz[0] > memory_hz[1]:
        raise damaged("a least clock above the greatest")
    flat = Column(np.zeros(len(levels)), "1")
    return ClockModel(
        device=device, levels_hz=Column(levels, "Hz"), memory_hz=Column(memories, "Hz"),
        time_scaling=Scaling(features=("core",), centre=zero, scale=one, low=zero, high=zero),
        time=TimeForm(**constants, weights=zero, core_curve=flat, memory_curve=flat),
    )  # fmt: skip


def scaled(scaling: Scaling, references: References) -> Floats:
    """Features as deviations from those of the training, shape (K, P); not held at the edge, for few kernels make it narrow.

    Raises:
        UsageError: a feature that is missing or not finite.
    """
    missing = [name for name in scaling.features if name not in references.features]
    if missing:
        raise UsageError(f"features {', '.join(scaling.features)}", found=f"no {', '.join(missing)}", remedy="count them at the reference clocks")
    rows = np.stack([np.asarray(references.features[name], np.float64) for name in scaling.features], axis=1)
    if not (np.isfinite(rows).all() and np.isfinite(references.utilisation).all()):
        raise UsageError("counters to be finite", found="NaN or infinity", remedy="leave such kernels out")
    return np.asarray((rows - scaling.centre.values) / scaling.scale.values)


def _ratios(references: References, at: Clocks) -> tuple[Floats, Floats]:
    return np.log(at.core_hz / references.core_hz[at.kernel]), np.log(at.memory_hz / references.memory_hz[at.kernel])


def _log_sum(first: Floats, second: Floats, third: Floats) -> Floats:
    return np.asarray(np.logaddexp(np.logaddexp(first, second), third))
