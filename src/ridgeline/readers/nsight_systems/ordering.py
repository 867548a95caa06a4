"""What followed what: launches by correlation number; waits of the host and signals between streams by the rows of synchronisations.

Correlation numbers rise with the calls of a process, so that "the last work put into this stream before that call" is the work with the largest
number below the call's: no times are compared to find it, and the clocks of a device and the host, which differ by some microseconds, cannot hide
it. Events between streams need the rows of recorded events, which Nsight Systems writes only when asked (`--cuda-event-trace`); without them it is
not known what a stream waited for, and no link is made up.
"""

from __future__ import annotations

import numpy as np

from ridgeline.core import Caution

from ..assembling import Whole, kind_of
from ..databases import MISSING
from ..joining import codes_of, last_before, matches, next_after
from .device import Work
from .export import Export
from .host import Calls

__all__ = ["Synchronisations", "link_copies", "link_launches", "link_waits", "own_copies", "synchronisations", "waiting_calls"]

_TABLE, _RECORDS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
#: `ENUM_CUPTI_SYNC_TYPE`.
_EVENT, _STREAM_WAIT, _STREAM, _CONTEXT = 1, 2, 3, 4
_NO_EVENT = 2**32 - 1

Synchronisations = dict[str, Whole]


def synchronisations(export: Export) -> Synchronisations:
    """Rows of synchronisations, with `process` beside their columns."""
    rows = export.numbers(_TABLE, "start", "end", "contextId", "streamId", "correlationId", "globalPid", "syncType", "eventId", "eventSyncId")
    # Some versions call a wait for a stream what they call a stream's wait for an event; only the latter has an event.
    kind = np.where((rows["syncType"] == _STREAM_WAIT) & (rows["eventId"] == _NO_EVENT), _STREAM, rows["syncType"])
    return {**rows, "syncType": kind, "process": export.processes(rows["globalPid"])}


def waiting_calls(rows: Synchronisations) -> tuple[Whole, Whole]:
    """Process and correlation of calls that blocked the host."""
    which = np.isin(rows["syncType"], (_EVENT, _STREAM, _CONTEXT)) & (rows["correlationId"] != MISSING)
    return rows["process"][which], rows["correlationId"][which]


def link_launches(export: Export, work: Work, calls: Calls) -> tuple[Caution, ...]:
    """From each call to what it put into a queue; says what has no call in the file."""
    call = matches(calls.process, calls.correlation, work.process, work.correlation)
    call[work.correlation == MISSING] = -1
    linked = call >= 0
    export.assembly.link(calls.event[call[linked]], work.event[linked], "launch")
    if linked.all():
        return ()
    kernel = np.isin(work.kind, (kind_of("compute"), kind_of("communication")))
    alike = int((~linked & kernel & np.isin(work.correlation, calls.correlation[calls.correlation != MISSING])).sum())
    message = f"{int((~linked & kernel).sum())} of {int(kernel.sum())} kernels and {int((~linked & ~kernel).sum())} of {int((~kernel).sum())} copies"
    message += " and fills have no launching call in the file" + (f" ({alike} share a number with a call of another process)" if alike else "")
    return (Caution(code="missing-launch", message=message, effect="what launched them, and when, is not known; they are in all times"),)


def link_waits(export: Export, rows: Synchronisations, work: Work, calls: Calls) -> tuple[Caution, ...]:
    """From device work to the calls that waited for it, and between streams."""
    if not len(rows["start"]):
        return ()
    call = matches(calls.process, calls.correlation, rows["process"], rows["correlationId"])
    wanted = (rows["process"], rows["contextId"], rows["streamId"])
    of_work, of_rows = codes_of((work.process, work.context, work.stream), wanted)
    recorded, origin = _recorded(export, rows, work)
    stream = last_before(of_work, work.correlation, of_rows, rows["correlationId"])
    in_context, of_context = codes_of((work.process, work.context), wanted[:2])
    latest = _latest(in_context, of_context, work, rows)
    source = np.where(rows["syncType"] == _STREAM, stream, np.where(rows["syncType"] == _CONTEXT, latest, origin))
    asked = (call >= 0) & (rows["syncType"] == _EVENT)  # a query returns at once
    asked[asked] &= calls.kind[call[asked]] != kind_of("wait")
    blocked = np.isin(rows["syncType"], (_EVENT, _STREAM, _CONTEXT)) & (source >= 0) & (call >= 0) & ~asked
    export.assembly.link(work.event[source[blocked]], calls.event[call[blocked]], "wait")
    follower = next_after(of_work, work.correlation, of_rows, rows["correlationId"])
    signalled = (rows["syncType"] == _STREAM_WAIT) & (origin >= 0) & (follower >= 0)
    export.assembly.link(work.event[origin[signalled]], work.event[follower[signalled]], "signal")
    early = work.end[source[blocked]] - calls.end[call[blocked]]
    return _unknown(rows, recorded | asked) + _clocks(early)


