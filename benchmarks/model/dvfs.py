"""Kernels at clocks at which they were not measured, from one reference pair of clocks: NV-DVFS-Benchmark, one application left out at a time.

Of the application that is left out, time, power and counters at the reference are known and nothing else; the reference itself is not scored.
Errors are |predicted − measured| ÷ measured, the mean of applications. Intervals come from the residuals of the other applications, each left out
alike.

    RIDGELINE_DATA=FOLDER python benchmarks/model/dvfs.py [--every] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core.latencies import LatencyTable
from ridgeline.model.clock_fitting import fit_clocks
from ridgeline.model.clocks import Clocks, References, general_clocks
from ridgeline.model.learned.conformal import upper_quantile
from ridgeline.readers.latencies.dvfs import with_counters

Floats = NDArray[np.float64]
COUNTERS = (
    "dram_read_throughput", "dram_write_throughput", "l2_read_throughput", "l2_write_throughput", "shared_load_throughput", "shared_store_throughput",
    "tex_cache_throughput", "ipc", "eligible_warps_per_cycle", "achieved_occupancy", "inst_executed", "inst_fp_64",
    "DRAMA", "SMACT", "SMOCC", "FP32A", "FP64A",
)  # fmt: skip
#: Multiprocessors and bytes a cycle of the memory clock as the driver names it: GTX 980 3500 MHz ↔ 224 GB/s, V100 877 MHz ↔ 898 GB/s.
MACHINES = {"NVIDIA GeForce GTX 980": (16, 64.0), "NVIDIA V100": (80, 1024.0)}
#: Set → (part of the file name, device); aims of time and power as % of the mean.
SETS = {"GTX 980 low": "gtx980-low", "GTX 980 high": "gtx980-high", "V100": "v100-dvfs-real-Performance-Power", "V100 DCGM": "v100-dvfs-real-profile"}
CASES = (
    ("GTX 980 low", 700, 700), ("GTX 980 low", 1000, 1000), ("GTX 980 high", 1100, 3600), ("GTX 980 high", 1500, 3900), ("V100", 1087, 877),
    ("V100", 1380, 877), ("V100 DCGM", 1102, 877), ("V100 DCGM", 1380, 877),
)  # fmt: skip
AIM = {"GTX 980 low": 4.0, "V100": 9.0, "V100 DCGM": 9.0}
TIME = ("write", "core", "occupancy", "eligible", "l2")
POWER = ("power", "utilisation", "core", "ipc", "occupancy")
TIME_DCGM = ("active", "core", "occupancy")
POWER_DCGM = ("power", "utilisation", "core", "active", "occupancy")


class Grid(NamedTuple):
    """A applications × K pairs of clocks."""

    names: list[str]
    core_hz: Floats
    memory_hz: Floats
    log_time: Floats
    log_power: Floats
    utilisation: Floats
    features: dict[str, Floats]
    launch_per_s: Floats


def grid(table: LatencyTable, counters: dict[str, Floats], part: str) -> Grid:
    """Rows of one set as a grid, with dimensionless counters."""
    chosen = np.array([part in file for file in table.texts("file")]) & (table.optional("power_w") > 0)
    rows = table.rows(chosen)
    counted = {name: values[chosen] for name, values in counters.items()}
    names = sorted({rows.texts_at("variant", index) for index in range(len(rows))})
    order = np.lexsort((rows.memory_clock_hz.values, rows.core_clock_hz.values, rows.codes("variant")))
    shape = (len(names), len(rows) // len(names))
    units, width = MACHINES[rows.texts_at("device", 0)]
    core, memory = rows.core_clock_hz.values, rows.memory_clock_hz.values
    features = activity(counted) if "profile" in part else nvprof(counted, core * units, memory * width)
    utilisation = features.pop("share")
    features |= {"power": np.log(rows.power_w.values), "utilisation": np.log(utilisation + 0.05)}

    def laid(values: Floats) -> Floats:
        return values[order].reshape(shape)

    return Grid(
        names, laid(core), laid(memory), laid(np.log(rows.latency_s.values)), laid(features["power"]), laid(utilisation),
        {name: laid(values) for name, values in features.items()}, laid(rows.dimension("blocks") / rows.latency_s.values),
    )  # fmt: skip


def nvprof(c: dict[str, Floats], cycles: Floats, peak: Floats) -> dict[str, Floats]:
    """Counters as shares of what the units can do at the clocks of their row."""
    giga = {name: values * 1e9 for name, values in c.items() if name.endswith("throughput")}
    write = np.maximum(giga["dram_write_throughput"], 0) / peak
    dram = np.maximum(giga["dram_read_throughput"] + giga["dram_write_throughput"], 0) / peak
    l2 = (giga["l2_read_throughput"] + giga["l2_write_throughput"]) / (cycles * 64)
    shared = (giga["shared_load_throughput"] + giga["shared_store_throughput"]) / (cycles * 128)
    tex = giga["tex_cache_throughput"] / (cycles * 128)
    ipc = c["ipc"] / 4
    double = np.clip(c["inst_fp_64"] / (32 * c["inst_executed"]), 0, 1) * ipc * 8
    busiest = np.maximum.reduce([ipc / 0.8, shared / 0.85, tex / 0.5, l2 / 0.5, double])
    return {
        "share": dram, "write": write / (dram + 0.02), "core": np.log(busiest + 0.05), "occupancy": np.log(c["achieved_occupancy"] + 0.05),
        "eligible": np.log(c["eligible_warps_per_cycle"] / 8 + 0.03), "l2": np.log(l2 + 0.03), "ipc": np.log(ipc + 0.03),
    }  # fmt: skip


def activity(c: dict[str, Floats]) -> dict[str, Floats]:
    """DCGM's activities, which are shares already."""
    return {
        "share": c["DRAMA"], "active": np.log(c["SMACT"] + 0.05), "core": np.log(np.maximum(c["FP32A"], c["FP64A"]) + 0.05),
        "occupancy": np.log(c["SMOCC"] + 0.05),
    }  # fmt: skip


