"""Systolic arrays: cycles in closed form against SCALE-Sim, which counts them one by one; and what DRAM adds, against its memory simulation.

Compute cycles must be equal: on the cases recorded under `RIDGELINE_DATA/peers/scalesim-3.0.0`, and on small products and convolutions run here where
SCALE-Sim is found (`build/peers/scalesim/bin/python`, or `--scalesim`: `python -m venv build/peers/scalesim && build/peers/scalesim/bin/pip install
scalesim==3.0.0 'numpy<2.3'`). DRAM is not expected to be equal: SCALE-Sim fills half of a buffer even for an operand that is smaller, and on a miss
in a buffer that is too small fetches that half again for every line; the model here moves what is needed.

    RIDGELINE_DATA=FOLDER python benchmarks/model/systolic.py [--scalesim PYTHON] [--cases N] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ridgeline.model.npu import Buffers, Products, SystolicArray, convolution, dram_traffic, gemm, stalled, systolic_cycles

HERE = Path(__file__).resolve().parent
FLOWS = {"os": "output", "ws": "weight", "is": "input"}
ARRAYS = ((8, 8), (4, 16), (16, 4), (5, 7), (1, 8), (8, 1), (32, 32), (3, 3))
#: Of one prediction at a time the model is as slow as Python; it is made for many.
MANY = 1_000_000


def cases(count: int) -> Iterator[dict[str, Any]]:
    """Small products and convolutions; the same every time."""
    draw = random.Random(5)
    for number in range(count):
        rows, columns = ARRAYS[number % len(ARRAYS)]
        array = {"rows": rows, "columns": columns}
        if number % 4 == 3:
            down, across = draw.choice([1, 2, 3, 5]), draw.choice([1, 2, 3])
            image = (
                down + draw.randint(0, 9),
                across + draw.randint(0, 9),
                down,
                across,
                draw.randint(1, 6),
                draw.randint(1, 20),
                draw.choice([1, 1, 2, 3]),
            )
            yield {**array, "convolution": image}
        else:
            yield {**array, "gemm": [draw.choice([draw.randint(1, 12), draw.randint(1, 70), draw.choice([8, 16, 32, 64])]) for _ in range(3)]}


def products(case: dict[str, Any]) -> Products:
    if "gemm" in case:
        return gemm(*case["gemm"])
    height, width, down, across, channels, filters, stride = case["convolution"]
    return convolution(height, width, channels, filters, kernel=(down, across), stride=(stride, stride), last_window="partial")


def recorded(folder: Path) -> Iterator[str]:
    path = folder / "peers" / "scalesim-3.0.0" / "gemm_cycles.csv"
    if not path.exists():
        yield f"No {path.name} in the folder: skipped."
        return
    rows = list(csv.DictReader(path.open()))
    unlike = []
    for row in rows:
        array = SystolicArray(rows=int(row["rows"]), columns=int(row["cols"]), dataflow=FLOWS[row["dataflow"]])
        ours = int(systolic_cycles(array, gemm(int(row["M"]), int(row["N"]), int(row["K"]))).cycles)
        if ours != int(row["total_cycles"]):
            unlike.append(f"{row['dataflow']} {row['rows']}×{row['cols']} {row['M']} {row['N']} {row['K']}: {ours} for {row['total_cycles']}")
    yield f"Recorded: {len(rows)} cases, {len(rows) - len(unlike)} equal."
    yield from unlike


def live(python: Path, count: int) -> Iterator[str]:
    asked = [{**case, "flow": flow} for case in cases(count) for flow in FLOWS]
    memory = [{**case, "rate": rate, "kib": kib} for case in asked[: 3 * min(count, 40)] if "gemm" in case for kib in (1, 16) for rate in (1, 4, 16)]
    done = subprocess.run([str(python), str(HERE / "peer_scalesim.py")], input=json.dumps(asked + memory), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    unlike, theirs = [], 0.0
    for case, told in zip(asked, found, strict=False):
        array = SystolicArray(rows=case["rows"], columns=case["columns"], dataflow=FLOWS[case["flow"]])
        ours = int(systolic_cycles(array, products(case)).cycles)
        theirs += told["seconds"]
        if ours != told["cycles"]:
            unlike.append(f"{case}: {ours} for {told['cycles']}")
    yield f"Run here: {count} shapes × {len(FLOWS)} dataflows, {len(asked) - len(unlike)} of {len(asked)} equal."
    yield from unlike
    yield from speed(theirs / len(asked))
    yield "\nWith DRAM (total cycles, ours ÷ theirs − 1):\n"
    yield "| dataflow | SRAM KiB | words a cycle | cases | median | p90 of the size | worst |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    errors: dict[tuple[str, int, int], list[tuple[float, str]]] = defaultdict(list)
    for case, told in zip(memory, found[len(asked) :], strict=True):
        array = SystolicArray(rows=case["rows"], columns=case["columns"], dataflow=FLOWS[case["flow"]])
        size = case["kib"] * 1024
        buffers = Buffers(
            activation_bytes=size, weight_bytes=size, result_bytes=size, dram_bytes_per_cycle=case["rate"], ports="separate", partial_sums="written"
        )
        product = products(case)
        ours = float(stalled(systolic_cycles(array, product).cycles, dram_traffic(array, product, buffers), buffers))
        shape = f"{case['rows']}×{case['columns']} {case['gemm']}"
        errors[case["flow"], case["kib"], case["rate"]].append((ours / told["overall"] - 1, f"{shape}: {ours:.0f} for {told['overall']}"))
    for (flow, kib, rate), pairs in sorted(errors.items()):
        signed = np.array([pair[0] for pair in pairs])
        worst = int(abs(signed).argmax())
        figures = f"{np.median(signed):+.0%} | {np.quantile(abs(signed), 0.9):.0%} | {signed[worst]:+.0%} ({pairs[worst][1]})"
        yield f"| {flow} | {kib} | {rate} | {len(pairs)} | {figures} |"


def speed(theirs_s: float) -> Iterator[str]:
    draw = np.random.default_rng(1)
    shapes = draw.integers(1, 512, (3, MANY))
    array = SystolicArray(rows=8, columns=8, dataflow="weight")
    systolic_cycles(array, gemm(*shapes[:, :1000]))
    begin = time.perf_counter()
    systolic_cycles(array, gemm(*shapes))
    each = (time.perf_counter() - begin) / MANY
    yield f"Speed: {each * 1e9:.0f} ns a shape of {MANY}, SCALE-Sim {theirs_s * 1e3:.1f} ms a (small) shape: {theirs_s / each:.2g} times."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found = HERE.parents[1] / "build" / "peers" / "scalesim" / "bin" / "python"
    parser.add_argument("--scalesim", type=Path, default=found if found.exists() else None, help="Python of an environment with scalesim")
    parser.add_argument("--cases", type=int, default=220, help="shapes to run in SCALE-Sim, each with three dataflows")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    arguments = parser.parse_args()
    folder = os.environ.get("RIDGELINE_DATA")
    lines = ["## Systolic arrays: cycles against SCALE-Sim 3.0.0\n"]
    lines += recorded(Path(folder)) if folder else ["RIDGELINE_DATA names no folder of recordings: skipped."]
    lines += live(arguments.scalesim, arguments.cases) if arguments.scalesim else ["SCALE-Sim: no environment that has it (--scalesim): left out."]
    print("\n".join(lines))
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
