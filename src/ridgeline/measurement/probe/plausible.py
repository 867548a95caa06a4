"""Numbers that no processor of this clock and width could reach: faults of the measurement, to be explained and never believed.

Bounds are generous port counts: on x86 two multiply-adds and two 512-bit loads a cycle (three loads of narrower vectors), on others four and
three; the clock is the fastest seen. A latency under three cycles is no load. And all threads together are not slower than one of them: where they
seem so, they waited for a CPU that somebody else had.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import Ceiling, Quantity

__all__ = ["implausible", "replace_starved"]

#: Clocks differ a little between readings.
_MARGIN = 1.1
_LANE_BITS = {"fp64": 64, "fp32": 32, "bf16": 16, "int8": 8}
_LEAST_CYCLES = 3
#: A library that does not use its threads pays a little for having them; more than this is not the library.
_STARVED = 0.7


def implausible(ceilings: Sequence[Ceiling], clock: Quantity | None, vector_bits: int, *, x86: bool) -> tuple[str, ...]:
    """Sentences about ceilings above what ports × width × clock allow."""
    if clock is None:
        return ()
    hz = clock.high * _MARGIN
    notes = []
    for ceiling in ceilings:
        if _is_beyond(ceiling, _bound(ceiling, vector_bits, hz, x86=x86), hz):
            what = f"{ceiling.engine} {ceiling.level or ceiling.precision} at {ceiling.rate}"
            notes.append(f"{what} is beyond what a clock of {clock} allows: do not rely on it.")
    return tuple(notes)


def replace_starved(ceilings: Sequence[Ceiling]) -> tuple[tuple[Ceiling, ...], tuple[str, ...]]:
    """The ceilings, arithmetic of all threads that came out far slower than one replaced by an assumption, and a sentence that says so.

    The threads of a library wait for each other: beside a busy neighbour a parallel call can take a hundred times as long. The ceiling then is
    assumed to be n times that of one thread, with the interval down to one thread.
    """
    alone = {(c.engine, c.precision, c.library): c.rate.value for c in ceilings if c.threads == 1 and c.level is None}

    def starved(ceiling: Ceiling) -> bool:
        one = alone.get((ceiling.engine, ceiling.precision, ceiling.library), 0.0)
        return ceiling.level is None and ceiling.threads > 1 and ceiling.rate.value < _STARVED * one

    kept = tuple(_assumed(c, alone[c.engine, c.precision, c.library]) if starved(c) else c for c in ceilings)
    names = [f"{c.engine} {c.precision} {c.library}" for c in ceilings if starved(c)]
    if not names:
        return kept, ()
    return kept, (f"All threads came out slower than one, as when another program has a CPU; n × one thread was assumed: {', '.join(names)}.",)


def _assumed(ceiling: Ceiling, one: float) -> Ceiling:
    all_threads = ceiling.threads * one
    origin = f"{ceiling.threads} × one thread; measured {ceiling.rate}, which was disturbed"
    rate = Quantity(value=all_threads, low=one, high=all_threads, confidence=0.5, unit=ceiling.rate.unit, source="assumed", origin=origin)
    return msgspec.structs.replace(ceiling, rate=rate, stable=False)


def _is_beyond(ceiling: Ceiling, bound: float | None, hz: float) -> bool:
    if ceiling.engine == "latency":
        return ceiling.rate.value < _LEAST_CYCLES / hz
    return bound is not None and ceiling.rate.value > bound


def _bound(ceiling: Ceiling, vector_bits: int, hz: float, *, x86: bool) -> float | None:
    if ceiling.library != "native":
        return None
    if ceiling.engine == "fma" and ceiling.precision in _LANE_BITS:
        ports = 2 if x86 else 4
        return ports * 2 * vector_bits / _LANE_BITS[ceiling.precision] * hz * ceiling.threads
    if ceiling.engine in ("read", "copy", "triad", "fill") and ceiling.level is not None:
        loads = 2 if x86 and vector_bits >= 512 else 3
        # Stores go beside the loads: a mix of both moves at most half as much again.
        return (1.0 if ceiling.engine == "read" else 1.5) * loads * vector_bits / 8 * hz * ceiling.threads
    return None
