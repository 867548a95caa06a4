"""Steady state on series with known answers: how many are told right, and how long one takes."""

from __future__ import annotations

import statistics
import time

import numpy as np
from steady_series import COURSES, LENGTH, NOISES, make
from tables import markdown, share

from ridgeline.stats import steady_start

__all__ = ["report"]

#: A start within this part of the series is the right one.
_NEAR = 0.05


def report(full: bool) -> str:
    """The tables."""
    g = np.random.default_rng(13)
    each = 40 if full else 8
    taken: list[float] = []
    rows, totals = [], [0, 0, 0]
    for course in COURSES:
        right = near = 0
        wrong_under = []
        for noise in NOISES:
            for _ in range(each):
                times, start = make(g, course, noise)
                before = time.perf_counter()
                found = steady_start(times)
                taken.append(time.perf_counter() - before)
                agrees = (found is None) == (start is None)
                right += agrees
                near += agrees and (found is None or start is None or abs(found - start) <= _NEAR * LENGTH)
                wrong_under += [] if agrees else [noise]
        n = each * len(NOISES)
        totals = [totals[0] + right, totals[1] + near, totals[2] + n]
        rows.append(
            [course, share(right, n), share(near, n), ", ".join(f"{noise} {wrong_under.count(noise)}" for noise in dict.fromkeys(wrong_under))]
        )
    rows.append(["all", share(totals[0], totals[2]), share(totals[1], totals[2]), ""])
    milliseconds = sorted(1e3 * second for second in taken)
    table = markdown(
        f"Steady or never, {LENGTH:,} calls (aim: ≥ 90 %)",
        ["course", "steady or not told right", "and from where on, within 5 %", "wrong under"],
        rows,
    )
    return f"{table}\nA series takes {statistics.median(milliseconds):.1f} ms, nine of ten under {milliseconds[int(0.9 * len(taken))]:.1f} ms.\n"
