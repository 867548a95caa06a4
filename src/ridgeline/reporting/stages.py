"""Stages and a missed budget on the page: a bar for each top-level stage, the table behind them, and the ways to meet the budget."""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Diagnosis, Shrink, StageSummary
from ridgeline.core.units import format_share

from .page import Bars, Block, Cell, Column, Pair, Table, count, missing, number, seconds, share, words
from .text import shorten

__all__ = ["STAGES_SHOWN", "stage_blocks"]

#: Stages on the page, the largest; the JSON carries all of them.
STAGES_SHOWN = 16
#: Columns of a name beside its bar.
_LABEL = 40
_LITTLE = 0.005

_COLUMNS = (
    Column(title="stage", flexible=True, least=20, weight=20),
    Column(title="calls", right=True, weight=8),
    Column(title="median", right=True, weight=16),
    Column(title="share", right=True, weight=15),
    Column(title="own", right=True, weight=9),
    Column(title="overlapped", right=True, weight=10),
    Column(title="CPUs busy", right=True, weight=7),
    Column(title="interpreter", right=True, weight=6),
    Column(title="on", flexible=True, least=10, weight=4),
)


def stage_blocks(diagnosis: Diagnosis) -> list[Block]:
    """Bars and table of the stages, and how much must shrink where; nothing where there are none."""
    blocks: list[Block] = []
    stages = diagnosis.stages
    if stages:
        blocks.append(Bars(caption=f"stages, shares of the end-to-end time{_whole(diagnosis)}", rows=tuple(_bars(stages))))
        rows = tuple(_row(stage) for stage in _largest(stages))
        note = f"{len(stages) - STAGES_SHOWN} smaller ones in the JSON." if len(stages) > STAGES_SHOWN else ""
        caption = "stages in order of first entry; overlapped: while another one that is neither around nor inside it ran as well"
        blocks.append(Table(caption=caption, columns=_COLUMNS, rows=rows, note=note))
    report = diagnosis.budget_state
    if report is not None and report.shrink:
        blocks.append(Table(caption="what must shrink, each by itself, to meet the budget", columns=_SHRINK, rows=tuple(map(_way, report.shrink))))
    return blocks


def _whole(diagnosis: Diagnosis) -> str:
    """Which fraction is the model, in the whole."""
    return f"; calls of models: {format_share(diagnosis.models_share)} of it" if diagnosis.models_share is not None else ""


def _bars(stages: tuple[StageSummary, ...]) -> list[Pair]:
    marked = [stage for stage in stages if not stage.model] or stages
    top = [stage for stage in marked if stage.parent is None]
    rows = [Pair(label=shorten(stage.name, _LABEL), cell=share(stage.share), note=_beside(stage)) for stage in _largest(top)]
    serial = not any(stage.overlapped_s for stage in top)
    rest = 1.0 - sum(stage.share for stage in top)
    # Of stages that overlap the shares sum to more than the time that is covered.
    return [*rows, Pair(label="outside any stage", cell=share(rest))] if serial and rest > _LITTLE else rows


def _largest(stages: Sequence[StageSummary]) -> list[StageSummary]:
    """As many as are shown, in the order in which they stood; what the program marks comes before its models."""
    kept = sorted(range(len(stages)), key=lambda index: (stages[index].model, -stages[index].share))[:STAGES_SHOWN]
    return [stages[index] for index in sorted(kept)]


def _beside(stage: StageSummary) -> str:
    said = [f"of which in models: {stage.models_share:.0%}"] if stage.models_share else []
    if stage.overlapped_s is not None and stage.median_s and stage.overlapped_s >= _LITTLE * stage.median_s:
        said.append(f"{stage.overlapped_s / stage.median_s:.0%} of it beside other stages")
    return "; ".join(said)


def _roughly(stage: StageSummary, unseen: str) -> str:
    """Why CPUs busy are not said."""
    if stage.busy_range is None:
        return unseen
    low, high = stage.busy_range
    return f"too short an entry for the kernel's ticks, by which other threads are booked: between {low:.2g} and {high:.2g}"


def _spread(stage: StageSummary) -> tuple[float, float] | None:
    """The interval of its time; of a single call there is none, and one without width would say that it is exact."""
    return None if stage.interval_s is None or stage.interval_s[0] == stage.interval_s[1] else stage.interval_s


def _row(stage: StageSummary) -> tuple[Cell, ...]:
    unseen = "it was not looked at more closely"
    busy = number(stage.busy_cpus, "fraction", reason=_roughly(stage, unseen))
    device = f"device {stage.device_s:.3g} s by its events; " if stage.device_s is not None else ""
    name = stage.name if stage.parent is None else f"{stage.parent} / {stage.name}"
    return (
        words(name), count(stage.calls, unseen), seconds(stage.median_s, _spread(stage)), share(stage.share), seconds(stage.own_s, reason=unseen),
        seconds(stage.overlapped_s, reason=unseen), busy, share(stage.interpreter, unseen),
        words(device + ", ".join(stage.lanes), unseen),
    )  # fmt: skip


_SHRINK = (
    Column(title="what", flexible=True, least=20, weight=20),
    Column(title="now", right=True, weight=9),
    Column(title="at the most", right=True, weight=10),
    Column(title="must go", right=True, weight=12),
)


def _way(way: Shrink) -> tuple[Cell, ...]:
    never = "even nothing of it is not enough"
    target = missing(never) if way.target_s is None else seconds(way.target_s)
    return words(way.name), seconds(way.now_s), target, share(way.part, never)
