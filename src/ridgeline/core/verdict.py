"""`Need`, `Experiment` and the parts of a `Diagnosis`: what to measure next and why, what was concluded, and whether a promise held."""

from __future__ import annotations

from typing import Literal

import msgspec

from .expected import AgainstExpected
from .quantity import Quantity

__all__ = [
    "Action",
    "Bottleneck",
    "Bound",
    "BudgetReport",
    "Evidence",
    "Experiment",
    "GroundTruth",
    "LevelSummary",
    "Need",
    "OperatorSummary",
    "OverheadSummary",
    "RunnerUp",
    "Shrink",
    "StageSummary",
    "Tried",
    "WallShares",
    "Where",
]

Bound = Literal["compute", "bandwidth", "latency", "mixed", "none", "inconclusive"]
Metric = Literal["latency", "period"]


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure next.

    Args:
        level: 1 to 5.
        instrument: `samples`, `sentinels`, `device`, `wall-split`, `stages`, `operators`, `dispatch`, `hot-spots`.
        on: the part of the target, empty for all of it.
        because: one sentence for the progress line and the record.
    """

    level: int
    instrument: str
    on: str = ""
    because: str = ""


class GroundTruth(msgspec.Struct, frozen=True, kw_only=True):
    """Uninstrumented wall clock, in seconds; p99 fields are null under the sample-size limit (see `stats.quantile_interval`)."""

    samples: int
    processes: int
    warmup: int
    first_s: float | None
    median_s: float
    median_ci_s: tuple[float, float]
    p99_s: float | None
    p99_ci_s: tuple[float, float] | None
    min_s: float
    batched_s: float | None
    noise_floor: float | None
    overhead_s: float | None


class WallShares(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the wall; see `core.facts.WallSplit`. `perturbed`: splitting changed the time, so that they are those of changed calls."""

    blocked: float
    waiting: float
    system: float
    interpreter: float
    kernels: float
    perturbed: bool = False


class LevelSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One level as reported. `perturbed` is null where the interval straddles ±10 %."""

    level: int
    instrument: str
    total_s: float | None
    ratio_to_ground_truth: Quantity | None
    perturbed: bool | None
    skipped: str | None


class StageSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a pipeline: median seconds and share of the wall.

    Args:
        parent: name of the stage it is nested in.
        calls, own_s, overlapped_s, device_s, lanes, busy_cpus, busy_range, interpreter, model: as in `core.Stage`.
        models_share: part of its own time that it is in calls of models; null for these themselves, and where none was seen.
        interval_s: (low, high) of `median_s`.
        where: where it is entered.
    """

    name: str
    median_s: float
    share: float
    parent: str | None = None
    calls: float | None = None
    interval_s: tuple[float, float] | None = None
    own_s: float | None = None
    overlapped_s: float | None = None
    device_s: float | None = None
    lanes: tuple[str, ...] = ()
    busy_cpus: float | None = None
    interpreter: float | None = None
    where: Where | None = None
    busy_range: tuple[float, float] | None = None
    model: bool = False
    models_share: float | None = None


class OperatorSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One operator as reported; total_s and share are null when the level was perturbed, and shapes tell operators of one name apart.

    `predicted_s` is what a model expects of it, null where none was asked or it knows nothing; `against` how the measured time stands to that, null
    where it was not judged. `missing`, of one that is slower: hypotheses whose seconds are the measured ones within 15 %, the nearest first. One
    names the missing term, several leave it open, and where there is none it is not known.
    """

    name: str
    kind: str
    calls: float
    total_s: float | None
    share: float | None
    flop: float | None
    bytes: int | None
    achieved_flop_per_s: Quantity | None
    achieved_byte_per_s: Quantity | None
    f_c: Quantity | None
    f_b: Quantity | None
    intensity: float | None
    bound: str
    ran_on: str
    precision: str
    threads: int | None
    where: Where | None = None
    inserted: bool = False
    reason: str = ""
    shapes: str = ""
    predicted_s: Quantity | None = None
    against: AgainstExpected | None = None
    missing: tuple[str, ...] = ()


class OverheadSummary(msgspec.Struct, frozen=True, kw_only=True):
    """operators_s: union of operator intervals; wall_s: wall of the *instrumented* calls; gap_s = wall_s − operators_s, never clamped."""

    operators_s: float
    wall_s: float
    gap_s: float
    gap_share: float


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """The place; fields that do not apply are null."""

    stage: str | None = None
    operator: str | None = None
    function: str | None = None
    file: str | None = None
    line: int | None = None
    instruction: str | None = None
    lane: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A named number that a conclusion stands on."""

    name: str
    quantity: Quantity


