"""Work that is done again although nothing it depends on has changed: within one call of the target, or in one graph.

The facts say how many executions of a row differ in what they are given (`OperatorRow.distinct`); this module decides which of the others could be
spared and what that is worth. A random number, a wait or a write to a file is never the same work twice. What the target computes anew in every call,
from what it was given, is its job and not looked at. A pass over the same data that computes something else is `poor-locality`, not this.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Bound, Evidence, Quantity

from ..case import Case, Finding, Proposal, Rule, measured_share
from ..judge import Judged

__all__ = ["RedundantWork", "redundant_share"]

#: What has an effect beside its result, or no cost of its own; a copy is often made in order to be changed.
_NOT_SPARED = ("view", "allocation", "copy", "random", "blocking")
_LEAST = 0.03
#: Keeping and finding a result costs something, and the first execution, which stays, is often the slowest: this part of the repetitions' time goes
#: at the least.
_SPARED_AT_LEAST = 0.85


class RedundantWork(Rule):
    """Names `redundant-work` when executions with the same inputs take a good part of the wall."""

    causes = ("redundant-work",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding, for all repeated work together; the place is where most of it is."""
        if not case.shares_hold:
            return
        parts = [part for part in case.judged if redundant_share(part) > 0]
        share = min(1.0, sum(redundant_share(part) for part in parts))
        if share < _LEAST:
            return
        top = max(parts, key=redundant_share)
        # The share is of all these operators, and so are the counts.
        calls, different = sum(part.row.calls for part in parts), sum(part.row.distinct or 0.0 for part in parts)
        at = f" of {len(parts)} operators" if len(parts) > 1 else ""
        said = (
            f"{calls:.0f} executions{at}, {different:.0f} of them with inputs of their own" if different else "computed before from the same inputs"
        )
        yield Finding(
            cause="redundant-work",
            bound=_bound(top),
            share=share,
            where=case.where(top),
            evidence=(
                Evidence(name="executions per call", quantity=Quantity.exact(calls, "count", source="counted", origin="operator profile")),
                Evidence(name="executions that differ", quantity=Quantity.exact(different, "count", source="counted", origin="values followed")),
                measured_share("share of the wall that repeats", share, origin="operator profile × repeated executions"),
            ),
            proposals=(
                Proposal(
                    action="compute-once",
                    because=f"{said}; a result that is kept makes the others unnecessary",
                    gain=(1.0 / (1.0 - _SPARED_AT_LEAST), float("inf")),
                ),
            ),
            summary=f"{said}: {share:.0%} of the wall computes what was computed before",
            operators=len(parts),
        )


def redundant_share(part: Judged) -> float:
    """Share of the wall that the executions take which an earlier one has already done; 0 where that is not known.

    share × (1 − distinct ÷ calls)
    """
    calls, distinct = part.row.calls, part.row.distinct
    if distinct is None or calls <= 0 or part.row.group in _NOT_SPARED:
        return 0.0
    return part.share * max(0.0, 1.0 - distinct / calls)


def _bound(part: Judged) -> Bound:
    """The bound of the operator itself; the interpreter's and the library's own work without a ceiling waits for instructions, not for data."""
    known: dict[str, Bound] = {"compute": "compute", "bandwidth": "bandwidth", "mixed": "mixed"}
    return known.get(part.bound, "latency")
