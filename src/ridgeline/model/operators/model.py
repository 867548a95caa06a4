"""`OperatorModel`: correctors of several families, the devices they were measured on, and the card that says how far they may be believed.

This module decides the document; how it answers is decided in `answering`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import Device, Excluded, ReadError, Workload

from .answering import Corrected, correct
from .corrector import MOST_LOG, Corrector
from .estimates import Estimates
from .identity import MeasuredDevice

__all__ = ["Card", "FamilyCard", "MeasuredDevice", "OperatorModel"]


class FamilyCard(msgspec.Struct, frozen=True, kw_only=True):
    """How the corrector of one family did on shapes that were held out.

    Args:
        kind: the family; method: that was chosen.
        rows, shapes: that it was trained on; variants: of the family.
        mape, median, p90, largest: of |predicted − measured| ÷ measured; formula_mape: of the estimates alone.
        coverage: share of the held-out rows inside intervals that were made without them; null where there are too few.
        errors: mean |log residual| by method that was tried.
    """

    kind: str
    method: str
    rows: int
    shapes: int
    variants: int
    mape: float
    median: float
    p90: float
    largest: float
    formula_mape: float
    coverage: float | None = None
    errors: dict[str, float] = {}


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What a model was made from, and how.

    Args:
        source: of the measurements, for a person.
        rows_given, rows_learned: before and after the checks; excluded: what was left out, and why.
        split: how rows were held out for choice and intervals; folds, seed: of it.
        families: how each did; left_out: family → why it has no corrector.
        unchecked: check → rows that it could not be made for.
        versions: of the software that trained it.
        notes: what a reader should know before believing it.
    """

    source: str
    rows_given: int
    rows_learned: int
    excluded: tuple[Excluded, ...]
    split: str
    folds: int
    seed: int
    families: tuple[FamilyCard, ...]
    left_out: dict[str, str] = {}
    unchecked: dict[str, int] = {}
    versions: dict[str, str] = {}
    notes: tuple[str, ...] = ()


class OperatorModel(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.operator-model/1"):
    """What measurements say of operators, as a correction of the estimates.

    Args:
        correctors: by family.
        devices: by name.
        level: share that the intervals are to cover.
        formula_log: half width in log at that level of the estimates alone, of the family where they were furthest off: for what was never measured.
        data_version: digest of the rows that were learned from, with seed and form.
        formulas: version of the formulas whose estimates it corrects (`assumed.Assumed.version`): for others it says nothing.
        card: see there.

    Raises:
        ReadError: parts that do not fit together.
    """

    correctors: dict[str, Corrector]
    devices: dict[str, MeasuredDevice]
    level: float
    formula_log: float
    data_version: str
    card: Card
    formulas: str = ""

    def __post_init__(self) -> None:
        wrong = [kind for kind, each in self.correctors.items() if each.kind != kind or not set(each.devices) <= set(self.devices)]
        if wrong or not 0 < self.level < 1 or not 0 <= self.formula_log <= MOST_LOG:
            found = f"{', '.join(wrong) or 'levels'} that do not fit, level {self.level}, formula {self.formula_log}"
            raise ReadError("an operator model whose parts fit together", found=found[:200], remedy="train the model again")

    def correct(self, workloads: Sequence[Workload], estimates: Estimates, device: Device) -> Corrected:
        """What is to be added to ln of the estimated times; see `answering.correct`."""
        return correct(self, workloads, estimates, device)

    def threads(self, device: Device) -> int:
        """Threads of the runtime, a count, with which that device was measured; 0 for its own choice, and for a device that was not measured."""
        known = self.devices.get(device.name)
        return 0 if known is None else known.threads
