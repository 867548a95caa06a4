"""What PyTorch's traces say of the order between host and device: who launched what, who waited for what, and events between streams.

This module decides which device event a host call put into a queue (their common correlation; where calls were not recorded, the operator with the
same external id), what a blocking call waited for, and which kernel may begin only when one of another stream has ended. It links only what the file
makes certain: where times contradict an order, the order is left out and counted.
Sources: pytorch/kineto, libkineto/src/CuptiActivity.cpp (correlation, external correlation, synchronisation records); NVIDIA, CUPTI documentation,
CUpti_ActivitySynchronization; NVIDIA, CUDA Programming Guide, Streams and Events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .matching import Groups

__all__ = ["LAUNCH", "SIGNAL", "WAIT", "Links", "Recorded", "Skew", "event_waits", "linked"]

Ints = NDArray[np.int64]
LAUNCH, WAIT, SIGNAL, FLOW = range(4)
#: How many later launches are stepped over to find what a blocking call can have waited for.
_STEPS = 32
#: Work of which no call is known, and work that could be of several.
_NONE, _UNCERTAIN = -1, -2
#: How much of the work whose call is certain must be of one process for the rest to be taken for that process's too.
_OWNED = 0.9
_NEVER = np.iinfo(np.int64).min


class Recorded(NamedTuple):
    """Columns of n events; `correlation` and `external` are `absent` where an event has none, `process` is a number (of work that of its device).

    `calls`, `work`, `operators`, `waits`, `syncs`: rows of host calls (blocking ones among them), device work, operators, blocking calls and
    synchronisation records. `to_host[i]` says whether work i is a copy to memory of the host that is not pinned. `sync_…`: of each record: its kind
    (a text), the stream it waits on and the stream that waits, as tracks of work (−1 if not known), and the call that recorded the event (`absent`
    if not known).
    """

    start: Ints
    end: Ints
    track: Ints
    process: Ints
    correlation: Ints
    external: Ints
    calls: Ints
    work: Ints
    operators: Ints
    waits: Ints
    syncs: Ints
    sync_kind: list[str]
    sync_source: Ints
    sync_target: Ints
    sync_record: Ints
    to_host: NDArray[np.bool_]
    absent: int


class Links(NamedTuple):
    """Links from event to event with their kinds, shape (m,) each."""

    source: Ints
    target: Ints
    kind: Ints


class Skew(NamedTuple):
    """Work that starts before the call that launched it: how many of how many launches, and the longest time before, in ticks."""

    early: int
    launches: int
    longest: int


def linked(recorded: Recorded) -> tuple[Links, Skew, int, Ints]:
    """All links, how far the clocks contradict themselves, how many pieces of work no call is known for, and calls that waited for their own copy."""
    work = recorded.work
    call = _calls_of(recorded)
    waiting = _for_own_copies(recorded, call)
    recorded = recorded._replace(waits=np.union1d(recorded.waits, waiting))
    launch = np.where(call == _NONE, _operators_of(recorded), call)
    there = launch >= 0
    early = recorded.start[launch[there]] - recorded.start[work[there]]
    skew = Skew(int((early > 0).sum()), int(there.sum()), int(early.max(initial=0)))
    begun = np.where(there, recorded.start[np.maximum(launch, 0)], _NEVER) if len(recorded.start) else launch
    parts = [Links(launch[there], work[there], np.full(int(there.sum()), LAUNCH))]
    parts.append(_waits(recorded, begun, call))
    if len(recorded.syncs):
        parts.append(_signals(recorded, begun))
    joined = Links(*(np.concatenate([getattr(part, field) for part in parts]).astype(np.int64) for field in Links._fields))
    return joined, skew, int((~there).sum()), waiting


def _for_own_copies(recorded: Recorded, call: Ints) -> Ints:
    """Calls that came back only when their own copy was done: to pageable memory of the host no copy is asynchronous, whatever the call is named.

    Source: NVIDIA, CUDA Runtime API, API synchronization behavior.
    """
    work = recorded.work
    own = np.flatnonzero(recorded.to_host & (call >= 0))
    return np.unique(call[own[recorded.end[work[own]] <= recorded.end[call[own]]]])


def _calls_of(recorded: Recorded) -> Ints:
    """The call with the same correlation for each piece of work; of several (of several processes) the last before it."""
    calls = recorded.calls[recorded.correlation[recorded.calls] != recorded.absent]
    wanted = recorded.correlation[recorded.work]
    found = Groups(recorded.correlation[calls], recorded.start[calls]).latest_or_first(wanted, recorded.start[recorded.work])
    found[wanted == recorded.absent] = -1
    if not len(calls):
        return found
    call = np.where(found >= 0, calls[np.maximum(found, 0)], -1)
    several, second = _of_several(recorded.correlation[calls], recorded.process[calls], recorded.start[calls])
    if not len(several):
        return call
    place = np.minimum(np.searchsorted(several, wanted), len(several) - 1)
    # What starts before a second process used the correlation can only be of the first.
    begun = recorded.start[recorded.work]
    late = (begun >= second[place]) | (begun < recorded.start[np.maximum(call, 0)])
    shared = np.flatnonzero((found >= 0) & (several[place] == wanted) & late)
    if len(shared):
        call[shared] = _of_owners(recorded, calls, call, shared)
    return call


def _of_several(correlation: Ints, process: Ints, start: Ints) -> tuple[Ints, Ints]:
    """The correlations that calls of more than one process have, sorted, and when the second process first used each."""
    order = np.lexsort((start, correlation))
    correlation, process, start = correlation[order], process[order], start[order]
    first = np.flatnonzero(np.concatenate([[True], correlation[1:] != correlation[:-1]]))
    leading = np.repeat(process[first], np.diff(np.append(first, len(process))))
    other = np.flatnonzero(process != leading)
    several, at = np.unique(correlation[other], return_index=True)
    return several, start[other[at]]


def _of_owners(recorded: Recorded, calls: Ints, call: Ints, shared: Ints) -> Ints:
    """The calls of work whose correlation several processes used: those of the process that the device's other work is from."""
    processes = int(recorded.process.max()) + 1
    sure = np.setdiff1d(np.flatnonzero(call >= 0), shared, assume_unique=True)
    owner = _owners(recorded.process[recorded.work[sure]], recorded.process[call[sure]], processes)
    _one_left(owner, np.unique(recorded.process[recorded.work]), np.unique(recorded.process[calls]))
    own = owner[recorded.process[recorded.work[shared]]]
    # Correlation and process as one number: the place of the correlation among all, times the processes.
    known, place = np.unique(recorded.correlation[calls], return_inverse=True)
    groups = Groups(place.ravel() * processes + recorded.process[calls], recorded.start[calls])
    wanted = np.searchsorted(known, recorded.correlation[recorded.work[shared]]) * processes + own
    found = groups.latest_or_first(wanted, recorded.start[recorded.work[shared]])
    return np.where((found >= 0) & (own >= 0), calls[np.maximum(found, 0)], _UNCERTAIN)


