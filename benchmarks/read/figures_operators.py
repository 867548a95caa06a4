"""Whether profiles of operators and counts are read right: TFLite logs, onnxruntime profiles and `perf stat`, against a plain count of each file.

The counts are made here with split and json alone, with exact decimals and nothing of ridgeline, and compared at a relative 1e-6; for the two logs of
TFLite they are the figures of MANIFEST.tsv and those that stand in the file.

    RIDGELINE_DATA=FOLDER python benchmarks/read/figures_operators.py [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from ridgeline.core import Profile
from ridgeline.readers import read_profile
from ridgeline.timeline.partitions import partition_report

TOLERANCE = 1e-6
Figures = dict[str, float | None]


def tflite_ours(profile: Profile) -> Figures:
    """Of the file: seconds of one run of all rows, of convolutions, and the wall."""
    table = next(table for table in profile.tables if table.of == "operators" and not table.within)
    rows = [row for each in profile.tables if each.per_call and not each.within for row in each.rows]
    return {
        "operators": sum(row.total_s for row in table.rows),
        "all rows": sum(row.total_s for row in rows),
        "CONV_2D": sum(row.total_s for row in table.rows if row.kind == "CONV_2D"),
        "DEPTHWISE_CONV_2D": sum(row.total_s for row in table.rows if row.kind == "DEPTHWISE_CONV_2D"),
        "wall": table.wall_s,
    }


def tflite_readme() -> Figures:
    """Figures of the manifest: sum 79.449 ms (CONV 70.692, DW 8.690), wall 79.7609 ms."""
    return {"operators": 79.449e-3, "all rows": 79.449e-3, "CONV_2D": 70.692e-3, "DEPTHWISE_CONV_2D": 8.690e-3, "wall": 79.7609e-3}


def tflite_litert() -> Figures:
    """From the log: 0.003 + 0.382 ms of operators, 0.014 + 0.012 ms of buffers and 0.291 ms once in 3166 runs; 464.545 µs a run."""
    operators = 0.385e-3
    return {"operators": operators, "all rows": operators + 0.026e-3 + 0.291e-3 / 3166, "wall": 464.545e-6}


def onnxruntime_ours(profile: Profile) -> Figures:
    assert profile.timeline is not None
    table, made = profile.tables[0], profile.timeline
    ticks = int(made.duration_tick.values.sum())
    return {
        "events": len(made),
        "all µs": ticks,
        "nodes": sum((row.own_s or 0.0) for row in table.rows) * (table.iterations or 1),
        "runs": table.iterations,
        "wall": table.wall_s,
        "reorders": sum(row.total_s for row in table.rows if row.texts.get("purpose") == "layout") * (table.iterations or 1),
    }


def onnxruntime_plain(path: Path) -> Figures:
    events = json.loads(path.read_text(), parse_int=Decimal)
    nodes = [event for event in events if event["cat"] == "Node" and event["name"].endswith("_kernel_time")]
    runs = [event["dur"] for event in events if event["name"] == "model_run"]
    reorders = [event["dur"] for event in nodes if event["args"]["op_name"].startswith("Reorder")]
    return {
        "events": len(events),
        "all µs": float(sum(event["dur"] for event in events)),
        "nodes": float(sum(event["dur"] for event in nodes)) / 1e6,
        "runs": len(runs),
        "wall": float(sum(runs) / len(runs)) / 1e6,
        "reorders": float(sum(reorders)) / 1e6,
    }


def perf_ours(profile: Profile) -> Figures:
    counters = profile.counters
    assert counters is not None
    found: Figures = dict(zip(counters.names, counters.counts.values.tolist(), strict=True))
    found["left out"] = sum(entry.events for entry in profile.excluded)
    return found


def perf_plain(path: Path) -> Figures:
    """Sums by event of the first number of each line; clocks are in milliseconds."""
    sums: dict[str, Decimal] = {}
    missing = 0
    for line in path.read_text().splitlines():
        fields = _fields(line)
        if fields is None:
            continue
        value, event = fields
        if value.startswith("<not"):
            missing += 1
        else:
            sums[event] = sums.get(event, Decimal(0)) + Decimal(value)
    found: Figures = {name: float(total) / (1000 if name.endswith("-clock") else 1) for name, total in sums.items()}
    found["left out"] = missing
    return found


def _fields(line: str) -> tuple[str, str] | None:
    """(count, event) of a line of any of the four files."""
    if line.startswith("{"):
        record = json.loads(line)
        return record["counter-value"], record["event"]
    if line.count(";") > 4 or line.count(",") > 4:
        separator = ";" if ";" in line else ","
        fields = [field.strip() for field in line.split(separator)]
        at = 1 if separator == ";" else 0
        return fields[at], fields[at + 2]
    words = line.replace("<not supported>", "<not_supported>").split("#")[0].split()
    return (words[0], words[-1]) if len(words) in (2, 3) and words[0][0] in "0123456789<" and words[-1] not in ("user", "sys") else None


def differing(ours: Figures, expected: Figures) -> list[str]:
    faults = []
    for name, value in expected.items():
        found = ours.get(name)
        if value is None or found is None or abs(found - value) > TOLERANCE * max(abs(value), 1e-12):
            faults.append(f"{name}: {found!r} for {value!r}")
    return faults


def lines(folder: Path) -> list[tuple[str, str, str]]:
    """(file, verdict, note) of every file that is there."""
    made = []
    for name in ("LiteRT/benchmark_readme_mobilenet_v1_op_profile.txt", "LiteRT/litert_fc_fp32_kleidiai_log.txt"):
        expected = tflite_readme() if "readme" in name else tflite_litert()
        made.append(_line(folder, name, "tflite", tflite_ours, lambda path, expected=expected: expected))
    for path in sorted(folder.glob("generated/ort_*.json")):
        made.append(_line(folder, str(path.relative_to(folder)), "onnxruntime", onnxruntime_ours, onnxruntime_plain))
    for path in sorted(folder.glob("generated/stat_*")):
        made.append(_line(folder, str(path.relative_to(folder)), "perf-stat", perf_ours, perf_plain))
    return made


def _line(folder: Path, name: str, format: str, ours: Callable[[Profile], Figures], plain: Callable[[Path], Figures]) -> tuple[str, str, str]:
    path = folder / name
    if not path.exists():
        return name, "absent", ""
    profile = read_profile(path)
    found, expected = ours(profile), plain(path)
    faults = differing(found, expected) + ([f"read as {profile.format}"] if profile.format != format else [])
    report = partition_report(profile)
    note = f"{len(expected)} figures" + (f", {report.count} partition(s), {report.nodes} nodes" if report is not None else "")
    return name, "WRONG" if faults else "right", "; ".join(faults) or note


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    data = os.environ.get("RIDGELINE_DATA", "")
    folder = str(Path(data) / "traces") if data else ""
    if not folder or not Path(folder).is_dir():
        print("RIDGELINE_DATA names no folder of recordings: nothing was checked", file=sys.stderr)
        return 0
    made = lines(Path(folder))
    table = ["| file | figures | |", "|---|---|---|", *(f"| {name} | {verdict} | {note} |" for name, verdict, note in made)]
    text = "\n".join(table) + "\n"
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text)
    return int(any(verdict == "WRONG" for _, verdict, _ in made))


if __name__ == "__main__":
    sys.exit(main())
