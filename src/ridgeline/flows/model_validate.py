"""`model validate`: a model held against rows that it has not seen: trained again for each part that is held out, or a model file as it is.

How rows are held out and what leaks is decided in `model.validation`; here is decided that a split that leaks is refused before anything is trained,
and that a model file is asked about no shape that it has learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, UsageError, ValidationReport
from ridgeline.model.operators.asking import Answers, asked_about, seen_rows
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.preparing import Prepared, prepared, some
from ridgeline.model.operators.training import Settings, train_prepared
from ridgeline.model.validation import HeldOut, Split, folds, one_after_another, refuse_leaks, validation_report

from .modelling.devices import devices_of
from .modelling.documents import read_document
from .modelling.tables import load_tables

__all__ = ["CLAIMS", "Claim", "held_out", "validate"]

Report = Callable[[str, float | None], None]
Claim = Literal["row", "shape", "family", "device"]
CLAIMS: tuple[Claim, ...] = ("row", "shape", "family", "device")


def validate(
    tables: str | Path | Sequence[str | Path], *, by: Claim = "shape", count: int = 5, model: str | Path | None = None,
    device_files: Sequence[str | Path] = (), seed: int = 0, level: float = 0.9, report: Report | None = None,
) -> ValidationReport:  # fmt: skip
    """How far predictions are from measurements that were held out.

    Args:
        tables: as for `model_train.train`.
        by: what is held out: rows, shapes (of all devices at once), or one family or one device after the other.
        count: parts into which rows or shapes are divided.
        model: a trained file that is asked as it is; then all rows are held out, and one that it has learned from is refused.
        device_files, seed, level: as for `model_train.train`.
        report: told what is going on and the fraction done.

    Raises:
        UsageError: a split that leaks, rows that a model file has seen, too few groups. ReadError: a file that cannot be read.
    """
    if by not in CLAIMS:
        raise UsageError(f"one of {', '.join(CLAIMS)}", found=repr(by), remedy="say what is to be held out")
    table = load_tables([tables] if isinstance(tables, str | Path) else tables, report=report)
    known = read_document(model, OperatorModel) if model is not None else None
    found = prepared(table, devices_of(table, device_files), report=report)
    if known is not None:
        return _of_file(known, found)
    return held_out(found, by=by, count=count, settings=Settings(seed=seed, level=level), report=report)


def held_out(found: Prepared, *, by: str, settings: Settings, count: int = 5, report: Report | None = None) -> ValidationReport:
    """Train again for each part that is held out, and ask about it; arguments and errors as `validate`, level a share."""
    say = report or (lambda label, fraction: None)
    splits = folds(found.table, by, count, settings.seed) if by in ("row", "shape") else tuple(one_after_another(found.table, by))
    for split in splits:
        refuse_leaks(found.table, split)
    parts: list[tuple[Split, Answers]] = []
    for number, split in enumerate(splits):
        made = train_prepared(some(found, split.train), settings, report=_within(say, split.name, number, len(splits)))
        parts.append((split, asked_about(made, some(found, split.test))))
    return _reported(found, parts, name="correctors of operators", version=found.data_version, level=settings.level)


def _within(say: Report, name: str, number: int, count: int) -> Report:
    return lambda label, fraction: say(f"{name}: {label}", (number + (fraction or 0.0)) / count)


def _of_file(known: OperatorModel, found: Prepared) -> ValidationReport:
    seen = np.flatnonzero(seen_rows(known, found))
    if len(seen):
        places = ", ".join(f"{found.table.described(int(index))} at {found.table.place(int(index))}" for index in seen[:3])
        what = f"{len(seen)} of {len(found.table)} rows whose shape it has learned from on that device, such as {places}"
        raise UsageError("rows that the model has not seen", found=what, remedy="leave these rows out, or validate without --model")
    everything: NDArray[np.intp] = np.arange(len(found.table))
    split = Split(by="shape", name="rows that the model file has not seen", train=everything[:0], test=everything)
    version = f"{known.data_version} on {found.data_version}"
    report = _reported(found, [(split, asked_about(known, found))], name="the model file", version=version, level=known.level)
    return msgspec.structs.replace(report, train_rows=known.card.rows_learned)


def _reported(found: Prepared, parts: Sequence[tuple[Split, Answers]], *, name: str, version: str, level: float) -> ValidationReport:
    held = [HeldOut(split=split, predicted_s=answers.seconds, low_s=answers.low_s, high_s=answers.high_s) for split, answers in parts]
    report = validation_report(found.table, held, model=name, data_version=version, level=level, check=False)
    return msgspec.structs.replace(report, warnings=(*report.warnings, *_outside([answers for _, answers in parts])))


def _outside(answers: Sequence[Answers]) -> tuple[Caution, ...]:
    reasons = [words[0] for each in answers for words in each.out_of_range if words]
    if not reasons:
        return ()
    rows = sum(len(each.seconds) for each in answers)
    message = f"{len(reasons)} of {rows} rows lie outside of what was learned from, such as: {reasons[0]}"
    return (Caution(code="out-of-range", message=message, effect="their predictions are flagged; they are in all figures"),)
