"""Level 2 as it is reported, and which stage a place lies in.

Shares are of the end-to-end time: for a function of the calls in which the stages were timed, for a script, whose stages are timed in a process that
has been started already, of the whole run with its start. A perturbed level loses its stages. The calls of models inside the stages that a program
marks stand beside: what is said of stages is said of the marked ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ridgeline.core import Caution, Facts, Stage, StageSummary, StageTable, Where

from .case import Case

__all__ = [
    "models_share", "overlapping", "share_of_stage", "stage_cautions", "stage_of", "stage_path", "stage_summaries", "stage_table", "top_stages",
    "with_stage",
]  # fmt: skip

#: Names of open stages that are said.
_SAID = 4
#: Overlap beyond this part of the stages' time means that somebody has made a pipeline.
_OVERLAPS = 0.1


def stage_table(facts: Facts) -> StageTable | None:
    """The stages, `None` where there are none or where timing them changed the time."""
    table = facts.stages
    if table is None or not table.stages:
        return None
    perturbed = any(record.level == 2 and record.instrument == table.instrument and record.perturbed for record in facts.levels)
    return None if perturbed else table


def stage_cautions(facts: Facts) -> Iterator[Caution]:
    """What of the program's stages is not in the table."""
    table = facts.stages
    if table is None:
        return
    if table.unfinished:
        said = [f"{name} ({count})" if count > 1 else name for name, count in list(table.unfinished.items())[:_SAID]]
        more = [f"{len(table.unfinished) - _SAID} more names"] if len(table.unfinished) > _SAID else []
        message = f"entered and not left when the call ended: {', '.join([*said, *more])}"
        yield Caution(code="open-stages", message=message, effect="their time is in no stage; leave each stage inside the call, best with `with`")
    if table.missed:
        message = f"{_counted(table.missed, 'entry', 'entries')} of stages did not fit into the recording"
        yield Caution(code="missed-stages", message=message, effect="times and calls of stages are too low; mark fewer, larger parts")
    if table.merged:
        message = f"{_counted(round(table.merged), 'entry', 'entries')} a call in the row (other stages): the program makes up more than 4,096 names"
        yield Caution(code="merged-stages", message=message, effect="give the same part the same name each time")
    if table.left_out:
        message = f"{_counted(table.left_out, 'stage')} beyond the largest {len(table.stages)} are not in the table"
        yield Caution(code="left-out-stages", message=message, effect="their time is in the stages around them, or outside any stage")
    if table.child_processes and (table.stages or "ridgeline.stage" in facts.target.marks):
        message = f"the call had at least {_counted(table.child_processes, 'child process', 'child processes')}, whose stages are not seen"
        effect = "what they do is missing from the table, from CPUs busy, and from what overlaps; mark the parts of one process"
        yield Caution(code="child-processes", message=message, effect=effect)


def _counted(count: int, noun: str, plural: str = "") -> str:
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def share_of_stage(case: Case, seconds: float) -> float:
    """Seconds of stages as a share of the end-to-end time, at most 1."""
    table = case.facts.stages
    wall = table.wall_s.value if table is not None else 0.0
    if case.facts.target.kind in ("script", "command"):
        wall = max(wall, case.wall_s)
    return min(1.0, seconds / wall) if wall > 0 else 0.0


def top_stages(table: StageTable) -> list[Stage]:
    """The outermost stages: the program's own, or the calls of its models where it marks none."""
    return [stage for stage in table.stages if stage.parent is None and (table.automatic or not stage.model)]


def models_share(case: Case) -> float | None:
    """Part of the end-to-end time in calls of models, `None` where none was seen."""
    table = stage_table(case.facts)
    return share_of_stage(case, table.models_s.value) if table is not None and table.models_s is not None else None


def overlapping(table: StageTable) -> bool:
    """Whether top-level stages already run beside each other for more than a tenth of their time."""
    top = top_stages(table)
    return sum(stage.overlapped_s for stage in top) > _OVERLAPS * sum(stage.total_s.value for stage in top)


def stage_path(table: StageTable, stage: Stage) -> str:
    """Its name behind those of the stages around it: `frame / decode`."""
    names = [stage.name]
    while stage.parent is not None:
        stage = table.stages[stage.parent]
        names.append(stage.name)
    return " / ".join(reversed(names))


def stage_summaries(case: Case) -> Iterator[StageSummary]:
    """The stages in order of first entry."""
    table = stage_table(case.facts)
    for stage in table.stages if table is not None else ():
        site = stage.site
        yield StageSummary(
            name=stage.name,
            median_s=stage.total_s.value,
            share=share_of_stage(case, stage.total_s.value),
            parent=table.stages[stage.parent].name if table is not None and stage.parent is not None else None,
            calls=stage.calls,
            interval_s=(stage.total_s.low, stage.total_s.high),
            own_s=stage.own_s.value,
            overlapped_s=stage.overlapped_s,
            device_s=stage.device_s.value if stage.device_s is not None else None,
            lanes=stage.lanes,
            busy_cpus=stage.busy_cpus,
            busy_range=stage.busy_range,
            model=stage.model,
            models_share=_part(stage),
            interpreter=stage.interpreter,
            where=Where(function=site.function, file=site.file, line=site.line) if site is not None else None,
        )


def _part(stage: Stage) -> float | None:
    """Part of a stage's time in models."""
    if stage.models_s is None or stage.total_s.value <= 0:
        return None
    return min(1.0, stage.models_s.value / stage.total_s.value)


def stage_of(facts: Facts, where: Where) -> str | None:
    """The stage in which a place was seen running, with those around it; `None` where it was seen in none.

    By its line, else by its function: the stage with the most samples there. What runs in the call of a model is in the marked stage around it.
    """
    table = facts.stages
    if table is None or where.file is None:
        return None
    for by_line in (True, False):
        counts: dict[int, int] = {}
        for index, stage in enumerate(table.stages):
            said = index if table.automatic or not stage.model else stage.parent
            if said is not None:
                counts[said] = counts.get(said, 0) + _samples(stage, where, by_line=by_line)
        index = max(counts, key=lambda index: (counts[index], -index), default=-1)
        if index >= 0 and counts[index] > 0:
            return stage_path(table, table.stages[index])
    return None


def _samples(stage: Stage, where: Where, *, by_line: bool) -> int:
    if not by_line and where.function is None:
        return 0
    return sum(
        line.samples
        for line in stage.lines
        if line.site.file == where.file and (line.site.line == where.line if by_line else line.site.function == where.function)
    )


def with_stage(facts: Facts, where: Where) -> Where:
    """The place with its stage, where that is known and not said already."""
    if where.stage is not None:
        return where
    stage = stage_of(facts, where)
    return msgspec.structs.replace(where, stage=stage) if stage is not None else where
