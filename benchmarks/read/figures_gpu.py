"""Whether timelines of devices are read right: Nsight Systems, rocprof and XSpace, against a plain count of each file.

The counts are made here with sqlite3, csv, json and a few lines for protobuf, event by event and with nothing of ridgeline, and compared at a
relative 1e-6; those of MANIFEST.tsv as far as they are written.

    RIDGELINE_DATA=FOLDER python benchmarks/read/figures_gpu.py [--out FILE.md]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ridgeline.core import DEVICE_WORK, EVENT_KINDS, LINK_KINDS, Profile
from ridgeline.readers import read_profile

TOLERANCE = 1e-6
#: (device, what) → figure, in seconds and pieces.
Figures = dict[str, float]
Interval = tuple[int, int]
KERNELS, ALL = ("compute", "communication"), DEVICE_WORK
#: Figures of the manifest with the digits that it gives, and how far off those digits allow to be.
MANIFEST: dict[str, dict[str, tuple[float, float]]] = {
    "h100_2gpu_1s.sqlite": {
        "GPU 0 kernels": (1721, 0), "GPU 1 kernels": (1721, 0), "GPU 0 kernels union": (22.385e-3, 5e-7), "GPU 1 kernels union": (22.444e-3, 5e-7),
        "GPU 0 all union": (962.89e-3, 5e-6), "GPU 0 all span": (969.45e-3, 5e-6),
    },
    "mfu_2gpu_before.sqlite": {
        "GPU 0 kernels": (1993, 0), "GPU 1 kernels": (2017, 0), "GPU 0 kernels sum": (270.876e-3, 5e-7), "GPU 1 kernels sum": (264.325e-3, 5e-7),
        "GPU 0 kernels idle": (0.0967, 5e-5), "GPU 1 kernels idle": (0.1150, 5e-5),
        "GPU 0 all idle": (0.0868, 5e-5), "GPU 1 all idle": (0.1051, 5e-5),
        "GPU 0 communication": (33, 0), "GPU 1 communication": (33, 0), "GPU 0 communication sum": (17.173e-3, 5e-7),
        "GPU 1 communication sum": (8.229e-3, 5e-7), "operators and ranges": (19118, 0),
    },
    "mock.sqlite": {
        "GPU 0 kernels": (2, 0), "GPU 0 kernels sum": (4.129e-6, 5e-10), "GPU 0 all span": (22.453e-3, 5e-7), "GPU 0 all idle": (0.99974, 5e-6),
    },
    "Axes1_mi100_timestamps_first12.csv": {"all": (12, 0), "all sum": (2078060e-9, 0), "all span": (17618902e-9, 0), "all idle": (0.8821, 5e-5)},
    "kernel_MI100_timestamps.csv": {"all sum": (62720e-9, 0), "all span": (170400e-9, 0), "all idle": (0.6319, 5e-5)},
    "kernel_MI200_timestamps.csv": {"all sum": (52160e-9, 0), "all span": (130880e-9, 0), "all idle": (0.6015, 5e-5)},
    "kernel_MI300X_A1_timestamps.csv": {"all sum": (76318e-9, 0), "all span": (118955e-9, 0), "all idle": (0.3584, 5e-5)},
    "908_results.json.gz": {
        "GPU 0 all": (43915, 0), "GPU 0 all sum": (4.441741, 5e-7), "GPU 0 all union": (4.233112, 5e-7), "GPU 0 all span": (15.122023, 1e-6),
        "GPU 0 all idle": (0.72007, 5e-6), "ncclDevKernel_Generic_1": (1310, 0), "ncclDevKernel_Generic_1 sum": (4.158757, 5e-7),
    },
}  # fmt: skip


def measured(name: str, intervals: list[Interval], tick_s: float) -> Figures:
    """Pieces, sum, union, span and idle share of intervals, one after the other."""
    busy, reached = 0, None
    for start, end in sorted(intervals):
        busy += max(0, end - (start if reached is None else max(start, reached)))
        reached = end if reached is None else max(end, reached)
    if reached is None:
        return {}
    span = reached - min(start for start, _ in intervals)
    found = {
        "": float(len(intervals)),
        " sum": sum(end - start for start, end in intervals) * tick_s,
        " union": busy * tick_s,
        " span": span * tick_s,
    }
    return {f"{name}{key}": value for key, value in {**found, " idle": 1 - busy / span if span else 0.0}.items()}


def ours(profile: Profile) -> Figures:
    t = profile.timeline
    assert t is not None
    assert t.kind is not None
    device = np.array([track.device for track in t.tracks])[t.track.values]
    start, length = t.start_tick.values, t.duration_tick.values
    found: Figures = {}

    def add(name: str, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        pairs = zip(start[which].tolist(), (start[which] + length[which]).tolist(), strict=True)
        found.update(measured(name, list(pairs), t.tick_s))

    kinds = {name: np.isin(t.kind.values, [EVENT_KINDS.index(kind) for kind in of]) for name, of in (("kernels", KERNELS), ("all", ALL))}
    kinds["communication"] = t.kind.values == EVENT_KINDS.index("communication")
    for each in sorted(set(device[kinds["all"]].tolist())):
        for name, which in kinds.items():
            add(f"{each} {name}", which & (device == each))
    add("all", kinds["all"])
    add("operators and ranges", np.isin(t.kind.values, [EVENT_KINDS.index(kind) for kind in ("operator", "annotation", "iteration")]))
    for name in ("ncclDevKernel_Generic_1",):
        index = [place for place, text in enumerate(t.strings) if text.startswith(name)]
        add(name, np.isin(t.name.values, index))
    if t.links is not None and t.links.kind is not None:
        found["launches"] = float((t.links.kind.values == LINK_KINDS.index("launch")).sum())
    return found


def plain_nsight(path: Path) -> Figures:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def rows(query: str, table: str) -> list[tuple[int, int, int, str]]:
        return connection.execute(query).fetchall() if table in tables else []

    kernels = rows(
        "SELECT deviceId, start, end, value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName", "CUPTI_ACTIVITY_KIND_KERNEL"
    )
    others = [
        row
        for table in ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
        for row in rows(f"SELECT deviceId, start, end, '' FROM {table}", table)
    ]
    found: Figures = {}
    for device in sorted({row[0] for row in kernels + others}):
        mine = [row for row in kernels if row[0] == device]
        found |= measured(f"GPU {device} kernels", [row[1:3] for row in mine], 1e-9)
        found |= measured(f"GPU {device} communication", [row[1:3] for row in mine if "nccl" in row[3]], 1e-9)
        found |= measured(f"GPU {device} all", [row[1:3] for row in mine + others if row[0] == device], 1e-9)
    found |= measured("all", [row[1:3] for row in kernels + others], 1e-9)
    ranges = rows("SELECT start, end, 0, '' FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND end IS NOT NULL", "NVTX_EVENTS")
    found |= measured("operators and ranges", [row[:2] for row in ranges], 1e-9)
    launches = 0
    calls = set(connection.execute("SELECT globalTid >> 24, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME"))
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        if f"CUPTI_ACTIVITY_KIND_{table}" in tables:
            work = connection.execute(f"SELECT globalPid >> 24, correlationId FROM CUPTI_ACTIVITY_KIND_{table}")
            launches += sum(each in calls for each in work)
    return {**found, "launches": float(launches)}


def plain_rocprof(path: Path) -> Figures:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    begun, ended = ("BeginNs", "EndNs") if "BeginNs" in rows[0] else ("Start_Timestamp", "End_Timestamp")
    return measured("all", [(int(row[begun]), int(row[ended])) for row in rows], 1e-9)


def plain_rocprof_json(path: Path) -> Figures:
    with gzip.open(path) as file:
        (tool,) = json.load(file)["rocprofiler-sdk-tool"]
    names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in tool["kernel_symbols"]}
    rows = [
        (each["start_timestamp"], each["end_timestamp"], names[each["dispatch_info"]["kernel_id"]])
        for each in tool["buffer_records"]["kernel_dispatch"]
    ]
    generic = [row[:2] for row in rows if row[2].startswith("ncclDevKernel_Generic_1")]
    return {**measured("GPU 0 all", [row[:2] for row in rows], 1e-9), **measured("ncclDevKernel_Generic_1", generic, 1e-9)}


def plain_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Fields of a sound message."""
    place = 0

    def varint() -> int:
        nonlocal place
        value, shift = 0, 0
        while True:
            byte = data[place]
            place, value, shift = place + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while place < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
            place += size
            yield key >> 3, data[place - size : place]


