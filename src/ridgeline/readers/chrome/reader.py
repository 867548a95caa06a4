"""The reader of Chrome trace events.

This module decides how sure it is of a file and what is said beside the timeline: who wrote it, the facts in its metadata, what was lost or mended.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ridgeline.core import Profile
from ridgeline.core.caution import Caution
from ridgeline.core.profile import Excluded
from ridgeline.readers.source import Source

from .building import build
from .columns import Columns
from .stream import EventStream

__all__ = ["Chrome"]

_OBJECT = re.compile(rb'"traceEvents"\s*:\s*\[')
_ARRAY = re.compile(rb'^\s*\[\s*\{[^\[\]]{0,4000}?"ph"\s*:\s*"')
_KINETO = re.compile(rb'^\s*\{\s*"schemaVersion"\s*:|"deviceProperties"\s*:')
#: Metadata that tell of the run and of nobody's person.
_FACTS = (
    "schemaVersion", "baseTimeNanoseconds", "displayTimeUnit", "trace_id", "group_trace_id", "host_name", "cupti_version", "cuda_runtime_version",
    "cuda_driver_version", "roctracer_version", "hip_runtime_version", "hip_driver_version", "record_shapes", "with_stack", "with_flops",
    "with_modules", "profile_memory",
)  # fmt: skip
_LONGEST_FACT = 300


class Chrome:
    """Trace events of any producer, to full depth those of PyTorch."""

    format = "chrome"
    title = "Chrome trace events (PyTorch, TensorFlow, JAX, browsers)"

    def recognises(self, source: Source) -> int:
        """Sure where the array of events is in sight, or what PyTorch writes before it."""
        head = source.head
        if head.lstrip(b" \t\r\n\x00")[:1] not in (b"{", b"["):
            return 0
        if _OBJECT.search(head):
            return 80
        if _ARRAY.search(head):
            return 50
        return 40 if head.lstrip()[:1] == b"{" and _KINETO.search(head[:4000]) else 0

    def read(self, source: Source) -> Profile:
        """All events.

        Raises:
            ReadError: no array of events, nothing in it that could be read, or more than the limits allow.
        """
        stream = EventStream(source)
        columns = Columns(source.limits.name_characters, source.limits.events, source.name)
        for block in stream.blocks():
            columns.add(block)
        if not stream.found:
            raise source.damaged("an array of trace events", _looks(source, stream), "write it again: what there is of it holds no events")
        for reason, (count, first) in stream.lost.items():
            columns.exclude(reason, first, count)
        if not columns.events and (stream.lost or stream.remarks):
            why = ", ".join([f"{count} events: {reason}, the first at {first}" for reason, (count, first) in stream.lost.items()] + stream.remarks)
            raise source.damaged("trace events that can be read", why)
        rank = _rank(stream.metadata)
        timeline, warnings = build(columns, rank)
        return Profile(
            format=self.format,
            files=(source.name,),
            tool=_tool(stream.metadata, columns),
            resolution_s=1e-6 if columns.whole_us else 1e-9,
            timeline=timeline,
            rank=rank,
            facts=_facts(stream.metadata),
            excluded=tuple(
                Excluded(reason=reason, events=count, total_s=total, first=first) for reason, (count, total, first) in columns.excluded.items()
            ),
            warnings=(*_remarks(stream), *_overflowed(stream.metadata), *warnings),
        )


def _looks(source: Source, stream: EventStream) -> str:
    return "; ".join(stream.remarks) or f"none in {source.size_bytes} bytes that start with {source.head[:40]!r}"


def _remarks(stream: EventStream) -> list[Caution]:
    said = [Caution(code="damaged-file", message=remark, effect="events may be missing") for remark in dict.fromkeys(stream.remarks)]
    if stream.mended:
        what = "control characters, backslashes, numbers that are none"
        message = f"{stream.mended} events were no JSON and could be mended ({what}), the first at {stream.first_mended}"
        said.append(Caution(code="mended-events", message=message))
    return said


def _overflowed(metadata: dict[str, bytes]) -> list[Caution]:
    """viztracer keeps the last events only (`tracer_entries`), and says when earlier ones were overwritten."""
    wrote = _value(metadata, "viztracer_metadata")
    if not (isinstance(wrote, dict) and wrote.get("overflow") is True):
        return []
    message = "viztracer ran out of room and overwrote the earliest calls (viztracer --tracer_entries keeps more)"
    effect = "functions that were open then have the time of what is lost as their own"
    return [Caution(code="lost-events", message=message, effect=effect)]


def _value(metadata: dict[str, bytes], key: str) -> Any:
    try:
        return msgspec.json.decode(metadata[key]) if key in metadata else None
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _rank(metadata: dict[str, bytes]) -> int | None:
    info = _value(metadata, "distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    if isinstance(rank, str) and rank.isdecimal() and len(rank) < 10:
        rank = int(rank)
    return rank if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 2**31 else None


def _facts(metadata: dict[str, bytes]) -> dict[str, str]:
    facts = {}
    for key in _FACTS:
        value = _value(metadata, key)
        if isinstance(value, (str, int, float)) and len(str(value)) <= _LONGEST_FACT:
            facts[key] = str(value)
    info = _value(metadata, "distributedInfo")
    if isinstance(info, dict):
        facts |= {key: str(info[key]) for key in ("backend", "rank", "world_size") if isinstance(info.get(key), (str, int))}
    devices = _value(metadata, "deviceProperties")
    for device in devices[:64] if isinstance(devices, list) else ():
        if isinstance(device, dict) and isinstance(device.get("name"), str) and len(device["name"]) <= _LONGEST_FACT:
            facts[f"device {device.get('id', '')}".strip()] = device["name"]
    return facts


def _tool(metadata: dict[str, bytes], columns: Columns) -> str:
    if "viztracer_metadata" in metadata:
        return "viztracer"
    if columns.known or "schemaVersion" in metadata:
        version = _value(metadata, "schemaVersion")
        return f"PyTorch (Kineto, schema {version})" if version is not None else "PyTorch (Kineto)"
    if any("/device:" in name or name.startswith("/host:CPU") for name in columns.processes.values()):
        return "TensorFlow or JAX"
    return ""
