"""criterion.rs: the directory `target/criterion`, one of its `sample.json` or `raw.csv`, and the lines of `cargo criterion --message-format=json`.

This module decides what is a value: the measured value of a sample ÷ its iterations. Only the newest run of each benchmark (`new`) is read.
`raw.csv` and the lines name their unit; `sample.json` does not: nanoseconds, as criterion's wall-clock measurement writes, and a caution says so.
Source: criterion 0.3 and what it wrote; the cargo-criterion book for the lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import SeriesSet

from .content import Content, decode_as, fields_of, text_of
from .gathering import Gathering
from .scales import NANOSECOND, Scale, finite, spelled

__all__ = ["Criterion"]

_Number = float | str | None
_COLUMNS = {"group", "function", "value", "sample_measured_value", "unit", "iteration_count"}
#: Directories looked into at most, so that a mistaken path does not walk a whole disk.
_MOST_DIRECTORIES = 20_000


class _Benchmark(msgspec.Struct):
    full_id: str = ""
    throughput: dict[str, Any] | list[Any] | None = None


class _Sample(msgspec.Struct):
    iters: list[_Number]
    times: list[_Number]


class _Estimate(msgspec.Struct):
    point_estimate: _Number = None
    estimate: _Number = None


class _Complete(msgspec.Struct):
    id: str
    unit: str = ""
    iteration_count: list[_Number] = []
    measured_values: list[_Number] = []
    throughput: list[Any] = []
    mean: _Estimate | None = None
    median: _Estimate | None = None
    slope: _Estimate | None = None


class Criterion:
    """Reads what criterion.rs and cargo-criterion leave behind."""

    tool = "criterion"

    def sniff(self, content: Content) -> bool:
        """A directory with `new/sample.json` or `new/estimates.json` somewhere below, a sample, its columns, or a message of cargo-criterion."""
        if content.is_directory:
            return next(_measured(content.path), None) is not None
        if content.header:
            return set(content.header) >= _COLUMNS
        return {"iters", "times"} <= content.fields.keys() or {"reason", "id"} <= (content.lines_fields or content.fields).keys()

    def read(self, content: Content) -> SeriesSet:
        """One series a benchmark."""
        gathering = Gathering(content, self.tool)
        if content.is_directory:
            for directory in sorted(_measured(content.path)):
                _directory(gathering, Content(directory), content.path)
        elif content.header:
            _table(gathering, content)
        elif "iters" in content.fields:
            _directory(gathering, Content(content.path.parent), content.path.parent, msgspec.Raw(content.data))
        else:
            _messages(gathering, content)
        return gathering.finish()


def _measured(root: Path) -> Iterator[Path]:
    """Directories of newest measurements below, the root itself included."""
    for directory, below, files in islice(os.walk(root), _MOST_DIRECTORIES):
        below.sort()
        path = Path(directory)
        if {"sample.json", "estimates.json"} & set(files) and (path.name == "new" or path == root):
            yield path


def _directory(gathering: Gathering, place: Content, root: Path, sample: msgspec.Raw | None = None) -> None:
    described = place.beside("benchmark.json")
    found = decode_as(described.data, _Benchmark) if described else ""
    benchmark = _Benchmark() if isinstance(found, str) else found
    name = benchmark.full_id or (place.path.parent if place.path.name == "new" else place.path).relative_to(root.parent).as_posix()
    estimates = place.beside("estimates.json")
    raw = sample or _raw(place.beside("sample.json"))
    taken = decode_as(raw, _Sample) if raw else _Sample(iters=[], times=[])
    if isinstance(taken, str) or len(taken.iters) != len(taken.times):
        gathering.leave_out("a sample.json that is damaged", name)
        taken = _Sample(iters=[], times=[])
    scale = _scale(gathering, place)
    if scale is None:
        gathering.leave_out("a unit that is not known", name)
        return
    aggregates = _estimates(fields_of(_raw(estimates)))
    gathering.add(name, "time", scale, _each(taken.times, taken.iters), aggregates=aggregates, keys=_throughput(benchmark.throughput))


def _raw(content: Content | None) -> msgspec.Raw | None:
    return None if content is None else msgspec.Raw(content.data)


def _scale(gathering: Gathering, place: Content) -> Scale | None:
    table = place.beside("raw.csv")
    if table is not None:
        units = {row.get("unit", "") for row in table.rows()}
        return spelled(units.pop()) if len(units) == 1 else None
    gathering.caution(
        "assumed-unit",
        "criterion's JSON names no unit: taken as nanoseconds of its wall-clock measurement",
        "a custom measurement would be something else",
    )
    return NANOSECOND


def _estimates(found: Mapping[str, msgspec.Raw]) -> dict[str, object]:
    names = {"mean": "mean", "median": "median", "std_dev": "stddev", "slope": "slope"}
    return {
        names[key]: estimate.point_estimate
        for key, raw in found.items()
        if key in names and isinstance(estimate := decode_as(raw, _Estimate), _Estimate)
    }


def _each(times: list[_Number], iterations: list[_Number]) -> list[float | None]:
    pairs = [(finite(time), finite(count)) for time, count in zip(times, iterations, strict=False)]
    return [time / count if time is not None and count else None for time, count in pairs]


def _throughput(found: dict[str, Any] | list[Any] | None) -> dict[str, object]:
    if isinstance(found, dict):
        return {"workload.throughput": " ".join(f"{count} {unit}" for unit, count in found.items())}
    return {"workload.throughput": " ".join(" ".join(map(str, entry.values())) for entry in found or [] if isinstance(entry, dict))}


def _table(gathering: Gathering, content: Content) -> None:
    groups: dict[tuple[str, str, str], list[tuple[_Number, _Number]]] = {}
    for row in content.rows():
        name = "/".join(part for part in (row.get("group"), row.get("function"), row.get("value")) if part)
        through = f"{row.get('throughput_num', '')} {row.get('throughput_type', '')}".strip()
        groups.setdefault((name, row.get("unit", ""), through), []).append((row.get("sample_measured_value"), row.get("iteration_count")))
    for (name, unit, through), pairs in groups.items():
        scale = spelled(unit)
        if scale is None:
            gathering.leave_out(f"a unit that is not known: {unit!r}", name, len(pairs))
            continue
        values = _each([time for time, _ in pairs], [count for _, count in pairs])
        gathering.add(name, "time", scale, values, keys={"workload.throughput": through})


def _messages(gathering: Gathering, content: Content) -> None:
    for number, line in enumerate(content.lines(), 1):
        reason = text_of(fields_of(msgspec.Raw(line)).get("reason"))
        if reason != "benchmark-complete":
            if not reason:
                gathering.leave_out("a line that is damaged or cut short", f"line {number}")
            continue
        found = decode_as(line, _Complete)
        scale = spelled(found.unit) if isinstance(found, _Complete) else None
        if isinstance(found, str) or scale is None:
            gathering.leave_out("a message without a unit that is known", found if isinstance(found, str) else found.id)
            continue
        stated = {"mean": found.mean, "median": found.median, "slope": found.slope}
        aggregates = {key: estimate.estimate for key, estimate in stated.items() if estimate is not None}
        values = _each(found.measured_values, found.iteration_count)
        gathering.add(found.id, "time", scale, values, aggregates=aggregates, keys=_throughput(found.throughput))
