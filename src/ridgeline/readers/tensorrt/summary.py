"""The summary of a run of trtexec, as the engine explorer's scripts keep it beside the exports: min, max, mean, median and p99 of each part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ridgeline.core import Excluded, Profile, ProfileRow, ProfileTable
from ridgeline.readers.small_json import decoded
from ridgeline.readers.source import Source

from .records import FORMAT, MS, TOOL, named, number

__all__ = ["summary"]


def summary(source: Source) -> Profile:
    """The parts of an inference; raises `ReadError` where there are none."""
    found = decoded(source, "a summary in JSON")
    measured = found.get("performance_summary") if isinstance(found, dict) else None
    if not isinstance(measured, dict):
        raise source.damaged("an object with performance_summary", "none", "keep the summary of trtexec with the engine explorer's scripts")
    rows, left_out = [], 0
    for name, values in measured.items():
        numbers = [number({"value": value}, "value") for value in values[:4]] if isinstance(values, list) else []
        if len(numbers) < 4:
            continue
        least, most, mean, median = (None if number is None or number < 0 else number / MS for number in numbers)
        if mean is None:
            left_out += 1
            continue
        device = "" if name.startswith("Enqueue") else "GPU 0"
        row = ProfileRow(name=named(source, name), calls=1.0, total_s=mean, least_s=least, most_s=most, median_s=median, device=device)
        rows.append(row)
    if not rows:
        raise source.damaged("times of inferences", "no list of min, max, mean and median", "write it again")
    latency = next((row for row in rows if row.name == "Latency"), None)
    # The latency is the sum of the others, so it stands as their wall.
    table = ProfileTable(
        rows=tuple(row for row in rows if row is not latency) or tuple(rows),
        of="ranges",
        per_call=True,
        nested=True,
        wall_s=None if latency is None else latency.total_s,
        name="inferences",
    )
    reason = "statistics that are no times"
    return Profile(
        format=FORMAT,
        files=(source.name,),
        tool=TOOL,
        tables=(table,),
        facts=_facts(found),
        excluded=(Excluded(reason=reason, events=left_out),) if left_out else (),
    )


def _facts(found: Mapping[str, Any]) -> dict[str, str]:
    facts: dict[str, str] = {}
    for group in ("performance_summary", "inference_options", "device_information"):
        values = found.get(group)
        if isinstance(values, dict):
            facts |= {str(name)[:200]: str(value)[:200] for name, value in values.items() if isinstance(value, str | int | float)}
    return dict(list(facts.items())[:100])