def own_copies(work: Work) -> tuple[Whole, Whole, Whole]:
    """Process, correlation and end of copies, the last one first where a call made several."""
    which = np.flatnonzero(work.kind == kind_of("copy"))
    which = which[np.argsort(-work.end[which], kind="stable")]
    return work.process[which], work.correlation[which], work.end[which]


def link_copies(export: Export, work: Work, calls: Calls) -> None:
    """From a copy to the call that made it and outlasted it: it waited."""
    which = np.flatnonzero(work.kind == kind_of("copy"))
    call = matches(calls.process, calls.correlation, work.process[which], work.correlation[which])
    waited = call >= 0
    waited[waited] &= (work.end[which[waited]] <= calls.end[call[waited]]) & (work.correlation[which[waited]] != MISSING)
    export.assembly.link(work.event[which[waited]], calls.event[call[waited]], "wait")


def _recorded(export: Export, rows: Synchronisations, work: Work) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Whole]:
    """Which synchronisations have their event's record in the file, and the last work before that record on its stream (−1: none)."""
    records = export.numbers(_RECORDS, "contextId", "streamId", "correlationId", "globalPid", "eventId", "eventSyncId")
    process = export.processes(records["globalPid"])
    size = len(rows["start"])
    if not len(process):
        return np.zeros(size, np.bool_), np.full(size, -1, np.int64)
    # By the number that ties a record to the waits for it; in older schemas by the event, the last time it was recorded before the wait.
    tied = matches(process, records["eventSyncId"], rows["process"], rows["eventSyncId"])
    tied[(rows["eventSyncId"] == MISSING) | (rows["eventSyncId"] <= 0)] = -1
    of_records, of_rows = codes_of((process, records["eventId"]), (rows["process"], rows["eventId"]))
    by_event = last_before(of_records, records["correlationId"], of_rows, rows["correlationId"])
    record = np.where(tied >= 0, tied, np.where(rows["eventSyncId"] > 0, -1, by_event))
    of_work, of_records = codes_of((work.process, work.context, work.stream), (process, records["contextId"], records["streamId"]))
    before = last_before(of_work, work.correlation, of_records, records["correlationId"])
    return record >= 0, np.where(record >= 0, before[record], -1)


def _latest(groups: Whole, wanted: Whole, work: Work, rows: Synchronisations) -> Whole:
    """For waits for a whole context: of all work put into it before the call, that which ended last, shape (rows,)."""
    found = np.full(len(wanted), -1, np.int64)
    asked = np.flatnonzero(rows["syncType"] == _CONTEXT)
    for group in np.unique(wanted[asked]).tolist():
        inside = np.flatnonzero((groups == group) & (work.correlation != MISSING))
        inside = inside[np.argsort(work.correlation[inside], kind="stable")]
        if not len(inside):
            continue
        ends = work.end[inside]
        new = np.r_[True, ends[1:] > np.maximum.accumulate(ends)[:-1]]
        latest = inside[np.maximum.accumulate(np.where(new, np.arange(len(inside)), 0))]
        these = asked[wanted[asked] == group]
        position = np.searchsorted(work.correlation[inside], rows["correlationId"][these], side="left") - 1
        found[these] = np.where(position >= 0, latest[np.maximum(position, 0)], -1)
    return found


def _unknown(rows: Synchronisations, recorded: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Caution, ...]:
    count = int((np.isin(rows["syncType"], (_STREAM_WAIT, _EVENT)) & ~recorded).sum())
    if not count:
        return ()
    message = f"{count} waits for CUDA events whose records are not in the file"
    effect = "which work they waited for is not known: no order between those streams follows; record with --cuda-event-trace=true"
    return (Caution(code="unknown-waits", message=message, effect=effect),)


def _clocks(early: Whole) -> tuple[Caution, ...]:
    """Waits that ended before what they waited for: the clock of the device is ahead of the host's."""
    count = int((early > 0).sum())
    if not count:
        return ()
    message = f"{count} of {len(early)} waits ended up to {int(early.max())} ns before the device work that they waited for"
    return (Caution(code="device-clock", message=message, effect="times of host and device compare only to within that"),)
