"""The probe against a hand-tuned C program on the same machine in the same run: one reading of each in turn, so that a neighbour disturbs both alike.

    python benchmarks/probe_vs_c/run.py [--repetitions 7] [--out FILE]

Prints a Markdown table: medians, spreads ((max − min) ÷ median), and the ratio probe ÷ C of the medians and of the values that the probe would
report (second best). Exit code 1 if more than a tenth of the ratios of the latter lie outside 0.9–1.1. Needs gcc.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ridgeline import _native
from ridgeline.core.units import format_quantity
from ridgeline.machine.caches import read_levels
from ridgeline.measurement.probe import FULL, Item, RateOf
from ridgeline.measurement.probe.loops import fma_items, latency_items, stream_items
from ridgeline.measurement.probe.summary import summarise

SOURCE = Path(__file__).with_name("hand_tuned.c")
WINDOW_S = 0.003
ONE_WINDOW_BYTES = 12 << 20
WITHIN = 0.10


def compile_hand_tuned(folder: Path) -> Path:
    program = folder / "hand_tuned"
    subprocess.run(["gcc", "-O3", "-march=native", "-pthread", "-w", "-o", str(program), str(SOURCE)], check=True)
    return program


def chosen_items(cpus: tuple[int, ...], memory_bytes: int) -> Iterator[Item]:
    caches = read_levels(cpus[0])
    for item in (*fma_items(_native, cpus), *stream_items(_native, cpus, caches, memory_bytes), *latency_items(_native, cpus, caches, memory_bytes)):
        if isinstance(item.goal, RateOf) and item.goal.engine != "fill" and item.goal.precision in ("fp32", "fp64", "any"):
            yield item


def hand_tuned_reading(program: Path, goal: RateOf, cpus: tuple[int, ...]) -> Callable[[float, int], float]:
    total = goal.working_set_bytes or 0
    windows = 1 if total >= ONE_WINDOW_BYTES else round(FULL.seconds / WINDOW_S)

    def read(seconds: float, number: int) -> float:
        chosen = cpus if goal.threads == len(cpus) else (cpus[number % len(cpus)],)
        arguments = [goal.engine, goal.precision, str(total // goal.threads), str(seconds), str(windows), ",".join(map(str, chosen))]
        return float(subprocess.run([str(program), *arguments], capture_output=True, text=True, check=True).stdout)

    return read


def interleave(pairs: list[tuple[Item, Callable[[float, int], float]]], repetitions: int) -> list[tuple[Item, list[float], list[float]]]:
    rows: list[tuple[Item, list[float], list[float]]] = [(item, [], []) for item, _ in pairs]
    for number in range(repetitions):
        print(f"repetition {number + 1} of {repetitions}", file=sys.stderr)
        for (item, hand_tuned), (_, ours, theirs) in zip(pairs, rows, strict=True):
            # Who goes first changes, or one would always find the caches and the clock that the other left.
            if number % 2:
                ours.append(item.read(FULL.seconds, number))
                theirs.append(hand_tuned(FULL.seconds, number))
            else:
                theirs.append(hand_tuned(FULL.seconds, number))
                ours.append(item.read(FULL.seconds, number))
    return rows


def spread(values: list[float]) -> float:
    return (max(values) - min(values)) / statistics.median(values)


def reported(item: Item, values: list[float]) -> float:
    return summarise(values, unit=item.goal.unit, lower_is_better=item.lower_is_better, origin="").quantity.value


def table(rows: list[tuple[Item, list[float], list[float]]]) -> str:
    lines = [
        "| quantity | C median | C spread | probe median | probe spread | ratio of medians | ratio as reported |",
        "|---|---|---|---|---|---|---|",
    ]
    for item, ours, theirs in rows:
        unit = item.goal.unit
        c_median, our_median = statistics.median(theirs), statistics.median(ours)
        lines.append(
            f"| {item.label} | {format_quantity(c_median, unit)} | {spread(theirs):.0%} | {format_quantity(our_median, unit)} | {spread(ours):.0%} "
            f"| {our_median / c_median:.2f} | {reported(item, ours) / reported(item, theirs):.2f} |"
        )
    ratios = [reported(item, ours) / reported(item, theirs) for item, ours, theirs in rows]
    inside = sum(abs(ratio - 1) <= WITHIN for ratio in ratios)
    medians = sum(abs(statistics.median(ours) / statistics.median(theirs) - 1) <= WITHIN for _, ours, theirs in rows)
    lines += ["", f"Within 10 % of the C program: {inside} of {len(rows)} as reported, {medians} of {len(rows)} by medians."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.repetitions < 5:
        parser.error("at least 5 repetitions")
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Opened first: a bad path fails before anything is measured.
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(options.out.open("w")) if options.out else sys.stdout
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = compile_hand_tuned(folder)
        pairs = [(item, hand_tuned_reading(program, item.goal, cpus)) for item in chosen_items(cpus, memory_bytes) if isinstance(item.goal, RateOf)]
        rows = interleave(pairs, options.repetitions)
        out.write(table(rows))
    outside = sum(abs(reported(item, ours) / reported(item, theirs) - 1) > WITHIN for item, ours, theirs in rows)
    return int(outside > len(rows) / 10)


if __name__ == "__main__":
    sys.exit(main())
