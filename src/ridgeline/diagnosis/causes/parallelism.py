"""Low parallelism: threads that could work and do not.

A kernel that runs on one thread is judged against one thread by every other rule; here the idle cores are put beside it. Spinning is not work:
thread counts come from the operator's placement, and from CPU time only where the program's own threads sleep when idle.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Evidence, Quantity, Where

from ..case import Case, Finding, Proposal, Rule
from ..ceilings import bandwidth_ceiling, mix_of
from ..judge import BOUND_LOW, Judged
from ..stages import overlapping, stage_table
from .waits import knows_why_it_waits

__all__ = ["LowParallelism", "waits_for_threads"]

#: Busy CPUs ÷ usable CPUs under which a threaded program counts as out of balance.
_UNBALANCED = 0.75
#: Waking threads and waiting for them costs some ten microseconds: a shorter kernel does not gain from a second one.
_SHORTEST_S = 50e-6
#: CPUs that a quiet system keeps busy by itself.
_OTHERS = 0.1
_PARALLEL_GROUPS = ("matmul", "convolution", "attention", "elementwise", "reduction", "normalisation", "movement", "copy", "sort", "gather", "random")


class LowParallelism(Rule):
    """Names `low-parallelism` for kernels on fewer threads than there are CPUs, and for the program's own threads out of balance."""

    causes = ("low-parallelism",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield what is idle: kernels first, then imbalance."""
        if case.cores < 2:
            return
        yield from self._imbalance(case)
        if case.shares_hold:
            yield from self._kernels(case)

    def _kernels(self, case: Case) -> Iterator[Finding]:
        table = stage_table(case.facts)
        if table is not None and overlapping(table):
            return  # the CPUs that this operator leaves idle have other stages to run
        parts = [part for part in case.judged if part.threads < case.cores and part.row.group in _PARALLEL_GROUPS and _long_enough(part)]
        if not parts:
            return
        top = max(parts, key=lambda part: part.share)
        share = case.sum_of(parts)
        most = _free_cpus(case) / top.threads
        gain = min(_thread_gain(case, top), most)
        # A kernel under its ceiling on few threads may reach the ceiling of all of them; never more than each thread's part.
        best = min(most, gain / min(1.0, top.f_b.value)) if top.bound == "bandwidth" and top.f_b is not None and top.f_b.value > 0 else gain
        dense = top.row.engine is not None and top.row.group in ("matmul", "convolution", "attention") and _compute_bound(top)
        yield Finding(
            cause="low-parallelism",
            bound="compute" if dense else ("bandwidth" if top.bound == "bandwidth" else "latency"),
            share=share,
            where=case.where(top),
            evidence=(
                Evidence(name="threads that worked", quantity=Quantity.exact(top.threads, "count", source="counted", origin="placement")),
                Evidence(name="CPUs usable", quantity=Quantity.exact(case.cores, "count", source="counted", origin="affinity and quota")),
            ),
            proposals=(
                Proposal(
                    action="parallelise",
                    because=f"{top.threads} of {case.cores} CPUs work; all that are free reach {gain:.2f}× here",
                    gain=(1.0 + 0.6 * max(0.0, gain - 1.0), max(1.0, gain, best)),
                ),
            ),
            summary=f"{top.threads} of {case.cores} CPUs do the work",
            operators=len(parts),
            # Idle cores are the first thing to use where dense arithmetic already runs well on one; elsewhere they stand beside the cause that
            # the kernel has.
            rank=share * (0.9 if dense else 0.1),
        )

    def _imbalance(self, case: Case) -> Iterator[Finding]:
        if not waits_for_threads(case) or knows_why_it_waits(case):
            return
        busy, kernels = _busy(case)[0], case.share_of("kernels")
        gain = max(1.0, _free_cpus(case) / busy)
        yield Finding(
            cause="low-parallelism",
            bound="latency",
            share=kernels,
            where=_waiting_line(case),
            evidence=(
                Evidence(name="CPUs busy", quantity=Quantity.exact(busy, "count", source="measured", origin="process CPU ÷ wall")),
                Evidence(name="CPUs usable", quantity=Quantity.exact(case.cores, "count", source="counted", origin="affinity and quota")),
            ),
            proposals=(
                Proposal(
                    action="rebalance",
                    because=f"{busy:.2f} of {case.cores} CPUs are busy; even shares keep all of them so",
                    gain=(1.0 + (gain - 1) / 2, gain),
                ),
            ),
            summary=f"the program's threads keep {busy:.2f} of {case.cores} CPUs busy",
            rank=kernels * (1.0 - busy / case.cores) * 2,
        )


def waits_for_threads(case: Case) -> bool:
    """Whether the caller hands its work to threads (it does little itself) and they do not fill the machine."""
    busy, own = _busy(case)
    return own <= 0.3 and busy - own >= 0.3 and busy / max(1.0, _free_cpus(case)) < _UNBALANCED and case.share_of("kernels") >= 0.3


def _busy(case: Case) -> tuple[float, float]:
    """(CPUs the process kept busy, CPUs its calling thread did) while it was not waiting for a CPU; zeros where it was not measured."""
    samples = case.facts.samples
    process, caller, wall = (samples.mean(name) if samples else None for name in ("process_cpu_s", "thread_cpu_s", "wall_s"))
    if process is None or caller is None or not wall:
        return 0.0, 0.0
    # Time in the run queue is a neighbour's doing, not the program's.
    wall *= max(0.1, 1.0 - case.share_of("waiting"))
    return process / wall, caller / wall


def _long_enough(part: Judged) -> bool:
    return part.kernel_s is not None and part.row.calls > 0 and part.kernel_s.value / part.row.calls >= _SHORTEST_S


def _compute_bound(part: Judged) -> bool:
    return part.f_c is not None and part.f_c.value >= BOUND_LOW and part.bound == "compute"


def _thread_gain(case: Case, part: Judged) -> float:
    """What all CPUs reach over the present threads: the ratio of ceilings for a bandwidth-bound kernel, of thread counts for the rest."""
    device = case.facts.device
    if device is not None and part.bound == "bandwidth":
        mix = mix_of(part.read_bytes, part.write_bytes)
        now = bandwidth_ceiling(device, mix, part.threads, max(1.0, part.working_set_bytes))
        full = bandwidth_ceiling(device, mix, case.cores, max(1.0, part.working_set_bytes))
        if now and full:
            return max(1.0, full.value / now.value)
    return case.cores / part.threads


def _free_cpus(case: Case) -> float:
    """CPUs that other processes left to this one while it was measured: a thread on a busy CPU brings next to nothing."""
    seen = case.facts.sentinels
    load = (seen.other_load or 0.0) if seen is not None else 0.0
    return case.cores - (load if load > _OTHERS else 0.0)


def _waiting_line(case: Case) -> Where:
    spots = case.facts.hot_spots
    spot = max(spots.spots, key=lambda s: s.samples, default=None) if spots else None
    return Where(function=spot.site.function, file=spot.site.file, line=spot.site.line) if spot else Where(lane="threads")
