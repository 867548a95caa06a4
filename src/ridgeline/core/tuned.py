"""What a tuning found: the best configuration with how sure that is, what was tried on the way, and what each parameter is worth."""

from __future__ import annotations

from typing import Literal

import msgspec

from .caution import Caution
from .space import Parameter, Value

__all__ = [
    "CurvePoint",
    "FrontPoint",
    "Importance",
    "ImportanceTable",
    "ModelFit",
    "RooflineLeft",
    "TuneReport",
    "TunedBest",
    "TunedDefault",
    "TunedFront",
    "TunedPrior",
    "TunedReplay",
    "TunedSpace",
    "TunedTie",
]


class TunedSpace(msgspec.Struct, frozen=True, kw_only=True):
    """The space that was searched; `size`: its valid configurations."""

    parameters: tuple[Parameter, ...]
    constraints: tuple[str, ...]
    size: int


class TunedTie(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration that is not told from the best.

    Args:
        config: name → value; objective: median of its runs, in the unit of the objective.
        probability_best: that it is the best of all that were tried.
    """

    config: dict[str, Value]
    objective: float
    probability_best: float


class TunedBest(msgspec.Struct, frozen=True, kw_only=True):
    """The best configuration that was tried.

    Args:
        config: name → value of each active parameter.
        objective: median of its runs in the finals, in the unit of the objective; objective_ci: its interval [lo, hi].
        probability_best: that no other one that was tried is better at all.
        probability_better: that another one that was tried is better by more than the indifference.
        verdict: `won`: none is better by more than the indifference, with the confidence asked for, and none may be a little better; `tie`: those of
            `ties` may be a little better; `open`: the runs or the time did not suffice to tell.
        ties: those that may be better, the likeliest first.
        runs: of it.
    """

    config: dict[str, Value]
    objective: float
    objective_ci: tuple[float, float]
    probability_best: float
    probability_better: float = 0.0
    verdict: Literal["won", "tie", "open"] = "open"
    ties: tuple[TunedTie, ...] = ()
    runs: int = 0


class TunedDefault(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration that the best is held against.

    Args:
        config: name → value; objective: median of its runs.
        speedup: default ÷ best, [lo, hi] at 95 %, of runs in the same rounds; null where there are too few.
        better: whether the best is clearly better; false: no better setting was found.
    """

    config: dict[str, Value]
    objective: float
    speedup: tuple[float, float] | None = None
    better: bool = False


class FrontPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration that none of those tried beats in every objective.

    Args:
        config: name → value; values: of each objective, the median of its runs; intervals: of each [lo, hi], smallest and largest of few runs.
        runs: that these rest on, those of the search left out where there are three others.
        untold: places in `TunedFront.points` of those that may beat it, as far as the intervals tell.
    """

    config: dict[str, Value]
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    runs: int = 1
    untold: tuple[int, ...] = ()


class TunedFront(msgspec.Struct, frozen=True, kw_only=True):
    """What several objectives leave to choose from: every other configuration that was tried is as high or higher in all of them.

    Args:
        objectives: names, the one that decides about the best first; units: of each.
        points: from the lowest of the first objective on.
        ideal, reference: the lowest and the highest of each objective among all that were tried.
        hypervolume: share of the box between these, in logarithms, that the points dominate, 0 to 1.
        measured: configurations that ran and have all objectives.
    """

    objectives: tuple[str, ...]
    units: tuple[str, ...]
    points: tuple[FrontPoint, ...]
    ideal: tuple[float, ...]
    reference: tuple[float, ...]
    hypervolume: float
    measured: int


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A moment at which a better configuration was found: different configurations tried by then, and its objective as seen then."""

    evaluations: int
    objective: float


class Importance(msgspec.Struct, frozen=True, kw_only=True):
    """What one parameter, or two together beyond each alone, explain of how configurations differ.

    Args:
        parameters: one name or two.
        share: of the variance of the logarithm of the objective, 0 to 1; low, high: its interval at 90 %.
    """

    parameters: tuple[str, ...]
    share: float
    low: float
    high: float


class ImportanceTable(msgspec.Struct, frozen=True, kw_only=True):
    """What parameters are worth.

    Args:
        shares: of single parameters and of pairs, largest first; empty where there are too few trials, which `note` then says.
        explained: share of the variance of trials that were left out which the model behind it explains, at most 1; null where it was not asked.
        trials: that it rests on.
        method: how, with source; note: what keeps it from being sure.
    """

    shares: tuple[Importance, ...] = ()
    explained: float | None = None
    trials: int = 0
    method: str = ""
    note: str = ""


class ModelFit(msgspec.Struct, frozen=True, kw_only=True):
    """How far off the model that guided the search was on this space: at trials that it had not seen when it proposed them.

    Args:
        median_error: median of |ln (predicted ÷ found)|.
        rank_correlation: Spearman's, −1 to 1; null where there are too few.
        trials: that were compared.
    """

    median_error: float
    rank_correlation: float | None
    trials: int


class RooflineLeft(msgspec.Struct, frozen=True, kw_only=True):
    """What the roofline says is left of the best.

    Args:
        floor_s: seconds at which the work would run at the ceiling that is met first; bound: which (`compute` or `bandwidth`).
        share: of that ceiling which the best reaches, 1 is all.
        ceiling: what it was held against.
    """

    floor_s: float
    bound: Literal["compute", "bandwidth"]
    share: float
    ceiling: str


class TunedPrior(msgspec.Struct, frozen=True, kw_only=True):
    """From what the search began: a recording of another device, size or state of the source, or the roofline. No time of it counts as one of here.

    Args:
        source: its file, or `roofline`.
        device: where it was recorded, or whose ceilings were taken; empty where that is not said.
        trials: configurations of it that have a counterpart here, null of a formula; dropped: that have none.
        weight: how much of it the search believed at the end, 0 to 1; null where the search takes no guess.
        note: what was left out, and why.
    """

    source: str
    device: str = ""
    trials: int | None = None
    dropped: int = 0
    weight: float | None = None
    note: str = ""


class TunedReplay(msgspec.Struct, frozen=True, kw_only=True):
    """What answered in place of a device: nothing was measured.

    Args:
        file: with the recording; device: where that was made, empty where it is not said.
        configurations: that were recorded, and no other could be tried.
        regret: the best ÷ the lowest that was recorded, medians of all recorded runs; null where nothing ran.
    """

    file: str
    device: str
    configurations: int
    regret: float | None


class TuneReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.tune/1"):
    """The answer of `ridgeline tune`.

    Args:
        target: what was tuned; space: in what.
        best: null where nothing ran.
        trials: goes at configurations, failed ones and those of the finals as well.
        failures: kind → configurations that failed so.
        failure_texts: kind → what the first of them said, shortened; given_up: trials that were ended as clearly slower.
        unique_evaluations: different configurations that were tried, failed ones as well.
        search_s: wall seconds of all, with the sessions before; overhead_s: of these, what was not spent in trials.
        resumed_from: the record that was gone on with; null where none was.
        objective: what is made small, of several the first; unit: of it; objectives: all of them.
        front: what several objectives leave to choose from; null with one.
        strategy, seed: of the search; machine: where, fingerprint: what of it decides about times.
        shape: name → value of what it was tuned for, such as the sizes of the problem.
        stopped: why the search came to its end: `trials`, `time`, `space` (all was tried) or `interrupted`.
        how: parameter → how a person sets it in code of their own; of a deployment.
        default: what the best is held against, such as a deployment as it is; null where there is none.
        curve: best so far; importance: of parameters.
        priors: from what the search began beside the space; replay: whose recorded times these are, null where they were measured.
        model: how far off the model behind the search was; null where it had none.
        roofline: what is left; null where the work is not known.
        record: file of the trials; run: id in the notebook, null where it is in none.
        software: versions.
    """

    target: str
    space: TunedSpace
    best: TunedBest | None
    trials: int
    failures: dict[str, int]
    unique_evaluations: int
    search_s: float
    overhead_s: float
    resumed_from: str | None
    objective: str = "time"
    unit: str = "s"
    objectives: tuple[str, ...] = ("time",)
    front: TunedFront | None = None
    strategy: str = ""
    seed: int = 0
    machine: str = ""
    fingerprint: str = ""
    shape: dict[str, Value] = {}
    stopped: Literal["trials", "time", "space", "interrupted"] = "trials"
    how: dict[str, str] = {}
    default: TunedDefault | None = None
    curve: tuple[CurvePoint, ...] = ()
    importance: ImportanceTable = ImportanceTable()
    priors: tuple[TunedPrior, ...] = ()
    replay: TunedReplay | None = None
    model: ModelFit | None = None
    roofline: RooflineLeft | None = None
    record: str | None = None
    run: str | None = None
    software: dict[str, str] = {}
    warnings: tuple[Caution, ...] = ()
    failure_texts: dict[str, str] = {}
    given_up: int = 0
