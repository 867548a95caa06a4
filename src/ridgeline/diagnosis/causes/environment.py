"""Interference: a busy neighbour, a throttled clock or a stolen CPU is not a slow kernel.

Decided from what the machine itself shows while the samples were taken: time the caller waited for a CPU, CPUs that other processes kept busy,
steal, and the FMA and stream sentinels against the probe. Load that came after clean samples shows in the wall split alone: a call that found a
CPU whenever it wanted one, and later does not, is no different program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ridgeline.core import Evidence, Where
from ridgeline.core.units import format_quantity

from ..case import Case, Finding, Proposal, Rule, measured_share

__all__ = ["Interference"]

#: A caller that waits this share of its wall for a CPU is not measured any more, its neighbour is.
_WAITING = 0.15
#: Steal beyond this share of CPU time moves medians by more than the noise we promise.
_STEAL = 0.10
#: An FMA loop needs no memory: when it runs this much slower than in the probe, the CPU is shared or throttled.
_FMA_SLOW = 0.7
#: Other processes keeping this many CPUs busy leave too little of a machine whose every CPU is used.
_OTHER_LOAD = 0.35
#: Waiting for a CPU beside the wall split beyond that beside the samples: the split runs a sampling thread of its own, which takes less than this.
_LATER = 0.25
#: Samples under which a tenth of them is too few to leave out.
_ENOUGH = 20


class Interference(Rule):
    """Names `interference` when the environment takes more than the effect under study."""

    causes = ("interference",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding, ranked by the larger of the waiting share and the lost rate."""
        seen = case.facts.sentinels
        if seen is None:
            return
        # A program with more busy threads than CPUs waits for itself: others can hold a caller up no longer than they run.
        waiting = min(_typical_waiting(case), math.inf if seen.other_load is None else seen.other_load)
        steal = seen.steal_share or 0.0
        load = seen.other_load or 0.0
        fma = seen.fma_ratio
        slow = 1.0 - fma.value if fma is not None and fma.high < _FMA_SLOW else 0.0
        if not (waiting >= _WAITING or steal >= _STEAL or (slow and load >= _OTHER_LOAD) or case.facts.clock.throttled):
            yield from _later(case)
            return
        lost = min(0.95, max(waiting, steal, slow))
        evidence = [
            measured_share("waiting for a CPU", waiting, origin="run-queue delay ÷ wall, at most the CPUs that others keep busy"),
            measured_share("steal", steal, origin="/proc/stat"),
        ]
        if fma is not None:
            evidence.append(Evidence(name="FMA rate now ÷ probe", quantity=fma))
        said = f"other work keeps {load:.1f} CPUs busy; the caller waited {waiting:.0%} of its time and lost {lost:.0%} in all"
        yield Finding(
            cause="interference",
            bound="inconclusive",
            share=lost,
            where=Where(lane="machine"),
            evidence=tuple(evidence),
            proposals=_proposals(_gain(case, lost), said),
            summary=f"the machine is busy with other work: at least {lost:.0%} of the time is lost to it",
            # It comes first whenever it is there: nothing else measured beside it can be trusted as much.
            rank=2.0,
        )


def _later(case: Case) -> Iterator[Finding]:
    """Load that came when the samples were taken: the time holds, and nothing that was measured to explain it does.

    Waiting of the split is held against the waiting beside the samples, since a program whose own threads queue for each other does so in both.
    """
    seen, later = case.facts.sentinels, case.share_of("waiting")
    # Of all calls, the slow ones too: a split is of all calls as well.
    before = seen.run_queue_share if seen is not None else None
    if before is None or later - before < _LATER:
        return
    slower = [record for record in case.facts.levels if record.level >= 2 and record.perturbed and record.ratio_to_ground_truth is not None]
    ratios = [f"{record.instrument} took {format_quantity(record.ratio_to_ground_truth.value, '1')}× as long" for record in slower]  # type: ignore[union-attr]
    beside = f"; {'; '.join(ratios)}" if ratios else ""
    yield Finding(
        cause="interference",
        bound="inconclusive",
        share=later,
        where=Where(lane="machine"),
        evidence=(
            measured_share("waiting for a CPU, wall split", later, origin="run-queue delay ÷ wall"),
            measured_share("waiting for a CPU, ground truth", before, origin="run-queue delay ÷ wall"),
        ),
        summary=f"other work came after the ground truth, which holds: there a call waited {before:.0%} of its time for a CPU, "
        f"while its wall was split {later:.0%}{beside}; what the levels above 1 say is of a busy machine, measure again",
        missing="levels 2 and up: they ran beside other work; measure again on a quiet machine",
        rank=2.0,
    )


def _proposals(gain: tuple[float, float] | None, because: str) -> tuple[Proposal, ...]:
    """The change with its promise; none where no figure could be bet on."""
    return () if gain is None else (Proposal(action="fix-environment", because=because, gain=gain, share=1.0),)


def _typical_waiting(case: Case) -> float:
    """Share of the wall in the run queue, without the slowest tenth of the calls: a few long waits make a tail, not a slow median."""
    samples = case.facts.samples
    queue = samples.run_queue_s if samples is not None else None
    if samples is None or queue is None or len(samples) < _ENOUGH:
        return max((case.facts.sentinels.run_queue_share if case.facts.sentinels else None) or 0.0, case.share_of("waiting"))
    walls = samples.wall_s.values * samples.inner.values
    kept = np.argsort(walls)[: max(1, int(0.9 * len(walls)))]
    return float(queue.values[kept].sum() / walls[kept].sum())


def _gain(case: Case, lost: float) -> tuple[float, float] | None:
    """What quiet is worth to the median, of what it costs now; null where nothing bounds it from above.

    The share that is seen to be lost bounds it from below: what a neighbour takes from caches and memory is in no counter. From above it is bounded
    by the fastest calls, which had the machine most nearly to themselves; where even those show less than is known to be lost, none was left alone,
    and a quiet call may be faster than any that was seen.
    """
    samples = case.facts.samples
    if samples is None or len(samples) < _ENOUGH:
        return None
    fastest = float(samples.wall_s.values.min())
    high = case.wall_s / fastest if fastest > 0 else 1.0
    known = 1.0 / (1.0 - lost)
    return (1.0 + (known - 1.0) / 2, high) if high >= known else None
