"""What differs between two stored runs, key by key, and their numbers side by side; whether the numbers differ is for `compare` to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from ridgeline.core import GroundTruth, Run, UsageError
from ridgeline.core.run_diff import DifferentKey, FigurePair, RunDiff
from ridgeline.diagnosis.benched import bench_report
from ridgeline.diagnosis.comparison import class_of, keys_of
from ridgeline.notebook import Notebook

__all__ = ["diff", "diff_runs"]

_ORDER = {"must": 0, "warn": 1, "note": 2}
#: Keys that never are alike, or that the head of the page shows.
_OWN = frozenset({"id", "at"})


def diff(location: str | Path | None, a: str, b: str) -> RunDiff:
    """Two runs of the notebook at `location` (the default one if null), named as `flows.show` names them.

    Raises:
        UsageError: no such notebook or run.
        ReadError: a document is damaged or newer.
    """
    with Notebook.open(location, create=False) as notebook:
        return diff_runs(notebook.get(a), notebook.get(b))


def diff_runs(a: Run, b: Run) -> RunDiff:
    """What differs between `a` and `b`; pure."""
    keys_a, keys_b = _keys(a), _keys(b)
    names = sorted((keys_a.keys() | keys_b.keys()) - _OWN)
    different = [
        DifferentKey(key=name, a=keys_a.get(name, ""), b=keys_b.get(name, ""), kind=_kind(name, keys_a, keys_b))
        for name in names
        if keys_a.get(name) != keys_b.get(name)
    ]
    comparable = all(key.kind != "must" for key in different)
    return RunDiff(
        run_a=a.id, run_b=b.id, at_a=a.at, at_b=b.at, target_a=a.facts.target.spec, target_b=b.facts.target.spec,
        keys=tuple(sorted(different, key=lambda key: (_ORDER[key.kind], key.key))),
        same=tuple(name for name in names if keys_a.get(name) == keys_b.get(name)),
        figures=tuple(_figures(a, b, comparable)),
        comparable=comparable,
    )  # fmt: skip


def _kind(name: str, a: Mapping[str, str], b: Mapping[str, str]) -> Literal["must", "warn", "note"]:
    """As a comparison holds it: what only one side knows cannot be said to differ."""
    if name in _EXTRA:
        return "note"
    found = class_of(name)
    if found == "must":
        return "must" if a.get(name) and b.get(name) else "warn"
    return "note" if found == "ignore" else "warn"


#: What a person wants to see beside the keys of a comparison.
_EXTRA: frozenset[str] = frozenset({"verb", "target", "command", "method", "repository", "directory", "bound", "cause"})


def _keys(run: Run) -> dict[str, str]:
    diagnosis = run.diagnosis
    settings = {f"setting.{one.name}": one.used or "" for one in (run.bench.settings if run.bench else ())}
    keys = {
        **keys_of(run), **settings, "verb": run.verb, "target": run.facts.target.spec, "command": run.command, "method": run.method,
        "repository": run.repository, "directory": run.directory, "bound": diagnosis.bound if diagnosis else "",
        "cause": diagnosis.bottleneck.cause if diagnosis and diagnosis.bottleneck else "",
    }  # fmt: skip
    return {name: value for name, value in keys.items() if value}


def _figures(a: Run, b: Run, comparable: bool) -> Iterable[FigurePair]:
    truth_a, truth_b = _truth(a), _truth(b)
    if truth_a is None and truth_b is None:
        return
    for name, unit, value, interval in _NUMBERS:
        left, right = (_number(truth, value) for truth in (truth_a, truth_b))
        if left is None and right is None:
            continue
        ends_a, ends_b = (_interval(truth, interval) for truth in (truth_a, truth_b))
        ratio = right / left if comparable and unit == "s" and left and right else None
        yield FigurePair(name=name, unit=unit, a=left, b=right, a_ci=ends_a, b_ci=ends_b, ratio=ratio)


#: Name, unit, field of a ground truth, field of its interval.
_NUMBERS = (
    ("median", "s", "median_s", "median_ci_s"),
    ("p99", "s", "p99_s", "p99_ci_s"),
    ("minimum", "s", "min_s", ""),
    ("seconds a call among many", "s", "batched_s", ""),
    ("first call", "s", "first_s", ""),
    ("samples", "count", "samples", ""),
    ("processes", "count", "processes", ""),
    ("noise floor", "1", "noise_floor", ""),
)


def _number(truth: GroundTruth | None, name: str) -> float | None:
    value = getattr(truth, name, None)
    return None if value is None else float(value)


def _interval(truth: GroundTruth | None, name: str) -> tuple[float, float] | None:
    found: tuple[float, float] | None = getattr(truth, name, None) if name else None
    return found


def _truth(run: Run) -> GroundTruth | None:
    if run.diagnosis is not None:
        return run.diagnosis.ground_truth
    if run.bench is None:
        return run.truth
    try:
        return bench_report(run).ground_truth
    except UsageError:
        # Nothing was timed.
        return run.truth
