"""An `OperatorModel` from measured latencies: family by family, chosen by cross-validation over shapes, resumable after each, the same for each seed.

This module decides the order of the work and what the card says of it. What may be learned from is decided in `preparing`, candidates in `fitting`,
intervals in `intervals`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, Device, LatencyTable, UsageError, Workload

from ..learned.conformal import upper_quantile
from ..learned.scaling import scaling_of
from ..learned.threads import can_limit, one_blas_thread
from ..validation.splits import folds
from .assumed import assumed
from .corrector import METHODS, Corrector, Measured, Method, Range
from .features import Operators, feature_matrix, feature_names, operators, variant_of
from .fitting import Choice, chosen, fit_models, tried_methods
from .identity import measured_device
from .intervals import Residuals, intervals, measured
from .keys import shape_keys
from .model import Card, FamilyCard, OperatorModel
from .parts import part_of
from .preparing import Prepared, prepared

__all__ = ["Finished", "Settings", "Training", "train_operator_model", "train_prepared"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]
Report = Callable[[str, float | None], None]

#: A family of fewer rows or shapes has no corrector.
_LEAST_ROWS, _LEAST_SHAPES = 20, 8
#: Rows of a variant from which it has a column of its own, and how many may have one.
_LEAST_OF_VARIANT, _MOST_VARIANTS = 6, 48
#: What the estimates may be off by where nothing was measured, at the least, in log.
_UNKNOWN = float(np.log(3.0))


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is trained.

    Args:
        seed: of splits and of whatever is drawn.
        folds: of the cross-validation over shapes.
        level: share that intervals are to cover, in (0, 1).
        methods: among which is chosen.
        most_rows: of a family that the choice is made with; all rows are learned from in the end.
    """

    seed: int = 0
    folds: int = 5
    level: float = 0.9
    methods: tuple[Method, ...] = METHODS
    most_rows: int = 12_000

    def __post_init__(self) -> None:
        if not 0 < self.level < 1 or self.folds < 2 or self.most_rows < 100 or not self.methods or not set(self.methods) <= set(METHODS):
            found = f"level {self.level}, {self.folds} folds, {self.most_rows} rows, methods {', '.join(self.methods)}"
            raise UsageError("a level in (0, 1), two folds or more, a hundred rows or more and known methods", found=found, remedy="change them")


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A family that is done: its corrector, what the card says of it, and the half width in log of the estimates alone."""

    corrector: Corrector
    card: FamilyCard
    formula_log: float


class Training(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.operator-training/1"):
    """The state of a training: which families are done; of which rows and settings."""

    data_version: str
    settings: Settings
    finished: dict[str, Finished] = {}


class _Rows(NamedTuple):
    """Rows of one family: `at`, indexes into the table; (n,) or (n, P) each."""

    at: Indexes
    features: Floats
    names: tuple[str, ...]
    target: Floats
    estimated_s: Floats
    keys: NDArray[np.int64]
    between: Floats
    device: tuple[str, ...]
    sizes: dict[str, Range]
    derived: dict[str, Range]


def train_operator_model(
    table: LatencyTable, devices: Mapping[str, Device], settings: Settings | None = None, *, begun: Training | None = None,
    keep: Callable[[Training], None] | None = None, report: Report | None = None,
) -> OperatorModel:  # fmt: skip
    """Train on measured operators.

    Args:
        devices: name in the table → the device.
        settings: the usual ones if not given.
        begun: the state of an earlier training of the same rows and settings: families that are done are taken over.
        keep: called with the state after each family.
        report: told what is going on and the fraction done.

    Raises:
        UsageError: no rows to learn from, a table of which the checks caught most rows, or `begun` of other rows or settings.
    """
    return train_prepared(prepared(table, devices, report=report), settings, begun=begun, keep=keep, report=report)


def train_prepared(
    found: Prepared, settings: Settings | None = None, *, begun: Training | None = None, keep: Callable[[Training], None] | None = None,
    report: Report | None = None,
) -> OperatorModel:  # fmt: skip
    """`train_operator_model` of rows that are prepared."""
    say = report or (lambda label, fraction: None)
    used = settings or Settings()
    state = _state(found, used, begun)
    parts = [part_of(work) for work in found.workloads]
    kinds = sorted(set(parts))
    left: dict[str, str] = {}
    for number, kind in enumerate(kinds):
        if kind in state.finished:
            say(f"{kind}: taken over", (number + 1) / len(kinds))
            continue
        say(f"learning {kind}", number / len(kinds))
        with one_blas_thread():
            done = _family(found, np.array([part == kind for part in parts]), kind, used)
        if isinstance(done, str):
            left[kind] = done
            continue
        state = msgspec.structs.replace(state, finished={**state.finished, kind: done})
        if keep is not None:
            keep(state)
    if not state.finished:
        raise UsageError(
            "enough rows of a family to learn from", found="; ".join(f"{kind}: {why}" for kind, why in left.items()), remedy="measure more"
        )
    return _model(found, state, left)


def _state(found: Prepared, settings: Settings, begun: Training | None) -> Training:
    if begun is None:
        return Training(data_version=found.data_version, settings=settings)
    if begun.data_version != found.data_version or begun.settings != settings:
        what = "rows" if begun.data_version != found.data_version else "settings"
        raise UsageError(f"a training of the same {what}", found=f"one of {begun.data_version}", remedy="start again without --resume")
    return begun


def _family(found: Prepared, inside: NDArray[np.bool_], kind: str, settings: Settings) -> Finished | str:
    """One part of a family, whose rows are `inside`, or why it has no corrector."""
    own = _rows(found, inside)
    shapes = len(np.unique(found.table.rows(own.at).shape_codes()))
    if len(own.at) < _LEAST_ROWS or shapes < _LEAST_SHAPES:
        return f"{len(own.at)} rows of {shapes} shapes: at least {_LEAST_ROWS} of {_LEAST_SHAPES} are needed"
    own = _varying(own)
    sample = _sample(own, settings)
    table = found.table.rows(sample.at)
    parts = folds(table, "shape", min(settings.folds, shapes), settings.seed)
    sides = [(part.train, part.test) for part in parts if len(part.test)]
    choice = chosen(sample.features, sample.target, sample.names, sides, settings.methods, settings.seed)
    held = Residuals(sample.features, sample.target - choice.predicted, sample.target, sample.estimated_s, sample.device)
    made, coverage = intervals(held, sides, own.names, choice.method, level=settings.level, seed=settings.seed)
    level = float(np.median(own.target))
    models = fit_models(choice.method, own.features, own.target - level, own.names, settings.seed)
    rows = found.table.rows(own.at)
    corrector = Corrector(
        kind=kind, features=own.names, scaling=scaling_of(own.features, own.names), variants=tuple(sorted(set(rows.texts("variant")))),
        precisions=tuple(sorted(set(rows.texts("precision")))), devices=tuple(sorted(set(own.device))), sizes=own.sizes, derived=own.derived,
        method=choice.method, level=level, models=models, bound=_range(own.target), errors=choice.errors, intervals=made,
        measured=_measured(own, settings.level), rows=len(own.at), shapes=shapes,
    )  # fmt: skip
    return Finished(corrector=corrector, card=_family_card(corrector, sample, choice, coverage), formula_log=_formula(own.target, settings.level))


def _measured(own: _Rows, level: float) -> Measured:
    """Shapes that answer for themselves: not those of which a row says what ran around it, which is different in every model."""
    alone = own.between == 0
    found = measured(own.keys[alone], own.target[alone], level)
    return msgspec.structs.replace(found, others=Column(np.unique(own.keys[~alone]), "1", "<i8"))


def _rows(found: Prepared, chosen_kind: NDArray[np.bool_]) -> _Rows:
    """All rows of a part of a family with every feature that there is."""
    kind = found.workloads[int(np.argmax(chosen_kind))].kind
    names: tuple[str, ...] = ()
    parts: list[tuple[Indexes, Floats, Floats, Operators, list[str], Floats, Floats, Floats]] = []
    counted = _columns_of_texts([found.workloads[index] for index in np.flatnonzero(chosen_kind).tolist()])
    for group in found.groups:
        inside = np.flatnonzero(chosen_kind[group.at])
        if not len(inside):
            continue
        at = group.at[inside]
        own = group.part(inside)
        listed = operators(kind, [found.workloads[index] for index in at.tolist()])
        names = (*feature_names(listed, own, group.device), *counted)
        moved = own.read_bytes + own.weight_bytes + own.write_bytes
        parts.append(
            (
                at,
                feature_matrix(listed, own, group.device, names),
                own.latency_s,
                listed,
                [group.device.name] * len(at),
                own.flop,
                moved,
                own.core_to_core_s,
            )
        )
    at = np.concatenate([part[0] for part in parts])
    order = np.argsort(at, kind="stable")
    estimated = np.concatenate([part[2] for part in parts])[order]
    keys = np.concatenate([shape_keys(part[3], part[4]) for part in parts])[order]
    between = np.concatenate([part[3].between_bytes for part in parts])[order]
    devices = [name for part in parts for name in part[4]]
    derived = {
        name: np.concatenate([part[place] for part in parts])
        for name, place in (("flop", 5), ("bytes", 6), ("estimated_s", 2), ("core_to_core_s", 7))
    }
    if np.ptp(derived["core_to_core_s"]) == 0:
        del derived["core_to_core_s"]  # assumed, or of the machine once
    sizes = {name: np.concatenate([part[3].sizes[name] for part in parts]) for name in parts[0][3].sizes}
    return _Rows(
        at=at[order], features=np.concatenate([part[1] for part in parts])[order], names=names,
        target=np.log(found.table.latency_s.values[at[order]] / estimated), estimated_s=estimated, keys=keys, between=between,
        device=tuple(devices[index] for index in order.tolist()), sizes={name: _range(values) for name, values in sizes.items()},
        derived={name: _range(values) for name, values in derived.items()},
    )  # fmt: skip


def _columns_of_texts(workloads: list[Workload]) -> tuple[str, ...]:
    """Names of the columns of variants and precisions that there are enough rows of."""
    found: list[str] = []
    texts = {"variant": [variant_of(work) for work in workloads], "precision": [work.precision for work in workloads]}
    for what, listed in texts.items():
        known, counts = np.unique(np.array(listed), return_counts=True)
        most = [(-count, text) for text, count in zip(known.tolist(), counts.tolist(), strict=True) if count >= _LEAST_OF_VARIANT]
        found += [f"{what} {text}" for _, text in sorted(most)[:_MOST_VARIANTS]] if len(known) > 1 else []
    return tuple(found)


def _varying(own: _Rows) -> _Rows:
    """Without features that are the same for all rows: they tell nothing, and other values of them are told by the ranges."""
    differ = np.ptp(own.features, axis=0) > 1e-9
    # One stays in any case, so that there is a scaling.
    differ[0] |= not differ.any()
    return own._replace(features=own.features[:, differ], names=tuple(np.array(own.names)[differ].tolist()))


def _sample(own: _Rows, settings: Settings) -> _Rows:
    if len(own.at) <= settings.most_rows:
        return own
    at = np.sort(np.random.default_rng(settings.seed).choice(len(own.at), settings.most_rows, replace=False))
    return own._replace(
        at=own.at[at], features=own.features[at], target=own.target[at], estimated_s=own.estimated_s[at], keys=own.keys[at],
        between=own.between[at],
        device=tuple(own.device[index] for index in at.tolist()),
    )  # fmt: skip


def _range(values: Floats) -> Range:
    return Range(float(values.min()), float(values.max()))


def _formula(target: Floats, level: float) -> float:
    """Half width in log of the estimates alone, without any correction."""
    found = upper_quantile(np.abs(target), level)
    return found if np.isfinite(found) else float(np.abs(target).max())


def _family_card(corrector: Corrector, sample: _Rows, choice: Choice, coverage: float | None) -> FamilyCard:
    off = np.abs(np.expm1(choice.predicted - sample.target))
    return FamilyCard(
        kind=corrector.kind, method=corrector.method, rows=corrector.rows, shapes=corrector.shapes, variants=len(corrector.variants),
        mape=float(off.mean()), median=float(np.median(off)), p90=float(np.quantile(off, 0.9)), largest=float(off.max()),
        formula_mape=float(np.abs(np.expm1(-sample.target)).mean()), coverage=coverage, errors=choice.errors,
    )  # fmt: skip


def _model(found: Prepared, state: Training, left: Mapping[str, str]) -> OperatorModel:
    learned = np.array([part_of(work) in state.finished for work in found.workloads])
    rows = {device.name: 0 for device in (group.device for group in found.groups)}
    for group in found.groups:
        rows[group.device.name] += int(learned[group.at].sum())
    devices = {group.device.name: group.device for group in found.groups}
    settings = state.settings
    card = Card(
        source=found.table.source, rows_given=found.rows_given, rows_learned=int(learned.sum()), excluded=found.table.excluded,
        split=f"by shape: {settings.folds} folds, no shape in two of them, whatever its device and precision", folds=settings.folds,
        seed=settings.seed, families=tuple(state.finished[kind].card for kind in sorted(state.finished)), left_out=dict(left),
        unchecked=found.unchecked, versions=_versions(), notes=_notes(),
    )  # fmt: skip
    return OperatorModel(
        correctors={kind: state.finished[kind].corrector for kind in sorted(state.finished)},
        devices={
            name: measured_device(devices[name], rows=count, threads=found.table.threads(name)) for name, count in sorted(rows.items()) if count
        },
        level=settings.level,
        formula_log=max(_UNKNOWN, *(each.formula_log for each in state.finished.values())), data_version=found.data_version, card=card,
        formulas=assumed().version,
    )  # fmt: skip


def _notes() -> tuple[str, ...]:
    missing = {
        "trees were not tried: LightGBM is not installed": "trees" in tried_methods(),
        "products of matrices were not kept on one thread: threadpoolctl is not installed": can_limit(),
    }
    return tuple(note for note, here in missing.items() if not here)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("ridgeline", "numpy", "lightgbm"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
