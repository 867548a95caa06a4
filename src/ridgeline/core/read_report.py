"""`ReadReport`: the questions that a trace or profile is for, answered; every share with its numerator, denominator, window and what was left out."""

from __future__ import annotations

from typing import Literal

import msgspec

from .caution import Caution
from .facts import Counters
from .profile import Excluded, KernelTable, ProfileTable
from .quantity import Quantity
from .stacks import FrameChange
from .verdict import Action, Bound, Evidence, Where

__all__ = [
    "BoundaryCost",
    "CriticalPath",
    "DeviceUse",
    "EventCount",
    "Figure",
    "FrameUse",
    "Gap",
    "Growth",
    "IterationReport",
    "LaneUse",
    "OperatorUse",
    "PartitionReport",
    "PathPiece",
    "Pause",
    "RankUse",
    "ReadReport",
    "Recording",
    "SerialPair",
    "TimelineDifference",
    "TraceFinding",
    "TraceOverhead",
    "WhatIf",
]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A share or ratio with what it was made of.

    Args:
        name: such as `idle of GPU 0`.
        value: numerator ÷ denominator.
        numerator, denominator: in `unit`, or of a rate such as FLOP/s in FLOP and s; what they are in words in `numerator_of`, `denominator_of`.
        window: from when to when, in words.
        left_out: what is in neither, in words; empty if nothing.
    """

    name: str
    value: float
    numerator: float
    denominator: float
    unit: str
    numerator_of: str
    denominator_of: str
    window: str = ""
    left_out: str = ""


class DeviceUse(msgspec.Struct, frozen=True, kw_only=True):
    """How a device was used between the start of its first work and the end of its last.

    Args:
        name: such as `GPU 0`.
        events: pieces of work (`DEVICE_WORK`); sum_s: their durations added up, which counts overlapping ones twice.
        start_s, window_s: of its own window, `start_s` from the start of the report's window.
        busy_s: union of its work; idle_s: window less busy, never negative; idle_share: idle ÷ window.
        compute_s, communication_s, copy_s, fill_s: unions of each class.
        exposed_communication_s: communication with no compute beside it; exposed_copy_s: copies (and fills) with neither beside them.
        overlapped_s: time in which two or more pieces ran at once.
        idle_because_s: idle seconds by what fills them (`Gap.because`), of all gaps that were looked at; empty where none was.
        drained_because_s: of them, those of gaps that began while the host waited, its queue drained; ahead_s: what of these goes at the most if
            the host does not wait: of each wait and the gaps that began in it the shorter one.
    """

    name: str
    events: int
    sum_s: float
    start_s: float
    window_s: float
    busy_s: float
    idle_s: float
    idle_share: float
    compute_s: float
    communication_s: float
    copy_s: float
    fill_s: float
    exposed_communication_s: float
    exposed_copy_s: float
    overlapped_s: float
    idle_because_s: dict[str, float] = {}
    drained_because_s: dict[str, float] = {}
    ahead_s: float = 0.0


class LaneUse(msgspec.Struct, frozen=True, kw_only=True):
    """One track: events, sum and union of them, from its first start to its last end."""

    name: str
    device: str
    role: str
    events: int
    sum_s: float
    busy_s: float
    window_s: float
    overlapped_events: int = 0


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which a device did nothing between two pieces of work.

    Args:
        device: whose.
        start_s: from the start of the report's window; duration_s: how long.
        after: name of the work that ended last before it; before: of the one that ends it.
        waiting_for: what the next piece waited for: `launch`, `host`, `copy`, `other stream`, `nothing known`, ….
        because: the host activity that fills it: `launch-bound`, `synchronisation`, `data loading`, `copy`, `python`, `operator`, `profiler`,
            `nothing known`.
        activity: name of the host event that fills most of it; covered_share: share of the gap that it fills.
    """

    device: str
    start_s: float
    duration_s: float
    after: str
    waiting_for: str
    because: str
    before: str = ""
    activity: str = ""
    covered_share: float = 0.0


class PathPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the critical path; pieces follow each other without a hole. `label`: `compute`, `launch`, `operator`, `unexplained`, ….

    `start_s`: from the start of the report's window.
    """

    label: str
    name: str
    lane: str
    start_s: float
    duration_s: float


class CriticalPath(msgspec.Struct, frozen=True, kw_only=True):
    """The longest chain of dependent pieces, which tiles the window.

    Args:
        length_s: sum of its pieces; window_s: of the window; covered_share: the one by the other, less what is `unexplained`.
        pieces: in order of time, the longest ones where there are too many to list; piece_count: how many there are.
        by_label: seconds of each label; by_name: seconds of the names with most, at most a hundred.
    """

    length_s: float
    window_s: float
    covered_share: float
    pieces: tuple[PathPiece, ...]
    piece_count: int = 0
    by_label: dict[str, float] = {}
    by_name: dict[str, float] = {}


class OperatorUse(msgspec.Struct, frozen=True, kw_only=True):
    """All events of one name and kind.

    Args:
        name, kind: as in the timeline.
        calls: how many; total_s: sum of durations; own_s: without the events nested in them on the same track.
        device_s: union of the device work that they, and what is nested in them, started; null where the file links none.
        share: own time (host) or duration (device) ÷ the window; never above 1.
        slack_s: how much longer one call could take before the window grows, the least over its calls; null if not known.
        on_path_s: seconds of it on the critical path.
        median_s, least_s, most_s: of one call.
        flop, moved_bytes: work of all calls; null where shapes do not tell.
        caller: what calls it for most of its time, of calls that wait for a disk, the network, another process or a time; else empty.
    """

    name: str
    kind: str
    calls: int
    total_s: float
    own_s: float
    share: float
    device_s: float | None = None
    slack_s: float | None = None
    on_path_s: float = 0.0
    median_s: float = 0.0
    least_s: float = 0.0
    most_s: float = 0.0
    flop: float | None = None
    moved_bytes: float | None = None
    caller: str = ""


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A long piece of time between operators.

    Args:
        start_s: from the start of the window; duration_s: how long.
        after: operator that ended last before it; during: what else ran for most of it, the innermost. Empty where there is none.
    """

    start_s: float
    duration_s: float
    after: str = ""
    during: str = ""


class TraceOverhead(msgspec.Struct, frozen=True, kw_only=True):
    """Window less the union of top-level operators.

    Args:
        window_s: what it is of; operators_s: union of top-level operators; gap_s: the difference, not clamped; gap_share: of the window.
        linked_s: window less the union of device work that is linked to an operator; all_s: less all device work; null without a device.
        iterations: per iteration, (window, gap) in seconds.
        pauses_s: of the gap what lies in pieces of more than a millisecond each, in the iterations where there are any; pauses: the longest of them.
        calls: operators that the gap is between, in the iterations where there are any; null where nobody counted.
    """

    window_s: float
    operators_s: float
    gap_s: float
    gap_share: float
    linked_s: float | None = None
    all_s: float | None = None
    iterations: tuple[tuple[float, float], ...] = ()
    pauses_s: float = 0.0
    pauses: tuple[Pause, ...] = ()
    calls: int | None = None


class BoundaryCost(msgspec.Struct, frozen=True, kw_only=True):
    """One boundary between partitions: from where to where, crossings, seconds in all, the nodes on its two sides; null where not measured."""

    source: str
    target: str
    crossings: int
    total_s: float | None
    after: str = ""
    before: str = ""


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a graph was cut.

    Args:
        count: partitions that were delegated; runs: stretches of nodes on one provider, in order of execution; nodes: in the graph as it ran.
        delegated: nodes that the delegate or the main provider took.
        handoffs: how often a run of the graph leaves the delegate and comes back, one less than `count` as runtimes and `diagnose` count them (the
            boundaries that it crosses are `runs` − 1); handoff_s: what all boundaries cost, null if not measured.
        boundaries: each; fallbacks: kinds of operators left to another provider, with how many, the most time first.
        without_s: (low, high) of one run if the fallback operators ran where the rest does, with no boundary left; null if not known.
        providers: seconds on each; run_s: of one run as it is, what no node takes included; null if not known.
        largest: nodes of the largest delegated partition; healthy: whether that is more than 95 % of the nodes (or nothing was cut); null if not
            known.
        refused: kind of operator → why the delegate refused it, where the file says so.
    """

    count: int
    runs: int
    nodes: int
    delegated: int
    handoffs: int
    handoff_s: float | None
    fallbacks: dict[str, int] = {}
    boundaries: tuple[BoundaryCost, ...] = ()
    without_s: tuple[float, float] | None = None
    providers: dict[str, float] = {}
    run_s: float | None = None
    largest: int | None = None
    healthy: bool | None = None
    refused: dict[str, str] = {}


class IterationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The steps that were found.

    Args:
        how: `marks` (ranges that name steps), `ranges` (repeated ranges), `pattern` (a repeated sequence of launches).
        name: of the range or of the first event of the pattern.
        spans_s: (start, duration) of each, from the start of the window; the start of a named range that begins before the window is below zero.
        first: how many at the start are unlike the rest (warm-up, compilation) and stand apart.
        median_s, median_ci_s, least_s, most_s: of the others; null where there are too few.
        busy_share: of each, the share in which the devices were busy; empty without a device.
    """

    how: str
    name: str
    spans_s: tuple[tuple[float, float], ...]
    first: int = 0
    median_s: float | None = None
    median_ci_s: tuple[float, float] | None = None
    least_s: float | None = None
    most_s: float | None = None
    busy_share: tuple[float, ...] = ()


class SerialPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two lanes or stages that never run at once though nothing that the file shows orders them.

    Args:
        first, second: lanes or stages; first_s, second_s: seconds of each in a step.
        overlapped_s: what they share; saved_s: what running them side by side would save at the most (sum less max), a step.
        ordered: share of the turns in which a dependency of the file orders them.
        steps: how many there are: iterations where several are found, else turns.
    """

    first: str
    second: str
    first_s: float
    second_s: float
    overlapped_s: float
    saved_s: float
    ordered: float = 0.0
    steps: int = 1


class RankUse(msgspec.Struct, frozen=True, kw_only=True):
    """One rank in the collectives that it has in common with others: how long it waited for them, and they for it.

    Args:
        rank: its number; window_s: from its first start to its last end.
        collectives: those that match by name and order and end together; unlike: how many match by name and order, of any ranks, and do not.
        waited_s: union of the times from when it came to one until the last rank came; waited_share: of its window.
        last: how often it came later than any other; awaited_s: union of the times in which it was the only one missing.
        late_s: median of how much later than the first rank it came; null where that is less than can be told.
        told_s: what the clocks tell: the ends of nine in ten collectives are no further apart. Waiting and lateness of less, or of less than the
            ends of a collective are apart, count as none.
    """

    rank: int
    window_s: float
    collectives: int
    waited_s: float
    waited_share: float
    last: int
    awaited_s: float
    late_s: float | None = None
    told_s: float = 0.0
    unlike: int = 0


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """The window if something took another time: replayed through the dependencies, all else as it was.

    Args:
        what: name; factor: how many times faster, null for taking no time at all.
        before_s: replayed without the change, which must be the window; after_s: with it; low_s, high_s: range where order is not known, null if
            nobody asked.
        nested: whether calls of the host are faster with all that is nested in them; else their own time is, which is what the path has of them.
    """

    what: str
    factor: float | None
    before_s: float
    after_s: float
    low_s: float | None = None
    high_s: float | None = None
    nested: bool = False


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """One name in two traces.

    Args:
        name, kind: as in the timeline.
        change: `appeared`, `vanished`, `grew`, `shrank`, `neutral`, `inconclusive`.
        calls: per iteration in both; seconds: per iteration in both, the mean.
        ratio: after ÷ before, null where one is zero; ratio_ci: its interval, null where calls are too few. With an interval it is of typical
            iterations or calls (Hodges–Lehmann), which one slow iteration moves less than the means.
    """

    name: str
    kind: str
    change: str
    calls: tuple[float, float]
    seconds: tuple[float, float]
    ratio: float | None = None
    ratio_ci: tuple[float, float] | None = None


class TimelineDifference(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.read_difference/1"):
    """Two traces or profiles of one program.

    Args:
        a, b: their files; window_s: of an iteration (or of the whole) in both, null where the file has no such time; verdict: as of a comparison,
            `same` where nothing grew beyond noise.
        rows: what changed most first; neutral: how many names did not.
        per: what times are of: `iteration`, `call`, `trace`; `profile` where shares of sampled stacks are compared, which are in `functions`.
        functions: of sampled stacks, those whose share changed first, without those of which neither share did; measure: of their weights.
        samples: of both, null where it is not known.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    window_s: tuple[float | None, float | None]
    verdict: Literal["faster", "slower", "same", "inconclusive", "incomparable"]
    rows: tuple[Growth, ...]
    neutral: int = 0
    per: str = "trace"
    excluded: tuple[Excluded, ...] = ()
    warnings: tuple[Caution, ...] = ()
    functions: tuple[FrameChange, ...] = ()
    measure: str = ""
    samples: tuple[float | None, float | None] = (None, None)