def _owners(device: Ints, process: Ints, count: int) -> Ints:
    """Device → the process that launched nearly all of its work, −1 where there is none."""
    owner = np.full(count, -1)
    pairs, times = np.unique(device * count + process, return_counts=True)
    total = np.bincount(device, minlength=count)
    most = times >= _OWNED * total[pairs // count]
    owner[pairs[most] // count] = pairs[most] % count
    return owner


def _one_left(owner: Ints, devices: Ints, processes: Ints) -> None:
    """One device and one process that are left over belong together."""
    device, process = devices[owner[devices] < 0], np.setdiff1d(processes, owner)
    if len(device) == len(process) == 1:
        owner[device] = process


def _operators_of(recorded: Recorded) -> Ints:
    """The operator with the same external id, for work without a recorded call."""
    operators = recorded.operators[(recorded.external[recorded.operators] != recorded.absent) & (recorded.external[recorded.operators] != 0)]
    found = Groups(recorded.external[operators], recorded.start[operators]).latest(recorded.external[recorded.work], recorded.start[recorded.work])
    return np.where(found >= 0, operators[np.maximum(found, 0)], -1) if len(operators) else found


def _waits(recorded: Recorded, begun: Ints, call: Ints) -> Links:
    """From the last work that ended while a call blocked (of the stream where that is known) to the call."""
    waits, work = recorded.waits, recorded.work
    if not len(waits) or not len(work):
        return Links(*(np.empty(0, np.int64) for _ in range(3)))
    source = _own_work(recorded, call)
    track = _waited_track(recorded)
    anywhere = _ended_last(recorded, begun, waits, np.full(len(waits), -1))
    on_stream = _ended_last(recorded, begun, waits, track)
    source = np.where(source >= 0, source, np.where(track >= 0, on_stream, anywhere))
    there = source >= 0
    return Links(work[source[there]], waits[there], np.full(int(there.sum()), WAIT))


def _own_work(recorded: Recorded, call: Ints) -> Ints:
    """Work that a blocking call itself launched, such as a copy: an index into `work`, −1 for none."""
    own = Groups(call, recorded.end[recorded.work]).latest(recorded.waits, recorded.end[recorded.waits])
    return np.where(own >= 0, own, -1)


def _waited_track(recorded: Recorded) -> Ints:
    """The track of the stream that each blocking call waited on, −1 if not known."""
    syncs = recorded.syncs
    known = np.flatnonzero((recorded.sync_source >= 0) & (recorded.correlation[syncs] != recorded.absent)) if len(syncs) else syncs
    rows = syncs[known]
    found = Groups(recorded.correlation[rows], recorded.start[rows]).latest_or_first(
        recorded.correlation[recorded.waits], recorded.start[recorded.waits]
    )
    found[recorded.correlation[recorded.waits] == recorded.absent] = -1
    return np.where(found >= 0, recorded.sync_source[known][np.maximum(found, 0)], -1) if len(known) else found


def _ended_last(recorded: Recorded, begun: Ints, waits: Ints, track: Ints) -> Ints:
    """Of the work on a track (−1: on any) that was launched before each call, the last that ended within it: an index into `work`, −1 for none."""
    work, lane = recorded.work, np.where(track >= 0, track, -1)
    items = np.concatenate([np.arange(len(work)), np.arange(len(work))])
    groups = np.concatenate([recorded.track[work], np.full(len(work), -1)])
    by = np.lexsort((recorded.end[work][items], groups))
    items, groups = items[by], groups[by]
    place = Groups(groups, recorded.end[work][items]).latest(lane, recorded.end[waits])
    for _ in range(_STEPS):
        inside = np.maximum(place, 0)
        late = (place >= 0) & (begun[items[inside]] > recorded.start[waits])
        if not late.any():
            break
        place[late] -= 1
        place[late & ((place < 0) | (groups[np.maximum(place, 0)] != lane))] = -1
    inside = np.maximum(place, 0)
    good = (place >= 0) & (recorded.end[work[items[inside]]] > recorded.start[waits]) & (begun[items[inside]] <= recorded.start[waits])
    return np.where(good, items[inside], -1)


def _signals(recorded: Recorded, begun: Ints) -> Links:
    """From the last work before an event was recorded to the first work behind the wait for it on another stream, where their times agree."""
    chosen = np.flatnonzero([
        "Stream Wait" in kind for kind in recorded.sync_kind
    ] & (recorded.sync_source >= 0) & (recorded.sync_target >= 0) & (recorded.sync_record != recorded.absent))  # fmt: skip
    known = np.flatnonzero(begun > _NEVER)
    if not len(chosen) or not len(known):
        return Links(*(np.empty(0, np.int64) for _ in range(3)))
    work = recorded.work[known]
    calls = recorded.calls[recorded.correlation[recorded.calls] != recorded.absent]
    by_call = Groups(recorded.correlation[calls], recorded.start[calls])
    syncs = recorded.syncs[chosen]
    record = by_call.latest_or_first(recorded.sync_record[chosen], recorded.start[syncs])
    wait = by_call.latest_or_first(recorded.correlation[syncs], recorded.start[syncs])
    both = (record >= 0) & (wait >= 0)
    chosen, record, wait = chosen[both], calls[record[both]], calls[wait[both]]
    launched = Groups(recorded.track[work], begun[known])
    source = launched.latest(recorded.sync_source[chosen], recorded.start[record])
    target = launched.next(recorded.sync_target[chosen], recorded.start[wait])
    both = (source >= 0) & (target >= 0)
    source, target = work[source[both]], work[target[both]]
    agree = recorded.end[source] <= recorded.start[target]
    return Links(source[agree], target[agree], np.full(int(agree.sum()), SIGNAL))


def event_waits(recorded: Recorded, syncs: Ints, waits_for: Ints, recorded_on: Ints, sequence: Ints) -> Links:
    """From the last work before an event was recorded in its queue to the wait for it in another queue (MTIA: both are pieces of their queues).

    Args:
        recorded: the columns.
        syncs: rows of records and waits.
        waits_for, recorded_on, sequence: of each row of the file, `absent` if not said: the queue that a wait is for, the queue that a record or a
            wait is in, and the number of the event in the queue that records it.
    """
    empty = np.empty(0, np.int64)
    known = syncs[sequence[syncs] != recorded.absent]
    waiting = waits_for[known] != recorded.absent
    waits, records = known[waiting], known[~waiting]
    if not len(waits) or not len(records) or not len(recorded.work):
        return Links(empty, empty, empty)
    # Device, queue and number of the event as one number.
    columns = (recorded.process, np.where(waits_for == recorded.absent, recorded_on, waits_for), sequence)
    event = np.unique(np.stack([column[known] for column in columns]), axis=1, return_inverse=True)[1].ravel()
    found = Groups(event[~waiting], recorded.start[records]).latest_or_first(event[waiting], recorded.start[waits])
    waits, record = waits[found >= 0], records[found[found >= 0]]
    source = Groups(recorded.track[recorded.work], recorded.end[recorded.work]).latest(recorded.track[record], recorded.start[record])
    waits, source = waits[source >= 0], recorded.work[source[source >= 0]]
    agree = recorded.end[source] <= recorded.end[waits]
    return Links(source[agree], waits[agree], np.full(int(agree.sum()), WAIT))