def plain_xplane(path: Path) -> Figures:
    found: Figures = {}
    for _, plane in (pair for pair in plain_fields(path.read_bytes()) if pair[0] == 1 and isinstance(pair[1], bytes)):
        assert isinstance(plane, bytes)
        name = next((value for number, value in plain_fields(plane) if number == 2), b"")
        intervals: list[Interval] = []
        for _, line in (pair for pair in plain_fields(plane) if pair[0] == 3):
            assert isinstance(line, bytes)
            base = next((value for number, value in plain_fields(line) if number == 3), 0)
            for _, event in (pair for pair in plain_fields(line) if pair[0] == 4):
                assert isinstance(event, bytes)
                times = {number: value for number, value in plain_fields(event) if isinstance(value, int)}
                assert isinstance(base, int)
                start = base * 1000 + times.get(2, 0)
                intervals.append((start, start + times.get(3, 0)))
        if isinstance(name, bytes) and name.startswith(b"/device:GPU:"):
            found |= measured(f"GPU {name.rpartition(b':')[2].decode()} all", intervals, 1e-12)
    return found


FILES: tuple[tuple[str, Callable[[Path], Figures]], ...] = (
    ("nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite", plain_nsight),
    ("nsys-ai/tests/fixtures/mfu_2gpu_before.sqlite", plain_nsight),
    ("nsys-ai/tests/fixtures/mock.sqlite", plain_nsight),
    ("omniperf/Axes1_mi100_timestamps_first12.csv", plain_rocprof),
    ("omniperf/kernel_MI100_timestamps.csv", plain_rocprof),
    ("omniperf/kernel_MI200_timestamps.csv", plain_rocprof),
    ("omniperf/kernel_MI300X_A1_timestamps.csv", plain_rocprof),
    ("TraceLens/rocprof/908_results.json.gz", plain_rocprof_json),
    ("TraceLens/test_data_jax_te_fused_attn_categorization/934987a2fc2f.xplane.pb", plain_xplane),
)


