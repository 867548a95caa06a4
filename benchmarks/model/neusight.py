"""GPUs that nobody measured: each of NeuSight's seven left out in turn, operator by operator and network by network.

    RIDGELINE_DATA=FOLDER python benchmarks/model/neusight.py [--methods ridge,network,both,trees] [--out FILE.md]

Reads `$RIDGELINE_DATA/models/NeuSight/scripts/asplos`; without it nothing is measured, and the fragment says so. Experts, bounds and what networks
add are nested: nothing of the device that is asked about enters, but for its vote on which kind of expert a group gets. The constants of the
analytical form (`model/gpu/data/kernels.toml`, source `chosen`) are not: they were chosen on all seven devices, and that Ampere runs batches in
tiles of 128 × 128 is known from the A100 alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import LatencyTable, RecordedNetwork
from ridgeline.device import find
from ridgeline.model.gpu.kernels import FAMILIES, group_of, kernels
from ridgeline.model.gpu.model import GpuModel, answer, weights
from ridgeline.model.gpu.networks import kernel_seconds, network_reach, network_seconds
from ridgeline.model.gpu.rows import GroupRows, group_rows
from ridgeline.model.gpu.sheet import GpuSheet, likeness, sheet
from ridgeline.model.gpu.traces import launched
from ridgeline.model.gpu.training import LEVEL, train_gpu_model
from ridgeline.model.learned.choosing import DeviceRows, left_out
from ridgeline.model.learned.experts import METHODS, Mixture
from ridgeline.model.learned.unseen import bounds, reach
from ridgeline.readers.latencies import read_latencies, read_networks

Floats = NDArray[np.float64]
#: Aims in %, and what NeuSight published of its own unseen devices: mean, per operator; of networks mean and worst.
AIMS = {
    "gemm batched": (10, 13.8), "gemm single": (10, 13.9), "elementwise": (14, 19.3), "softmax": (12, 13.9), "normalisation": (25, 56.7),
}  # fmt: skip
NODE_LEAST_S = 60e-6


def short(device: str) -> str:
    return next(word for word in device.split() if any(letter.isdigit() for letter in word))


def percent(errors: Iterable[float]) -> Floats:
    return 100 * np.abs(np.asarray(list(errors)))


class Study:
    """Recordings, a model of all devices, and the answers for each when it is left out."""

    def __init__(self, root: Path, methods: tuple[Any, ...]) -> None:
        self.table: LatencyTable = read_latencies(root)
        self.networks: tuple[RecordedNetwork, ...] = tuple(each for each in read_networks(root) if each.nodes and not each.variant)
        self.sheets: dict[str, GpuSheet] = {device: sheet(find(device)) for device in self.table.devices}
        started = time.perf_counter()
        self.model: GpuModel = train_gpu_model(self.table, self.sheets, self.networks, methods=methods)
        self.trained_s = time.perf_counter() - started
        self.rows: dict[str, dict[str, GroupRows]] = group_rows(self.table, self.sheets)

    def residuals(self, group: str, device: str) -> dict[str, tuple[Floats, Floats]]:
        """log(measured ÷ predicted) of every device, none of them answered by itself or by `device`."""
        rows = {name: DeviceRows(own.features, own.log_ratio, own.analytic_s) for name, own in self.rows[group].items()}
        rest = left_out(
            self.model.experts[group], rows, lambda a, b: likeness(self.sheets[a], self.sheets[b], products=group.startswith("gemm")), [device]
        )
        return {name: (rest[name], rows[name].analytic_s) for name in rows}


def operators(study: Study) -> list[str]:
    lines = [
        "| operators | device | rows | mean % | median | p90 | worst | > 2 floors | mean | p90 | analytical | inside | worst decile | half width |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    under, deciles, cells = [], [], 0
    for group, devices in study.rows.items():
        means = []
        for device, own in devices.items():
            rest = study.residuals(group, device)
            log = rest.pop(device)[0]
            low, high = bounds(reach(rest, LEVEL), own.analytic_s, own.floors)
            inside = (log >= low) & (log <= high)
            error, big = percent(np.exp(-log) - 1), own.floors > 2
            tenth = np.digitize(own.analytic_s, np.quantile(own.analytic_s, np.arange(0.1, 1, 0.1)))
            shares = [inside[tenth == number].mean() for number in range(10) if (tenth == number).sum() >= 100]
            cells += 1
            means.append(error.mean())
            under += [f"{group} {short(device)} {100 * inside.mean():.0f} %"] if inside.mean() < 0.85 else []
            deciles += [f"{group} {short(device)}"] * sum(share < 0.8 for share in shares)
            alone = percent(np.exp(-own.log_ratio) - 1)
            lines.append(
                f"| {group} | {short(device)} | {len(log)} | {error.mean():.1f} | {np.median(error):.1f} | {np.quantile(error, 0.9):.1f} "
                f"| {error.max():.0f} "
                f"| {big.sum()} | {error[big].mean():.1f} | {np.quantile(error[big], 0.9):.1f} | {alone.mean():.1f} | {100 * inside.mean():.0f} % "
                f"| {100 * min(shares):.0f} % | ×{np.exp(np.median(high - low) / 2):.2f} |"
            )
        lines.append(f"| {group} | mean over devices, by {study.model.experts[group].method} | | {np.mean(means):.1f} | | | | | | | | | | |")
    verdict = (
        f"90 % intervals. Under 85 %: {len(under)} of {cells} ({', '.join(under) or 'none'}); deciles of ≥ 100 rows under 80 %: {len(deciles)} "
        f"({', '.join(deciles) or 'none'})."
    )
    return [*lines, "", verdict]


def networks(study: Study) -> list[str]:
    lines = ["| device | network | sequence × batch | measured s | predicted s | error % |", "|---|---|---|---|---|---|"]
    found: dict[bool, list[tuple[str, float]]] = {False: [], True: []}
    for each in study.networks:
        seconds = network_seconds(study.model, each, study.sheets[each.device], without=(each.device,)).seconds
        error = 100 * (seconds / each.latency_s - 1)
        faulty = each.training and bool(each.doubts)
        name = f"{each.name}{', training' if each.training else ''}{' (doubted)' if faulty else ''}"
        lines.append(f"| {short(each.device)} | {name} | {each.sequence} × {each.batch} | {each.latency_s:.4f} | {seconds:.4f} | {error:+.1f} |")
        if not faulty:
            found[each.training].append((each.device, error))
    lines += ["", "| whole networks | device | cases | mean % | worst | bias |", "|---|---|---|---|---|---|"]
    for training, errors in found.items():
        what = "training" if training else "inference"
        for device in sorted({name for name, _ in errors}):
            own = np.array([error for name, error in errors if name == device])
            lines.append(f"| {what} | {short(device)} | {len(own)} | {np.abs(own).mean():.1f} | {np.abs(own).max():.1f} | {own.mean():+.1f} |")
        every = np.abs([error for _, error in errors])
        lines.append(f"| {what} | all (aim: mean 6, worst 20) | {len(every)} | {every.mean():.1f} | {every.max():.1f} | |")
    doubted = [each for each in study.networks if each.doubts]
    lines += ["", *(f"Doubted: {short(each.device)} {each.file.rpartition('/')[2]}: {each.doubts[0]}." for each in doubted)]
    return [*lines, "", _network_coverage(study, found)]


def _network_coverage(study: Study, found: dict[bool, list[tuple[str, float]]]) -> str:
    inside = total = 0
    widths = {}
    for device in study.sheets:
        widths[device] = network_reach(study.model, study.networks, (device,))
        for errors in found.values():
            own = [abs(np.log1p(error / 100)) for name, error in errors if name == device]
            inside, total = inside + sum(error <= widths[device] for error in own), total + len(own)
    ends = np.exp([min(widths.values()), max(widths.values())])
    return f"90 % intervals of whole networks hold {inside} of {total}, at half widths of ×{ends[0]:.2f} to ×{ends[1]:.2f}."


def nodes(study: Study) -> list[str]:
    """Operators of traces above 60 µs, against the aims."""
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in study.networks:
        if each.doubts:
            continue
        listed = [one for one in launched(each) if one.half == "forward" and one.work.kind in FAMILIES and one.work.variant != "embedding"]
        seconds = kernel_seconds(study.model, [one.work for one in listed], study.sheets[each.device], heat=None, without=(each.device,))
        for one, predicted in zip(listed, seconds.tolist(), strict=True):
            measured = each.nodes[one.node].forward_s
            if measured > NODE_LEAST_S and len(each.nodes[one.node].forward) == 1:
                errors[group_of(one.work.kind, one.work.variant)][each.device].append(predicted / measured - 1)
    lines = ["| operators of networks | mean over devices % | aim (NeuSight) | by device | met |", "|---|---|---|---|---|"]
    for group, devices in sorted(errors.items()):
        means = {short(device): percent(own).mean() for device, own in devices.items()}
        mean = float(np.mean(list(means.values())))
        aim, published = AIMS[group]
        by = ", ".join(f"{device} {value:.1f}" for device, value in means.items())
        lines.append(f"| {group} | {mean:.1f} | {aim} ({published}) | {by} | {'yes' if mean <= aim else 'NO'} |")
    return lines


def speed(study: Study) -> str:
    draw = np.random.default_rng(0)
    gpu = study.sheets[next(name for name in study.sheets if "V100" in name)]
    sizes = {name: draw.integers(16, 1025, 50_000).astype(np.float64) for name in ("batch", "m", "n", "k")}

    def best(call: Any) -> float:
        times = []
        for _ in range(5):
            started = time.process_time()
            call()
            times.append(time.process_time() - started)
        return min(times)

    analytic = best(lambda: kernels("gemm", "matmul", sizes, gpu))
    single = best(lambda: kernels("gemm", "linear", {name: sizes[name] for name in ("m", "n", "k")}, gpu))
    learned = best(lambda: answer(study.model, "gemm", "matmul", sizes, gpu))
    calls = []
    mixture = Mixture(study.model.experts["gemm single"], weights(study.model, "gemm single", gpu))
    for _ in range(1000):
        started = time.process_time()
        answer(study.model, "gemm", "linear", {"m": 128, "n": 128, "k": 64}, gpu, mixture=mixture)
        calls.append(time.process_time() - started)
    count = len(sizes["m"])
    return (
        f"Trained in {study.trained_s:.0f} s. Of one core (its own time, so that neighbours do not count): analytical products "
        f"{count / analytic:.2g}/s in batches, {count / single:.2g}/s single; learned {count / learned:.2g}/s; one learned call "
        f"{1e3 * np.median(calls):.2f} ms, p99 {1e3 * np.quantile(calls, 0.99):.2f} ms."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS), help="kinds of experts to choose among, separated by commas")
    parser.add_argument("--out", type=Path, help="write the Markdown fragment here too")
    options = parser.parse_args()
    root = Path(os.environ.get("RIDGELINE_DATA", "")) / "models" / "NeuSight" / "scripts" / "asplos"
    if not os.environ.get("RIDGELINE_DATA") or not root.is_dir():
        text = "The recordings of seven GPUs were left out: RIDGELINE_DATA does not lead to them.\n"
    else:
        study = Study(root, tuple(options.methods.split(",")))
        left = "; ".join(f"{entry.events} {entry.reason}" for entry in study.table.excluded)
        head = f"{len(study.table)} operators of {len(study.sheets)} GPUs (left out: {left}), {len(study.networks)} traced networks."
        text = "\n".join([head, "", *nodes(study), "", *operators(study), "", *networks(study), "", speed(study), ""])
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
