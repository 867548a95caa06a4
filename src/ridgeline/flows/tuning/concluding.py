"""What a tuning has found, as the report says it: the best and how sure, the default beside it, the curve, what parameters are worth, what was
odd."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal, cast

import numpy as np

from ridgeline.core import (
    Caution,
    CurvePoint,
    ImportanceTable,
    Trial,
    TunedBest,
    TunedDefault,
    TunedFront,
    TunedSpace,
    TunedTie,
    TuneReport,
)
from ridgeline.core.space import Value
from ridgeline.stats import paired_ratio, ratio_of_medians
from ridgeline.tuning.finals import Standing
from ridgeline.tuning.importance import importance

from .known import FINAL, FRONT, LOOK, Known, failure_texts, failures
from .loop import LEAST_PAIRS, Loop
from .objectives import OBJECTIVES
from .several import LEAST_RUNS, front_of, units_of
from .subjects import key_of

__all__ = ["concluded"]

Config = dict[str, Value]
#: Ties that are listed; part of the trials that may be held up without a word.
_MOST_TIES, _HELD_UP = 20, 0.25


def concluded(
    loop: Loop, standing: Standing, configs: Sequence[Config], *, strategy: str, seed: int, machine: str, software: dict[str, str]
) -> TuneReport:
    """The report.

    Args:
        loop: that has ended; standing, configs: of its finals.
    """
    known, subject, record = loop.known, loop.subject, loop.record
    best, space = _best(standing, configs, known), subject.configurations
    default = _default(subject.default, best, known)
    trials, now = known.trials, known.trials[record.earlier :]
    tried = {key_of(trial.config) for trial in trials}
    front = front_of(known, subject.objectives, units_of(subject.objectives, subject.unit)) if len(subject.objectives) > 1 else None
    return TuneReport(
        target=subject.name,
        space=TunedSpace(parameters=space.space.parameters, constraints=space.space.constraints, size=space.count),
        best=best,
        trials=len(trials),
        failures=dict(failures(trials)),
        failure_texts=dict(failure_texts(trials)),
        given_up=sum("given-up" in trial.flags for trial in trials),
        unique_evaluations=len(tried),
        search_s=loop.budget.spent_s,
        overhead_s=max(0.0, loop.budget.now_s - sum(trial.spent_s for trial in now)),
        resumed_from=record.path if record.earlier else None,
        objective=subject.objectives[0],
        unit=subject.unit,
        objectives=subject.objectives,
        front=front,
        strategy=strategy,
        seed=seed,
        machine=machine,
        stopped=loop.stopped,
        default=default,
        curve=_curve(known),
        importance=_importance(known, loop, seed),
        model=loop.strategy.fit(),
        record=record.path,
        software=software,
        warnings=(
            *_cautions(known, best, default),
            *_of_objectives(known, subject.objectives, front),
            *(Caution(code="mended", message=text) for text in record.remarks),
        ),
    )


def _best(standing: Standing, configs: Sequence[Config], known: Known) -> TunedBest | None:
    if standing.best < 0:
        return None
    now = _now(known)
    ties = tuple(
        TunedTie(config=configs[number], objective=now * median(known.values[key_of(configs[number])]), probability_best=_share(standing, number))
        for number in standing.ties[:_MOST_TIES]
    )
    verdict = cast(Literal["won", "tie", "open"], standing.verdict)
    config, interval = configs[standing.best], (now * standing.low, now * standing.high)
    return TunedBest(
        config=config, objective=now * standing.median, objective_ci=interval, probability_best=_share(standing, standing.best),
        probability_better=standing.probability_better, verdict=verdict, ties=ties, runs=len(_runs(config, known, final=True)) or 1,
    )  # fmt: skip


def _now(known: Known) -> float:
    """From the device's first speed, at which configurations are compared, to the one that it has now: what a person would measure."""
    return math.exp(known.level.now)


def _share(standing: Standing, number: int) -> float:
    return float(min(1.0, max(0.0, standing.probability_best[number])))


def _runs(config: Config, known: Known, *, final: bool) -> list[Trial]:
    key = key_of(config)
    return [trial for trial in known.trials if trial.objective is not None and (FINAL in trial.flags) is final and key_of(trial.config) == key]