class FrameUse(msgspec.Struct, frozen=True, kw_only=True):
    """A function in sampled stacks: weight that ended in it, weight below it (recursion counted once), as shares of the whole.

    `caller`: the function that calls it for most of its weight, of functions that wait for something outside the program; else empty.
    """

    function: str
    own: float
    total: float
    own_share: float
    total_share: float
    file: str | None = None
    line: int | None = None
    library: str = ""
    caller: str = ""


class TraceFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What limits the program, as far as a trace or profile can show it: a bottleneck in the words of a diagnosis, with its actions.

    Args:
        share: of the window; evidence: what it stands on; summary: one sentence. `confirmed` is false: a trace intervenes in nothing.
    """

    where: Where
    bound: Bound
    cause: str
    share: float
    evidence: tuple[Evidence, ...]
    summary: str
    actions: tuple[Action, ...] = ()
    confirmed: bool = False


class EventCount(msgspec.Struct, frozen=True, kw_only=True):
    """All events of one name and kind, of a recording whose times do not hold."""

    name: str
    kind: str
    calls: int


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """How calls of a target were recorded for a report, and what that did to them.

    Args:
        instrument: what recorded; calls: how many, `asked` were wanted; shapes, stacks: whether these were recorded as well.
        wall_s: median of a recorded call by a timer around it; clean_s: of calls before and after that nothing recorded.
        ratio_to_ground_truth: the one by the other; perturbed: whether its interval lies outside ±10 %, null where it straddles. Of a perturbed
            recording the report has no times and no shares.
        file: where the recording was kept; empty if it was not.
        unasked: whether nobody asked for it, so that a page shows what it found and no tables.
    """

    instrument: str
    calls: int
    asked: int
    wall_s: Quantity
    clean_s: Quantity
    ratio_to_ground_truth: Quantity
    perturbed: bool | None
    shapes: bool = False
    stacks: bool = False
    file: str = ""
    unasked: bool = False


class ReadReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.read/1"):
    """One or several files of one run.

    Args:
        files, format, tool: what was read.
        window_s: from the first start to the last end of all events that count; null where the file has no times.
        window: the same in words, with where it starts.
        devices, lanes, gaps, critical_path, operators, overhead, partitions, iterations: the answers; empty or null where the format has none.
        gap_count: how many gaps there are; the longest are listed.
        serial, what_if: lanes that take turns; the window if the largest pieces were faster.
        frames: functions of sampled stacks, most own weight first; measure, unit: of their weights.
        tables, kernels, counters: of files without a timeline; facts: what else the file says of the run, as text.
        what: what was restricted (`--window`, `--iteration`), in words; empty for all that the files cover.
        judged: what the findings are of where that is not all of it: the steady iterations, in words.
        figures: every share of this report with what it was made of.
        skew_s: of each file against the first, where several were put on one clock.
        ranks: of two ranks and more, who waited for whom in the collectives that they have in common; empty where these do not tell.
        excluded: what is in no figure; findings: what limits the program, worst first, empty when healthy.
        recording: how it was recorded, where that was done for this report; counts: what ran, in order of first start, where times do not hold.
    """

    files: tuple[str, ...]
    format: str
    tool: str = ""
    window_s: float | None = None
    window: str = ""
    devices: tuple[DeviceUse, ...] = ()
    lanes: tuple[LaneUse, ...] = ()
    gaps: tuple[Gap, ...] = ()
    gap_count: int = 0
    critical_path: CriticalPath | None = None
    operators: tuple[OperatorUse, ...] = ()
    overhead: TraceOverhead | None = None
    partitions: PartitionReport | None = None
    iterations: IterationReport | None = None
    serial: tuple[SerialPair, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    frames: tuple[FrameUse, ...] = ()
    measure: str = ""
    unit: str = ""
    tables: tuple[ProfileTable, ...] = ()
    kernels: KernelTable | None = None
    counters: Counters | None = None
    what: str = ""
    judged: str = ""
    figures: tuple[Figure, ...] = ()
    skew_s: dict[str, float] = {}
    facts: dict[str, str] = {}
    excluded: tuple[Excluded, ...] = ()
    findings: tuple[TraceFinding, ...] = ()
    healthy: bool | None = None
    warnings: tuple[Caution, ...] = ()
    recording: Recording | None = None
    counts: tuple[EventCount, ...] = ()
    ranks: tuple[RankUse, ...] = ()
