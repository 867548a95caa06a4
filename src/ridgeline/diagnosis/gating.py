"""The rule of a gate: many benchmarks are looked at cheaply, what looks slower is looked at again on other processes, and only that can fail.

The first looking is liberal, so that little is overlooked; it alone never makes a gate red. Its suspects are measured again, on processes that had no
part in the suspicion, and each of k suspects is judged at the error rate ÷ k (Bonferroni). Since who is a suspect does not depend on the second
measurement, the chance that any benchmark of an unchanged version is called a regression stays at most that error rate, however many there are.
Where both lookings share a stored baseline, they are not independent, and the error rate is shared among all benchmarks instead.

Whether a quarter of the calls is slower (`comparison.shape`) has a tenth of the error rate: a version of which half the calls doubled is no slower by
its fastest, and not by luck of the median.

`fine` is a claim: the interval of the first looking lies under the margin (a test of non-inferiority). What is neither is `inconclusive`.
Sources: O. Dunn, JASA 56, 1961 (the share of each); D. Schuirmann, 1987 (the one-sided test against a margin). Measuring is left to the flow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import (
    Better,
    Comparison,
    GateCheck,
    GateReport,
    GateVerdict,
    HistoryLine,
    LeftOut,
    Predicted,
    Series,
    TailComparison,
)
from ridgeline.core.units import format_quantity
from ridgeline.stats import quantile_interval

from .comparison.contention import process_medians
from .comparison.judge import judged
from .history import expected_next

__all__ = ["FIRST_ERROR", "Look", "at_baseline", "at_history", "at_prediction", "check_of", "closed", "error_of_each", "suspicious"]

#: One-sided chance that the first looking suspects an unchanged benchmark.
FIRST_ERROR = 0.1
#: One-sided chance that an unchanged benchmark is called faster: that is told and decides nothing, so that it is not confirmed.
_FASTER_ERROR = 0.005
#: Two-sided confidence of the tail in the first looking.
_FIRST_TAIL = 0.9
#: A prediction that is wrong by more than this factor was probably given in another unit.
_FAR_OFF = 20.0
#: Part of the error rate that both quartiles together have.
_SHAPE = 0.1


@dataclass(frozen=True, kw_only=True)
class Look:
    """One looking at one benchmark.

    Attributes:
        worse: whether it is slower, with the confidence of this looking, and not wholly within the margin; or a quarter of its calls is.
        uneven: of a quarter of its calls that differs otherwise than the ratio says; empty where none does.
        statistic: of each process that the ratio is of.
        tail_worse: the same of its p99.
        fine: whether it is shown to be no slower than the margin.
        better: whether it is faster, with that confidence.
        ratio, interval: now ÷ before.
        before, now: medians.
        expected: what a history or a prediction allows.
        comparison: where it was one.
        incomparable: why it cannot be compared; empty where it can.
        assumes: what the interval takes for granted, for the reader; empty where nothing.
        error: one-sided chance of `worse` where nothing changed.
    """

    error: float
    worse: bool = False
    tail_worse: bool = False
    fine: bool = False
    better: bool = False
    ratio: float | None = None
    interval: tuple[float, float | None] | None = None
    before: float | None = None
    now: float | None = None
    expected: tuple[float, float] | None = None
    comparison: Comparison | None = None
    incomparable: str = ""
    assumes: str = ""
    uneven: str = ""
    statistic: str = "median"

    @property
    def tail(self) -> TailComparison | None:
        """The p99, where it was judged."""
        return self.comparison.tail if self.comparison is not None else None


def at_baseline(a: Series, b: Series, *, margin: float, error: float = FIRST_ERROR, changing: Collection[str] = ()) -> Look:
    """Version b held against measured values a.

    Args:
        margin: relative slowdown that is let pass, ≥ 0.
        error: one-sided chance to call an unchanged benchmark slower, in (0, 0.5).
        changing: keys whose difference is the point.
    """
    confidence = 1 - 2 * (1 - _SHAPE) * error
    tail_confidence = _FIRST_TAIL if error >= FIRST_ERROR else 1 - 2 * error
    found = judged(a, b, margin, (confidence, confidence), tail_confidence, changing, versions_differ=False)
    if found.verdict == "incomparable":
        return Look(error=error, comparison=found, incomparable=found.headline)
    low, high = _worseness(found.ratio_ci, b.better)
    strict = 1 - 2 * min(error, _FASTER_ERROR)
    sure = judged(a, b, margin, (strict, strict), tail_confidence, changing, versions_differ=False) if high < 1 else found
    uneven = found.shape is not None and found.shape.verdict == "slower"
    shape = _strict_shape(a, b, margin, error, changing) if uneven else None
    return Look(
        error=error,
        worse=(low > 1 and high > 1 + margin) or (shape is not None and shape.verdict == "slower"),
        tail_worse=found.tail.verdict == "slower",
        fine=high <= 1 + margin and not uneven,
        better=_beyond_margin(_worseness(sure.ratio_ci, b.better), margin) and not uneven,
        uneven=found.shape.reason if found.shape is not None else "",
        statistic=found.statistic,
        ratio=found.ratio,
        interval=found.ratio_ci,
        before=found.side_a.median if found.side_a else None,
        now=found.side_b.median if found.side_b else None,
        comparison=found,
    )


def _strict_shape(a: Series, b: Series, margin: float, error: float, changing: Collection[str]) -> TailComparison | None:
    """The quartile that is slower at the error rate which each of the two has."""
    confidence = 1 - _SHAPE * error
    return judged(a, b, margin, (confidence, confidence), confidence, changing, versions_differ=False).shape


def at_history(line: HistoryLine, b: Series, *, margin: float, error: float = FIRST_ERROR) -> Look:
    """Version b held against what its history expects of one more run.

    The interval of a further run and that of this run's own median are added as independent errors of logarithms.
    """
    recent = [point.value for point in line.points[line.changes[-1].index if line.changes else 0 :] if point.value is not None]
    values = np.array(recent, np.float64)
    level, expected, now, interval, assured = _against(values, line.shape == "drift", b, error)
    if interval is None:
        return Look(error=error, before=level, now=now, ratio=now / level if now is not None and level else None)
    low, high = _worseness(interval, b.better)
    sure = _against(values, line.shape == "drift", b, min(error, _FASTER_ERROR))[3]
    return Look(
        error=error, worse=low > 1 and high > 1 + margin, fine=high <= 1 + margin, better=_beyond_margin(_worseness(sure, b.better), margin),
        ratio=now / level if now is not None and level else None, interval=interval, before=level, now=now, expected=expected,
        assumes="" if assured is not None and assured >= 1 - 2 * error else f"; {values.size} runs are taken to scatter like a normal sample",
    )  # fmt: skip


def _against(
    values: NDArray[np.float64], drift: bool, b: Series, error: float
) -> tuple[float | None, tuple[float, float] | None, float | None, tuple[float, float] | None, float | None]:
    """(level, what is expected of one more run, its median, interval of its ratio to the level, share of runs that this holds of in any case)."""
    now, now_low, now_high = _median(b, 1 - 2 * error)
    level, _, expected, _, assured = expected_next(values, drift=drift, confidence=1 - 2 * error)
    if level is None or expected is None or now is None or not level > 0 or not now_low > 0:
        return level, expected, now, None, assured
    up = math.hypot(math.log(expected[1] / level), math.log(now / now_low))
    down = math.hypot(math.log(level / expected[0]), math.log(now_high / now))
    return level, expected, now, (now / level * math.exp(-up), now / level * math.exp(down)), assured


def _beyond_margin(worseness: tuple[float, float], margin: float) -> bool:
    """Whether it is better, and not wholly within the margin."""
    return worseness[1] < 1 and worseness[0] < 1 / (1 + margin)


def at_prediction(predicted: Predicted, b: Series, *, error: float = FIRST_ERROR) -> Look:
    """Version b held against a predicted time: worse where its whole interval lies above the prediction's high end and the tolerance."""
    now, now_low, now_high = _median(b, 1 - 2 * error)
    middle = math.sqrt(predicted.low_s * predicted.high_s)
    allowed = (predicted.low_s / (1 + predicted.tolerance), predicted.high_s * (1 + predicted.tolerance))
    if now is None:
        return Look(error=error, before=middle, expected=allowed)
    return Look(
        error=error, worse=now_low > allowed[1], fine=now_high <= allowed[1], better=now_high < allowed[0], ratio=now / middle,
        interval=(now_low / predicted.high_s, now_high / predicted.low_s), before=middle, now=now, expected=allowed,
        assumes="" if 1 / _FAR_OFF < now / middle < _FAR_OFF else "; that is far from the prediction: is its unit right?",
    )  # fmt: skip


