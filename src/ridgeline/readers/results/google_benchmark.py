"""Google Benchmark's JSON: `--benchmark_out_format=json`, with repetitions, aggregates or both.

This module decides what an entry is: a repetition, an aggregate over repetitions, a run that was skipped or failed, or the fit of a complexity. Real
and CPU time are metrics of their own, in the time unit of each entry. Of the counters only `bytes_per_second` and `items_per_second` have a unit
and a direction; a user's own counter is a bare number, so it is left out. All repetitions are of one process.
Source: the library's user guide, and files that 1.7 wrote and 1.5 to 1.8 ship.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ridgeline.core import LeftOut, SeriesSet

from .content import Content, Fields, decode_as, entries_of, fields_of, scalar_of
from .gathering import Gathering, file_name
from .scales import BYTE_RATE, COUNT_RATE, Scale, spelled

__all__ = ["GoogleBenchmark"]

_Number = float | str | None
_RATES: Mapping[str, Scale] = {"items_per_second": COUNT_RATE, "bytes_per_second": BYTE_RATE}
_CONTEXT = {
    "machine.host": "host_name",
    "machine.cores": "num_cpus",
    "machine.mhz": "mhz_per_cpu",
    "machine.scaling": "cpu_scaling_enabled",
    "aslr": "aslr_enabled",
    "library.build": "library_build_type",
    "library.version": "library_version",
}
_KNOWN_CONTEXT = {*_CONTEXT.values(), "date", "executable", "caches", "load_avg", "json_schema_version"}
#: Fields of an entry that are no counters.
_FIELDS = {
    "name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
    "aggregate_name", "aggregate_unit", "real_time", "cpu_time", "time_unit", "label", "error_occurred", "error_message", "skipped", "skip_message",
    "big_o", "rms", "cpu_coefficient", "real_coefficient", *_RATES,
}  # fmt: skip


class _Entry(msgspec.Struct):
    name: str
    run_name: str = ""
    run_type: str = "iteration"
    repetitions: int = 0
    threads: int | None = None
    iterations: _Number = None
    real_time: _Number = None
    cpu_time: _Number = None
    time_unit: str = ""
    aggregate_name: str = ""
    aggregate_unit: str = "time"
    error_occurred: bool = False
    error_message: str = ""
    skipped: bool = False
    skip_message: str = ""
    bytes_per_second: _Number = None
    items_per_second: _Number = None
    big_o: str | None = None
    rms: _Number = None


class _Group:
    """Entries of one benchmark."""

    def __init__(self) -> None:
        self.repetitions: list[_Entry] = []
        self.aggregates: list[_Entry] = []
        self.failed: dict[str, int] = {}


class GoogleBenchmark:
    """Reads what a Google Benchmark program writes with `--benchmark_out=FILE`."""

    tool = "google-benchmark"

    def sniff(self, content: Content) -> bool:
        """Benchmarks whose entries have a real time, a run type or an aggregate."""
        if "benchmarks" not in content.fields or {"version", "machine_info", "devices"} & content.fields.keys():
            return False
        entries = entries_of(content.fields["benchmarks"])
        return bool(fields_of(entries[0]).keys() & {"real_time", "run_type"}) if entries else "context" in content.fields

    def read(self, content: Content) -> SeriesSet:
        """Real time, CPU time and the two rates of each benchmark."""
        gathering = Gathering(content, self.tool)
        context = fields_of(content.fields.get("context"))
        keys, at = _context(gathering, context)
        for name, group in _groups(gathering, entries_of(content.fields["benchmarks"])).items():
            _series(gathering, name, group, keys, at)
        return gathering.finish()


def _context(gathering: Gathering, context: Fields) -> tuple[dict[str, object], str]:
    found = {name: value for name, raw in context.items() if (value := scalar_of(raw)) is not None}
    keys: dict[str, object] = {key: found.get(field) for key, field in _CONTEXT.items()}
    keys |= {f"context.{name}": value for name, value in found.items() if name not in _KNOWN_CONTEXT}
    keys["command"] = file_name(str(found.get("executable", "")))
    if found.get("cpu_scaling_enabled") is True:
        gathering.caution("clock-not-fixed", "CPU frequency scaling was enabled", "times include changes of the clock")
    if found.get("library_build_type") == "debug":
        gathering.caution("debug-build", "the benchmark library was built as DEBUG", "its own overhead is larger")
    return keys, str(found.get("date", ""))


def _groups(gathering: Gathering, entries: list[msgspec.Raw]) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    counters: set[tuple[str, str]] = set()
    for index, raw in enumerate(entries):
        entry = decode_as(raw, _Entry)
        if isinstance(entry, str):
            gathering.leave_out("not an entry as Google Benchmark writes it", f"number {index}: {entry}")
            continue
        name = entry.run_name or entry.name.removesuffix(f"_{entry.aggregate_name}")
        _sort(gathering, groups.setdefault(name, _Group()), entry, name)
        counters |= {(name, counter) for counter in fields_of(raw).keys() - _FIELDS}
    if counters:
        first = " ".join(min(counters))
        gathering.leave_out("a user's counter: the file gives neither its unit nor whether more is better", first, len(counters))
    return groups


def _sort(gathering: Gathering, group: _Group, entry: _Entry, name: str) -> None:
    if entry.error_occurred or entry.skipped:
        reason = f"skipped: {entry.skip_message}" if entry.skipped else f"failed: {entry.error_message}"
        group.failed[reason] = group.failed.get(reason, 0) + 1
    elif entry.big_o is not None or entry.rms is not None or entry.aggregate_name in ("BigO", "RMS"):
        gathering.leave_out("the fit of a complexity, not a time", name)
    elif entry.run_type != "aggregate":
        group.repetitions.append(entry)
    elif not entry.aggregate_name:
        gathering.leave_out("an aggregate that does not say which", name)
    elif entry.aggregate_unit == "time" or entry.aggregate_name == "cv":
        group.aggregates.append(entry)
    else:
        gathering.leave_out(f"an aggregate in {entry.aggregate_unit}", name)


def _series(gathering: Gathering, name: str, group: _Group, keys: Mapping[str, object], at: str) -> None:
    failed = [LeftOut(reason=reason, count=count, first=name) for reason, count in group.failed.items()]
    entries = group.repetitions or group.aggregates
    if not entries:
        for entry in failed:
            gathering.leave_out(entry.reason, name, entry.count)
        return
    units = {entry.time_unit for entry in (*group.repetitions, *group.aggregates)}
    scale = spelled(entries[0].time_unit)
    if len(units) > 1 or scale is None or scale.unit != "s":
        gathering.leave_out(f"no time unit that is known: {', '.join(sorted(map(repr, units)))}", name, len(entries))
        return
    threads = {"threads": entries[0].threads}
    for metric, own in {"real_time": scale, "cpu_time": scale, **_RATES}.items():
        if metric == "real_time" or any(getattr(entry, metric) is not None for entry in entries):
            _metric(gathering, name, metric, own, group, {**keys, **threads}, at, failed)


def _metric(
    gathering: Gathering, name: str, metric: str, scale: Scale, group: _Group, keys: Mapping[str, object], at: str, failed: list[LeftOut]
) -> None:
    aggregates: dict[str, Any] = {entry.aggregate_name: getattr(entry, metric) for entry in group.aggregates}
    if group.aggregates:
        aggregates["n"] = group.aggregates[0].repetitions or group.aggregates[0].iterations
    gathering.add(
        name,
        metric,
        scale,
        [getattr(entry, metric) for entry in group.repetitions],
        better="higher" if metric in _RATES else "lower",
        aggregates=aggregates,
        keys=keys,
        at=at,
        failed=failed,
    )
