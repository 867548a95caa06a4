"""How cold `CacheEmptier` makes a call: a read of an array right after itself, and right after the caches were emptied, in turn in the same run.

Emptied three ways: by a buffer of half the last level, by the emptier's own size, and by twice that. Where the last two agree the emptier's size is
enough. Read in order, where the hardware fetches ahead, and at random, where nothing does. Prints medians and quartiles over the repetitions of the
ratio to the warm read of the same repetition, and what emptying costs; with `--out FILE` also as a Markdown fragment.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError
from ridgeline.core.units import format_quantity
from ridgeline.machine.caches import read_levels
from ridgeline.machine.control import CacheEmptier, ThrottleWatch

_ARRAY_BYTES = (64 << 10, 1 << 20, 8 << 20)


def emptiers() -> dict[str, CacheEmptier]:
    """By what is said of them; one that memory does not allow is left out with a word."""
    own = CacheEmptier()
    last = max((level.capacity_bytes or 0 for level in read_levels()), default=0) or own.size_bytes // 2
    found = {}
    for name, size in (("half the last level", last // 2), ("as ridgeline does", own.size_bytes), ("twice that", 2 * own.size_bytes)):
        try:
            found[f"{name}, {size >> 20} MiB"] = own if size == own.size_bytes else CacheEmptier(size)
        except UsageError as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
    return found


def reads(size: int) -> dict[str, Callable[[], object]]:
    """The calls: an array of `size` bytes read in order, and at random."""
    generator = np.random.default_rng(0)
    values = generator.random(size // 8)
    order, into = generator.permutation(values.size), np.empty_like(values)
    # The order is an array of its own: as much again is read, in order.
    return {"in order": lambda: values.sum(), "at random": lambda: np.take(values, order, out=into, mode="clip")}


def _ns(call: Callable[[], object]) -> int:
    before = perf_counter_ns()
    call()
    return perf_counter_ns() - before


def measure(repetitions: int) -> list[tuple[str, str, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """(array and access, emptier, warm ns, cold ns, emptying ns), each of shape (repetitions,)."""
    rows = []
    ways = emptiers()
    for size in _ARRAY_BYTES:
        for access, call in reads(size).items():
            taken: dict[str, list[tuple[int, int, int]]] = {way: [] for way in ways}
            for _ in range(repetitions):
                for way, empty in ways.items():
                    call()
                    warm = _ns(call)
                    emptying = _ns(empty)
                    taken[way].append((warm, _ns(call), emptying))
            for way, values in taken.items():
                warm_ns, cold_ns, emptying_ns = np.array(values, dtype=np.float64).T
                rows.append((f"{format_quantity(size, 'B')} {access}", way, warm_ns, cold_ns, emptying_ns))
    return rows


def _quartiles(values: NDArray[np.float64], digits: int = 2) -> str:
    low, middle, high = np.percentile(values, (25, 50, 75))
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def look_cost_us(repetitions: int) -> NDArray[np.float64]:
    """Microseconds of one look of `ThrottleWatch`."""
    with ThrottleWatch() as watch:
        return np.array([_ns(lambda: watch.look(0.0)) for _ in range(20 * repetitions)], dtype=np.float64) / 1e3


def table(repetitions: int) -> str:
    lines = [
        "## Cold caches",
        "",
        f"A read of an array, warm and right after the caches were emptied; medians (quartiles) of {repetitions} repetitions, in turn.",
        "",
        "| array | emptied by a buffer of | warm, µs | cold, µs | cold ÷ warm | emptying, ms |",
        "|---|---|---|---|---|---|",
    ]
    for what, way, warm, cold, emptying in measure(repetitions):
        cells = (_quartiles(warm / 1e3, 1), _quartiles(cold / 1e3, 1), _quartiles(cold / warm), _quartiles(emptying / 1e6, 1))
        lines.append(f"| {what} | {way} | {' | '.join(cells)} |")
    lines += ["", f"One look for throttling and stolen time: {_quartiles(look_cost_us(repetitions), 1)} µs."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    text = table(arguments.repetitions)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