def _worseness(interval: tuple[float, float | None] | None, better: Better) -> tuple[float, float]:
    """The interval turned so that above 1 is worse; (0, ∞) where there is none."""
    if interval is None:
        return 0.0, math.inf
    low, high = interval[0], math.inf if interval[1] is None else interval[1]
    return (low, high) if better == "lower" else (1 / high, 1 / low if low > 0 else math.inf)


def _median(series: Series, confidence: float) -> tuple[float | None, float, float]:
    """(median of the processes' medians, its interval); the interval is that of all of them where so few allow no narrower one."""
    medians = process_medians(series)
    if not medians.size:
        return None, 0.0, 0.0
    found = quantile_interval(medians, 0.5, confidence) if medians.size > 1 else None
    low, high = (found.low, found.high) if found is not None else (float(medians.min()), float(medians.max()))
    return float(np.median(medians)), low, high


def suspicious(look: Look, *, tail: bool) -> bool:
    """Whether the first looking asks for a second.

    Args:
        tail: whether a worse tail counts.
    """
    return not look.incomparable and (look.worse or (tail and look.tail_worse))


def error_of_each(suspects: int, family: int, *, confidence: float, tail: bool, independent: bool) -> float:
    """The one-sided error that each second looking may have.

    Args:
        suspects: how many are looked at again, ≥ 1; family: how many were looked at.
        confidence: of the whole gate, in (0, 1).
        tail: whether tails count, which then take half.
        independent: whether the second looking shares nothing with the first.
    """
    share = suspects if independent else max(family, suspects)
    return min(FIRST_ERROR, (1 - confidence) / share / (2 if tail else 1))


