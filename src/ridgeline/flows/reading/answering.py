"""`answered`: a profile put to every question that its contents can answer.

Decides which analysis is asked of which part; what an answer is, is left to `timeline`, what it means to `diagnosis.traces`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.core import Profile, ReadReport, Stacks, Timeline, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.diagnosis.traces import findings_of
from ridgeline.timeline.figures import figures
from ridgeline.timeline.nesting import parents

from .callers import frame_callers
from .restricting import part_of
from .timed import timed_answers

__all__ = ["answered"]

Report = Callable[[str, float | None], None]
#: Iterations after the first ones that show what a program goes on with; first ones that take less of the window than this more change no share.
_STEADY, _CHANGES = 3, 0.05


def answered(
    profile: Profile,
    *,
    skew_s: Mapping[str, float] | None = None,
    changes: Mapping[str, float | None] | None = None,
    nested: bool = False,
    most: int = 1000,
    what: str = "",
    report: Report | None = None,
) -> ReadReport:
    """The report of a profile.

    Args:
        profile: what the files say.
        skew_s: seconds of each file's clock against the first.
        changes: what-ifs: names and how many times faster, null for no time at all.
        nested: whether what-ifs change calls of the host with all that is nested in them, and not their own time.
        most: gaps that are listed.
        what: what was restricted, in words.
        report: told what is being worked out.

    Raises:
        UsageError: a what-if of something that is not there, or of a profile without times; as the analyses do.
    """
    say = report or _silent
    answers: dict[str, Any] = {}
    timeline = profile.timeline if profile.timeline is not None and len(profile.timeline) else None
    if changes and timeline is None:
        which = f"{', '.join(profile.files)} ({profile.format}), which has none"
        raise UsageError("a recording with times, for a what-if", found=which, remedy="record a timeline")
    up = None
    if timeline is not None:
        up = parents(timeline)
        answers = timed_answers(timeline, up, changes=changes or {}, nested=nested, most=most, report=say)
    say("tables and stacks", None)
    found = ReadReport(
        files=profile.files,
        format=profile.format,
        tool=profile.tool,
        partitions=_partitions(profile),
        tables=profile.tables,
        kernels=profile.kernels,
        counters=profile.counters,
        what=what,
        skew_s=dict(skew_s or {}),
        facts=profile.facts,
        excluded=profile.excluded,
        warnings=profile.warnings,
        **answers,
        **_frames(profile.stacks),
    )
    say("figures and findings", None)
    found = msgspec.structs.replace(found, figures=figures(found, timeline, up))
    judged, of = _steady(found, timeline, most, say) if timeline is not None else (found, "")
    findings, healthy = findings_of(judged)
    return msgspec.structs.replace(found, findings=findings, healthy=healthy, judged=of)


def _steady(found: ReadReport, timeline: Timeline, most: int, report: Report) -> tuple[ReadReport, str]:
    """(the report that is judged, of what it is): of the steady iterations where first ones that stand apart would change the shares.

    A program that goes on is judged by what it goes on with.
    """
    from ridgeline.timeline.use import window_of

    steps = found.iterations
    if steps is None or not steps.first or not steps.median_s or not found.window_s or len(steps.spans_s) - steps.first < _STEADY:
        return found, ""
    excess_s = sum(span[1] - steps.median_s for span in steps.spans_s[: steps.first])
    if excess_s < _CHANGES * found.window_s:
        return found, ""
    report("steady iterations", None)
    origin, low_s, last = window_of(timeline)[0], steps.spans_s[steps.first][0], steps.spans_s[-1]
    part = part_of(timeline, origin + round(low_s / timeline.tick_s), origin + round((last[0] + last[1]) / timeline.tick_s))[0]
    up = parents(part)
    answers = timed_answers(part, up, changes={}, nested=False, most=most, report=report, judging=True)
    judged = msgspec.structs.replace(found, **answers)
    judged = msgspec.structs.replace(judged, figures=figures(judged, part, up))
    which = "the first one stands" if steps.first == 1 else f"the first {steps.first} stand"
    return judged, f"iterations {steps.first + 1} to {len(steps.spans_s)}, {format_quantity(judged.window_s or 0.0, 's')}; {which} apart"


def _silent(text: str, fraction: float | None) -> None:
    """Where nobody wants progress."""


def _partitions(profile: Profile) -> Any:
    from ridgeline.timeline.partitions import partition_report

    return partition_report(profile)


def _frames(stacks: Sequence[Stacks]) -> dict[str, Any]:
    """Functions of all trees of the measure that stands first; trees of other measures have other weights and no sum with these."""
    if not stacks:
        return {}
    from ridgeline.timeline.frames import frame_uses

    first = stacks[0]
    alike = [one for one in stacks if one.measure == first.measure and one.unit == first.unit]
    return {"frames": frame_callers(alike, frame_uses(alike)), "measure": first.measure, "unit": first.unit}
