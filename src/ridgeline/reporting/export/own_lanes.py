"""Findings, gaps and the critical path as lanes beside those of a trace, for viewers of Chrome's format.

Their events have categories `ridgeline.findings`, `ridgeline.gaps` and `ridgeline.path`, in the process `ridgeline`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ridgeline.core import ReadReport, Timeline
from ridgeline.core.units import format_share, format_speedup
from ridgeline.timeline.use import window_of

from .chrome_form import OWN_PID, Clock, json_text, named

__all__ = ["own_lanes"]


def own_lanes(timeline: Timeline, report: ReadReport, clock: Clock) -> Iterator[bytes]:
    """The lines of these lanes; times of a report count from the start of the timeline's window."""
    made = _Made(timeline, clock)
    for finding in report.findings:
        lane = made.lane(f"finding: {finding.cause}")
        yield made.name(lane)
        gains = ", ".join(f"{action.action} {format_speedup(*action.speedup)}" for action in finding.actions)
        args = {"share": format_share(finding.share), "actions": gains}
        yield made.span(lane, "findings", finding.summary, 0.0, report.window_s or 0.0, args)
    for device in dict.fromkeys(gap.device for gap in report.gaps):
        lane = made.lane(f"gaps of {device}")
        yield made.name(lane)
        for gap in report.gaps:
            if gap.device == device:
                args = {"after": gap.after, "waiting for": gap.waiting_for, "host": gap.activity}
                yield made.span(lane, "gaps", gap.because, gap.start_s, gap.duration_s, args)
    path = report.critical_path
    if path is not None and path.pieces:
        lane = made.lane("critical path")
        yield made.name(lane)
        for piece in path.pieces:
            args = {"label": piece.label, "lane": piece.lane}
            yield made.span(lane, "path", piece.name or piece.label, piece.start_s, piece.duration_s, args)


class _Made:
    """Lanes in the order in which they are made, and their spans in whole ticks."""

    def __init__(self, timeline: Timeline, clock: Clock) -> None:
        self._clock = clock
        self._origin = window_of(timeline)[0]
        self._tick_s = timeline.tick_s
        self._names: list[str] = []

    def lane(self, name: str) -> int:
        """The number of a new lane."""
        self._names.append(name)
        return len(self._names)

    def name(self, lane: int) -> bytes:
        """The line that names it."""
        return named("thread_name", OWN_PID, lane, "name", json_text(self._names[lane - 1]))

    def span(self, lane: int, category: str, name: str, start_s: float, duration_s: float, args: dict[str, str]) -> bytes:
        """One event of a lane."""
        start, end = (round(s / self._tick_s) for s in (start_s, start_s + duration_s))
        ts, dur = self._clock.us(np.array([self._origin + start, end - start], dtype=np.int64))
        written = ",".join(f"{json_text(key)}:{json_text(text)}" for key, text in args.items())
        head = f'"ph":"X","cat":"ridgeline.{category}","name":{json_text(name)},"pid":{OWN_PID},"tid":{lane}'
        return f'{{{head},"ts":{ts},"dur":{dur},"args":{{{written}}}}}'.encode()
