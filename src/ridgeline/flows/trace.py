"""`trace`: a few calls of a target recorded by the profiler of its framework, and put to the questions that a trace is for.

Decides how many calls are recorded, when shapes or stacks are worth a second recording, and what is left of one that changed what it recorded; taking
it is `measurement`'s, reading and answering it are those of `read`. Ten calls show order, gaps and what waits for what; times of many calls are for
instruments that record nothing.
"""

from __future__ import annotations

import gzip
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ridgeline.core import Caution, Profile, Quantity, ReadReport, Recording, RidgelineError, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.machine import Limits, Worker, scratch_folder, written_whole
from ridgeline.measurement.agent import EVERY_LEVEL, PreparedReport, TraceTaken
from ridgeline.targets import worker_environment

from .instruments.surroundings import perturbed
from .reading.answering import answered
from .reading.loading import load
from .reading.restricting import restricted
from .reading.untimed import untimed

if TYPE_CHECKING:
    from ridgeline.targets import TargetSpec

__all__ = ["MOST_ITERATIONS", "UNASKED", "Tracing", "record", "trace"]

Report = Callable[[str, float | None], None]
_AGENT = "ridgeline.measurement.agent"
#: Calls in one trace.
MOST_ITERATIONS = 100
#: Seconds for the clean calls around the recorded ones where nobody says otherwise, and the most that one request may take.
_BUDGET_S, _LONGEST_S = 4.0, 3600.0
#: Gaps that the report lists.
_GAPS = 200
#: Shares of the recorded time from which on more is recorded: in operators whose work follows from shapes, and outside of all operators.
_COMPUTING, _OUTSIDE = 0.2, 0.2
#: Where nobody asked for a recording, one that took this many times the clean calls around it is not made again.
_PATIENCE = 3
#: A second recording whose calls took this many times as long as those of the first changed them, whatever its interval leaves open.
_WORSE = 1.1


class Tracing(msgspec.Struct, frozen=True, kw_only=True):
    """How a trace is recorded.

    Args:
        iterations: calls, 1 to 100.
        shapes, stacks: record shapes of inputs, and Python functions; each makes every recorded operator slower.
            Where neither is asked for, what they answer is recorded in a second go, and only where the first one raises the question.
        file: where the trace is kept, compressed if its name ends in `.gz`; empty for nowhere.
        unasked: nobody asked for it: what is recorded by default.

    Raises:
        UsageError: more calls than a trace is for, or none.
    """

    iterations: int = 10
    shapes: bool = False
    stacks: bool = False
    file: str = ""
    unasked: bool = False

    def __post_init__(self) -> None:
        if self.iterations > MOST_ITERATIONS:
            raise UsageError(
                f"at most {MOST_ITERATIONS} iterations in a trace: it grows with each, and the longer a profiler records the more it changes what it "
                "records",
                found=str(self.iterations),
                remedy="ten show order, gaps and overhead; for the times of a thousand calls use `ridgeline bench`, which records nothing in them",
            )
        if self.iterations < 1:
            raise UsageError("at least one iteration to record", found=str(self.iterations), remedy="leave it out for ten")


UNASKED = Tracing(unasked=True)


def trace(
    spec: TargetSpec,
    *,
    iterations: int = 10,
    shapes: bool = False,
    stacks: bool = False,
    file: str | Path = "",
    budget_s: float = _BUDGET_S,
    report: Report | None = None,
) -> ReadReport:
    """Record a few calls of a target, and answer what a trace is for; `recording` of the report says how, and where the trace is kept.

    Args:
        spec: from `targets.parse_target`; a function that calls torch, or an ONNX model.
        iterations, shapes, stacks, file: as in `Tracing`.
        budget_s: about how many seconds the clean calls around the recorded ones may take.
        report: told a label and, where known, a fraction, for progress.

    Raises:
        UsageError: more than a hundred iterations.
        BackendUnavailable: no profiler writes a trace of this target.
        TargetFailed: the target fails.
    """
    tracing = Tracing(iterations=iterations, shapes=shapes, stacks=stacks, file=str(file))
    say = report or (lambda label, fraction: None)
    with Worker(limits=Limits(wall_s=_LONGEST_S), environment=worker_environment(spec), preload=EVERY_LEVEL) as worker:
        say("preparing the target", None)
        worker.call(f"{_AGENT}:prepare", {"spec": spec}, PreparedReport)
        return record(worker, tracing, budget_s, say)


def record(worker: Worker, tracing: Tracing, budget_s: float, report: Report) -> ReadReport:
    """As `trace`, of the target that a worker holds."""
    with scratch_folder("trace") as folder:
        since = time.monotonic()
        taken, profile = _taken(worker, tracing, budget_s, folder / "first", report)
        said: tuple[Caution, ...] = ()
        more = _more(profile, tracing) if taken.shapes_and_stacks and not perturbed(taken.ratio) else None
        if more is not None and not (tracing.unasked and time.monotonic() - since > _PATIENCE * budget_s):
            try:
                richer, with_more = _taken(worker, more, budget_s, folder / "second", report)
            except (RidgelineError, OSError) as error:
                said = (_failed(error, more),)
            else:
                if perturbed(richer.ratio) or richer.ratio.value > _WORSE * max(1.0, taken.ratio.value):
                    said = (_unwanted(richer, more),)
                else:
                    taken, profile, tracing = richer, with_more, more
        if tracing.file and (lost := _kept(Path(taken.file), Path(tracing.file))):
            said, tracing = (*said, *lost), msgspec.structs.replace(tracing, file="")
    found = _report(profile, taken, tracing, report)
    return msgspec.structs.replace(found, warnings=(*found.warnings, *said))