class Bottleneck(msgspec.Struct, frozen=True, kw_only=True):
    """Where, which bound, which cause, on what evidence; `confirmed` only after an intervention moved the time as predicted.

    Args:
        operators: how many operators the share is of; `where` names the largest of them, for `dispatch` the one that is issued most often.
    """

    where: Where
    bound: Bound
    cause: str
    share: float
    evidence: tuple[Evidence, ...]
    confirmed: bool = False
    summary: str = ""
    operators: int = 1


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """A named change and its promise.

    Args:
        id: unique in the diagnosis, such as `a1`.
        action: a name from the table of causes.
        on: the place it applies to.
        because: one sentence with the arithmetic.
        metric: `latency` of one call or `period` between results.
        speedup: (low, high) of the whole target.
        median_after_s: (low, high) seconds of what `metric` says: of one call, or for `period` the time between results; null where nothing has its
            time, as in a profile of samples.
        combines: ids of the actions that a combination is made of.
        basis: whether the speedup is promised by the diagnosis, or was measured of a change that no cause asked for.
        change: name of the change that carried it out in a trial; empty where none was tried.
        found: (low, high) speedup that the trial found; null without a trial or a result.
        recommended: false where a trial says no: not faster, a slower tail, another output.
        outcome: one sentence on what the trial says; empty where none was tried.
        settled: whether the trial is sure enough for what it found to stand in place of the promise.
    """

    id: str
    action: str
    on: str
    because: str
    metric: Metric
    speedup: tuple[float, float]
    median_after_s: tuple[float, float] | None
    combines: tuple[str, ...] = ()
    basis: Literal["promised", "measured"] = "promised"
    change: str = ""
    found: tuple[float, float] | None = None
    recommended: bool = True
    outcome: str = ""
    settled: bool = False

    @property
    def gain(self) -> tuple[float, float]:
        """(low, high) speedup that counts: what a trial found where it is settled, else what was promised."""
        return self.found if self.settled and self.found is not None else self.speedup

    @property
    def after_s(self) -> tuple[float, float] | None:
        """(low, high) seconds that result from `gain`, of what `median_after_s` is of; null as that is."""
        if self.median_after_s is None:
            return None
        now_s = self.median_after_s[0] * self.speedup[1]
        return (now_s / self.gain[1], now_s / self.gain[0]) if self.settled else self.median_after_s


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was applied and measured against the original.

    Args:
        action: the action of the diagnosis that it carried out; of a control the change's own name.
        id: of that action, empty for a control.
        verdict: `faster`, `slower`, `same`, `inconclusive` or `failed`.
        speedup: (low, high) that was found; null where the trial failed.
        promised: (low, high) of the action; null for a control, of which nothing was promised.
        kept: whether it is recommended: faster beyond the noise, the tail no worse, the output equal.
        output_ok: whether the output was equal within the tolerance; false too where it could not be compared, `reason` then says so.
        output: `equal`, `differs` or `unknown`.
        change: name of the change in the registry.
        control: whether the diagnosis did not propose it.
        promise: `kept` where the median of what was found lies in the promised interval, `refuted` where the whole found interval lies outside,
            `open` in between; null without a promise.
        found: the median speedup.
        tail: verdict on the 95th percentile.
        difference: largest difference of an output, relative to the largest magnitude of its array; null where not known.
        tolerance: what was allowed.
        metric: `latency` of one call or `period` between results.
        reason: why it failed, is not kept, or what to know when keeping it.
    """

    action: str
    id: str
    verdict: str
    speedup: tuple[float, float] | None
    promised: tuple[float, float] | None
    kept: bool
    output_ok: bool
    output: str = "unknown"
    change: str = ""
    control: bool = False
    promise: Literal["kept", "refuted", "open"] | None = None
    found: float | None = None
    tail: str = "inconclusive"
    difference: float | None = None
    tolerance: float = 0.0
    metric: Metric = "latency"
    reason: str = ""


class RunnerUp(msgspec.Struct, frozen=True, kw_only=True):
    """The next-best explanation or the next place, with its share of the wall; `operators` as in a bottleneck."""

    where: Where
    bound: Bound
    cause: str
    share: float
    summary: str = ""
    operators: int = 1


class PartitionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How a runtime cut the graph between providers.

    Args:
        handoff_s: seconds of passing boundaries in one call; null where that is not known, though it may be bounded.
        handoff_at_most_s: what they take at the most; null where not even that is known.
    """

    count: int
    nodes: int
    delegated: int
    handoffs: int
    handoff_s: float | None
    fallbacks: tuple[str, ...] = ()
    handoff_at_most_s: float | None = None


