"""`GateReport`: whether a change may go in, benchmark by benchmark; the contract of `ridgeline gate --json`."""

from __future__ import annotations

from typing import Literal

import msgspec

from .comparison import Comparison, TailComparison
from .display import shown_inline
from .facts import Caution
from .series import Better, LeftOut

__all__ = ["GateCheck", "GateReport", "GateVerdict", "Predicted"]

GateVerdict = Literal["fine", "faster", "regression", "tail regression", "inconclusive", "incomparable", "failed", "missing", "new"]


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark was predicted to take: (low, high) seconds, and the relative error that is let pass beyond them."""

    low_s: float
    high_s: float
    tolerance: float = 0.1


class GateCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark of a gate.

    Args:
        name: of the benchmark; target: what was measured, empty for an entry of a file.
        verdict: `fine` where it is shown to be no slower than the margin, `faster`, `regression` where that was confirmed, `tail regression` of the
            p99 alone, `inconclusive` where no regression was seen and one beyond the margin is not excluded, `incomparable`, `failed` where it did
            not run, `missing` in this version, `new` in it.
        against: what it was held against.
        ratio, ratio_ci: now ÷ before of the looking that decided; null where there is none. High is null where it has no end.
        confidence: of that interval, of this benchmark alone.
        detectable_ratio: a slowdown by this ratio would be found by nine of ten such lookings; null where none would or it is not known.
        statistic: of each process that the ratio is of.
        before, now: medians, in `unit`.
        metric, unit, better: as in `Series`.
        margin: relative slowdown that is let pass.
        suspected: whether the first looking saw something, so that a second one, on processes of its own, decided.
        tail: the p99, apart.
        first, second: both lookings, where they were comparisons.
        expected: (low, high) that a history or a prediction allows now, in `unit`.
        because: one sentence.
        warnings: what could change it.
        runs: ids of the runs of this version that are kept.
    """

    name: str
    verdict: GateVerdict
    against: str
    target: str = ""
    ratio: float | None = None
    ratio_ci: tuple[float, float | None] | None = None
    confidence: float | None = None
    detectable_ratio: float | None = None
    statistic: str = "median"
    before: float | None = None
    now: float | None = None
    metric: str = "latency"
    unit: str = "s"
    better: Better = "lower"
    margin: float = 0.02
    suspected: bool = False
    tail: TailComparison | None = None
    first: Comparison | None = None
    second: Comparison | None = None
    expected: tuple[float, float] | None = None
    because: str = ""
    warnings: tuple[Caution, ...] = ()
    runs: tuple[str, ...] = ()


class GateReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.gate/1"):
    """The verdict of a gate.

    Args:
        baseline: what the benchmarks are held against; version: what they are of.
        state: `red` where a regression was confirmed or a benchmark did not run, `unlike` where results cannot be compared or no benchmark
            is in both, `unsure` where a regression beyond the margin is not excluded or a benchmark is missing, else `green`. The worst counts, in
            this order.
        checks: each benchmark.
        confidence: that no benchmark of an unchanged version makes the gate red.
        fail_on: what makes it red: `slower`, and `tail` where that was asked for.
        headline: one sentence.
        left_out: entries of files that are in no check.
        warnings: about the whole.
    """

    baseline: str
    version: str
    state: Literal["green", "red", "unlike", "unsure"]
    checks: tuple[GateCheck, ...]
    confidence: float = 0.97
    fail_on: tuple[str, ...] = ("slower",)
    headline: str = ""
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[Caution, ...] = ()
    command: str = ""

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)

    def of(self, *verdicts: GateVerdict) -> tuple[GateCheck, ...]:
        """The checks with one of these verdicts."""
        return tuple(check for check in self.checks if check.verdict in verdicts)