def check_of(
    name: str,
    target: str,
    against: str,
    first: Look,
    second: Look | None,
    *,
    margin: float,
    tail: bool,
    series: Series,
    runs: Sequence[str] = (),
    stored: bool = False,
) -> GateCheck:
    """The check of one benchmark from its lookings.

    Args:
        second: null where the first asked for none, or where there is nothing to measure again.
        margin, tail: as above.
        series: of this version, for metric and unit.
        stored: nothing can be measured again: the first looking decides, and has to be as strict as a second.
    """
    decisive = second or first
    verdict = _verdict(first, first if stored else second, tail)
    compared = decisive.comparison
    warnings = compared.warnings if compared else series.cautions
    because = _because(verdict, decisive, _how(second, verdict, stored), margin, series) + decisive.assumes
    unfinished = next((caution for caution in warnings if caution.code == "unsynchronised"), None)
    if unfinished is not None and verdict in ("fine", "faster"):
        verdict, because = "inconclusive", f"{unfinished.effect or 'the work is not in the times'}"
    return GateCheck(
        name=name, verdict=verdict, against=against, target=target, ratio=decisive.ratio, ratio_ci=decisive.interval,
        statistic=decisive.statistic, confidence=1 - 2 * decisive.error,
        detectable_ratio=compared.detectable_ratio if compared else None, before=decisive.before,
        now=decisive.now, metric=series.metric, unit=series.unit, better=series.better, margin=margin, suspected=suspicious(first, tail=tail),
        tail=decisive.tail, first=first.comparison, second=second.comparison if second else None, expected=decisive.expected,
        because=because, warnings=warnings, runs=tuple(runs),
    )  # fmt: skip


