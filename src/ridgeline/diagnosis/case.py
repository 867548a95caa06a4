"""`Case`: the facts and what follows from them by arithmetic alone, so that every rule reads the same numbers.

`Finding` is what a rule returns. A rule never asks for measurements and never compares itself with other rules: ranking is in `verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ridgeline.core import Bound, Evidence, Facts, OperatorRow, Quantity, Where

from .corrected import corrected_rows
from .judge import Judged, judge
from .observer import with_honest_split
from .resampled import resampled_rows

__all__ = ["IO_KINDS", "Case", "Finding", "Proposal", "Rule"]


#: Under this share of the wall the operators' own work explains nothing.
_LITTLE_WORK = 0.1
#: The dearest kind of operator costs about this many times the fitted one to issue (a product with shapes to check against a negation).
_KINDS_DIFFER = 3.0
#: Recorded calls that go to the kernel for data; the fresh memory they fill is not what they wait for.
IO_KINDS = ("_io.", "io.", "os.", "posix.", "socket.", "_socket.", "ssl.", "shutil.", "mmap.", "subprocess.")


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """An action with the local gain it promises on the finding's share.

    Attributes:
        action: a name from the table of causes.
        because: one sentence with the arithmetic.
        gain: (low, high) factor by which the affected share shrinks; `inf` deletes it.
        metric: `latency`, or `period` where one call does not get shorter.
        share: share of the wall it acts on; the finding's if `None`.
        share_range: (low, high) of that share, where it is known no better; the share itself if `None`.
        whole: (low, high) speedup of the whole target where it is known directly; then `gain` and `share` are not used.
        of_s: seconds that `whole` is a speedup of; the median of the ground truth if `None`.
    """

    action: str
    because: str
    gain: tuple[float, float]
    metric: str = "latency"
    share: float | None = None
    share_range: tuple[float, float] | None = None
    whole: tuple[float, float] | None = None
    of_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One possible bottleneck.

    Attributes:
        cause: a name from the table of causes.
        bound: what limits it.
        share: share of the wall.
        where: the place.
        evidence: numbers it stands on.
        proposals: actions, best first.
        summary: one sentence for the page.
        healthy: whether the place already runs at its ceiling and only cheaper work would help.
        rank: replaces the recoverable share in the ranking where a rule knows better.
        missing: what would have to be measured to say more, where the verdict stays open.
        operators: how many operators the share is of, the place being the largest of them.
    """

    cause: str
    bound: Bound
    share: float
    where: Where
    evidence: tuple[Evidence, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    summary: str = ""
    healthy: bool = False
    rank: float | None = None
    missing: str = ""
    operators: int = 1

    @property
    def of_a_count(self) -> bool:
        """Whether the number of operators makes the time, so that none of them is the place."""
        return self.cause == "dispatch" and self.operators > 1

    @property
    def recoverable(self) -> float:
        """Share of the wall that the best action deletes at the least: share × (1 − 1 ÷ low gain)."""
        if self.rank is not None:
            return self.rank
        return max((_saved(p, self.share) for p in self.proposals if p.metric == "latency"), default=0.0)


def _saved(proposal: Proposal, share: float) -> float:
    return (share if proposal.share is None else proposal.share) * (1.0 - 1.0 / max(1.0, proposal.gain[0]))


class Rule:
    """Base of a rule: facts in, findings out. Register it as an entry point in group `ridgeline.rules`.

    Life cycle: made once per diagnosis, `findings` is called once with a complete case.
    """

    #: causes this rule may name
    causes: tuple[str, ...] = ()

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield what this rule sees; nothing where its evidence is missing."""
        raise NotImplementedError  # pragma: no cover - abstract


@dataclass(frozen=True)
class Case:
    """Facts plus derived numbers. All shares are of the wall of one call of the target."""

    facts: Facts
    cores: int = field(default=1)

    @classmethod
    def of(cls, facts: Facts) -> Case:
        """Build the case of some facts; a wall split that changed the time has the interval that it can stand for."""
        return cls(facts=with_honest_split(facts), cores=facts.machine.cpus_usable)

    @cached_property
    def wall_s(self) -> float:
        """Median wall of the ground truth, seconds; 0 without samples."""
        samples = self.facts.samples
        return float(np.median(samples.wall_s.values)) if samples is not None and len(samples) else 0.0

    @cached_property
    def perturbed(self) -> bool:
        """Whether the operator level was perturbed (unknown counts as not)."""
        return any(record.level == 3 and record.perturbed for record in self.facts.levels)

    @cached_property
    def shares_hold(self) -> bool:
        """Whether the operators' times may be used: their level is not perturbed, or others stand in for them."""
        return self.facts.operators is not None and (not self.perturbed or self.stand_in is not None)

    @cached_property
    def stand_in(self) -> tuple[OperatorRow, ...] | None:
        """Rows with times that are not the perturbed profile's: from sampled lines, else from the profile less the cost of its records."""
        if not self.perturbed:
            return None
        return self._resampled or corrected_rows(self.facts, self.wall_s)

    @cached_property
    def _resampled(self) -> tuple[OperatorRow, ...] | None:
        table = self.facts.operators
        if table is None or not self.perturbed:
            return None
        perturbed = judge(self.facts, table.rows, table.wall_s.value, self.threads)
        return resampled_rows(self.facts, self.wall_s, [part.ideal_s for part in perturbed])

    @cached_property
    def operators_wall_s(self) -> float:
        """The wall that the operators' times are shares of: the instrumented one, or the ground truth where other times stand in; 0 without
        operators."""
        table = self.facts.operators
        if table is None:
            return 0.0
        return self.wall_s if self.stand_in is not None else table.wall_s.value

    @cached_property
    def threads(self) -> int:
        """Threads an operator is taken to use when it does not say."""
        return self.facts.target.threads or 1

    @cached_property
    def judged(self) -> list[Judged]:
        """Every operator with its numbers, in order of execution."""
        return judge(self.facts, self.rows, self.operators_wall_s, self.threads)

    @cached_property
    def operator_calls(self) -> float:
        """Operators issued in one call of the target, views and Python calls left out."""
        return sum(row.calls for row in self.rows if row.group not in ("view", "python", "blocking"))

    @property
    def rows(self) -> Sequence[OperatorRow]:
        """The operator rows, empty where there are none."""
        if self.stand_in is not None:
            return self.stand_in
        return self.facts.operators.rows if self.facts.operators else ()

    @cached_property
    def ideal_s(self) -> float:
        """Seconds that the known work of one call would need at its ceilings: what is left of a call of tiny operators without their overhead."""
        return sum(part.ideal_s or 0.0 for part in self.judged)

    @property
    def dispatch_share(self) -> float:
        """Share of the wall that issuing operators takes, at most 1; 0 where there is no fit. See `dispatch_evidence`."""
        evidence = self.dispatch_evidence
        return evidence.quantity.value if evidence is not None else 0.0

    @cached_property
    def dispatch_evidence(self) -> Evidence | None:
        """Share of the wall that issuing operators takes, with its interval; `None` where there is no fit.

        Operators × fitted cost ÷ wall. Where the work itself is under a tenth of the wall, what is left a call and operator is overhead too: it
        counts as long as it is of the size of the fitted cost, since kinds of operators differ in their cost by that much. Then the value is what
        is left, and the fit the lower end.
        """
        fit = self.facts.dispatch
        if fit is None or not self.wall_s or fit.operators <= 0:
            return None
        low, fitted, high = (min(1.0, each * fit.operators / self.wall_s) for each in _ends(fit.per_operator_s))
        outside = self.share_of("blocked") + self.share_of("waiting") + self.share_of("system")
        left = max(0.0, 1.0 - outside - self.share_of("interpreter") - self.ideal_s / self.wall_s)
        observed_s = left * self.wall_s / fit.operators
        name, origin, value = "dispatch share of the wall", f"operators × cost of one ÷ wall; {fit.how}".rstrip("; "), fitted
        if left > fitted and self.ideal_s < _LITTLE_WORK * self.wall_s and observed_s <= _KINDS_DIFFER * fit.per_operator_s.value:
            name, value, high = "what their work leaves of the wall", left, max(left, high)
            origin = "wall less work at its ceilings and all that is no operator; lower end: operators × cost of one ÷ wall"
        sure = fit.per_operator_s.confidence
        return Evidence(name=name, quantity=Quantity(value=value, low=low, high=high, confidence=sure, unit="1", source="measured", origin=origin))

    @cached_property
    def faults(self) -> float:
        """Page faults of one call."""
        return (self.facts.samples.mean("minor_faults") or 0.0) if self.facts.samples is not None else 0.0

    @cached_property
    def fault_share(self) -> float:
        """Page faults × cost of one ÷ wall; 0 where the probe has no cost."""
        cost = self.facts.device.cost("page-fault") if self.facts.device else None
        return self.faults * cost.value / self.wall_s if cost is not None and self.wall_s else 0.0

    @cached_property
    def fresh_parts(self) -> list[Judged]:
        """Operators that write memory the allocator has just handed out."""
        return [part for part in self.judged if any(use.fresh for use in part.row.writes or ())]

    def system_is_memory(self) -> bool:
        """Whether the system time has fresh memory behind it: page faults that explain a quarter of it, or a megabyte of fresh results."""
        if self.shares_hold and sum(part.share for part in self.judged if part.row.group == "blocking" or part.row.kind.startswith(IO_KINDS)) >= 0.5:
            return False
        return self.fault_share >= self.share_of("system") / 4 or sum(map(fresh_bytes, self.fresh_parts)) >= 2**20

    def share_of(self, name: str) -> float:
        """A share of the wall split by name, 0 where it was not measured."""
        split = self.facts.wall_split
        return float(getattr(split, name).value) if split is not None else 0.0

    def range_of(self, name: str) -> tuple[float, float]:
        """(low, high) of a share of the wall split by name, zeros where it was not measured."""
        split = self.facts.wall_split
        share: Quantity | None = getattr(split, name) if split is not None else None
        return (max(0.0, share.low), min(1.0, share.high)) if share is not None else (0.0, 0.0)

    @cached_property
    def spinning(self) -> float:
        """Share of the wall in which the caller was busy asking whether something had happened; 0 where that was not looked at."""
        table = self.facts.waits
        if table is None or table.wall_s.value <= 0:
            return 0.0
        return min(1.0, sum(wait.caller_s.value for wait in table.waits if wait.kind == "spin") / table.wall_s.value)

    def sum_of(self, parts: Sequence[Judged]) -> float:
        """Share of several operators together, never above 1."""
        return min(1.0, sum(part.share for part in parts))

    def where(self, part: Judged) -> Where:
        """The place of an operator: its name and, where known, its source line."""
        site = part.row.site
        return Where(
            operator=part.row.name,
            function=site.function if site else None,
            file=site.file if site else None,
            line=site.line if site else None,
        )


def fresh_bytes(part: Judged) -> float:
    """Fresh bytes that an operator writes in one call of the target."""
    return part.row.calls * sum(use.size_bytes for use in part.row.writes or () if use.fresh)


def measured_share(name: str, value: float, *, origin: str, ends: tuple[float, float] | None = None) -> Evidence:
    """Evidence that is a share; `ends` is its 95 % interval, where one is known."""
    low, high = ends or (value, value)
    confidence = 1.0 if low == high else 0.95
    quantity = Quantity(value=value, low=min(low, value), high=max(high, value), confidence=confidence, unit="1", source="measured", origin=origin)
    return Evidence(name=name, quantity=quantity)


def _ends(quantity: Quantity) -> tuple[float, float, float]:
    return max(0.0, quantity.low), quantity.value, quantity.high
