"""What calibrating found, for people: levels that moved, versions that were given out, and the corrections of one of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from ridgeline.core import ReadError, UsageError

from .state import Calibration, LevelChange, Pair
from .updating import start, updated
from .versions import Correction, checked, correction

__all__ = ["CalibrationReport", "Ledger", "begun", "calibration_report", "taken_in"]


class Ledger(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.calibration-ledger/1"):
    """A calibration as it is kept, with what it has taken in, so that no pair counts twice.

    Args:
        calibration: the state.
        files: of each file of pairs the digest of the lines that were taken and how many they were.
        last_run: id of the newest run of a notebook that was taken; ids sort by time.
    """

    calibration: Calibration
    files: tuple[tuple[str, int], ...] = ()
    last_run: str = ""


class CalibrationReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.calibrate/1"):
    """A calibration after some pairs.

    Args:
        model: whose predictions are corrected.
        taken: pairs that were new; pairs: all that it rests on.
        version, newest: the version whose corrections are shown, and the one in use.
        why, digest: of the version that is shown.
        corrections: group → its factor; `everything else`: that of groups that the version does not know.
        found: levels that the new pairs moved; changes: all of them.
        passed_over: reason → runs or lines that are no pair.
    """

    model: str
    taken: int
    pairs: int
    version: int
    newest: int
    why: str
    digest: str
    corrections: dict[str, Correction]
    found: tuple[LevelChange, ...]
    changes: tuple[LevelChange, ...]
    passed_over: dict[str, int] = {}


_REST = "everything else"


def begun(model: str, kept: Ledger | None) -> Ledger:
    """The ledger of a model: the one that was kept, or a new one.

    Raises:
        UsageError: it is of another model. ReadError: it was changed.
    """
    if kept is None:
        return Ledger(calibration=start(model))
    if kept.calibration.model != model:
        found = f"one of {kept.calibration.model}"
        raise UsageError(
            f"a calibration of {model}", found=found, remedy="start a new one with -o: corrections belong to the model they were learned for"
        )
    checked(kept.calibration)
    if any(lines < 0 for _, lines in kept.files):
        raise ReadError("counts of lines", found="one under 0", remedy="take the calibration from where it was kept")
    return kept


def taken_in(ledger: Ledger, lines: Sequence[bytes]) -> tuple[int, tuple[tuple[str, int], ...]]:
    """(How many of the first lines of a file were taken before, the files as they are once all are).

    A file that grew is known by its beginning, whatever it is called.
    """
    before = 0
    rest = []
    for digest, count in ledger.files:
        if count <= len(lines) and _digest(lines[:count]) == digest:
            before = max(before, count)
        else:
            rest.append((digest, count))
    return before, (*rest, (_digest(lines), len(lines)))


def _digest(lines: Sequence[bytes]) -> str:
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def calibration_report(
    before: Calibration, pairs: Sequence[Pair], *, version: int | None = None, passed_over: dict[str, int] | None = None
) -> tuple[Calibration, CalibrationReport]:  # fmt: skip
    """The state after the pairs, and what there is to say of it.

    Args:
        version: whose corrections are shown; the newest if not given.

    Raises:
        UsageError: there is no such version.
    """
    after = updated(before, pairs)
    newest = len(after.versions) - 1
    rest = correction(after, "", version)
    number = rest.version
    shown = after.versions[number]
    corrections = {group: correction(after, group, number) for group in sorted(shown.logs)}
    if "" not in shown.logs:
        corrections[_REST] = rest
    report = CalibrationReport(
        model=after.model, taken=len(pairs), pairs=after.pairs, version=number, newest=newest, why=shown.why, digest=shown.digest,
        corrections=corrections, found=after.changes[len(before.changes) :], changes=after.changes, passed_over=passed_over or {},
    )  # fmt: skip
    return after, report
