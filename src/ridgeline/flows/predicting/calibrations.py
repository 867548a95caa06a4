"""The calibration that `ridgeline model calibrate` keeps beside a trained model, and what of it holds for a prediction.

This module decides that a correction is used of the model and device that its pairs were of, or of the device at the least: what was measured here
says nothing of another machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import Caution, Prediction, ReadError, RidgelineError
from ridgeline.model.calibration import Calibration, checked, correction
from ridgeline.model.calibration.applied import calibrated
from ridgeline.model.calibration.report import Ledger
from ridgeline.model.doubts import coded
from ridgeline.model.graphs.predicting import Knowledge, Question

from ..modelling.documents import ledger_file, read_document

__all__ = ["Kept", "kept_calibration"]


class Kept:
    """A calibration of the trained model of operators, or none."""

    def __init__(self, state: Calibration | None, cautions: tuple[Caution, ...] = ()) -> None:
        self._state = state
        self.cautions = cautions

    def applied(self, found: Prediction, model: str, question: Question) -> Prediction:
        """The prediction with the correction of its group; as it is where there is none.

        Args:
            found: what the model alone says; model: name of the file that it is of; question: what was asked.
        """
        state, group = self._state, f"{model} @ {found.device}"
        if state is None or not _is_of(state, found.device):
            return found
        by = correction(state, group)
        if by.version == 0:
            return found
        changed = _changed(question)
        if changed:
            reason = f"the calibration is of runs as they were measured: whether it holds with {changed} set is not known"
            found = msgspec.structs.replace(found, out_of_range=(*found.out_of_range, reason))
        return coded(calibrated(found, by))


def kept_calibration(paths: Sequence[str], known: Knowledge) -> Kept:
    """The calibration beside a trained file.

    Args:
        paths: of the trained files; known: what they hold.

    Raises:
        ReadError: a calibration that is no such file, or was changed.
    """
    cautions: list[Caution] = []
    for path in paths:
        place = ledger_file(path)
        if not place.exists():
            continue
        try:
            state = checked(read_document(place, Ledger).calibration)
        except RidgelineError as error:
            raise ReadError(
                "a calibration as `ridgeline model calibrate` keeps it", found=f"{place}: {error}", remedy="mend it, or add --no-calibration"
            ) from error
        if known.operators is not None and state.model == known.operators.data_version:
            return Kept(state, tuple(cautions))
        message = f"{place} is a calibration of {state.model}, which is not the trained model beside it"
        cautions.append(Caution(code="other-calibration", message=message, effect="it is not used"))
    return Kept(None, tuple(cautions))


def _is_of(state: Calibration, device: str) -> bool:
    """Whether a pair was of the device, or of everything: group is `model @ device`, or empty."""
    return any(not group or group.endswith(f"@ {device}") for group in state.versions[-1].logs)


def _changed(question: Question) -> str:
    """What was set that no measured run had."""
    state = question.state
    others = state is not None and msgspec.structs.replace(state, threads=None, core_to_core_s=None) != type(state)()
    given = {"a precision": question.precision is not None, "kernels": question.kernel is not None, "a state of the machine": others}
    return ", ".join(name for name, was in given.items() if was)
