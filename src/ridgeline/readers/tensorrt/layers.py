"""Layers of `trtexec --exportProfile`.

This module decides that layers of the kind `Reformat` are those that TensorRT inserts to change layout or precision (their names say so): they are
the boundaries between stretches of one layout. Where a layer ran, on the GPU or on a DLA, the export does not tell. Layers are profiled one by one,
with a synchronisation after each: their sum may be more than the wall of an inference, so no overhead follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ridgeline.core import Caution, Profile, ProfileRow, ProfileTable
from ridgeline.readers.source import Source

from .records import FORMAT, TOOL, Records, named, number, seconds

__all__ = ["layers"]


def layers(source: Source, records: Records, kept: Sequence[tuple[int, dict[str, Any]]]) -> Profile:
    """The layers; raises `ReadError` where there is none with a time."""
    count: float | None = None
    rows: list[ProfileRow] = []
    for place, record in kept:
        if "name" not in record:
            count = number(record, "count") if "count" in record else count
            continue
        mean_s = seconds(record, "averageMs")
        total_s = seconds(record, "timeMs")
        if "averageMs" not in record and total_s is not None and count:
            mean_s = total_s / count
        if mean_s is None:
            records.left_out.add("layers without a time, or with one that is none", f"record {place}")
            continue
        rows.append(_layer(named(source, str(record["name"])), mean_s, record, count))
    if not rows:
        raise source.damaged("layers with averageMs", "none", "write it with trtexec --exportProfile")
    table = ProfileTable(rows=tuple(rows), of="layers", per_call=True, iterations=int(count) if count and count >= 1 else None, name="layers")
    return Profile(
        format=FORMAT,
        files=(source.name,),
        tool=TOOL,
        tables=(table,),
        excluded=records.left_out.listed,
        warnings=_about_layers(rows, count),
    )


def _layer(name: str, mean_s: float, record: Mapping[str, Any], count: float | None) -> ProfileRow:
    percentage = number(record, "percentage")
    return ProfileRow(
        name=name,
        kind="Reformat" if _reformats(name) else "",
        calls=1.0,
        total_s=mean_s,
        median_s=seconds(record, "medianMs"),
        share=percentage / 100.0 if percentage is not None and 0.0 <= percentage <= 100.0 else None,
        provider="TensorRT",
        numbers={"calls_profiled": count} if count else {},
    )


def _reformats(name: str) -> bool:
    lowered = name.lower()
    return lowered.startswith(("reformatting copynode", "reformat_")) or "[reformat]" in lowered


def _about_layers(rows: Sequence[ProfileRow], count: float | None) -> tuple[Caution, ...]:
    found = []
    shares = [row.share for row in rows if row.share is not None]
    if shares and abs(sum(shares) - 1.0) > 0.01:
        message = f"the file's own percentages add up to {100.0 * sum(shares):.1f}"
        found.append(Caution(code="broken-shares", message=message, effect="shares are of the sum of the layers instead"))
    if count is not None and count < 10:
        message = f"layers were profiled in {count:.0f} inference{'s' * (count != 1)}"
        found.append(Caution(code="too-few-samples", message=message, effect="how much a layer varies is not known"))
    none = sum(row.total_s == 0 for row in rows)
    if none:
        message = f"{none} of {len(rows)} layers {'is' if none == 1 else 'are'} printed with a time of 0"
        effect = "whether they did nothing or were timed with a neighbour is not known; as boundaries they have no cost"
        found.append(Caution(code="no-own-time", message=message, effect=effect))
    what = "layers are timed one by one; together they may take longer than an inference without the profiler"
    found.append(Caution(code="profiled-apart", message=what, effect="shares and order hold; their sum is no wall, and no overhead follows from it"))
    return tuple(found)