def _taken(worker: Worker, tracing: Tracing, budget_s: float, folder: Path, report: Report) -> tuple[TraceTaken, Profile]:
    beside = _beside(tracing)
    report(f"recording {tracing.iterations} calls" + (f", with {beside}" if beside else ""), None)
    folder.mkdir()
    wanted = {"iterations": tracing.iterations, "shapes": tracing.shapes, "stacks": tracing.stacks}
    taken = worker.call(f"{_AGENT}:recorded_trace", {"folder": str(folder), "seconds": budget_s, **wanted}, TraceTaken)
    return taken, _profile(taken)


def _more(profile: Profile, tracing: Tracing) -> Tracing | None:
    """What to record as well: shapes where their operators take much of the time, stacks where much of it is outside of all operators."""
    if tracing.shapes or tracing.stacks or profile.timeline is None:
        return None
    from ridgeline.timeline.events import events_of
    from ridgeline.timeline.intervals import union_length
    from ridgeline.timeline.overhead import overhead
    from ridgeline.timeline.useful import has_formula

    found = overhead(profile.timeline)
    if found is None:
        return None
    events, computing = events_of(profile.timeline), has_formula(profile.timeline)
    computing_s = union_length(events.start[computing], events.end[computing]) * profile.timeline.tick_s
    shapes, stacks = computing_s >= _COMPUTING * found.window_s, found.gap_share >= _OUTSIDE
    return msgspec.structs.replace(tracing, shapes=shapes, stacks=stacks) if shapes or stacks else None


def _failed(error: Exception, tracing: Tracing) -> Caution:
    """What is said of a second recording that there is none of."""
    message = f"recording once more with {_beside(tracing)} failed: {error}"
    return Caution(code="recorded-once", message=message, effect=f"what {_beside(tracing)} would tell is not known")


def _beside(tracing: Tracing) -> str:
    return " and ".join(name for name, wanted in (("shapes", tracing.shapes), ("stacks", tracing.stacks)) if wanted)


def _unwanted(taken: TraceTaken, tracing: Tracing) -> Caution:
    """What is said of a second recording that changed the calls."""
    beside = _beside(tracing)
    message = f"recorded once more with {beside}, calls took {_times(taken.ratio)} as long as clean ones: that recording is left out"
    return Caution(code="perturbed", message=message, effect=f"what {beside} would tell is not known")


def _profile(taken: TraceTaken) -> Profile:
    """What was recorded, without loading and warming up, which some profilers cannot leave out."""
    profile = load([taken.file]).profile
    if not taken.before:
        return profile
    from ridgeline.timeline.iterations import iterations

    found = iterations(profile.timeline) if profile.timeline is not None else None
    if found is None or len(found.spans_s) != taken.before + taken.calls:
        return profile
    start_s, (last_s, length_s) = found.spans_s[taken.before][0], found.spans_s[-1]
    return restricted(profile, start_s, last_s + length_s)


def _kept(source: Path, target: Path) -> tuple[Caution, ...]:
    """Copy the trace to where it is kept; what was measured is not lost where that cannot be written, which is said instead."""
    try:
        with source.open("rb") as trace, written_whole(target) as file:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    shutil.copyfileobj(trace, packed)
            else:
                shutil.copyfileobj(trace, file)
    except UsageError as error:
        return (Caution(code="not-kept", message=f"the trace is in no file: {error}", effect="what it answers stands here all the same"),)
    return ()


def _report(profile: Profile, taken: TraceTaken, tracing: Tracing, report: Report) -> ReadReport:
    recording = Recording(
        instrument=taken.instrument,
        calls=taken.calls,
        asked=tracing.iterations,
        wall_s=taken.wall_s,
        clean_s=taken.clean_s,
        ratio_to_ground_truth=taken.ratio,
        perturbed=perturbed(taken.ratio),
        shapes=tracing.shapes and taken.shapes_and_stacks,
        stacks=tracing.stacks and taken.shapes_and_stacks,
        file=tracing.file,
        unasked=tracing.unasked,
    )
    what = f"{taken.calls} calls recorded by {taken.instrument}"
    found = answered(profile, most=_GAPS, what=what, report=report)
    if recording.perturbed:
        found = untimed(found, profile.timeline)
    files = (tracing.file,) if tracing.file else ()
    return msgspec.structs.replace(found, files=files, recording=recording, warnings=(*found.warnings, *_cautions(recording, tracing)))


def _cautions(recording: Recording, tracing: Tracing) -> list[Caution]:
    found = []
    times = _times(recording.ratio_to_ground_truth)
    if recording.perturbed:
        effect = "times, shares, gaps and causes of the trace are left out; what ran, how often and in which order holds"
        found.append(Caution(code="perturbed", message=f"recorded calls took {times} as long as clean ones", effect=effect))
    elif recording.perturbed is None:
        message = f"whether recording changed the calls cannot be told: they took {times} as long as clean ones"
        found.append(Caution(code="perturbation-unknown", message=message, effect="times and shares of the trace may be off by as much"))
    if recording.calls < recording.asked:
        wall = format_quantity(recording.wall_s.value, "s")
        message = f"{recording.calls} calls were recorded and not {recording.asked}: one takes {wall}, or has very many events"
        found.append(Caution(code="fewer-calls", message=message, effect="less is seen of how calls differ"))
    if (tracing.shapes, tracing.stacks) != (recording.shapes, recording.stacks):
        message = f"{recording.instrument} records no shapes or stacks on demand"
        found.append(Caution(code="no-shapes-or-stacks", message=message, effect="the trace is as without"))
    return found


def _times(ratio: Quantity) -> str:
    return f"{ratio.value:.3g} times [{ratio.low:.3g}, {ratio.high:.3g}]"
