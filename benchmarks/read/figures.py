"""Whether traces are read right: for every Chrome and PyTorch trace of a folder, what the reader says against a plain count of the JSON.

The count is made from `json.load` alone, with exact decimal times and nothing of ridgeline: GPU events, the sum of their durations, their union and
the time from the first to the last. Where the folder has a MANIFEST.tsv with such figures, those are compared too, at a relative 1e-6.

    RIDGELINE_DATA=FOLDER python benchmarks/read/figures.py [--out FILE.md]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from ridgeline.core.errors import ReadError
from ridgeline.core.timeline import DEVICE_WORK, EVENT_KINDS
from ridgeline.readers import read_profile
from ridgeline.timeline.intervals import union_length

WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "mtia_ccp_events"}
#: Records of MTIA queues that are no work.
NO_WORK = {"event_wait", "event_record"}
FOLDERS = ("HolisticTraceAnalysis", "TraceLens", "kineto", "malformed", "speedscope/trace-event", "speedscope/Chrome", "chakra")
FIGURES = re.compile(r"GPU events (\d+); sum ([\d.]+) us; union busy ([\d.]+); span ([\d.]+); idle ([\d.]+)%")


def plain(path: Path) -> dict[str, Decimal | int] | None:
    """Figures of device work counted from the JSON; none if it is no JSON or no trace."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    try:
        document = json.loads(data, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return None
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        return None
    spans = [event for event in events if isinstance(event, dict) and event.get("ph") == "X" and "dur" in event]
    chosen = [event for event in spans if event.get("cat") in WORK and event.get("name") not in NO_WORK]
    work = sorted((number(event["ts"]), number(event["dur"])) for event in chosen)
    found: dict[str, Decimal | int] = {
        "spans": len(spans),
        "span_sum": sum((number(event["dur"]) for event in spans), Decimal(0)),
        "events": len(work),
    }
    if work:
        # (ts + dur) − ts in doubles, as some published figures were made: for times since 1970 it is off by up to half a microsecond an event.
        doubles = sum((float(start) + float(duration)) - float(start) for start, duration in work)
        found |= {
            "doubles": Decimal(repr(doubles)),
            "sum": sum(duration for _, duration in work),
            "union": union(work),
            "span": max(sum(each) for each in work) - work[0][0],
        }
    return found


def number(value: Any) -> Decimal:
    return Decimal(str(value))


def union(work: list[tuple[Decimal, Decimal]]) -> Decimal:
    total, reached = Decimal(0), work[0][0]
    for start, duration in work:
        end = start + duration
        total += max(Decimal(0), end - max(start, reached))
        reached = max(reached, end)
    return total


def ours(path: Path) -> dict[str, Decimal | int] | str:
    """The same by the reader, in microseconds; its refusal as text."""
    try:
        profile = read_profile(path, format="chrome")
    except ReadError as error:
        return str(error)
    timeline = profile.timeline
    assert timeline is not None
    start, duration = timeline.start_tick.values, timeline.duration_tick.values
    kinds = np.array(EVENT_KINDS)[timeline.kind.values] if timeline.kind is not None else np.full(len(start), "other")
    on_device = np.array([bool(track.device) for track in timeline.tracks], bool)[timeline.track.values] if len(start) else np.empty(0, bool)
    work = np.isin(kinds, DEVICE_WORK) & on_device
    total = Decimal(int(duration.sum())) / 1000
    begins = len(start) - 0
    found: dict[str, Decimal | int] = {
        "spans": begins,
        "span_sum": total,
        "events": int(work.sum()),
        "excluded": sum(e.events for e in profile.excluded),
    }
    if work.any():
        ends = start + duration
        found["sum"] = Decimal(int(duration[work].sum())) / 1000
        found["union"] = Decimal(int(union_length(start[work], ends[work]))) / 1000
        found["span"] = Decimal(int(ends[work].max() - start[work].min())) / 1000
    return found


def differing(one: dict[str, Decimal | int], other: dict[str, Decimal | int], tolerance: Decimal, keys: tuple[str, ...]) -> list[str]:
    """Keys whose values differ by more than the tolerance, relative to the larger."""
    return [
        f"{key} {one.get(key)} for {other.get(key)}"
        for key in keys
        if abs(Decimal(one.get(key, 0)) - Decimal(other.get(key, 0))) > tolerance * max(abs(Decimal(other.get(key, 0))), 1)
    ]


def published(row: dict[str, str]) -> dict[str, Decimal | int] | None:
    """Figures of the manifest."""
    found = FIGURES.search(row.get("expected") or "")
    if found is None:
        return None
    return dict(zip(("events", "sum", "union", "span"), map(Decimal, found.groups()[:4]), strict=True))


def check(path: Path, name: str, manifest: dict[str, dict[str, str]]) -> tuple[str, str]:
    """One line of the table: the verdict and what stands behind it."""
    counted, read = plain(path), ours(path)
    if isinstance(read, str):
        return ("refused" if counted is None or not counted["spans"] else "WRONG"), read[:160]
    faults = []
    expected = published(manifest.get(name, {}))
    if counted is None:
        note = "no plain JSON: nothing to count it with"
    else:
        note = f"{counted['events']} GPU events"
        if not read["excluded"]:
            faults += differing(read, counted, Decimal(0), ("events", "sum", "union", "span"))
            if read["spans"] == counted["spans"]:
                faults += differing(read, counted, Decimal("1e-9"), ("span_sum",))
    if expected is not None:
        off = differing(read, expected, Decimal("1e-6"), ("events", "sum", "union", "span"))
        if off and counted is not None and not differing({"sum": counted["doubles"]}, expected, Decimal("1e-6"), ("sum",)):
            note += f", published from doubles ({expected['sum']} for {counted['sum']})"
            off = differing(read, expected, Decimal("1e-4"), ("events", "sum", "union", "span"))
        else:
            note += ", as published"
        faults += off
    if read["excluded"]:
        note += f", {read['excluded']} left out"
    return ("WRONG" if faults else "right"), "; ".join(faults) or note


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    data = os.environ.get("RIDGELINE_DATA")
    if not data:
        print("RIDGELINE_DATA names no folder of traces: nothing to check", file=sys.stderr)
        return 0
    root = Path(data)
    root = root / "traces" if (root / "traces").is_dir() else root
    manifest = (
        {row["file"]: row for row in csv.DictReader((root / "MANIFEST.tsv").open(), delimiter="\t")} if (root / "MANIFEST.tsv").exists() else {}
    )
    lines, wrong = ["| file | verdict | |", "|---|---|---|"], 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file() or not re.search(r"\.json(\.gz)?$", path.name) or "rocprof" in path.parts or path.name.endswith("_et.json.gz"):
                continue
            name = str(path.relative_to(root))
            verdict, note = check(path, name, manifest)
            wrong += verdict == "WRONG"
            lines.append(f"| {name} | {verdict} | {note} |")
    text = "\n".join(lines) + f"\n\n{wrong} wrong of {len(lines) - 2}.\n"
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
