"""`read`: the files that a profiler wrote, in the nouns of ridgeline, with the questions answered that a trace is for.

Joins reading with judging: files come in through `readers`, are put on one clock and restricted, then asked by `timeline` and judged by
`diagnosis.traces`. Nothing is measured and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ridgeline.core import Profile, ReadReport, TimelineDifference, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.readers.source import Limits

from .reading.answering import answered
from .reading.loading import Loaded, load
from .reading.restricting import iteration_span, restricted, span_of

__all__ = ["compare_traces", "opened", "read", "report_of"]

Report = Callable[[str, float | None], None]
#: Gaps that a report lists.
_GAPS = 1000


def read(
    paths: str | Path | Sequence[str | Path],
    *,
    format: str = "",
    limits: Limits | None = None,
    window: str = "",
    iteration: int | None = None,
    what_if: Mapping[str, float | None] | None = None,
    nested: bool = False,
    most: int = _GAPS,
    report: Report | None = None,
) -> ReadReport:
    """Read one or several files of one run and answer what they are for.

    Args:
        paths: files of one run: pieces, or ranks.
        format: name of the reader; told from the contents if empty.
        limits: how much of each file is taken in.
        window: `FROM..TO`, seconds from the start: only what lies between.
        iteration: only this one of the iterations that are found, counted from 1.
        what_if: names of events, and how many times faster they are to be; null for no time at all.
        nested: whether calls of the host are to be faster with all that is nested in them; else their own time is.
        most: gaps that are listed.
        report: told a label and, where known, a fraction, for progress.

    Raises:
        ReadError: as `readers.read_profile`.
        UsageError: files that do not go together, or a part of the time that there is not.
    """
    loaded, what = opened(paths, format=format, limits=limits, window=window, iteration=iteration, report=report)
    return answered(loaded.profile, skew_s=loaded.skew_s, changes=what_if, nested=nested, most=most, what=what, report=report)


def opened(
    paths: str | Path | Sequence[str | Path],
    *,
    format: str = "",
    limits: Limits | None = None,
    window: str = "",
    iteration: int | None = None,
    report: Report | None = None,
) -> tuple[Loaded, str]:
    """The profile that `read` asks, restricted as it was wanted, and that restriction in words; arguments and errors as there."""
    if window and iteration is not None:
        raise UsageError("one of --window and --iteration", found="both", remedy="leave one out")
    asked = span_of(window) if window else None
    loaded = load([paths] if isinstance(paths, str | Path) else list(paths), format=format, limits=limits, report=report)
    if asked is not None:
        return _part(loaded, *asked), f"from {_seconds(asked[0])} to {_seconds(asked[1]) if asked[1] is not None else 'the end'}"
    if iteration is not None:
        start_s, end_s = iteration_span(_spans(loaded.profile), iteration)
        begins = _seconds(start_s) if start_s >= 0 else "before the window"
        return _part(loaded, start_s, end_s), f"iteration {iteration}, from {begins} to {_seconds(end_s)}"
    return loaded, ""


def report_of(profile: Profile, *, what_if: Mapping[str, float | None] | None = None, most: int = _GAPS, report: Report | None = None) -> ReadReport:
    """The answers of a profile that is at hand; arguments as for `read`."""
    return answered(profile, changes=what_if, most=most, report=report)


def compare_traces(
    a: Profile | str | Path, b: Profile | str | Path, *, format: str = "", limits: Limits | None = None, report: Report | None = None
) -> TimelineDifference:
    """What differs between two traces or profiles of one program: what appeared, vanished, grew.

    Timelines are compared by time, profiles of stacks by the shares of their functions, tables by their sums.

    Raises:
        UsageError: one of them has neither a timeline nor stacks nor a table.
        ReadError: as `readers.read_profile`.
    """
    from ridgeline.timeline.difference import difference

    sides = [one if isinstance(one, Profile) else load([one], format=format, limits=limits, report=report).profile for one in (a, b)]
    for side in sides:
        if not (side.timeline is not None and len(side.timeline)) and not side.stacks and not any(table.rows for table in side.tables):
            found = f"{', '.join(side.files)} ({side.format}), which has neither times nor stacks"
            raise UsageError("two traces or profiles that can be compared", found=found, remedy="record timelines or stacks of both")
    return difference(sides[0], sides[1])


def _part(loaded: Loaded, start_s: float, end_s: float | None) -> Loaded:
    return Loaded(profile=restricted(loaded.profile, start_s, end_s), skew_s=loaded.skew_s)


def _spans(profile: Profile) -> tuple[tuple[float, float], ...]:
    if profile.timeline is None or not len(profile.timeline):
        return ()
    from ridgeline.timeline.iterations import iterations

    found = iterations(profile.timeline)
    return found.spans_s if found is not None else ()


def _seconds(value: float) -> str:
    return format_quantity(value, "s")