def _verdict(first: Look, second: Look | None, tail: bool) -> GateVerdict:
    decisive = second or first
    if decisive.incomparable:
        return "incomparable"
    if second is not None and second.worse:
        return "regression"
    if second is not None and tail and second.tail_worse:
        return "tail regression"
    if decisive.better:
        return "faster"
    return "fine" if decisive.fine else "inconclusive"


def _how(second: Look | None, verdict: GateVerdict, stored: bool) -> str:
    if stored:
        return "; stored values, which nothing could be measured against again"
    if second is None:
        return ""
    return ", confirmed on processes of its own" if verdict in ("regression", "tail regression") else "; the suspicion is not confirmed"


def _because(verdict: GateVerdict, look: Look, how: str, margin: float, series: Series) -> str:
    if verdict == "incomparable":
        return look.incomparable
    found = "; ".join(part for part in (_size(look, series), look.uneven) if part)
    if verdict in ("regression", "faster"):
        return f"{found}{how}"
    if verdict == "tail regression":
        return f"{found}, and its p99 is slower{how}"
    if verdict == "fine":
        return f"{found}: no slower than the margin of {100 * margin:g} %{how}"
    if look.interval is None:
        return f"{found}: too little is known for an interval{how}"
    return f"{found}: no regression is told from noise, and one beyond the margin is not excluded{how}"


def _size(look: Look, series: Series) -> str:
    if look.ratio is None:
        return "no ratio"
    median = look.statistic == "median"
    of = "" if median else f" by the {look.statistic}"
    times = "" if look.now is None else f"{of} ({'' if median else 'the median is '}{format_quantity(look.now, series.unit)})"
    if not 0.5 < look.ratio < 2:
        return f"{look.ratio:.3g} times as much{times}"
    change = 100 * (look.ratio - 1)
    return f"{abs(change):.2g} % {'more' if change > 0 else 'less'}{times}" if abs(change) >= 0.05 else f"about the same{times}"


State = Literal["green", "red", "unlike", "unsure"]


def closed(
    checks: Sequence[GateCheck], *, baseline: str, version: str, confidence: float, fail_on: Sequence[str], left_out: Sequence[LeftOut] = ()
) -> GateReport:
    """The verdict of the whole: the worst of its checks counts."""
    report = GateReport(
        baseline=baseline,
        version=version,
        state="green",
        checks=tuple(checks),
        confidence=confidence,
        fail_on=tuple(fail_on),
        left_out=tuple(left_out),
    )
    state: State = "green"
    if report.of("regression", "tail regression", "failed"):
        state = "red"
    elif report.of("incomparable") or (report.of("missing") and len(report.of("missing", "new")) == len(checks)):
        # With no benchmark in common nothing was checked.
        state = "unlike"
    elif report.of("inconclusive", "missing") or len(report.of("new")) == len(checks):
        state = "unsure"
    return msgspec.structs.replace(report, state=state, headline=_headline(report, state))


def _headline(report: GateReport, state: State) -> str:
    if not report.checks:
        return "nothing was checked"
    counts = {verdict: len(report.of(verdict)) for verdict in dict.fromkeys(check.verdict for check in report.checks)}
    order = ("regression", "tail regression", "failed", "incomparable", "inconclusive", "fine", "faster", "new", "missing")
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in order if verdict in counts)
    total = len(report.checks)
    if state == "unlike" and counts.keys() <= {"missing", "new"}:
        return f"{state}: no benchmark is in both, this version and {report.baseline}: {said}"
    return f"{state}: {total} benchmark{'s' * (total != 1)} against {report.baseline}: {said}"