def compared(path: Path, plain: Callable[[Path], Figures]) -> tuple[str, bool]:
    """A line of the table of results, and whether all agrees."""
    found, counted = ours(read_profile(path)), plain(path)
    off = [name for name, value in counted.items() if abs(found.get(name, float("nan")) - value) > TOLERANCE * abs(value) or name not in found]
    told = MANIFEST.get(path.name, {})
    far = [name for name, (value, digits) in told.items() if not abs(found.get(name, float("nan")) - value) <= digits + 1e-9 * abs(value)]
    verdict = "agrees" if not off and not far else f"DIFFERS: {', '.join([*off, *(f'{name} (manifest)' for name in far)])}"
    return f"| `{path.name}` | {len(counted)} | {len(told)} | {verdict} |", not off and not far


def main() -> int:
    """Compare every file that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the table as Markdown")
    arguments = parser.parse_args()
    folder = os.environ.get("RIDGELINE_DATA")
    if not folder:
        print("skipped: RIDGELINE_DATA names no folder with recordings")
        return 0
    lines = ["| file | figures counted | of the manifest | |", "|---|---|---|---|"]
    good = True
    for name, plain in FILES:
        path = next((each for each in (Path(folder) / name, Path(folder) / "traces" / name) if each.exists()), None)
        if path is None:
            lines.append(f"| `{Path(name).name}` | not there | | |")
            continue
        line, agrees = compared(path, plain)
        lines.append(line)
        good &= agrees
    text = "\n".join(["## Figures of device timelines", "", *lines, ""])
    print(text)
    if arguments.out:
        arguments.out.write_text(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
