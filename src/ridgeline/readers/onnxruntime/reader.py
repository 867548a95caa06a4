"""The reader of onnxruntime's profiles: a timeline of nodes, runs and kernels, and the nodes of one run as a table.

This module decides what is said beside the figures: what is missing, and what rounding hides. A node that holds a subgraph (If, Loop, Scan) lasts as
long as the nodes of its body, which are on the same thread within it: each counts once, by its own time. Times are cut to whole microseconds by
onnxruntime, both starts and durations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ridgeline.core import Caution, Excluded, Profile

from ..source import Source
from .columns import TICK_S, Columns
from .decoding import CAP, Damage, batches
from .table import Nodes, nodes_of, table_of

__all__ = ["OnnxRuntime"]

_OURS = re.compile(rb'"cat"\s*:\s*"(?:Session|Node)"')
_MARKS = (b'"op_name"', b"_kernel_time", b'"model_run"', b'"session_initialization"', b'"model_loading', b"SequentialExecutor::Execute")
#: Rounding is said where it could be a hundredth of what the nodes took.
_ROUNDING = 0.01


class OnnxRuntime:
    """Reads what `SessionOptions.enable_profiling` writes."""

    format = "onnxruntime"
    title = "onnxruntime profile (JSON)"

    def recognises(self, source: Source) -> int:
        """By the categories and names that its first events have."""
        head = source.head.lstrip()
        if not head.startswith((b"[", b"{")) or _OURS.search(head) is None:
            return 0
        return 98 if any(mark in head for mark in _MARKS) else 0

    def read(self, source: Source) -> Profile:
        """All events.

        Raises:
            ReadError: none of onnxruntime in it, or more or longer ones than the limits.
        """
        damage, columns = Damage(), Columns()
        for events in batches(source, damage):
            columns.add(events)
            if columns.seen > source.limits.events:
                raise source.damaged(f"at most {source.limits.events} events", "more", "raise the limit")
        if not columns.ours:
            looks = f"{columns.seen} events, none of them sound, and {damage.broken} damaged pieces (the first at byte {damage.first_broken})"
            raise source.damaged("events of category Node or Session", looks)
        longest = max(map(len, columns.strings))
        if longest > source.limits.name_characters:
            raise source.damaged(f"names of at most {source.limits.name_characters} characters", f"one of {longest}", "raise the limit")
        return _profile(source, columns, damage)


def _profile(source: Source, columns: Columns, damage: Damage) -> Profile:
    nodes = nodes_of(columns)
    table, loose = table_of(nodes, columns)
    excluded = columns.excluded()
    if damage.broken:
        excluded.append(Excluded(reason="damaged or cut short", events=damage.broken, first=f"byte {damage.first_broken}"))
    if loose.size:
        reason = "nodes outside of any run that ended: in the timeline, not in the table"
        excluded.append(Excluded(reason=reason, events=int(loose.size), total_s=float(nodes.own[loose].sum()) * TICK_S))
    strings = tuple(columns.strings)
    providers = [strings[at] for at in dict.fromkeys(columns.index("provider").tolist()) if at >= 0]
    return Profile(
        format=OnnxRuntime.format,
        files=(source.name,),
        tool="onnxruntime",
        resolution_s=TICK_S,
        timeline=columns.timeline(),
        tables=(table,) if table is not None else (),
        facts={"providers": ", ".join(providers)} if providers else {},
        excluded=tuple(excluded),
        warnings=tuple(_cautions(columns, damage, nodes)),
    )


def _cautions(columns: Columns, damage: Damage, nodes: Nodes) -> Iterator[Caution]:
    if columns.seen >= CAP:
        message = f"the profile holds {columns.seen} events: onnxruntime stops recording at a million"
        yield Caution(code="event-cap", message=message, effect="what ran after that is not in it, and its last run may be a part of one")
    elif damage.cut or not damage.ended:
        message = damage.cut or "the array is not closed: the session was not ended with end_profiling, or the file is cut short"
        yield Caution(code="cut-short", message=message, effect="events at its end are missing")
    if damage.mended:
        message = f"{damage.mended} events have names that make no JSON (older versions wrote them raw)"
        yield Caution(code="raw-names", message=message, effect="of these only times, kind and provider were read")
    total, most = int(nodes.own.sum()), len(nodes)
    if most > _ROUNDING * total:
        share = most / (total + most)
        message = f"{most} nodes took {total} µs as written; each is cut to whole µs, so up to {most} µs ({share:.0%} of their sum) are missing"
        yield Caution(code="rounded-times", message=message, effect="short nodes are told too short, and overhead too large by as much")
