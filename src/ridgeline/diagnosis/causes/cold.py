"""Cold start: the first call of a process is far dearer than the later ones, and each start is used for one call.

Decided from fresh processes that were started for nothing else; a target that is used again and again is not accused of a first call that its
user waits for once (a caution says how long that takes).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ridgeline.core import Evidence, Facts, Quantity, Where
from ridgeline.core.units import format_quantity

from ..case import Case, Finding, Proposal, Rule

__all__ = ["Cold", "first_stands_alone"]

#: A first call fewer times dearer than this is not worth a warm process.
_LEAST_RATIO = 2.0
#: Seconds under which nobody waits for a first call.
_LEAST_S = 1e-3
#: First of all: where the use calls once, everything that is said about steady calls is beside the point. A busy machine goes before it only where
#: it could explain the difference.
_RANK, _RANK_IN_DOUBT, _BEYOND_DOUBT = 3.0, 1.9, 10.0
#: First calls of a few starts: the next ones may be this factor quicker or slower than all that were seen.
_SPARE = 1.2


class Cold(Rule):
    """Names `cold-start` where each start serves one call and the first call dwarfs the later ones."""

    causes = ("cold-start",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding."""
        cold, steady = case.facts.cold, _steady(case.facts)
        if not first_stands_alone(case.facts) or cold is None or steady is None or cold.first_s.low < max(_LEAST_S, _LEAST_RATIO * steady.high):
            return
        first = cold.first_s
        evidence = [
            Evidence(name="first call of a fresh process", quantity=first),
            Evidence(name="steady call", quantity=steady),
            Evidence(name="loading, before the first call", quantity=cold.load_s),
            *([Evidence(name="starting the process", quantity=cold.process_s)] if cold.process_s is not None else []),
        ]
        yield Finding(
            cause="cold-start",
            bound="latency",
            share=1.0 - steady.value / first.value,
            where=_where(case.facts),
            evidence=tuple(evidence),
            proposals=(
                Proposal(
                    action="pre-warm",
                    because=f"a warm process answers in {format_quantity(steady.value, 's')} where a fresh one takes "
                    f"{format_quantity(first.value, 's')}, after {format_quantity(cold.load_s.value, 's')} of loading",
                    gain=(1.0, 1.0),
                    whole=(max(1.0, first.low / steady.high / _SPARE), first.high / steady.low * _SPARE),
                    of_s=first.value,
                ),
            ),
            summary=f"the first call takes {first.value / steady.value:.0f} times a steady one, and each start is used for one call",
            rank=_RANK if first.low > _BEYOND_DOUBT * steady.high else _RANK_IN_DOUBT,
        )


def first_stands_alone(facts: Facts) -> bool:
    """Whether the first call is what counts. A noisy series never settles either, so that only the use can say so."""
    return facts.target.use == "once"


def _where(facts: Facts) -> Where:
    site = facts.cold.site if facts.cold is not None else None
    if site is None:
        return Where(stage="first call")
    return Where(stage="first call", function=site.function, file=site.file, line=site.line)


def _steady(facts: Facts) -> Quantity | None:
    """A steady call with the spread of single calls, since a single one in a process that has just warmed up is what a promise is checked on."""
    if facts.samples is None or not len(facts.samples):
        return None
    low, middle, high = (float(x) for x in np.quantile(facts.samples.wall_s.values, (0.1, 0.5, 0.9)))
    if low <= 0:
        return None
    return Quantity(value=middle, low=low, high=high, confidence=0.8, unit="s", source="measured", origin="ground truth, four fifths of single calls")