def left_out(g: Grid, core: float, memory: float, dcgm: bool, with_power: bool = True) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Residuals ln(predicted ÷ measured) of time and power, (A, K − 1) each without the reference, and which applications are flagged, (A,)."""
    reference = int(np.argmin(np.abs(g.core_hz[0] / 1e6 - core) + np.abs(g.memory_hz[0] / 1e6 - memory)))
    count, points = g.core_hz.shape
    other = np.delete(np.arange(points), reference)
    references = References(
        g.core_hz[:, reference],
        g.memory_hz[:, reference],
        g.utilisation[:, reference],
        {name: v[:, reference] for name, v in g.features.items()},
        None if dcgm else g.launch_per_s[:, reference],
    )
    times, powers = (v[:, other] - v[:, [reference]] for v in (g.log_time, g.log_power))
    found = np.zeros((2, count, len(other)))
    flagged = np.zeros(count, bool)

    def asked(kernels: NDArray[np.int64]) -> Clocks:
        return Clocks(np.repeat(kernels, len(other)), g.core_hz[kernels][:, other].ravel(), g.memory_hz[kernels][:, other].ravel())

    for one in range(count):
        rest = np.delete(np.arange(count), one)
        model = fit_clocks(
            "a", references, asked(rest), times[rest].ravel(), powers[rest].ravel() if with_power else None,
            time_features=TIME_DCGM if dcgm else TIME, power_features=POWER_DCGM if dcgm else POWER, curve_pull=1.0 if dcgm else 5.0,
        )  # fmt: skip
        at = asked(np.array([one]))
        flagged[one] = model.outside(references)[one]
        ratio = model.time_log_ratio(references, at)
        found[0, one] = ratio - times[one]
        if with_power:
            found[1, one] = model.power_log_ratio(references, at, ratio) - powers[one]
    return found[0], found[1], flagged


def covered(rest: Floats) -> tuple[float, Floats]:
    """Share of rows within the 90 % interval from the other applications' residuals, and that of each application."""
    inside = []
    for one in range(len(rest)):
        inside.append(np.abs(rest[one]) <= upper_quantile(np.abs(np.delete(rest, one, axis=0)).ravel(), 0.9))
    return float(np.mean(inside)), np.mean(inside, axis=1)


