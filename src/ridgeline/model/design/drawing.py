"""Workloads to measure: first evenly over each form's cube, then where what is known errs.

The first points are a scrambled Sobol sequence, so that any number of them is even and a longer design begins with a shorter one. Later ones are
drawn from many candidates by the error that a model makes near them. Source: A. Owen, "Scrambling Sobol and Niederreiter-Xing points", J. Complexity
14 (1998).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Workload

from .forms import DIMENSIONS, FORMS, Form

__all__ = ["Drawn", "first", "where_unsure"]

Floats = NDArray[np.float64]
Drawn = tuple[str, Workload]
_POINTS = 2**15
_NEIGHBOURS = 4


def first(seed: int = 0, forms: Sequence[Form] = FORMS) -> Iterator[Drawn]:
    """(Form, workload) without end, each form as often as its share; the same for the same seed."""
    streams = {form.name: _stream(form, seed + place) for place, form in enumerate(forms)}
    owed = {form.name: 0.0 for form in forms}
    total = sum(form.share for form in forms)
    while True:
        # The form that is furthest behind its share is next.
        for form in forms:
            owed[form.name] += form.share / total
        name = max(owed, key=owed.__getitem__)
        owed[name] -= 1.0
        yield name, next(streams[name])


def _stream(form: Form, seed: int) -> Iterator[Workload]:
    from scipy.stats import qmc

    made = 0
    while True:
        points = qmc.Sobol(DIMENSIONS, seed=seed + 1000 * made).random(_POINTS)
        made += 1
        for point in points:
            work = form.at(point.tolist())
            if work is not None:
                yield work


def where_unsure(known: Mapping[str, Sequence[tuple[Workload, float]]], count: int, seed: int = 0, forms: Sequence[Form] = FORMS) -> list[Drawn]:
    """So many workloads, more of the forms and nearer to the sizes with large errors.

    Args:
        known: form → measured workloads of it, each with the absolute error of ln(latency) that a model made that had not seen it.
        count: of workloads; seed: of the draw.
    """
    generator = np.random.default_rng(seed)
    # A form that errs twice as much gets four times as many: what counts is each form's error, not that of all rows.
    means = np.array([_mean_error(known.get(form.name, ())) ** 2 * form.share for form in forms])
    if not means.sum() > 0:
        return [drawn for drawn, _ in zip(first(seed, forms), range(count), strict=False)]
    numbers = generator.multinomial(count, means / means.sum())
    found: list[Drawn] = []
    for form, number in zip(forms, numbers.tolist(), strict=True):
        stream = _stream(form, int(generator.integers(2**31)))
        candidates = [next(stream) for _ in range(4 * number)]
        found += [(form.name, work) for work in _drawn(candidates, known.get(form.name, ()), number, generator)]
    return [found[place] for place in generator.permutation(len(found)).tolist()]


def _mean_error(rows: Sequence[tuple[Workload, float]]) -> float:
    # A form of which little is known is taken to be as bad as the worst.
    return float(np.mean([error for _, error in rows])) if len(rows) >= 2 * _NEIGHBOURS else 1.0


def _drawn(candidates: Sequence[Workload], rows: Sequence[tuple[Workload, float]], number: int, generator: np.random.Generator) -> list[Workload]:
    if len(rows) < 2 * _NEIGHBOURS or not number:
        return list(candidates[:number])
    names = sorted({name for work in (*candidates, *(work for work, _ in rows)) for name in work.sizes})
    known, asked = _coordinates([work for work, _ in rows], names), _coordinates(candidates, names)
    errors = np.array([error for _, error in rows])
    distance = ((asked[:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
    near = np.argsort(distance, axis=1)[:, :_NEIGHBOURS]
    expected = errors[near].mean(axis=1) * np.sqrt(1e-3 + np.take_along_axis(distance, near, 1).mean(axis=1)) ** 0.5
    chosen = generator.choice(len(candidates), size=number, replace=False, p=expected / expected.sum())
    return [candidates[place] for place in chosen.tolist()]


def _coordinates(workloads: Sequence[Workload], names: Sequence[str]) -> Floats:
    """Logarithms of the sizes, (n, sizes)."""
    return np.log([[1.0 + work.sizes.get(name, 0) for name in names] for work in workloads])
