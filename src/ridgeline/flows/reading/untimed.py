"""What is left of a report whose recording changed the times: what ran, how often and in which order; no time, no share, nothing that rests on one.

Which recordings these are is decided by who made them.
"""

from __future__ import annotations

import msgspec
import numpy as np

from ridgeline.core import EVENT_KINDS, EventCount, PartitionReport, ReadReport, Timeline

__all__ = ["untimed"]


def untimed(report: ReadReport, timeline: Timeline | None) -> ReadReport:
    """The report without times, with the counts of its events in order of their first start.

    Args:
        report: of the recording.
        timeline: that the report is of; null where there is none.
    """
    return ReadReport(
        files=report.files,
        format=report.format,
        tool=report.tool,
        what=report.what,
        partitions=_cut(report.partitions) if report.partitions is not None else None,
        facts=report.facts,
        excluded=tuple(msgspec.structs.replace(one, total_s=0.0) for one in report.excluded),
        warnings=report.warnings,
        counts=_counts(timeline) if timeline is not None and len(timeline) else (),
    )


def _cut(found: PartitionReport) -> PartitionReport:
    """How a graph was cut, without what that cost."""
    boundaries = tuple(msgspec.structs.replace(one, total_s=None) for one in found.boundaries)
    return msgspec.structs.replace(found, handoff_s=None, boundaries=boundaries, without_s=None, providers={}, run_s=None)


def _counts(timeline: Timeline) -> tuple[EventCount, ...]:
    names = timeline.name.values.astype(np.int64)
    kinds = timeline.kind.values.astype(np.int64) if timeline.kind is not None else np.zeros(len(names), dtype=np.int64)
    # Of what starts at once the longer one, which holds the other, comes first.
    order = np.lexsort((-timeline.duration_tick.values.astype(np.int64), timeline.start_tick.values))
    unique, first, calls = np.unique((names * len(EVENT_KINDS) + kinds)[order], return_index=True, return_counts=True)
    return tuple(
        EventCount(name=timeline.strings[key // len(EVENT_KINDS)], kind=EVENT_KINDS[key % len(EVENT_KINDS)], calls=count)
        for key, count in zip(unique[np.argsort(first)].tolist(), calls[np.argsort(first)].tolist(), strict=True)
    )
