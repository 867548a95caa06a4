"""`Comparison`: two versions of one benchmark held against each other; the contract of `ridgeline compare --json`."""

from __future__ import annotations

from typing import Literal

import msgspec

from .core_to_core import CoreToCore
from .display import shown_inline
from .facts import Caution
from .series import Better, LeftOut
from .verdict import GroundTruth

__all__ = ["ChangedKey", "Comparison", "ComparisonSet", "Contribution", "SideSummary", "TailComparison", "Verdict"]

Verdict = Literal["faster", "slower", "same", "inconclusive", "incomparable"]


class ChangedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key in which both sides differ.

    Args:
        key: such as `machine.cpu`, `precision`, `threads`.
        a, b: its values; empty where a side has none.
        kind: `must` be equal, or `warn` only.
        declared: whether the difference is the point of the change.
    """

    key: str
    a: str
    b: str
    kind: Literal["must", "warn"]
    declared: bool = False


class SideSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One side in the unit of its values; p99 is null under its sample-size limit, and all but the counts where a file holds aggregates only.

    `core_to_core`: how far apart the cores were while it was measured; null where nobody looked.
    """

    name: str
    unit: str
    samples: int
    processes: int
    processes_known: bool
    median: float | None = None
    lower_quartile: float | None = None
    minimum: float | None = None
    p99: float | None = None
    aggregates: dict[str, float] = {}
    core_to_core: CoreToCore | None = None


class TailComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The p99 of both sides, or another quantile, judged apart from the median.

    Args:
        verdict: of the tail; inconclusive with the reason where it cannot be judged.
        ratio, ratio_ci: b ÷ a; null where it cannot be judged.
        q: the quantile.
        reason: one sentence.
    """

    verdict: Verdict
    ratio: float | None = None
    ratio_ci: tuple[float, float | None] | None = None
    q: float = 0.99
    reason: str = ""


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """What a part contributes to the difference of two versions.

    Args:
        kind: `stage`, `operator`, `kernel`, `system time`, `waiting`, `interpreter`, `layout`, `allocation`, ….
        name: of the part.
        a_s, b_s: seconds a call in each version; null where a side does not have it.
        difference_s: b − a, with its interval.
        share: of the whole difference, below 0 where it goes the other way; null where the whole is not known to within half of itself.
        because: one sentence.
        level: the instrument's view that it is a part in: `wall`, `stages`, `operators`, `kernels`. Each view divides the same difference, so that
            parts of one add up and parts of two do not.
    """

    kind: str
    name: str
    a_s: float | None
    b_s: float | None
    difference_s: float
    difference_ci_s: tuple[float, float] | None = None
    share: float | None = None
    because: str = ""
    level: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.compare/1"):
    """Version b held against version a.

    Args:
        verdict: faster or slower where the interval leaves out 1; same where it lies within the margin; else inconclusive; incomparable where a
            key differs that must not, undeclared. For values of which more is better, `faster` means better.
        ratio: value of b ÷ value of a of the statistic, and `ratio_ci` its (low, high); null where there is none. High is null where it has no end.
        confidence: of the interval; over a family of benchmarks that of the whole family holds (see `ComparisonSet`).
        tail: the p99, apart.
        keep: whether b may be kept: faster, or the same, and no worse in its tail, as far as that could be judged (caution `tail-unjudged`), nor in
            a quarter of its calls; false as well where nothing can be told.
        detectable_ratio: a difference by this ratio would be found by nine of ten comparisons of this size; null where none would.
        a, b: both sides as ground truth, where they are latencies in seconds; `side_a`, `side_b` in any unit.
        changed_keys: in which keys they differ; reasons: why the verdict is what it is, in sentences, the first being the headline.
        why: parts that the difference comes from, largest first.
        margin: relative difference up to which two versions are the same.
        statistic: of each process that is compared; `ratios`: by each statistic; `intervals`: of those, where they have two ends.
        shape: a quartile of the calls that differs otherwise than the verdict says, beyond the margin; null where none does. A slower one leaves the
            verdict no better than inconclusive.
        p_value: of the difference, before the correction for a family; null without a test.
        hypothesis, promised: what was expected and promised by the action `tests` of a diagnosis; `promise`: whether that was kept.
        promised_metric: `period` for a promise on the time between results.
        gained: (low, high) speedup that the promise was held against; null where nothing that was compared is what was promised.
        run_a, run_b: ids of the runs.
    """

    verdict: Verdict
    ratio: float | None
    ratio_ci: tuple[float, float | None] | None
    confidence: float
    tail: TailComparison
    keep: bool
    detectable_ratio: float | None
    a: GroundTruth | None
    b: GroundTruth | None
    changed_keys: tuple[ChangedKey, ...] = ()
    reasons: tuple[str, ...] = ()
    why: tuple[Contribution, ...] = ()
    name: str = ""
    name_a: str = ""
    name_b: str = ""
    metric: str = "latency"
    unit: str = "s"
    better: Better = "lower"
    margin: float = 0.01
    statistic: str = ""
    ratios: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    shape: TailComparison | None = None
    p_value: float | None = None
    side_a: SideSummary | None = None
    side_b: SideSummary | None = None
    warnings: tuple[Caution, ...] = ()
    hypothesis: str = ""
    tests: str = ""
    promised: tuple[float, float] | None = None
    promised_metric: Literal["latency", "period"] = "latency"
    gained: tuple[float, float] | None = None
    promise: Literal["kept", "refuted", "open"] | None = None
    run_a: str | None = None
    run_b: str | None = None
    command: str = ""

    @property
    def headline(self) -> str:
        """The first reason."""
        return self.reasons[0] if self.reasons else self.verdict

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)


class ComparisonSet(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.comparisons/1"):
    """Many benchmarks compared at once; a set of one is a `Comparison` to its reader.

    Args:
        a, b: where both sides are from.
        comparisons: of each benchmark that both have.
        missing: in a and not in b; new: in b and not in a.
        left_out_a, left_out_b: entries that were not compared.
        confidence: that no benchmark of the family is called different by chance.
    """

    a: str
    b: str
    comparisons: tuple[Comparison, ...]
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    left_out_a: tuple[LeftOut, ...] = ()
    left_out_b: tuple[LeftOut, ...] = ()
    confidence: float = 0.97
    warnings: tuple[Caution, ...] = ()
    run: str | None = None
    command: str = ""
