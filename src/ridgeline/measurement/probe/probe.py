"""Puts the probe together: which numbers, in which order, and the `Device` they make.

It measures and nothing else: the cache of results and the page are others' business, and so is the choice of the ceiling that a kernel is judged by.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence

from ridgeline import _native
from ridgeline.core import Ceiling, Cost, Device, Machine, MemoryLevel, UsageError
from ridgeline.machine.caches import read_levels
from ridgeline.machine.vectors import vector_bits, vector_registers

from .dispatch import dispatch_items, missing_libraries
from .items import CostOf, Item, RateOf
from .libraries import library_items
from .loops import Native, cycle_item, fma_items, latency_items, stream_items, system_cost_items
from .plausible import implausible, replace_starved
from .rounds import FULL, QUICK, Effort, Readings, Report, take_readings
from .summary import Summary, summarise
from .surroundings import look, surroundings_notes
from .working_sets import ASSUMED, cached_bytes, memory_set

__all__ = ["measure", "probe"]

_DEFAULT_L2 = 256 << 10


def probe(*, machine: Machine, quick: bool = False, report: Report | None = None) -> Device:
    """Measure this machine's ceilings and fixed costs.

    Args:
        machine: the host, as `machine` reads it; its usable CPUs are what `all threads` means.
        quick: about ten seconds in place of a minute, with wider intervals.
        report: told what is being measured and the fraction done, in [0, 1].

    Returns:
        A `Device` with a Ceiling for each engine, precision, level and thread count, and Costs; what could not be measured is in its notes.
    """
    return measure(machine=machine, caches=read_levels(machine.cpus_allowed[0] if machine.cpus_allowed else 0), quick=quick, report=report)


def measure(
    *,
    machine: Machine,
    caches: tuple[MemoryLevel, ...],
    quick: bool = False,
    report: Report | None = None,
    native: Native = _native,
    libraries: bool = True,
    effort: Effort | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Device:
    """`probe` with its parts in the open: caches, C loops, effort and clock can be others, and the libraries left out.

    Raises:
        UsageError: a machine without a CPU that this process may run on.
    """
    cpus = machine.cpus_allowed[: machine.cpus_usable]
    if not cpus:
        raise UsageError("a machine with at least one usable CPU", found="none in cpus_allowed", remedy="check the CPU affinity of this process")
    known = caches or ASSUMED
    before = look()
    items = _items(native, cpus, known, machine, libraries=libraries)
    readings = take_readings(items, effort or (QUICK if quick else FULL), clock=clock, report=report)
    if report:
        report("done", 1.0)
    notes = (
        *_method_notes(machine, caches, cpus, quick=quick),
        *(missing_libraries() if libraries else ()),
        *surroundings_notes(before, look()),
        *_reading_notes(items, readings),
    )
    return _device(machine, known, native.isa(), items, readings, notes)


def _items(native: Native, cpus: tuple[int, ...], caches: Sequence[MemoryLevel], machine: Machine, *, libraries: bool) -> list[Item]:
    items = [
        cycle_item(native, cpus),
        *fma_items(native, cpus),
        *stream_items(native, cpus, caches, machine.memory_bytes),
        *latency_items(native, cpus, caches, machine.memory_bytes),
        *system_cost_items(native, cpus),
    ]
    if libraries:
        l2 = next((cache.capacity_bytes for cache in caches if cache.name == "L2"), _DEFAULT_L2)
        items += [*library_items(l2, len(cpus)), *dispatch_items()]
    return items


def _device(
    machine: Machine, caches: tuple[MemoryLevel, ...], isa: tuple[str, ...], items: Sequence[Item], readings: Readings, notes: tuple[str, ...]
) -> Device:
    summaries = [
        (item, summarise(values, unit=item.goal.unit, lower_is_better=item.lower_is_better, origin=item.origin))
        for item, values in zip(items, readings.values, strict=True)
        if values
    ]
    ceilings, starved = replace_starved([_ceiling(item.goal, summary) for item, summary in summaries if isinstance(item.goal, RateOf)])
    costs = tuple(
        Cost(name=item.goal.name, library=item.goal.library, seconds=summary.quantity)
        for item, summary in summaries
        if isinstance(item.goal, CostOf) and item.goal.unit == "s"
    )
    clock_hz = next((summary.quantity for item, summary in summaries if item.goal.unit == "Hz"), None)
    bits, registers = vector_bits(isa), vector_registers(isa)
    return Device(
        name=f"{machine.cpu_model or machine.architecture} ({machine.cpus_usable} CPUs)",
        kind="cpu",
        ceilings=ceilings,
        costs=costs,
        levels=(*caches, MemoryLevel(name="DRAM", capacity_bytes=machine.memory_bytes, shared_by=machine.cpus_online)),
        execution_units=machine.cpus_usable,
        vector_bits=bits,
        registers_bytes=None if bits is None or registers is None else registers * bits // 8,
        memory_bytes=machine.memory_bytes,
        clock_hz=clock_hz,
        fingerprint=machine.fingerprint,
        probed_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        notes=(*notes, *_unsteady(summaries), *starved, *implausible(ceilings, clock_hz, bits or 128, x86=machine.architecture == "x86_64")),
    )


def _ceiling(goal: RateOf, summary: Summary) -> Ceiling:
    return Ceiling(
        engine=goal.engine,
        precision=goal.precision,
        threads=goal.threads,
        level=goal.level,
        working_set_bytes=goal.working_set_bytes,
        library=goal.library,
        rate=summary.quantity,
        spread=summary.spread,
        stable=summary.stable,
    )


def _method_notes(machine: Machine, caches: Sequence[MemoryLevel], cpus: Sequence[int], *, quick: bool) -> list[str]:
    notes = ["Quick probe: few short readings, wide intervals."] if quick else []
    if not caches:
        notes.append("The system shows no cache sizes: 32 KiB and 256 KiB were assumed, so a level's numbers may belong to the next one.")
    elif memory_set(caches, machine.memory_bytes, len(cpus)) < 2 * cached_bytes(caches, len(cpus)):
        notes.append(f"A quarter of memory is less than twice what {caches[-1].name} holds: the DRAM numbers include hits in that cache.")
    if len(cpus) < machine.cpus_online:
        notes.append(f"All threads means {len(cpus)} of {machine.cpus_online} CPUs, as affinity and quota allow.")
    if (machine.threads_per_core or 1) > 1:
        notes.append(f"{machine.threads_per_core} hardware threads share a core: rates of all threads are not {len(cpus)} times those of one.")
    return notes


def _reading_notes(items: Sequence[Item], readings: Readings) -> list[str]:
    notes = [f"{items[index].label} was not measured: {why}." for index, why in sorted(readings.failures.items()) if not readings.values[index]]
    notes += [
        f"{item.label} was not measured: the machine was too disturbed to time it."
        for index, (item, values) in enumerate(zip(items, readings.values, strict=True))
        if not values and index not in readings.failures
    ]
    if readings.cut_short:
        notes.append("The time for the probe was over before all planned readings were taken.")
    return notes


def _unsteady(summaries: Sequence[tuple[Item, Summary]]) -> list[str]:
    restless = [item.label for item, summary in summaries if not summary.stable]
    if not restless:
        return []
    shown = ", ".join(restless[:6]) + (f" and {len(restless) - 6} more" if len(restless) > 6 else "")
    return [f"Readings did not agree within 10 % for {len(restless)} of {len(summaries)} numbers: {shown}. Their intervals are wide."]
