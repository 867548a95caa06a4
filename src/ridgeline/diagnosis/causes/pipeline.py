"""Serialisation: stages that take turns although different items could be in different stages at once.

An item takes the sum of its stages; a pipeline delivers one per longest stage. How near it comes is bounded by what the stages use: CPUs kept busy
(the sum of CPU time over usable CPUs), the interpreter's lock (only one thread runs Python at a time: then processes), and an asynchronous device
(one queue). Time outside the marked stages stays as it is. Nothing here can know whether an item needs the one before it; the action says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ridgeline.core import Evidence, Quantity, Stage, StageTable, Where
from ridgeline.core.units import format_quantity

from ..case import Case, Finding, Proposal, Rule, measured_share
from ..stages import overlapping, share_of_stage, stage_table, top_stages

__all__ = ["Pipelined", "Serialisation", "pipelined"]

#: Stages smaller than this part of the call are part of what stays as it is.
_LEAST_STAGE = 0.03
#: A stage that is this share of all of them leaves nothing to overlap with.
_ONE_STAGE = 0.85
#: Under this promise it is not worth the threads.
_LEAST_GAIN = 1.08
#: A stage entered less often than this part of the others is not once an item.
_ITEM_PART = 0.5
#: Part of the ideal saving that is promised at the least: in threads, and between processes, which must hand the items over.
_THREADS, _PROCESSES = 0.6, 0.4
#: Part of the time that overlapping could delete by which it ranks: more than work nobody can explain, less than as much work to delete outright.
_WEIGHT = 0.8
#: Part of its fair share that a thread which mostly waits gets in time on a busy machine.
_FAIR_PART = 0.5
#: A stage that keeps less of a CPU busy waits for something else.
_WAITING = 0.1
#: Characters of a stage's name in a place.
_NAME = 40
#: Threads that would fall this far behind processes are the wrong answer.
_LOCK_BINDS = 1.15


@dataclass(frozen=True, kw_only=True)
class Pipelined:
    """What overlapping the stages would give, seconds of one call of the target.

    Attributes:
        serial_s: the stages one after the other.
        longest: the stage that a pipeline is as fast as.
        bound_s: by `longest`, the CPUs, the lock (threads) or the device: the least that all items take.
        fill_s: what filling and draining the pipeline adds within one call.
        rest_s: outside these stages.
        limit: what sets `bound_s`, for a person.
        processes: whether the stages must be processes to get there.
    """

    serial_s: float
    longest: Stage
    bound_s: float
    fill_s: float
    rest_s: float
    limit: str
    processes: bool

    @property
    def speedup(self) -> tuple[float, float]:
        """(low, high) of the period: the low end keeps a part of the saving and the rest serial, the high end hides the rest as well."""
        now, overlapped = self.serial_s + self.rest_s, min(self.serial_s, self.bound_s + self.fill_s)
        part = _PROCESSES if self.processes else _THREADS
        low = now / (now - part * (self.serial_s - overlapped))
        return low, max(low, now / max(overlapped, self.rest_s))


def pipelined(table: StageTable, cores: float, *, hopeful: bool = False) -> Pipelined | None:
    """What a pipeline of the top-level stages would give; `None` where they overlap already, or there are not two to overlap.

    Args:
        table: stages of one call of the target.
        cores: CPUs usable, without those that other processes keep busy; what the stages use now is there in any case.
        hopeful: of CPUs busy that are known roughly take the least and not the most.
    """
    stages = _items(table)
    serial = sum(stage.total_s.value for stage in stages)
    if len(stages) < 2 or overlapping(table):
        return None
    longest = max(stages, key=lambda stage: stage.total_s.value)
    if longest.total_s.value > _ONE_STAGE * serial:
        return None
    hard, lock = _bounds(stages, longest, cores, hopeful), sum(stage.total_s.value * _locked(stage, hopeful) for stage in stages)
    limit, bound = max(hard.items(), key=lambda item: item[1])
    processes = lock > _LOCK_BINDS * bound
    items = min(stage.calls for stage in stages)
    return Pipelined(
        serial_s=serial,
        longest=longest,
        bound_s=bound if processes or lock <= bound else lock,
        # The first item passes through all stages; of a call that is one item the next call takes that place.
        fill_s=max(0.0, serial - longest.total_s.value) / items if items >= 2 else 0.0,
        rest_s=max(0.0, table.wall_s.value - serial),
        limit=limit if processes or lock <= bound else "the interpreter's lock",
        processes=processes,
    )


def _items(table: StageTable) -> list[Stage]:
    """Top-level stages of some length that are entered about as often as each other."""
    top = [stage for stage in top_stages(table) if stage.total_s.value >= _LEAST_STAGE * table.wall_s.value]
    most = max((stage.calls for stage in top), default=0.0)
    return [stage for stage in top if stage.calls >= _ITEM_PART * most]


def _bounds(stages: list[Stage], longest: Stage, cores: float, hopeful: bool) -> dict[str, float]:
    serial = sum(stage.total_s.value for stage in stages)
    busy = sum(stage.total_s.value * _busy(stage, hopeful) for stage in stages)
    cpu = busy / max(cores, busy / serial)
    device = sum(stage.device_s.value for stage in stages if stage.device_s is not None)
    return {f"the longest, {longest.name}": longest.total_s.value, "the CPUs": cpu, "the device": device}


def _busy(stage: Stage, hopeful: bool) -> float:
    """CPUs that it keeps busy; where these are known within bounds only, the one that promises less, or the `hopeful` one."""
    if stage.busy_cpus is not None:
        return stage.busy_cpus
    return 1.0 if stage.busy_range is None else stage.busy_range[0 if hopeful else 1]


def _locked(stage: Stage, hopeful: bool) -> float:
    """Share of its time under the interpreter's lock; all of it where nobody looked and something ran."""
    if stage.interpreter is not None:
        return stage.interpreter
    return min(1.0, _busy(stage, hopeful))


