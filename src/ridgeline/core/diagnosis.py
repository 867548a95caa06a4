"""`Diagnosis`: the page as data, the JSON contract `ridgeline.diagnosis/1`; its fields are only ever added to."""

from __future__ import annotations

import msgspec

from .display import shown_inline
from .expected import ExpectedSummary
from .facts import Caution, ClockState
from .read_report import ReadReport
from .trials import Untried
from .verdict import (
    Action,
    Bottleneck,
    Bound,
    BudgetReport,
    GroundTruth,
    LevelSummary,
    OperatorSummary,
    OverheadSummary,
    PartitionSummary,
    RunnerUp,
    StageSummary,
    Tried,
    WallShares,
)

__all__ = ["Diagnosis"]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.diagnosis/1"):
    """The page as data; the contract of `ridgeline diagnose --json`. Seconds, bytes, FLOP throughout; `threads` is 0 where the target decides.

    `models_share` is the part of the end-to-end time in calls of models, found beside the stages; null where none was seen. `trace` is what a
    recording of a few calls answers; null where none is to be had, or it would take too long, or nobody wanted it. `expected` is what a model says of
    the operators against what they took; null where none was asked.
    """

    target: str
    machine: str
    software: dict[str, str]
    method: str
    commit: str | None
    threads: int
    allocator: str
    input: tuple[str, ...]
    budget: str | None
    clock: ClockState
    ground_truth: GroundTruth | None
    wall_split: WallShares | None
    levels: tuple[LevelSummary, ...]
    stages: tuple[StageSummary, ...]
    operators: tuple[OperatorSummary, ...]
    overhead: OverheadSummary | None
    partitions: PartitionSummary | None
    bottleneck: Bottleneck | None
    actions: tuple[Action, ...]
    tried: tuple[Tried, ...]
    runners_up: tuple[RunnerUp, ...]
    warnings: tuple[Caution, ...]
    bound: Bound = "inconclusive"
    headline: str = ""
    missing: tuple[str, ...] = ()
    run: str | None = None
    command: str = ""
    untried: tuple[Untried, ...] = ()
    budget_state: BudgetReport | None = None
    models_share: float | None = None
    trace: ReadReport | None = None
    expected: ExpectedSummary | None = None

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)
