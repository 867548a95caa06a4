"""airspeed velocity (asv): the results of one commit on one machine, in files of version 2 (arrays by column) and version 1 (objects).

This module decides how a result unfolds: one benchmark for each combination of its parameters, in the order of their product; null failed, NaN was
skipped. Type and unit are from `benchmarks.json` one directory up; without it from the prefix of the name, by which asv itself decides the type. asv
calls any increase worse, so lower is better. Samples, where they were recorded, are over processes that the file does not tell apart.
Source: asv 0.6, files it wrote; the documentation of asv for version 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from ridgeline.core import SeriesSet

from .content import Content, decode_as
from .gathering import Gathering
from .scales import BYTE, SECOND, Scale, finite, spelled

__all__ = ["Asv"]

#: asv's prefixes of benchmark names → type and unit.
_PREFIXES: Mapping[str, tuple[str, str]] = {
    "time_": ("time", "seconds"),
    "timeraw_": ("time", "seconds"),
    "mem_": ("memory", "bytes"),
    "peakmem_": ("peakmemory", "bytes"),
}
_OLD_COLUMNS = ("result", "params", "version", "started_at", "duration")
_STATS = {"q_25": "q1", "q_75": "q3", "ci_99_a": "low99", "ci_99_b": "high99", "repeat": "n"}


class _File(msgspec.Struct):
    results: dict[str, Any]
    commit_hash: str = ""
    date: float | None = None
    params: dict[str, Any] = {}
    python: str | None = None
    requirements: dict[str, Any] = {}
    env_vars: dict[str, Any] = {}
    result_columns: list[str] = []
    version: float | None = None


class _Known(msgspec.Struct):
    """What `benchmarks.json` says of a benchmark."""

    type: str = ""
    unit: str = ""
    param_names: list[str] = []


class Asv:
    """Reads `results/MACHINE/COMMIT-ENVIRONMENT.json`."""

    tool = "asv"

    def sniff(self, content: Content) -> bool:
        """Results beside a commit hash."""
        return {"results", "commit_hash"} <= content.fields.keys()

    def read(self, content: Content) -> SeriesSet:
        """One series for each benchmark and combination of parameters."""
        gathering = Gathering(content, self.tool)
        file = decode_as(msgspec.json.encode(content.fields), _File)
        if isinstance(file, str):
            raise ValueError(file)
        known = _benchmarks(gathering, content)
        for name, stored in file.results.items():
            _benchmark(gathering, name, _columns(stored, file.result_columns), known.get(name, _Known()), file)
        return gathering.finish()


def _benchmarks(gathering: Gathering, content: Content) -> dict[str, _Known]:
    described = content.above("benchmarks.json")
    if described is None:
        gathering.caution(
            "assumed-unit", "no benchmarks.json one directory up: units by the prefixes of asv's names", "a unit set by hand is not seen"
        )
        return {}
    return {name: found for name, raw in described.fields.items() if isinstance(found := decode_as(raw, _Known), _Known)}


def _columns(stored: Any, columns: Sequence[str]) -> Mapping[str, Any]:
    """A stored result as column → value, whichever version wrote it."""
    if isinstance(stored, dict):
        stats = stored.get("stats")
        rows: Mapping[str, Any] = (
            {f"stats_{key}": [entry.get(key) if isinstance(entry, dict) else None for entry in stats] for key in _STATS}
            if isinstance(stats, list)
            else {}
        )
        return {**stored, **rows}
    if isinstance(stored, list) and columns:
        return dict(zip(columns, stored, strict=False))
    return {"result": [stored], "params": []}


def _benchmark(gathering: Gathering, name: str, row: Mapping[str, Any], known: _Known, file: _File) -> None:
    kind, scale = _kind(name, known)
    axes = [axis for axis in row.get("params") or [] if isinstance(axis, list)]
    size = math.prod(len(axis) for axis in axes)
    results = row.get("result")
    if results is None:
        gathering.leave_out("failed", name, max(1, size))
        return
    results = results if isinstance(results, list) else [results]
    # What a file could claim to unfold is bounded by what it holds.
    if len(results) != size:
        gathering.leave_out("results that do not fit their parameters", name)
        return
    if scale is None:
        gathering.leave_out(f"a unit that is not known: {known.unit!r}", name, size)
        return
    for index, combination in enumerate(itertools.product(*axes)):
        names = [*known.param_names, *(f"param{number + 1}" for number in range(len(known.param_names), len(axes)))]
        parameters = dict(zip(names, map(str, combination), strict=False))
        label = name + (f"({', '.join(f'{key}={value}' for key, value in parameters.items())})" if parameters else "")
        keys = {**_keys(file), "workload.version": row.get("version"), **{f"workload.{key}": value for key, value in parameters.items()}}
        _one(gathering, label, kind, scale, results[index], row, index, keys, file)


def _one(
    gathering: Gathering, label: str, kind: str, scale: Scale, result: Any, row: Mapping[str, Any], index: int, keys: Mapping[str, Any], file: _File
) -> None:
    if finite(result) is None:
        gathering.leave_out("failed" if result is None else "skipped", label)
        return
    samples = _at(row.get("samples"), index)
    values = samples if isinstance(samples, list) else []
    aggregates: dict[str, object] = {name: _at(row.get(f"stats_{key}"), index) for key, name in _STATS.items()}
    if kind == "time":
        aggregates["median"] = result
    elif not values:
        values = [result]
    gathering.add(label, kind, scale, values, aggregates=aggregates, keys=keys, at=_at_time(file.date), zero=kind != "time")


def _at(column: Any, index: int) -> Any:
    return column[index] if isinstance(column, list) and index < len(column) else None


def _kind(name: str, known: _Known) -> tuple[str, Scale | None]:
    if known.type:
        return known.type, spelled(known.unit)
    last = name.split("-")[0].rsplit(".", 1)[-1]
    for prefix, (kind, unit) in _PREFIXES.items():
        if last.startswith(prefix):
            return kind, {"seconds": SECOND, "bytes": BYTE}[unit]
    return "track", None


def _keys(file: _File) -> dict[str, object]:
    params = file.params
    return {
        "machine.cpu": params.get("cpu"),
        "machine.cores": params.get("num_cpu"),
        "machine.memory": params.get("ram"),
        "machine.architecture": params.get("arch"),
        "machine.host": params.get("machine"),
        "kernel": params.get("os"),
        "python": file.python,
        "commit": file.commit_hash,
        **{f"library.{name}": version for name, version in file.requirements.items()},
        **{f"environment.{name}": value for name, value in file.env_vars.items()},
    }


def _at_time(milliseconds: float | None) -> str:
    try:
        return "" if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
