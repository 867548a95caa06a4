"""Interference: a busy neighbour, a throttled clock or a stolen CPU is not a slow kernel.

Decided from what the machine itself shows while the samples were taken: time the caller waited for a CPU, CPUs that other processes kept busy,
steal, and the FMA and stream sentinels against the probe.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Evidence, Where

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


class Interference(Rule):
    """Names `interference` when the environment takes more than the effect under study."""

    causes = ("interference",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding, ranked by the larger of the waiting share and the lost rate."""
        seen = case.facts.sentinels
        if seen is None:
            return
        waiting = max(seen.run_queue_share or 0.0, case.share_of("waiting"))
        steal = seen.steal_share or 0.0
        load = seen.other_load or 0.0
        fma = seen.fma_ratio
        slow = 1.0 - fma.value if fma is not None and fma.high < _FMA_SLOW else 0.0
        if not (waiting >= _WAITING or steal >= _STEAL or (slow and load >= _OTHER_LOAD) or case.facts.clock.throttled):
            return
        lost = min(0.95, max(waiting, steal, slow))
        evidence = [
            measured_share("waiting for a CPU", waiting, origin="run-queue delay ÷ wall"),
            measured_share("steal", steal, origin="/proc/stat"),
        ]
        if fma is not None:
            evidence.append(Evidence(name="FMA rate now ÷ probe", quantity=fma))
        yield Finding(
            cause="interference",
            bound="inconclusive",
            share=lost,
            where=Where(lane="machine"),
            evidence=tuple(evidence),
            proposals=(
                Proposal(
                    action="fix-environment",
                    because=f"other work keeps {load:.1f} CPUs busy; the caller waited {waiting:.0%} of its time and lost {lost:.0%} in all",
                    gain=(1.0 / (1.0 - lost / 2), 1.0 / (1.0 - lost)),
                    share=1.0,
                ),
            ),
            summary=f"the machine is busy with other work: {lost:.0%} of the time is lost to it",
            # It comes first whenever it is there: nothing else measured beside it can be trusted as much.
            rank=2.0,
        )