class Shrink(msgspec.Struct, frozen=True, kw_only=True):
    """One way to meet a missed budget, by itself.

    Args:
        name: the stage, the operator, or `the whole call`.
        kind: what that is.
        now_s: its time in a call of the length that the budget is held against.
        target_s: what it may take at the most; null where even nothing is not enough.
        part: 1 − target ÷ now, the part that must go; null as above.
    """

    name: str
    kind: Literal["call", "stage", "operator"]
    now_s: float
    target_s: float | None
    part: float | None


class BudgetReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a budget is kept, and what must shrink by how much where it is not.

    Args:
        limit_s: the budget, seconds.
        at: the order statistic that it is held against.
        state: met, missed or undecided.
        value_s: that statistic; null where there are too few samples for it.
        interval_s: its (low, high).
        samples, samples_needed: how many were taken, and how many the statistic needs at the least.
        excess_s: seconds to lose; null unless missed. At the least that much where only the median is known.
        slack_s: seconds to spare; null unless met.
        shrink: ways to lose them, each by itself, the whole call first.
        because: one sentence.
        of: which calls it is held against: steady ones, or the first calls of fresh processes where each start serves one call.
    """

    limit_s: float
    at: Literal["median", "p99"]
    state: Literal["met", "missed", "undecided"]
    value_s: float | None
    interval_s: tuple[float, float] | None
    samples: int
    samples_needed: int
    excess_s: float | None = None
    slack_s: float | None = None
    shrink: tuple[Shrink, ...] = ()
    because: str = ""
    of: Literal["steady calls", "first calls"] = "steady calls"


class Experiment(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.experiment/1"):
    """A promise and what came of it.

    Args:
        diagnosis: id of the run that promised.
        action: what was promised; null for a control.
        before, after: what was compared, for a person.
        found: (low, high) speedup that was found; null where the trial failed.
        verdict: of the comparison.
        kept: whether the change is recommended.
        change: name of the change in the registry.
        target, machine: of the run.
        promise: as in `Tried`.
        tried: all that the trial said.
        hypothesis: what somebody expected, in their words, where a comparison tested it.
        runs: ids of the runs that were compared, before and after.
        commits: of both, as in `Run`; `clock`: governor of both where it can be seen.
    """

    diagnosis: str
    action: Action | None
    before: str
    after: str
    found: tuple[float, float] | None = None
    verdict: Literal["faster", "slower", "same", "inconclusive", "incomparable", "failed"] = "inconclusive"
    kept: bool = False
    change: str = ""
    target: str = ""
    machine: str = ""
    promise: Literal["kept", "refuted", "open"] | None = None
    tried: Tried | None = None
    hypothesis: str = ""
    runs: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    clock: tuple[str, ...] = ()