def _default(default: Config | None, best: TunedBest | None, known: Known) -> TunedDefault | None:
    if default is None or best is None:
        return None
    of_default, of_best = _runs(default, known, final=True), _runs(best.config, known, final=True)
    seen = of_default or _runs(default, known, final=False)
    if not seen:
        return None
    speedup: tuple[float, float] | None = None
    pairs = _pairs(of_default, of_best)
    if default != best.config and len(pairs) >= LEAST_PAIRS:
        before, after = zip(*pairs, strict=True)
        found = paired_ratio(after, before) or ratio_of_medians(after, before)
        speedup = (found[1], found[2])
    objective = median(_seconds(trial) for trial in seen)
    return TunedDefault(config=default, objective=objective, speedup=speedup, better=speedup is not None and speedup[0] > 1.0)


def _pairs(some: Sequence[Trial], others: Sequence[Trial]) -> list[tuple[float, float]]:
    """Objectives of trials that ran next to each other, each once."""
    left, found = list(others), []
    for trial in some:
        if left:
            near = min(left, key=lambda other: abs(other.number - trial.number))
            left.remove(near)
            found.append((_seconds(trial), _seconds(near)))
    return found


def _seconds(trial: Trial) -> float:
    return math.nan if trial.objective is None else trial.objective.value


def _curve(known: Known) -> tuple[CurvePoint, ...]:
    """Each moment at which a better one was found, and the last; all at the speed that the device has now."""
    points: list[CurvePoint] = []
    tried: set[str] = set()
    lowest = math.inf
    for trial, level in zip(known.trials, known.level.logs, strict=True):
        if {FINAL, FRONT, LOOK} & set(trial.flags):
            continue
        tried.add(key_of(trial.config))
        value = math.inf if trial.objective is None else _now(known) * trial.objective.value / math.exp(level)
        if value < lowest:
            lowest = value
            points.append(CurvePoint(evaluations=len(tried), objective=value))
    if points and points[-1].evaluations < len(tried):
        points.append(CurvePoint(evaluations=len(tried), objective=lowest))
    return tuple(points)


def _importance(known: Known, loop: Loop, seed: int) -> ImportanceTable:
    keys, space = known.running(), loop.subject.configurations
    if not keys:
        return ImportanceTable(note="nothing ran")
    rows = np.array([space.row(known.configs[key]) for key in keys])
    return importance(space, rows, np.array([median(known.values[key]) for key in keys]), seed)


def _cautions(known: Known, best: TunedBest | None, default: TunedDefault | None) -> list[Caution]:
    found = []
    if known.level.moves:
        times = f"{known.level.moves} times" if known.level.moves > 1 else "once"
        message = f"the device changed its speed {times} while this ran"
        found.append(Caution(code="throttled", message=message, effect="what was tried before was brought to its speed at the end"))
    elif any("throttled" in trial.flags for trial in known.trials):
        found.append(Caution(code="throttled", message="clocks were lowered in some trials", effect="those may look slower than they are"))
    ran = [trial for trial in known.trials if trial.objective is not None]
    held_up = sum("disturbed" in trial.flags for trial in ran)
    if held_up > _HELD_UP * len(ran):
        message = f"other work on this machine held up runs of {held_up} of {len(ran)} trials"
        found.append(Caution(code="interference", message=message, effect="what is best beside it may not be the best without it"))
    if best is not None and default is not None and default.config != best.config and not default.better:
        message = "the best is not shown to be better than the default"
        found.append(Caution(code="not-better", message=message, effect="what is exported may be no gain"))
    if best is not None and best.verdict == "open":
        message = "the runs or the time did not suffice to tell the likely best apart"
        found.append(Caution(code="too-few-samples", message=message, effect="another configuration that was tried may be better"))
    return found


def _of_objectives(known: Known, objectives: Sequence[str], front: TunedFront | None) -> list[Caution]:
    found, metrics = [], [OBJECTIVES[name].metric for name in objectives[1:]]
    ran = [trial for trial in known.trials if trial.failure is None]
    without = [trial for trial in ran if trial.objective is None or any(metric not in trial.metrics for metric in metrics)]
    if without:
        message = f"{len(without)} of {len(ran)} trials ran without all of {', '.join(objectives)}: {without[-1].text or 'it was not measured'}"
        found.append(Caution(code="unmeasured", message=message, effect="they are on no front and never the best in what they lack"))
    few = 0 if front is None else sum(point.runs < LEAST_RUNS for point in front.points)
    if few:
        message = f"{few} configurations of the front rest on fewer than {LEAST_RUNS} runs"
        found.append(Caution(code="too-few-samples", message=message, effect="they may be there by luck"))
    return found
