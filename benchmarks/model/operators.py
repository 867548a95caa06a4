"""Correctors of operators on recordings: NeuSight's fp32 kernels, rows, shapes and devices held out in turn; and how fast a trained model answers.

    RIDGELINE_DATA=FOLDER python benchmarks/model/operators.py [--rows N] [--by shape,device] [--out FILE.md]

Reads `$RIDGELINE_DATA/models/NeuSight/scripts/asplos`; without it only the speed is measured, on made rows, and the fragment says so. Of each family
and device at most N rows are drawn (seed 0), since the question here is how far correctors carry, not how they do with ten times the rows.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import LatencyTable, ValidationReport, Workload
from ridgeline.device import find
from ridgeline.flows.model_validate import held_out
from ridgeline.model.operators.estimates import estimates
from ridgeline.model.operators.preparing import Prepared, prepared
from ridgeline.model.operators.training import Settings, train_prepared
from ridgeline.readers.latencies import read_latencies

Floats = NDArray[np.float64]
#: A kind of operator → aim of its mean error in %, for devices left out.
AIMS = {"gemm": 10, "elementwise": 14, "softmax": 12, "normalisation": 25}


def drawn(table: LatencyTable, most: int) -> LatencyTable:
    """At most so many rows of each family and device."""
    codes = table.codes("kind", "device")
    draw = np.random.default_rng(0)
    at = [draw.permutation(np.flatnonzero(codes == code))[:most] for code in np.unique(codes)]
    return table.rows(np.sort(np.concatenate(at)))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def errors(report: ValidationReport, note: str) -> list[str]:
    found = report.overall
    lines = [
        f"Held out by {report.held_out}, {report.test_rows} rows: mean {percent(found.mape)} %, median {percent(found.median)}, "
        f"p90 {percent(found.p90)}, worst {percent(found.largest)}; inside {percent(found.coverage.value if found.coverage else 0)} % {note}",
        "",
        "| group | rows | mean % | median | p90 | worst | Spearman | inside % | aim |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for group in report.groups:
        if group.by in ("kind", "device", "fold") and not (group.by == "fold" and report.held_out == "device"):
            each, aim = group.errors, AIMS.get(group.name) if report.held_out == "device" else None
            inside = percent(each.coverage.value) if each.coverage else "-"
            lines.append(
                f"| {group.by} {group.name} | {each.rows} | {percent(each.mape)} | {percent(each.median)} | {percent(each.p90)} | "
                f"{percent(each.largest)} | {each.spearman or 0:.3f} | {inside} | {aim or ''} |"
            )
    worst = report.worst[0]
    return [*lines, "", f"The worst: {worst.what} on {worst.device}, predicted ÷ measured {worst.ratio:.3g}.", ""]


def speed(found: Prepared) -> list[str]:
    """Answers a second in batch, and one at a time."""
    model = train_prepared(found, Settings(methods=("mean",)))
    group = max(found.groups, key=lambda each: len(each.at))
    work: list[Workload] = [found.workloads[index] for index in group.at.tolist()]
    work = (work * (1 + 100_000 // len(work)))[:100_000]
    formula = estimates(work, group.device)
    started = time.perf_counter()
    model.correct(work, formula, group.device)
    batch = len(work) / (time.perf_counter() - started)
    calls = []
    for each in work[:2000]:
        own = estimates([each], group.device)
        started = time.perf_counter()
        model.correct([each], own, group.device)
        calls.append(time.perf_counter() - started)
    p50, p99 = np.quantile(calls, [0.5, 0.99]) * 1e3
    return [
        f"Corrections, all three models: {batch:.3g} a second in batch (aim 5e4); one call median {p50:.2f} ms, p99 {p99:.2f} ms (aim 1), "
        "estimates apart.",
        "",
    ]  # fmt: skip


def made() -> LatencyTable:
    draw = np.random.default_rng(0)
    sizes = {name: np.exp(draw.uniform(2, 8, 1000)).astype(int) for name in ("m", "n", "k")}
    work = [Workload(kind="gemm", sizes={name: int(values[at]) for name, values in sizes.items()}) for at in range(1000)]
    seconds = estimates(work, find("amd epyc 7763")).latency_s * np.exp(0.1 * draw.standard_normal(1000))
    return LatencyTable.of(latency_s=seconds, kind="gemm", device="AMD EPYC 7763", precision="fp32", sizes=sizes)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--by", default="shape,device")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    root = Path(os.environ.get("RIDGELINE_DATA", ""), "models", "NeuSight", "scripts", "asplos")
    lines = ["## Correctors of operators", ""]
    if not os.environ.get("RIDGELINE_DATA") or not root.exists():
        lines += ["RIDGELINE_DATA names no folder with NeuSight's recordings: only the speed was measured, on made rows.", ""]
        lines += speed(prepared(made(), {"AMD EPYC 7763": find("amd epyc 7763")}))
    else:
        table = drawn(read_latencies(root), options.rows)
        found = prepared(table, {name: find(name) for name in table.devices})
        lines += [f"{len(found.table)} of {len(table)} rows of {len(table.devices)} devices, NeuSight, fp32. Left out:", ""]
        lines += [f"- {entry.events}: {entry.reason}" for entry in found.table.excluded] + [""]
        for by in options.by.split(","):
            started = time.perf_counter()
            report = held_out(found, by=by, settings=Settings(), report=lambda label, fraction: print(label, file=sys.stderr))
            lines += errors(report, f"({time.perf_counter() - started:.0f} s)")
        lines += speed(found)
    text = "\n".join(lines)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
