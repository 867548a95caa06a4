"""Devices that wait: idle time by the host activity that fills it, and the time in which they only move data.

The table says what each reason of a gap (`Gap.because`) means as a cause; what filled a gap was found out by `timeline.gaps`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ridgeline.core import Evidence, Gap, TraceFinding, Where
from ridgeline.core.units import format_quantity, format_share

from ..causes.unexplained import UNKNOWN
from .blocking import blocks
from .seen import LEAST, Fix, Seen, called, counted, of_all

__all__ = ["before_and_after", "exposed", "imbalance", "unexplained", "waiting"]


@dataclass(frozen=True, kw_only=True)
class _Reason:
    """What a reason of gaps means: its cause, how it is said of one device and of many, and what to do."""

    because: tuple[str, ...]
    cause: str
    says: str
    many: str
    fixes: tuple[Fix, ...]
    labels: tuple[str, ...]


#: A gap that is longer than this, and filled by one call to this part, is not what issuing work costs.
_ISSUED_S, _ONE_CALL = 1e-3, 0.5
#: Calls that take or give back memory of a device, and wait for all its work to do so.
_MEMORY = re.compile(
    r"^(cuda|hip|cu|mu)(Mem)?(Host)?(Malloc|Free|Alloc|Create|Map|Unmap|Release)|^(cuda|hip)Mem(PoolTrim|Unmap|Create)|empty_cache", re.IGNORECASE
)
_LAUNCHES = _Reason(
    because=("launch-bound", "operator"),
    cause="dispatch",
    says="waits for the host to issue the next work",
    many="wait for the host to issue the next work",
    labels=("operator", "runtime", "launch"),
    fixes=(
        Fix(action="capture-graph", because="a captured graph is replayed with one call instead of one for each kernel", part=(0.5, 1.0)),
        Fix(action="compile-graph", because="compiled, fewer and larger kernels are issued with less host work between", part=(0.3, 0.9)),
        Fix(action="batch", because="more work in each launch hides what issuing it costs", part=(0.2, 0.9), metric="period"),
    ),
)
_DRAINED = _Reason(
    because=("synchronisation",),
    cause="synchronisation",
    says="has drained its queue while the host waited for a result",
    many="have drained their queues while the host waited for a result",
    labels=(),
    fixes=(Fix(action="remove-sync", because="without the wait the host issues work ahead and the queue stays filled", part=(0.3, 1.0)),),
)
_PYTHON = _Reason(
    because=("python",),
    cause="interpreter",
    says="waits while the host runs Python",
    many="wait while the host runs Python",
    labels=("python",),
    fixes=(
        Fix(action="compile", because="compiled, the Python between operators is gone", part=(0.3, 0.95)),
        Fix(action="capture-graph", because="a captured graph runs no Python between its kernels", part=(0.3, 0.95)),
    ),
)
#: What a host that does not wait for results would do beside the work of the device.
_AHEAD = ("launch-bound", "operator", "python", "synchronisation")
#: A call that copies for so much longer than the device does is not copying.
_COPIES = 10.0


def waiting(seen: Seen) -> Iterator[TraceFinding]:
    """Devices idle because of something the host does."""
    if seen.device_s <= 0:
        return
    ahead = _ahead(seen)
    yield from _synchronising(seen, ahead)
    yield from _issuing(seen, ahead)
    # A call that blocks is no Python that runs: it is told as what it is.
    idle_s = max(0.0, _left(seen, _PYTHON.because, ahead) - _in_blocking(seen))
    if idle_s / seen.device_s >= LEAST:
        yield _waits(seen, _PYTHON, idle_s, ahead)
    yield from _copying(seen)
    yield from _input(seen)


def _in_blocking(seen: Seen) -> float:
    """Idle time, of the gaps that are listed, in which the host is in a call that blocks."""
    return sum(gap.duration_s * gap.covered_share for gap in seen.report.gaps if gap.because == "python" and blocks(gap.activity))


def before_and_after(seen: Seen) -> Iterator[TraceFinding]:
    """What the host does on the path before devices have their first work and after their last: in no gap, since nothing of the kind was between."""
    steps = seen.report.iterations
    path = seen.report.critical_path
    if seen.device_s <= 0 or path is None or not seen.knows_path or (steps is not None and steps.median_s):
        return
    first_s = min(device.start_s for device in seen.report.devices)
    last_s = max(device.start_s + device.window_s for device in seen.report.devices)
    found: dict[str, float] = {}
    for piece in path.pieces:
        if piece.label == "python" and not blocks(piece.name) and (piece.start_s + piece.duration_s <= first_s or piece.start_s >= last_s):
            found[piece.name] = found.get(piece.name, 0.0) + piece.duration_s
    python_s = sum(found.values())
    share = python_s / seen.window_s
    if share < 2 * LEAST:
        return
    name = max(found, key=lambda each: found[each])
    evidence = (
        *of_all("Python before and after the work of devices", python_s, seen.window_s, "pieces of the path that are listed, the window"),
        counted("most of it", found[name], "s", name),
    )
    said = f"Before devices have work and after it the host runs Python for {format_share(share)} of the window ({called(name)})"
    fixes = (
        Fix(action="vectorise", because="one call over an array runs no bytecode for each element", part=(0.2, 0.95)),
        Fix(action="compile", because="compiled, the loop runs no bytecode", part=(0.2, 0.95)),
    )
    yield seen.finding("interpreter", "latency", Where(function=name), share, said, evidence, fixes, base=(seen.window_s, "the window"))


def _drained_s(seen: Seen, because: Sequence[str]) -> float:
    return sum(device.drained_because_s.get(each, 0.0) for device in seen.report.devices for each in because)


def _ahead(seen: Seen) -> float:
    """The part of the idle time of drained queues that goes if the host does not wait, 0…1.

    A thread that does not wait is ahead by as much as it waited; the device then idles for what is left.
    """
    ahead_s, idle_s = sum(device.ahead_s for device in seen.report.devices), _drained_s(seen, _AHEAD)
    return min(1.0, ahead_s / idle_s) if idle_s > 0 else 0.0


def _left(seen: Seen, because: Sequence[str], ahead: float) -> float:
    """Idle time that a host which does not wait still causes."""
    return max(0.0, sum(seen.idle_s(each) for each in because) - ahead * _drained_s(seen, because))


def _synchronising(seen: Seen, ahead: float) -> Iterator[TraceFinding]:
    """Queues that were drained while the host waited: what it does before it fills them again would be done beside the work."""
    drained_s = _drained_s(seen, _AHEAD)
    idle_s = ahead * drained_s + max(0.0, seen.idle_s("synchronisation") - _drained_s(seen, ("synchronisation",)))
    share = idle_s / seen.device_s
    if share < LEAST:
        return
    evidence = (
        *of_all(
            f"idle: {_DRAINED.says}", idle_s, seen.device_s, "of each wait and the gaps that began in it the shorter one, windows of all devices"
        ),
        counted("idle after the host waited", drained_s, "s", "all of the gaps that began while it did"),
        *_longest(seen, ("synchronisation",)),
    )
    device = max(seen.report.devices, key=lambda one: sum(one.drained_because_s.get(each, 0.0) for each in _AHEAD)).name
    who, of = seen.told(device, _DRAINED.says, _DRAINED.many)
    said = f"{who}: {format_share(share)} {of} ({format_quantity(idle_s, 's')})"
    yield seen.finding(
        _DRAINED.cause, "latency", Where(lane=device), share, said, evidence, _DRAINED.fixes, path=seen.path_share(), part=seen.device_part
    )


def _issuing(seen: Seen, ahead: float) -> Iterator[TraceFinding]:
    """Idle time in which the host issues work: many short gaps are what issuing costs, a few long ones are something else that the host does."""
    idle_s = sum(seen.idle_s(because) for because in _LAUNCHES.because)
    gaps = [gap for gap in seen.report.gaps if gap.because in _LAUNCHES.because]
    long = [gap for gap in gaps if gap.duration_s > _ISSUED_S and gap.covered_share >= _ONE_CALL]
    # Where only long gaps are listed, those that are not may be long as well.
    hidden = seen.report.gap_count > len(seen.report.gaps) and len(long) == len(gaps) and bool(gaps)
    short_s = 0.0 if hidden else max(0.0, min(idle_s - sum(gap.duration_s for gap in long), _left(seen, _LAUNCHES.because, ahead)))
    if short_s / seen.device_s >= LEAST:
        yield _waits(seen, _LAUNCHES, short_s, ahead)
    yield from _stopped(seen, [gap for gap in long if _MEMORY.search(gap.activity)], memory=True)
    yield from _stopped(seen, [gap for gap in long if not _MEMORY.search(gap.activity)], memory=False)


def _stopped(seen: Seen, gaps: Sequence[Gap], *, memory: bool) -> Iterator[TraceFinding]:
    """Long gaps in which the host was busy with one call: known only where it takes or gives back memory, and then only of what that call fills."""
    idle_s = sum(gap.duration_s * (gap.covered_share if memory else 1.0) for gap in gaps)
    share = idle_s / seen.device_s
    if share < LEAST:
        return
    longest = max(gaps, key=lambda gap: gap.duration_s)
    calls = ", ".join(dict.fromkeys(called(gap.activity) for gap in sorted(gaps, key=lambda gap: -gap.duration_s)[:3] if gap.activity))
    times = f"{len(gaps)} gap{'s' if len(gaps) > 1 else ''} of more than {format_quantity(_ISSUED_S, 's')}"
    filled = "filled by" if memory else "host in"
    evidence = (*of_all(f"idle: {times}", idle_s, seen.device_s, f"{filled} {calls}"), counted("longest", longest.duration_s, "s", longest.activity))
    where = Where(lane=longest.device, function=longest.activity or None)
    who, of = seen.told(longest.device, "waits", "wait")
    took = f"{format_share(share)} {of} ({format_quantity(idle_s, 's')})"
    if memory:
        said = f"{who} for {took} while the host takes or gives back memory of the device ({calls})"
        fixes = (Fix(action="reuse-buffers", because="memory that is kept is not asked for again, and nothing waits for it", part=(0.5, 1.0)),)
        path = min(seen.path_share(), seen.named_share(_MEMORY))
        yield seen.finding("allocation", "latency", where, share, said, evidence, fixes, path=path, part=seen.device_part)
    else:
        said = f"{who} for {took} in {times}, the host in {calls or 'nothing recorded'}; what that waits for the file does not tell"
        yield TraceFinding(where=where, bound="inconclusive", cause=UNKNOWN, share=min(1.0, share), evidence=evidence, summary=said)


def unexplained(seen: Seen) -> Iterator[TraceFinding]:
    """Idle time that nothing recorded fills: no bottleneck with a name, but what is named must not pass for all of it."""
    if seen.device_s <= 0 or (idle_s := seen.idle_s("nothing known")) / seen.device_s < 2 * LEAST:
        return
    share, device = idle_s / seen.device_s, seen.idlest("nothing known")
    who, of = seen.told(device, "is idle", "are idle")
    said = f"{who} for {format_share(share)} {of} ({format_quantity(idle_s, 's')}), and the file does not show why"
    evidence = (*of_all("idle: nothing known", idle_s, seen.device_s, "gaps that nothing recorded fills"), *_longest(seen, ("nothing known",)))
    yield TraceFinding(where=Where(lane=device), bound="inconclusive", cause=UNKNOWN, share=min(1.0, share), evidence=evidence, summary=said)


def _waits(seen: Seen, reason: _Reason, idle_s: float, ahead: float) -> TraceFinding:
    """Idle time for a reason; what removing that gives is its time on the path, less what not waiting for results gives already."""
    share = idle_s / seen.device_s
    all_s = sum(seen.idle_s(because) for because in reason.because)
    device = seen.idlest(max(reason.because, key=seen.idle_s))
    name = f"idle: {reason.says}"
    evidence = (*of_all(name, idle_s, seen.device_s, "gaps between pieces of device work, windows of all devices"), *_longest(seen, reason.because))
    who, of = seen.told(device, reason.says, reason.many)
    said = f"{who} for {format_share(share)} {of} ({format_quantity(idle_s, 's')})"
    goes, most = seen.removable(share, reason.labels)
    goes *= idle_s / all_s
    return seen.finding(reason.cause, "latency", Where(lane=device), share, said, evidence, reason.fixes, path=most, goes=goes, part=seen.device_part)


def _copying(seen: Seen) -> Iterator[TraceFinding]:
    """Idle time in calls that copy; where the device copies for hardly any of it, the call waits for something else."""
    idle_s = seen.idle_s("copy")
    share = idle_s / seen.device_s
    if share < LEAST:
        return
    copied_s = sum(device.copy_s for device in seen.report.devices)
    gaps = [gap for gap in seen.report.gaps if gap.because == "copy" and gap.duration_s > _ISSUED_S and gap.covered_share >= _ONE_CALL]
    if gaps and sum(gap.duration_s for gap in gaps) > max(_ONE_CALL * idle_s, _COPIES * copied_s):
        yield from _stopped(seen, gaps, memory=False)
        return
    device = seen.idlest("copy")
    evidence = (
        *of_all("idle: waits for copies", idle_s, seen.device_s, "gaps in which the host copies, windows of all devices"),
        counted("copies on the devices", copied_s, "s", "union"),
        *_longest(seen, ("copy",)),
    )
    who, of = seen.told(device, "waits", "wait")
    said = f"{who} for copies between host and device for {format_share(share)} {of} ({format_quantity(idle_s, 's')})"
    hidden = min(1.0, seen.busy_s / idle_s)
    fixes = (
        Fix(
            action="overlap-transfer", because="pinned memory and a stream of their own let copies run beside work", part=(0.3 * hidden, hidden),
            metric="period",
        ),
        Fix(action="keep-on-device", because="what stays on the device is not copied", part=(0.3, 1.0)),
        Fix(action="batch-transfers", because="one large copy costs one latency", part=(0.1, 0.8)),
    )  # fmt: skip
    yield seen.finding("transfer", "latency", Where(lane=device), share, said, evidence, fixes, path=seen.path_share(), part=seen.device_part)


def _longest(seen: Seen, because: tuple[str, ...]) -> Iterator[Evidence]:
    """The longest gap of a reason, as evidence."""
    gaps = [gap for gap in seen.report.gaps if gap.because in because]
    if gaps:
        gap = max(gaps, key=lambda one: one.duration_s)
        origin = f"after {gap.after}, filled by {gap.activity or 'nothing known'}, from {format_quantity(gap.start_s, 's')} on"
        yield counted("longest such gap", gap.duration_s, "s", origin)


def _input(seen: Seen) -> Iterator[TraceFinding]:
    """Devices that wait for data: loading beside the work hides it as far as the work is long (sum → max)."""
    idle_s = seen.idle_s("data loading")
    share = idle_s / seen.device_s
    if share < LEAST:
        return
    hidden = min(1.0, seen.busy_s / idle_s)
    because = f"loaded ahead, data is there when it is needed: {format_quantity(seen.busy_s, 's')} of work hide one process that loads, and more"
    because += " processes load the rest" if hidden < 1.0 else " processes load sooner"
    fix = Fix(action="prefetch", because=because, part=(0.5 * hidden, 1.0), metric="period")
    device = seen.idlest("data loading")
    evidence = (
        *of_all("idle: waits for data", idle_s, seen.device_s, "gaps filled by loading, windows of all devices"),
        *_longest(seen, ("data loading",)),
    )
    who, of = seen.told(device, "waits", "wait")
    said = f"{who} for data for {format_share(share)} {of} ({format_quantity(idle_s, 's')})"
    yield seen.finding("input-output", "latency", Where(lane=device), share, said, evidence, (fix,), path=seen.path_share(), part=seen.device_part)


def exposed(seen: Seen) -> Iterator[TraceFinding]:
    """Copies, and communication between devices, that run with no arithmetic beside them."""
    if seen.device_s <= 0:
        return
    copies_s = sum(device.exposed_copy_s for device in seen.report.devices)
    sent_s = sum(device.exposed_communication_s for device in seen.report.devices)
    if copies_s / seen.device_s >= LEAST:
        yield _moves(seen, copies_s, "copies", ("copy", "fill"), max(seen.report.devices, key=lambda one: one.exposed_copy_s).name)
    if sent_s / seen.device_s >= LEAST:
        device = max(seen.report.devices, key=lambda one: one.exposed_communication_s).name
        yield _moves(seen, sent_s, "communication", ("communication",), device)


def _moves(seen: Seen, moved_s: float, what: str, labels: tuple[str, ...], device: str) -> TraceFinding:
    share = moved_s / seen.device_s
    evidence = of_all(f"exposed {what}", moved_s, seen.device_s, f"{what} with no arithmetic beside, windows of all devices")
    waits = "; waiting for a slower device is part of it" if what == "communication" else ""
    who, of = seen.told(device, "only moves", "only move")
    said = f"{who} data for {format_share(share)} {of}: {what} with no arithmetic beside ({format_quantity(moved_s, 's')}{waits})"
    computed_s = sum(one.compute_s for one in seen.report.devices)
    hidden = min(1.0, computed_s / moved_s)
    costs = "costs" if what == "communication" else "cost"
    because = f"{what} beside arithmetic {costs} nothing as long as there is arithmetic: {format_quantity(computed_s, 's')}"
    fixes = [
        Fix(action="overlap-transfer", because=because, part=(0.3 * hidden, hidden), metric="period"),
        Fix(action="batch-transfers", because="few large transfers reach a better bandwidth than many small ones", part=(0.1, 0.6)),
    ]
    if what == "copies":
        fixes.append(Fix(action="keep-on-device", because="what stays on the device is not copied", part=(0.3, 1.0)))
    return seen.finding(
        "transfer", "bandwidth", Where(lane=device), share, said, evidence, fixes, path=seen.path_share(labels), part=seen.device_part
    )


def imbalance(seen: Seen) -> Iterator[TraceFinding]:
    """Devices of which some work much longer than others: the mean decides what even shares would take."""
    devices = [device for device in seen.report.devices if device.window_s > 0.5 * seen.window_s]
    if len(devices) < 2:
        return
    computing = [device.compute_s or device.busy_s for device in devices]
    most_s, mean_s = max(computing), sum(computing) / len(computing)
    share = (most_s - mean_s) / seen.window_s if seen.window_s else 0.0
    if share < LEAST or most_s < 1.2 * mean_s:
        return
    first = devices[computing.index(most_s)].name
    evidence = of_all("work above the mean", most_s - mean_s, seen.window_s, f"{first} less the mean of {len(devices)} devices, window")
    said = f"{first} computes {format_quantity(most_s, 's')}, the mean of {len(devices)} devices is {format_quantity(mean_s, 's')}"
    fix = Fix(action="rebalance", because="with even shares all devices end with the mean", part=(0.3, 1.0))
    yield seen.finding("low-parallelism", "latency", Where(lane=first), share, said, evidence, (fix,), path=seen.path_share(("compute",)))
