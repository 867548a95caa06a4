"""What to measure next: one level down, and only once the level above has narrowed the search."""

from __future__ import annotations

from ridgeline.core import Facts, Need

from .case import Case
from .causes.cold import first_stands_alone
from .causes.layout import unfavourable_candidates, uses_onednn
from .causes.locality import tiles
from .causes.parallelism import waits_for_threads
from .causes.waits import wants_waits

__all__ = ["next_need"]

#: An operator this short is mostly its own dispatch: the count of operators must be judged by a fit.
_TINY_OPERATOR_S = 100e-6
#: Under this share of the wall outside sleep, queue and interpreter, an operator profile cannot change the verdict.
_LEAST_KERNELS = 0.02


def next_need(facts: Facts) -> Need | None:
    """The next measurement, or `None` when nothing that can be had would change the verdict.

    An instrument named in `facts.cannot` is never asked for again.
    """
    for need in _candidates(facts):
        if need.instrument not in facts.cannot:
            return need
    return None


def _candidates(facts: Facts) -> list[Need]:
    needs: list[Need] = []
    if facts.device is None:
        # Before the stopwatch, because the sentinels between the samples are held against the machine as the probe found it.
        needs.append(Need(level=4, instrument="device", because="every fraction is against a ceiling of this machine"))
    if facts.samples is None:
        return [*needs, Need(level=1, instrument="samples", because="how long it takes, uninstrumented, is the ground truth")]
    if facts.wall_split is None:
        needs.append(Need(level=2, instrument="wall-split", because="blocked, waiting, system, interpreter and kernel time need different fixes"))
    if needs:
        return needs
    if facts.stages is None and facts.target.marks:
        needs.append(Need(level=2, instrument="stages", because="which part of the time is which stage, and whether the model is even the problem"))
    case = Case.of(facts)
    if facts.cold is None and first_stands_alone(facts):
        needs.append(Need(level=1, instrument="cold-start", because="each start serves one call: what a fresh process takes for its first"))
    if facts.operators is None and _has_kernels(case):
        needs.append(Need(level=3, instrument="operators", because="which operator, how many times, on what shapes"))
    if facts.operators is not None and facts.dispatch is None and _tiny(case):
        needs.append(Need(level=3, instrument="dispatch", because="operators this small are judged by a fit of time over their count"))
    return [*needs, *_outside(case)] or _inside(case)


def _outside(case: Case) -> list[Need]:
    """What looks at time outside the operators."""
    needs: list[Need] = []
    if case.facts.hot_spots is None and _needs_lines(case):
        needs.append(Need(level=5, instrument="hot-spots", because="the time is outside the operators: which line"))
    if case.facts.waits is None and wants_waits(case):
        needs.append(Need(level=5, instrument="waits", because="who waits for whom, and what goes on meanwhile"))
    return needs


def _inside(case: Case) -> list[Need]:
    """What needs the operators' own shares, and so comes when nothing else would change them."""
    needs: list[Need] = []
    if case.facts.primitives is None and uses_onednn(case):
        needs.append(Need(level=4, instrument="primitives", because="a library may turn operands around inside its operators"))
    if case.facts.relayouts is None and (unfavourable_candidates(case) or tiles(case)):
        needs.append(Need(level=4, instrument="relayouts", because="what order and distance of the data cost shows when they are changed"))
    return needs


def _has_kernels(case: Case) -> bool:
    """Whether enough of the wall could lie in operators: a program that sleeps or interprets needs its line, not a profile of what it hardly does."""
    return 1.0 - case.share_of("blocked") - case.share_of("interpreter") - case.share_of("waiting") >= _LEAST_KERNELS


def _tiny(case: Case) -> bool:
    return case.operator_calls >= 5 and case.wall_s / case.operator_calls < _TINY_OPERATOR_S


def _needs_lines(case: Case) -> bool:
    outside = case.share_of("blocked") + case.share_of("interpreter") + case.share_of("waiting")
    opaque = case.facts.operators is None or not case.facts.operators.rows
    return outside >= 0.2 or opaque or case.perturbed or case.share_of("system") >= 0.2 or waits_for_threads(case)
