"""`model calibrate`: pairs of prediction and measurement into the calibration that is kept beside a model file.

What a pair does is decided in `model.calibration`; this module decides where pairs come from and that none counts twice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from ridgeline.core import ReadError, RidgelineError
from ridgeline.core.documents import encode
from ridgeline.machine import write_atomic
from ridgeline.model.calibration import Pair
from ridgeline.model.calibration.report import CalibrationReport, Ledger, begun, calibration_report, taken_in
from ridgeline.model.operators.model import OperatorModel
from ridgeline.readers.source import Source

from .modelling.documents import ledger_file, read_document
from .modelling.pairs import pairs_of_notebook

__all__ = ["calibrate", "ledger_file"]

Report = Callable[[str, float | None], None]
_PAIRS = "a file with a pair of predicted_s and actual_s on each line"


def calibrate(
    model: str | Path, *, pairs: str | Path | None = None, from_notebook: bool = False, notebook: str | None = None, out: str | Path | None = None,
    version: int | None = None, report: Report | None = None,
) -> CalibrationReport:  # fmt: skip
    """Take pairs in, keep what they lead to, and say what was found.

    Args:
        model: a trained file, whose predictions are corrected.
        pairs: a file with a `Pair` in JSON on each line; one that grew is taken from where it was left.
        from_notebook: whether runs of `notebook` are taken: what the model says of their models, and what was measured.
        out: the calibration that is kept; `ledger_file(model)` if not given. One that is there goes on.
        version: whose corrections are shown; the newest if not given.
        report: told what is going on.

    Raises:
        UsageError: a calibration of another model, or a version that there is not. ReadError: a file that cannot be read, with its line.
    """
    say = report or (lambda label, fraction: None)
    known = read_document(model, OperatorModel)
    place = Path(out) if out is not None else ledger_file(model)
    ledger = begun(known.data_version, read_document(place, Ledger) if place.exists() else None)
    taken: list[Pair] = []
    passed: dict[str, int] = {}
    files, last = ledger.files, ledger.last_run
    if pairs is not None:
        say(f"reading {pairs}", None)
        lines = _lines(pairs)
        before, files = taken_in(ledger, lines)
        taken += [_pair(line, before + number, pairs) for number, line in enumerate(lines[before:], 1)]
    if from_notebook:
        found = pairs_of_notebook(model, notebook, after=ledger.last_run, report=say)
        taken, passed, last = [*taken, *found.pairs], found.passed_over, found.last_run
    after, said = calibration_report(ledger.calibration, taken, version=version, passed_over=passed)
    if taken or (not place.exists() and (pairs is not None or from_notebook)):
        write_atomic(place, encode(Ledger(calibration=after, files=files, last_run=last)))
    return said


def _lines(file: str | Path) -> list[bytes]:
    try:
        data = Source(file).data
    except ReadError as error:
        raise ReadError(_PAIRS, found=error.found, remedy="name a file of pairs, or leave --pairs out to see what is kept") from error
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        raise ReadError(_PAIRS, found=f"{file}, in which all lines are blank", remedy="write a line for each run, or leave --pairs out")
    return lines


def _pair(line: bytes, number: int, file: str | Path) -> Pair:
    try:
        return msgspec.json.decode(line, type=Pair)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, RidgelineError) as error:
        what = f"{file} line {number}: {error}"
        raise ReadError(_PAIRS, found=what, remedy="mend or remove the line") from error
