"""Σ operators against the instrumented wall, and that wall against an independent timer, on real models.

Three ONNX models with trained weights (files, text, speech) and two torch modules. Each repetition prepares the target in a fresh process and
takes the operator profile between bursts of clean calls. The gap (wall − union of operator intervals) is printed twice: from the profile's own
wall and from a timer around the same calls.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from importlib.util import find_spec
from pathlib import Path

from ridgeline.core import RidgelineError
from ridgeline.machine import Worker
from ridgeline.measurement.agent import OperatorsReport, PreparedReport
from ridgeline.targets import parse_target

HERE = Path(__file__).resolve().parent
#: name → (package, path inside it) of models that packages carry.
MODELS = {
    "file types (magika)": ("magika", "models/*/model.onnx"),
    "text detection (rapidocr)": ("rapidocr_onnxruntime", "models/*det*.onnx"),
    "speech (silero-vad)": ("silero_vad", "data/silero_vad.onnx"),
}
MODULES = {"convolutions (torch)": "convolutional", "encoder (torch)": "encoder"}


def targets() -> dict[str, str]:
    """Name → TARGET of what is installed here; what is not is said."""
    found: dict[str, str] = {}
    for name, (package, pattern) in MODELS.items():
        spec = find_spec(package)
        files = sorted(Path(spec.submodule_search_locations[0]).glob(pattern)) if spec and spec.submodule_search_locations else []
        if files:
            found[name] = str(files[-1])
        else:
            print(f"skipped: {name}: the package {package} is not installed", file=sys.stderr)
    if find_spec("torch"):
        found.update({name: f"{HERE / 'modules.py'}:{function}" for name, function in MODULES.items()})
    else:
        print("skipped: the torch modules: torch is not installed", file=sys.stderr)
    return found


def once(target: str) -> OperatorsReport:
    """One profile in a process of its own."""
    with Worker() as worker:
        worker.call("ridgeline.measurement.agent:prepare", {"spec": parse_target(target)}, PreparedReport)
        return worker.call("ridgeline.measurement.agent:operators", {"seconds": 2.0}, OperatorsReport)


def row(name: str, reports: list[OperatorsReport]) -> str:
    """One line of the table: medians over the repetitions, with the spread of the two ratios."""
    tables = [report.table for report in reports]
    shares = [table.operators_s.value / table.wall_s.value for table in tables]
    timers = [table.wall_s.value / table.check_wall_s for table in tables if table.check_wall_s]
    gaps = [table.wall_s.value - table.operators_s.value for table in tables]
    checks = [table.check_wall_s - table.operators_s.value for table in tables if table.check_wall_s]
    observer = [report.ratio.value for report in reports]

    def spread(values: list[float]) -> str:
        return f"{statistics.median(values):.3f} ({min(values):.3f}–{max(values):.3f})"

    cells = [
        name,
        str(len(tables[0].rows)),
        f"{statistics.median(t.wall_s.value for t in tables) * 1e3:.3f}",
        spread(shares),
        f"{statistics.median(gaps) * 1e6:.0f}",
        f"{statistics.median(checks) * 1e6:.0f}",
        spread(timers),
        spread(observer),
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the Markdown fragment here as well")
    arguments = parser.parse_args()
    found = targets()
    reports: dict[str, list[OperatorsReport]] = {name: [] for name in found}
    for repetition in range(arguments.repetitions):
        for name, target in found.items():
            print(f"{repetition + 1}/{arguments.repetitions} {name}", file=sys.stderr, flush=True)
            try:
                reports[name].append(once(target))
            except RidgelineError as error:
                print(f"{name}: {error}", file=sys.stderr)
    lines = [
        "## Σ operators against the wall",
        "",
        f"Median (least–most) over {arguments.repetitions} processes, targets in turn. Gap: time of a call outside every operator.",
        "",
        "| model | operators | wall, ms | Σ operators ÷ wall | gap, µs | gap by the timer, µs | wall ÷ timer | wall ÷ clean calls |",
        "|---|---|---|---|---|---|---|---|",
        *(row(name, taken) for name, taken in reports.items() if taken),
        "",
    ]
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0 if all(reports.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