class Serialisation(Rule):
    """Names `serialisation` for the program's own top-level stages that never overlap."""

    causes = ("serialisation",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding."""
        table = stage_table(case.facts)
        # The calls of models that ridgeline found by itself say nothing of what else there is to overlap with.
        if table is None or table.automatic or _once_a_process(case, table):
            return
        found, alone = pipelined(table, _free(case)), pipelined(table, case.cores, hopeful=True)
        if found is None or alone is None or found.speedup[0] < _LEAST_GAIN:
            return
        # Outside what was timed (the start of a script's process) nothing changes.
        share = share_of_stage(case, table.wall_s.value)
        # What other processes take now they may give back before the pipeline is written: the high end is that of a machine to itself.
        low, high = found.speedup[0], max(found.speedup[1], alone.speedup[1])
        names = [stage.name for stage in _items(table)]
        yield Finding(
            cause="serialisation",
            bound="latency",
            share=share * (1.0 - 1.0 / high),
            where=_where(names, found.longest),
            evidence=(
                Evidence(name="sum of the stages", quantity=_seconds(found.serial_s)),
                Evidence(name="longest stage", quantity=found.longest.total_s),
                measured_share("stages that overlap", _overlap(table), origin="intervals of the stages"),
                *_cpus(_items(table)),
            ),
            proposals=(Proposal(action="pipeline", because=_because(found, _items(table)), gain=(low, high), metric="period", share=share),),
            summary=f"{len(names)} stages take turns: an item takes their sum, {format_quantity(found.serial_s, 's')} a call, "
            f"where overlapped ones take {format_quantity(found.bound_s + found.fill_s, 's')}",
            rank=_WEIGHT * share * (1.0 - 1.0 / high),
        )


def _free(case: Case) -> float:
    """CPUs that other processes leave, and at the least a part of what a fair scheduler gives to one more thread among theirs."""
    seen = case.facts.sentinels
    taken = (seen.other_load or 0.0) if seen is not None else 0.0
    return max(case.cores - taken, _FAIR_PART * case.cores / (1.0 + taken))


def _once_a_process(case: Case, table: StageTable) -> bool:
    """Whether every stage runs once and then the process ends: there is no next item."""
    return case.facts.target.kind in ("script", "command") and max(stage.calls for stage in _items(table) or table.stages) < 2


def _where(names: list[str], longest: Stage) -> Where:
    shown = " + ".join(name if len(name) <= _NAME else name[: _NAME - 1] + "…" for name in names[:4]) + (
        f" + {len(names) - 4} more" if len(names) > 4 else ""
    )
    site = longest.site
    # The names are the place; the line is where the longest of them is entered.
    return Where(stage=shown, file=site.file if site is not None else None, line=site.line if site is not None else None)


def _because(found: Pipelined, stages: list[Stage]) -> str:
    waiting = all(stage.busy_cpus is not None and stage.busy_cpus < _WAITING for stage in stages)
    threads = "in threads, or in tasks, since they do little but wait" if waiting else "in threads"
    how = "in processes, since together they hold the interpreter's lock for longer than that" if found.processes else threads
    each = f"sum {format_quantity(found.serial_s, 's')} → {format_quantity(found.bound_s + found.fill_s, 's')}, set by {found.limit}"
    return f"run the stages on different items at once, {how}, where the next item does not need this one's result: {each}"


def _overlap(table: StageTable) -> float:
    stages = _items(table)
    serial = sum(stage.total_s.value for stage in stages)
    return min(1.0, sum(stage.overlapped_s for stage in stages) / serial) if serial else 0.0


def _seconds(value: float) -> Quantity:
    return Quantity.exact(value, "s", source="measured", origin="union of each stage's intervals, summed")


def _cpus(stages: list[Stage]) -> Iterator[Evidence]:
    for stage in stages[:4]:
        if stage.busy_cpus is not None:
            busy = Quantity.exact(stage.busy_cpus, "count", source="measured", origin="process CPU ÷ wall of the stage")
            yield Evidence(name=f"CPUs busy in {stage.name}", quantity=busy)