def line(label: str, rest: Floats, names: list[str], flagged: NDArray[np.bool_], aim: float | None) -> str:
    errors = np.abs(np.expm1(rest)).mean(axis=1) * 100
    worst = np.argsort(-errors)[:3]
    share, each = covered(rest)
    verdict = "" if aim is None else f" (aim {aim:g}: {'met' if errors.mean() <= aim else 'MISSED'})"
    named = ", ".join(f"{names[i].split('/')[0]} {errors[i]:.1f}" for i in worst)
    out = ", ".join(names[i].split("/")[0] for i in np.flatnonzero(flagged)) or "none"
    return (
        f"| {label} | {errors.mean():.2f}{verdict} | {np.median(errors):.2f} | {named} | {share * 100:.1f} | {np.sort(each)[0] * 100:.0f} "
        f"| {out} | {errors[~flagged].mean():.2f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", action="store_true", help="every reference of the low set, time only")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ.get("RIDGELINE_DATA", "")) / "NV-DVFS-Benchmark"
    if not os.environ.get("RIDGELINE_DATA") or not folder.is_dir():
        print("skipped: RIDGELINE_DATA names no folder with NV-DVFS-Benchmark", file=sys.stderr)
        return 0
    table, counters = with_counters(folder, COUNTERS)
    grids = {name: grid(table, counters, part) for name, part in SETS.items()}
    lines = [
        "| set, reference MHz | mean error % | median application | worst applications | in 90 % interval % | worst application % | flagged "
        "| mean of the others |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, core, memory in CASES:
        started = time.perf_counter()
        times, powers, flagged = left_out(grids[name], core, memory, "DCGM" in name)
        lines.append(line(f"{name} ({core}, {memory}) time", times, grids[name].names, flagged, AIM.get(name)))
        lines.append(line(f"{name} ({core}, {memory}) power", powers, grids[name].names, flagged, 5.0))
        print(*lines[-2:], f"{time.perf_counter() - started:.0f} s", sep="\n", file=sys.stderr, flush=True)
    lines += ["", "| no kernel of the device known | mean error of time % |", "|---|---|"]
    lines += [f"| {name} ({core}, {memory}) | {general(grids[name], core, memory):.2f} |" for name, core, memory in CASES]
    if given.every:
        lines += every(grids["GTX 980 low"])
    text = "\n".join(lines) + "\n"
    (given.out.write_text if given.out else print)(text)
    return 0


def general(g: Grid, core: float, memory: float) -> float:
    """Mean error of time in % with the constants that come with ridgeline, no kernel of the device known."""
    reference = int(np.argmin(np.abs(g.core_hz[0] / 1e6 - core) + np.abs(g.memory_hz[0] / 1e6 - memory)))
    count, points = g.core_hz.shape
    other = np.delete(np.arange(points), reference)
    nothing = {"core": np.zeros(count)}
    references = References(g.core_hz[:, reference], g.memory_hz[:, reference], g.utilisation[:, reference], nothing)
    model = general_clocks("a", (g.core_hz.min(), g.core_hz.max()), (g.memory_hz.min(), g.memory_hz.max()))
    at = Clocks(np.repeat(np.arange(count), len(other)), g.core_hz[:, other].ravel(), g.memory_hz[:, other].ravel())
    rest = model.time_log_ratio(references, at) - (g.log_time[:, other] - g.log_time[:, [reference]]).ravel()
    return float(np.abs(np.expm1(rest)).mean() * 100)


def every(g: Grid) -> list[str]:
    """Mean error of time from each reference of a set."""
    lines = ["", "| core MHz | memory MHz | mean error of time % |", "|---|---|---|"]
    for core, memory in zip(g.core_hz[0] / 1e6, g.memory_hz[0] / 1e6, strict=True):
        times, *_ = left_out(g, core, memory, dcgm=False, with_power=False)
        lines.append(f"| {core:.0f} | {memory:.0f} | {np.abs(np.expm1(times)).mean() * 100:.2f} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
