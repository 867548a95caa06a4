"""`answered`: a profile put to every question that its contents can answer.

Decides which analysis is asked of which part; what an answer is, is left to `timeline`, what it means to `diagnosis.traces`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.core import Profile, ReadReport, Stacks
from ridgeline.diagnosis.traces import findings_of
from ridgeline.timeline.figures import figures
from ridgeline.timeline.nesting import parents

from .timed import timed_answers

__all__ = ["answered"]

Report = Callable[[str, float | None], None]


def answered(
    profile: Profile,
    *,
    skew_s: Mapping[str, float] | None = None,
    changes: Mapping[str, float | None] | None = None,
    most: int = 1000,
    what: str = "",
    report: Report | None = None,
) -> ReadReport:
    """The report of a profile.

    Args:
        profile: what the files say.
        skew_s: seconds of each file's clock against the first.
        changes: what-ifs: names and how many times faster, null for no time at all.
        most: gaps that are listed.
        what: what was restricted, in words.
        report: told what is being worked out.
    """
    say = report or _silent
    answers: dict[str, Any] = {}
    timeline = profile.timeline if profile.timeline is not None and len(profile.timeline) else None
    up = None
    if timeline is not None:
        up = parents(timeline)
        answers = timed_answers(timeline, up, changes=changes or {}, most=most, report=say)
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
    findings, healthy = findings_of(found)
    return msgspec.structs.replace(found, findings=findings, healthy=healthy)


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
    return {"frames": frame_uses(alike), "measure": first.measure, "unit": first.unit}
