"""What measuring costs: of a kept sample and of a batched iteration, beside a bare timer pair and append, timeit and pyperf; and of a process.

All are taken in turn in one process, in an order that is drawn anew each time, of an empty call in C and of an empty function in Python; each is the
time of so many samples or iterations divided by their number, with that of a loop around the same call taken off. Then processes of a fast function
are measured as `ridgeline bench` measures them, and their wall time is laid out: starting, loading and first call, measuring, ending.

Prints median and quartiles over the repetitions; with `--out FILE` also as a Markdown fragment.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import statistics
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter_ns

from ridgeline import _native

NUMBER = 20_000
_FAR = 2**62
_ROWS = bytearray(32 * NUMBER)


def _empty() -> None:
    """The empty function of Python."""


CALLS: dict[str, Callable[[], object]] = {"empty call in C": _native.nothing, "empty function in Python": _empty}


def _ours_sample(call: Callable[[], object]) -> float:
    began = perf_counter_ns()
    _native.take_samples(call, None, None, _ROWS, bytearray(), 1, 1000, _FAR)
    return (perf_counter_ns() - began) / NUMBER


def _bare_sample(call: Callable[[], object]) -> float:
    clock = perf_counter_ns
    kept: list[int] = []
    append = kept.append
    began = clock()
    for _ in range(NUMBER):
        before = clock()
        call()
        after = clock()
        append(after - before)
    return (clock() - began) / NUMBER


def _ours_batch(call: Callable[[], object]) -> float:
    start, end = _native.take_batch(call, None, NUMBER)
    return (end - start) / NUMBER


def _timeit(call: Callable[[], object]) -> float:
    return timeit.Timer(call).timeit(NUMBER) / NUMBER * 1e9


def _pyperf() -> Callable[[Callable[[], object]], float] | None:
    """pyperf's own `bench_func`, as its worker process runs it: one value of so many iterations; `None` where it is not installed."""
    try:
        import pyperf
    except ImportError:
        return None
    runner = pyperf.Runner(values=1, warmups=0, processes=1, program_args=())
    runner.parse_args(["--worker", f"--loops={NUMBER}", "--values=1", "--warmups=0", "--quiet"])
    names = count()

    def once(call: Callable[[], object]) -> float:
        with contextlib.redirect_stdout(io.StringIO()):  # a worker hands its result to its parent there
            found = runner.bench_func(f"empty {next(names)}", call)
        return float(found.get_values()[0]) * 1e9

    return once


def _costs(repetitions: int, seed: int, pyperf: Callable[[Callable[[], object]], float] | None) -> dict[str, dict[str, list[float]]]:
    """Call → case → nanoseconds, one value a repetition."""
    cases: dict[str, Callable[[Callable[[], object]], float]] = {
        "ours, a kept sample": _ours_sample,
        "bare timer pair and append": _bare_sample,
        "ours, an iteration of a batch": _ours_batch,
        "timeit, an iteration": _timeit,
    }
    if pyperf is not None:
        cases["pyperf, an iteration"] = pyperf
    order = random.Random(seed)
    found: dict[str, dict[str, list[float]]] = {name: {case: [] for case in cases} for name in CALLS}
    for _ in range(repetitions):
        for name, call in CALLS.items():
            for case in order.sample(sorted(cases), len(cases)):
                found[name][case].append(cases[case](call))
    return found


def _rows(found: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    yield "| call | case | ns, median (quartiles) | beyond an iteration of our batch |"
    yield "|---|---|---|---|"
    for name, cases in found.items():
        base = statistics.median(cases["ours, an iteration of a batch"])
        for case, values in cases.items():
            low, middle, high = _quartiles(values)
            yield f"| {name} | {case} | {middle:.1f} ({low:.1f}–{high:.1f}) | {middle - base:.1f} |"


def _ratios(found: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    for name, cases in found.items():
        call = cases["ours, an iteration of a batch"]
        ratio = [
            (ours - empty) / (bare - empty)
            for ours, bare, empty in zip(cases["ours, a kept sample"], cases["bare timer pair and append"], call, strict=True)
        ]
        low, middle, high = _quartiles(ratio)
        yield f"- {name}: a kept sample costs {middle:.2f} ({low:.2f}–{high:.2f}) times the bare pair and append; demanded: at most 1.2."
    empty = statistics.median(found["empty call in C"]["ours, an iteration of a batch"])
    yield f"- An iteration of a batch costs {empty:.1f} ns, the empty call in it included; demanded: at most 6 ns beyond the call."


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 4], statistics.median(ordered), ordered[-1 - len(ordered) // 4]


@contextmanager
def _fast_target() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fast.py"
        file.write_text("def work():\n    return sum(range(1000))\n")
        yield f"{file}:work"


def _processes(number: int) -> Iterator[str]:
    """Wall time of the parts of a process, in groups of as many as there are CPUs, as the harness has them."""
    from ridgeline.measurement.bench import Version
    from ridgeline.measurement.bench.gathered import Gathered
    from ridgeline.measurement.bench.plan import ProcessPlan
    from ridgeline.measurement.bench.processes import FreshProcess
    from ridgeline.targets import parse_target

    cpus = len(os.sched_getaffinity(0))
    parts: dict[str, list[float]] = {"start": [], "load": [], "first call": [], "measure": [], "whole": []}
    with _fast_target() as target:
        version = Version(spec=parse_target(target), name="fast")
        for _ in range(max(1, number // cpus)):
            gathered = Gathered(time.monotonic_ns())
            began = time.perf_counter()
            group = [FreshProcess(version) for _ in range(cpus)]
            for process in group:
                process.wait_until_ready()
            parts["start"].append((time.perf_counter() - began) / cpus)
            for process in group:
                before = time.perf_counter()
                process.measure(ProcessPlan(seconds=0.1), gathered)
                parts["measure"].append(time.perf_counter() - before)
            parts["whole"].append((time.perf_counter() - began) / cpus)
            for record in gathered.benchmark().processes:
                parts["load"].append(record.load_s or 0.0)
                parts["first call"].append(record.first_s or 0.0)
    yield f"| part of a process ({cpus} started together) | ms, median (quartiles) |"
    yield "|---|---|"
    words = {
        "start": "starting and importing, shared by those started together",
        "load": "loading the target",
        "first call": "first call",
        "measure": "loading, first call, 0.1 s of calls, results, ending",
        "whole": "everything",
    }
    for name, values in parts.items():
        low, middle, high = _quartiles([1e3 * value for value in values])
        yield f"| {words[name]} | {middle:.2f} ({low:.2f}–{high:.2f}) |"
    whole = statistics.median(parts["whole"])
    yield ""
    yield f"In 10 s fit {int(10 / whole / 2)} pairs of processes (15 are needed for 2 %), in 20 s {int(20 / whole / 2)} (59 for 1 %)."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=51)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    pyperf = _pyperf()
    found = _costs(arguments.repetitions, arguments.seed, pyperf)
    lines = ["## What measuring costs", "", *_rows(found), "", *_ratios(found), "", *_processes(arguments.processes)]
    if pyperf is None:
        lines.append("\npyperf is not installed: it is left out.")
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
