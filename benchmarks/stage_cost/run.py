"""What `ridgeline.stage` costs beside a bare pair of clock readings: while nobody records, and while somebody does, in turn in the same run.

Prints the median and quartiles over the repetitions, of nanoseconds an entry and of the ratio to the pair of the same repetition; with `--out FILE`
also as a Markdown fragment.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

import ridgeline
from ridgeline.measurement.stages.recorder import recording

stage = ridgeline.stage
_kept = stage("kept")


def _empty(entries: int) -> None:
    for _ in range(entries):
        pass


def _pair(entries: int) -> None:
    for _ in range(entries):
        before = perf_counter_ns()
        perf_counter_ns() - before


def _fresh(entries: int) -> None:
    for _ in range(entries):
        with stage("fresh"):
            pass


def _same(entries: int) -> None:
    for _ in range(entries):
        with _kept:
            pass


@stage("decorated")
def _nothing() -> None:
    """The function whose calls are stages."""


def _plain() -> None:
    """The same without."""


def _decorated(entries: int) -> None:
    for _ in range(entries):
        _nothing()


def _called(entries: int) -> None:
    for _ in range(entries):
        _plain()


#: Case → (the loop, the same without what is measured, whether somebody records).
CASES: dict[str, tuple[Callable[[int], None], Callable[[int], None], bool]] = {
    "two readings of the clock": (_pair, _empty, False),
    "`with stage(NAME)`, nobody records": (_fresh, _empty, False),
    "a kept stage, nobody records": (_same, _empty, False),
    "a decorated function, nobody records": (_decorated, _called, False),
    "`with stage(NAME)`, recorded": (_fresh, _empty, True),
    "a kept stage, recorded": (_same, _empty, True),
}


def _ns(loop: Callable[[int], None], entries: int) -> float:
    before = perf_counter_ns()
    loop(entries)
    return (perf_counter_ns() - before) / entries


def measure(repetitions: int, entries: int) -> dict[str, list[float]]:
    """Nanoseconds an entry without its empty loop, per case; the cases take turns, so that a disturbance meets all of them."""
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(repetitions):
        for name, (loop, without, recorded) in CASES.items():
            # What is done with the entries afterwards is not part of what the program pays.
            with recording() if recorded else contextlib.nullcontext():
                taken[name].append(_ns(loop, entries) - _ns(without, entries))
    return taken


def table(taken: dict[str, list[float]]) -> str:
    """Markdown: per case median and quartiles, and the ratio to the bare pair of the same repetition."""
    reference = next(iter(taken.values()))
    lines = ["| case | median | quartiles | ÷ two readings |", "|---|---|---|---|"]
    for name, values in taken.items():
        low, middle, high = statistics.quantiles(values, n=4)
        ratios = [one / pair for one, pair in zip(values, reference, strict=True)]
        q1, q2, q3 = statistics.quantiles(ratios, n=4)
        lines.append(f"| {name} | {middle:.0f} ns | {low:.0f}–{high:.0f} ns | {q2:.1f} ({q1:.1f}–{q3:.1f}) |")
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=51)
    parser.add_argument("--entries", type=int, default=2_000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    said = f"{arguments.repetitions} repetitions of {arguments.entries} entries, interleaved, one process."
    text = f"## Cost of a stage\n\n{said}\n\n{table(measure(arguments.repetitions, arguments.entries))}\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
