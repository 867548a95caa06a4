"""hyperfine's exports: JSON of version 1 (`times`), JSON of version 2 (`measurements`), and CSV, which holds aggregates only.

This module decides which runs count: those that ended with exit code 0; every run is a process of its own. Times are in seconds, in version 2 in the
unit that each measurement names. User and system time and memory are metrics of their own and may be zero: they are read from the kernel's ticks.
Source: hyperfine 1.15 and 2.0, files they wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.core import LeftOut, SeriesSet

from .content import Content, decode_as, entries_of, fields_of, text_of
from .gathering import Gathering
from .scales import BYTE, SECOND, spelled

__all__ = ["Hyperfine"]

_Number = float | str | None
_AGGREGATES = ("mean", "stddev", "median", "min", "max")
#: Names of version 2 → those of version 1.
_METRICS = {"time_wall_clock": "time", "time_user": "user", "time_system": "system", "time_cpu": "cpu", "memory_peak_resident": "memory"}
_COLUMNS = ("command", "mean", "stddev", "median", "user", "system", "min", "max")


class _Result(msgspec.Struct):
    command: str
    times: list[_Number] | None = None
    exit_codes: list[int | None] | None = None
    mean: _Number = None
    stddev: _Number = None
    median: _Number = None
    min: _Number = None
    max: _Number = None
    user: _Number = None
    system: _Number = None
    memory_usage_byte: list[_Number] | None = None
    parameters: dict[str, str | float] = {}
    measurements: list[dict[str, Any]] | None = None


class Hyperfine:
    """Reads what `hyperfine --export-json` and `--export-csv` write."""

    tool = "hyperfine"

    def sniff(self, content: Content) -> bool:
        """Results that have a command and times, or its columns."""
        if content.header:
            return content.header[: len(_COLUMNS)] == _COLUMNS
        results = entries_of(content.fields.get("results"))
        first = fields_of(results[0]).keys() if results else frozenset()
        return "command" in first and bool(first & {"times", "measurements", "mean"})

    def read(self, content: Content) -> SeriesSet:
        """Wall, user and system time and memory of each command."""
        gathering = Gathering(content, self.tool)
        if content.header:
            for row in content.rows():
                _row(gathering, row)
            return gathering.finish()
        metadata = fields_of(content.fields.get("metadata"))
        keys, at = _metadata(metadata)
        for index, raw in enumerate(entries_of(content.fields["results"])):
            result = decode_as(raw, _Result)
            if isinstance(result, str):
                gathering.leave_out("not a result as hyperfine writes it", f"number {index}: {result}")
                continue
            own = {**keys, **{f"workload.{name}": value for name, value in result.parameters.items()}}
            if result.measurements is not None:
                _measurements(gathering, result, own, at)
            else:
                _times(gathering, result, own, at)
        return gathering.finish()


def _metadata(metadata: Mapping[str, msgspec.Raw]) -> tuple[dict[str, object], str]:
    platform = fields_of(metadata.get("platform"))
    keys: dict[str, object] = {"machine.architecture": text_of(platform.get("architecture")), "os": text_of(platform.get("os"))}
    return {**keys, "tool.version": text_of(metadata.get("hyperfine_version"))}, text_of(metadata.get("start_time"))


def _failed(codes: Iterable[int | None], name: str) -> list[LeftOut]:
    counts: dict[str, int] = {}
    for code in codes:
        if code != 0:
            reason = "ended by a signal" if code is None else f"exit code {code}"
            counts[reason] = counts.get(reason, 0) + 1
    return [LeftOut(reason=reason, count=count, first=name) for reason, count in counts.items()]


def _times(gathering: Gathering, result: _Result, keys: Mapping[str, object], at: str) -> None:
    name, times = result.command, result.times or []
    # Without exit codes hyperfine itself stopped at the first that was not 0, or was told to ignore them and did not keep them.
    codes: Sequence[int | None] = result.exit_codes if result.exit_codes is not None else [0] * len(times)
    good = [index for index, code in enumerate(codes) if code == 0 and index < len(times)]
    failed = _failed(codes, name)
    # Aggregates in the file are over all runs, so they stand only where none failed.
    whole = {field: getattr(result, field) for field in _AGGREGATES} | {"n": len(times) or None} if not failed else {}
    gathering.add(name, "time", SECOND, [times[index] for index in good], process=good, aggregates=whole, keys=keys, at=at, failed=failed)
    if not good and times:
        return
    for metric in ("user", "system"):
        mean = getattr(result, metric)
        if mean is not None and not failed:
            gathering.add(name, metric, SECOND, aggregates={"mean": mean, "n": len(times) or None}, keys=keys, at=at, zero=True)
    memory = result.memory_usage_byte or []
    if memory:
        used = [index for index in good if index < len(memory)]
        gathering.add(name, "memory", BYTE, [memory[index] for index in used], process=used, keys=keys, at=at, zero=True, failed=failed)


def _measurements(gathering: Gathering, result: _Result, keys: Mapping[str, object], at: str) -> None:
    runs = result.measurements or []
    failed = _failed((run.get("exit_code") for run in runs), result.command)
    good = [index for index, run in enumerate(runs) if run.get("exit_code") == 0]
    if not good:
        for entry in failed:
            gathering.leave_out(entry.reason, result.command, entry.count)
        return
    for metric in sorted({name for index in good for name, value in runs[index].items() if isinstance(value, dict)}):
        units = {str(found.get("unit")) for index in good if isinstance(found := runs[index].get(metric), dict)}
        scale = spelled(units.pop()) if len(units) == 1 else None
        own = _METRICS.get(metric)
        if scale is None or own is None:
            gathering.leave_out("a measurement whose unit or direction is not known", f"{result.command} {metric}", len(good))
            continue
        values = [found.get("value") if isinstance(found := runs[index].get(metric), dict) else None for index in good]
        gathering.add(result.command, own, scale, values, process=good, keys=keys, at=at, zero=own != "time", failed=failed)


def _row(gathering: Gathering, row: Mapping[str, str]) -> None:
    name = row.get("command", "")
    keys = {f"workload.{column.removeprefix('parameter_')}": value for column, value in row.items() if column.startswith("parameter_")}
    gathering.add(name, "time", SECOND, aggregates={field: row.get(field) for field in _AGGREGATES}, keys=keys)
    for metric in ("user", "system"):
        gathering.add(name, metric, SECOND, aggregates={"mean": row.get(metric)}, keys=keys, zero=True)
