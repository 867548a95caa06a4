"""Synchronisation: every step waits for its result before the next one is issued, so that what could overlap takes turns.

Two places where it shows: a pool that is given one task at a time, and a device whose queue is drained at every step. That tasks do not need each
other's results is not known here; the action says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Evidence, Where

from ..case import Case, Finding, Proposal, Rule, measured_share
from ..waited import LEAST_GAIN, careful, counted, disturbed, side_by_side, waits_of, wall_of, where_of

__all__ = ["Synchronisation"]

_LEAST = 0.2
#: A pool with less than this many open tasks at each wait works on one at a time.
_ONE_AT_A_TIME = 1.5
#: Rows of a device's profile in which the host waits for the device.
_DEVICE_WAITS = (
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "hipDeviceSynchronize", "hipStreamSynchronize", "aten::item",
    "aten::_local_scalar_dense", "clFinish", "clWaitForEvents",
)  # fmt: skip


class Synchronisation(Rule):
    """Names `synchronisation` when every step waits for its result before the next is issued."""

    causes = ("synchronisation",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield the pool that works on one task at a time, and the device that is drained at every step."""
        yield from self._pools(case)
        yield from self._devices(case)

    def _pools(self, case: Case) -> Iterator[Finding]:
        serial = [wait for wait in waits_of(case, "future") if (wait.capacity or 0) >= 2 and (wait.in_flight or 9.0) <= _ONE_AT_A_TIME]
        top = max((wait for wait in serial if wait.calls >= 1.5), key=lambda wait: wait.caller_s.value, default=None)
        if top is None or top.capacity is None or top.in_flight is None:
            return
        share = min(1.0, top.caller_s.value / wall_of(case))
        most = min(float(top.capacity), top.calls)
        # What a process pool does is asleep as seen from here; it needs CPUs all the same.
        asleep = min(most, case.cores) if "Process" in top.on else most
        gain = side_by_side(case, share, top, most, most, asleep)
        if share < _LEAST or gain[1] < LEAST_GAIN:
            return
        yield Finding(
            cause="synchronisation",
            bound="latency",
            share=share,
            where=where_of(top.site),
            evidence=(
                measured_share("caller waits here ÷ wall", share, origin="stopwatch on the wait"),
                Evidence(name="waits per call", quantity=counted(top.calls, "stopwatch on the wait")),
                Evidence(name="open tasks when a wait begins", quantity=counted(top.in_flight, "submitted and not done")),
                Evidence(name="workers", quantity=counted(float(top.capacity), "the pool")),
            ),
            # A stopwatch that changed the calls tells who waits, not what not waiting is worth.
            proposals=()
            if disturbed(case)
            else (
                Proposal(
                    action="remove-sync",
                    because=f"{top.calls:.0f} tasks go one at a time through {top.capacity} workers; submitted first and collected afterwards, "
                    f"{min(most, case.cores):.0f} run side by side, as long as none needs the result of another",
                    gain=gain,
                ),
            ),
            summary=f"each of {top.calls:.0f} tasks is waited for before the next is given to the pool of {top.capacity}",
            rank=share * (1.0 - 1.0 / gain[1]),
        )

    def _devices(self, case: Case) -> Iterator[Finding]:
        found = _device_waits(case)
        if found is None:
            return
        where, share, calls, name = found
        if share < _LEAST or calls < 2:
            return
        # Host and device take turns: the sum becomes the larger of the two. One wait, the last, stays.
        host = 1.0 - share
        best = 1.0 / (1.0 - min(share, host) * (calls - 1) / calls)
        yield Finding(
            cause="synchronisation",
            bound="latency",
            share=share,
            where=where,
            evidence=(
                measured_share("host waits for the device ÷ wall", share, origin=name),
                Evidence(name="waits per call", quantity=counted(calls, name)),
            ),
            proposals=(
                Proposal(
                    action="remove-sync",
                    because=f"{calls:.0f} waits drain the device's queue; with one at the end, the {host:.0%} of the host and the {share:.0%} of the "
                    "device overlap",
                    gain=careful(best),
                    share=1.0,
                ),
            ),
            summary=f"the host waits for the device {calls:.0f} times a call and issues nothing meanwhile",
        )


def _device_waits(case: Case) -> tuple[Where, float, float, str] | None:
    """Place, share of the wall, number and name of the waits for a device: from the device's profile, else from stopwatches."""
    parts = [part for part in case.judged if part.row.kind in _DEVICE_WAITS] if case.shares_hold else []
    device = any(part.row.placement.device != "cpu" for part in case.judged)
    parts = [part for part in parts if device or not part.row.kind.startswith("aten::")]
    if parts:
        top = max(parts, key=lambda part: part.share)
        return case.where(top), case.sum_of(parts), sum(part.row.calls for part in parts), top.row.kind
    waits = waits_of(case, "device")
    if not waits:
        return None
    longest = max(waits, key=lambda wait: wait.caller_s.value)
    share = min(1.0, sum(wait.caller_s.value for wait in waits) / wall_of(case))
    return where_of(longest.site), share, sum(wait.calls for wait in waits), longest.on
