"""Whether counters of kernels and tables of vendors' tools are read right: Nsight Compute, TensorRT and OpenVINO, against a plain count of each file.

The counts are made here with csv and json alone, with exact decimals and nothing of ridgeline, and compared at a relative 1e-6; those of MANIFEST.tsv
as far as they are written.

    RIDGELINE_DATA=FOLDER python benchmarks/read/figures_tables.py [--out FILE.md]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from ridgeline.core import Profile
from ridgeline.diagnosis.traces.kernels import kernel_findings
from ridgeline.readers import read_profile

TOLERANCE = 1e-6
Figures = dict[str, float]
#: Figures of the manifest with the digits that it gives, and how far off those digits allow to be.
MANIFEST: dict[str, dict[str, tuple[float, float]]] = {
    "gemm_naive.csv": {"duration_s": (9_589_248e-9, 0), "dram_byte_per_s": (8.43e9, 5e6), "compute_share": (0.9732, 0), "l2_hit_rate": (1.0039, 0)},
    "gemm_tiled.csv": {"duration_s": (10_195_552e-9, 0), "dram_byte_per_s": (5.56e9, 5e6), "compute_share": (0.8890, 0)},
    "saxpy.csv": {"duration_s": (292_928e-9, 0), "dram_byte_per_s": (607.15e9, 5e6), "compute_share": (0.2230, 0)},
    "fp16/resnet.onnx.engine.profile.json": {"sum": (1.0168e-3, 5e-8), "layers": (36, 0), "reformats": (12, 0), "reformat share": (0.087, 5e-4)},
    "fp32/resnet.onnx.engine.profile.json": {"sum": (2.1238e-3, 5e-8), "layers": (32, 0), "reformats": (8, 0), "reformat share": (0.021, 5e-4)},
    "qat/resnet-qat.onnx.engine.profile.json": {"sum": (1.0957e-3, 5e-8), "layers": (37, 0), "reformats": (3, 0), "reformat share": (0.042, 5e-4)},
    "qat-residual/resnet-qat-residual.onnx.engine.profile.json": {"sum": (0.7311e-3, 5e-8), "layers": (26, 0), "reformats": (0, 0)},
    "qat-residual-qgap/resnet-qat-residual-qgap.onnx.engine.profile.json": {"sum": (0.6728e-3, 5e-8), "layers": (24, 0), "reformats": (0, 0)},
    "fp16/resnet.onnx.engine.timing.json": {"wall": (0.8624e-3, 5e-8)},
    "fp32/resnet.onnx.engine.timing.json": {"wall": (1.9982e-3, 5e-8)},
    "qat/resnet-qat.onnx.engine.timing.json": {"wall": (0.8823e-3, 5e-8)},
}


def kernels_ours(profile: Profile) -> Figures:
    assert profile.kernels is not None
    (kernel,) = profile.kernels.kernels
    return {**kernel.figures, "duration_s": kernel.duration_s or 0.0, **{f"raw {name}": value for name, value in kernel.raw.items()}}


def kernels_plain(path: Path) -> Figures:
    lines = path.read_text("utf-8-sig").splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    scales = {"ns": Decimal("1e-9"), "%": Decimal("0.01")}
    metrics = {
        row["Metric Name"]: Decimal(row["Metric Value"].replace(",", "")) * scales.get(row["Metric Unit"], Decimal(1))
        for row in csv.DictReader(lines[at:])
    }
    sectors, requests = (
        sum(value for name, value in metrics.items() if name.startswith(f"l1tex__t_{what}_pipe_lsu_mem_global")) for what in ("sectors", "requests")
    )
    dram = metrics["dram__bytes_op_read.sum"] + metrics["dram__bytes_op_write.sum"]
    return {
        "sectors_per_request": float(sectors / requests),
        "dram_bytes": float(dram),
        "dram_byte_per_s": float(dram / metrics["gpu__time_duration.sum"]),
        "duration_s": float(metrics["gpu__time_duration.sum"]),
        **{f"raw {name}": float(value) for name, value in metrics.items()},
    }


def layers_ours(profile: Profile) -> Figures:
    (table,) = profile.tables
    return _of_layers([(row.kind == "Reformat", row.total_s) for row in table.rows])


def layers_plain(path: Path) -> Figures:
    records = json.loads(path.read_text(), parse_float=Decimal, parse_int=Decimal)[1:]
    return _of_layers([(record["name"].startswith("Reformatting"), float(record["averageMs"] / 1000)) for record in records])


def _of_layers(layers: list[tuple[bool, float]]) -> Figures:
    whole = sum(seconds for _, seconds in layers)
    reformats = [seconds for reformat, seconds in layers if reformat]
    return {"sum": whole, "layers": len(layers), "reformats": len(reformats), "reformat share": sum(reformats) / whole}


def times_ours(profile: Profile) -> Figures:
    (table,) = profile.tables
    assert profile.timeline is not None
    devices = {place for place, track in enumerate(profile.timeline.tracks) if track.device}
    on_device = [track in devices for track in profile.timeline.track.values.tolist()]
    work = profile.timeline.duration_tick.values[on_device]
    return {"inferences": table.iterations or 0, "wall": table.wall_s or 0.0, "events": len(work), "work": float(work.sum()) / 1e9}


def times_plain(path: Path) -> Figures:
    records = json.loads(path.read_text(), parse_float=Decimal, parse_int=Decimal)
    return {
        "inferences": len(records),
        "wall": float(sum(record["latencyMs"] for record in records) / len(records) / 1000),
        "events": sum(1 for record in records for key in ("h2dMs", "computeMs", "d2hMs") if record[key] or key == "computeMs"),
        "work": float(sum(record[key] for record in records for key in ("h2dMs", "computeMs", "d2hMs")) / 1000),
    }


def nodes_ours(profile: Profile) -> Figures:
    (table,) = profile.tables
    return {
        "executed": len(table.rows),
        "sum": sum(row.total_s for row in table.rows),
        "cpu": sum(row.numbers["cpu_s"] for row in table.rows),
        "not run": sum(entry.events for entry in profile.excluded),
    }


def nodes_plain(path: Path) -> Figures:
    if path.suffix == ".json":
        report = json.loads(path.read_text())
        nodes = (report.get("detailed_performance") or [report["avg_performance"]])[0]["nodes"]
        rows = [(node["status"], node["real_time"], node["cpu_time"]) for node in nodes]
    else:
        rows = [(row[1], row[4], row[5]) for row in csv.reader(path.read_text().splitlines()[1:], delimiter=";") if len(row) == 6 and row[1]]
    executed = [(Decimal(real), Decimal(cpu)) for status, real, cpu in rows if status == "Status.EXECUTED"]
    return {
        "executed": len(executed),
        "sum": float(sum((real for real, _ in executed), Decimal(0)) / 1000),
        "cpu": float(sum((cpu for _, cpu in executed), Decimal(0)) / 1000),
        "not run": len(rows) - len(executed),
    }


def differing(ours: Figures, expected: Figures, manifest: dict[str, tuple[float, float]]) -> list[str]:
    faults = [
        f"{name}: {ours.get(name)!r} for {value!r}"
        for name, value in expected.items()
        if name not in ours or abs(ours[name] - value) > TOLERANCE * max(abs(value), 1e-12)
    ]
    for name, (value, slack) in manifest.items():
        if name not in ours or abs(ours[name] - value) > max(slack, TOLERANCE * abs(value)):
            faults.append(f"manifest's {name}: {ours.get(name)!r} for {value!r}")
    return faults


Check = tuple[str, str, Callable[[Profile], Figures], Callable[[Path], Figures]]
CHECKS: tuple[Check, ...] = (
    ("GPU-Roofline-Profiler/**/ncu/*.csv", "nsight-compute", kernels_ours, kernels_plain),
    ("TensorRT/**/*.profile.json", "tensorrt", layers_ours, layers_plain),
    ("TensorRT/**/*.timing.json", "tensorrt", times_ours, times_plain),
    ("generated/openvino/*_counters_report.*", "openvino", nodes_ours, nodes_plain),
)


def rows_of(folder: Path) -> list[tuple[str, str, str]]:
    """(file, verdict, note) of every file that is there."""
    made = []
    for pattern, format, ours, plain in CHECKS:
        for path in sorted(folder.glob(pattern)):
            name = str(path.relative_to(folder))
            profile = read_profile(path)
            expected = plain(path)
            manifest = next((figures for end, figures in MANIFEST.items() if name.endswith("/" + end)), {})
            faults = differing(ours(profile), expected, manifest) if profile.format == format else [f"read as {profile.format}"]
            note = "; ".join(faults) or f"{len(expected)} figures of a plain count and {len(manifest)} of the manifest"
            made.append((name, "FAILED" if faults else "equal", note))
    return [*made, *_ceiling(folder)]


def _ceiling(folder: Path) -> list[tuple[str, str, str]]:
    """The copy of vectors runs at 102.9 % of the measured ceiling: named as bound by memory, and the ceiling as passed."""
    made = []
    for path in sorted(folder.glob("GPU-Roofline-Profiler/**/saxpy.csv")):
        kernels = read_profile(path).kernels
        assert kernels is not None
        found = kernel_findings(kernels, dram_peak_byte_per_s=590_061_393_638.3)
        shares = [(one, evidence.quantity) for one in found for evidence in one.evidence if evidence.name == "dram_share"]
        right = [one for one, share in shares if one.cause == "streaming" and abs(share.value - 1.029) < 5e-4 and "above its ceiling" in share.origin]
        note = "102.9 % of the measured ceiling: streaming, and the ceiling told as passed"
        made.append((f"{path.relative_to(folder)}, its finding", "equal" if right else "FAILED", note))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    data = os.environ.get("RIDGELINE_DATA", "")
    folder = str(Path(data) / "traces") if data else ""
    if not folder or not (Path(folder) / "MANIFEST.tsv").exists():
        print("figures_tables: RIDGELINE_DATA names no folder with recordings; nothing is checked", file=sys.stderr)
        return 0
    made = rows_of(Path(folder))
    text = "## Figures of kernels and of vendors' tables\n\n| file | | |\n|---|---|---|\n"
    text += "".join(f"| {name} | {verdict} | {note} |\n" for name, verdict, note in made)
    print(text)
    if options.out:
        options.out.write_text(text)
    return int(any(verdict == "FAILED" for _, verdict, _ in made))


if __name__ == "__main__":
    sys.exit(main())
