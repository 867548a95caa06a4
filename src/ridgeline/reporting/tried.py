"""The section on what was tried: promised against found, whether the output stayed, what is kept and why; and what was not tried.

The judgement is the diagnosis's; here is only decided how it is written.
"""

from __future__ import annotations

from ridgeline.core import Diagnosis, Tried, Untried
from ridgeline.core.units import format_speedup

from .page import Block, Cell, Column, Item, Items, Section, Table, missing, speedup, words

__all__ = ["tried_sections"]

_COLUMNS = (
    Column(title="change", flexible=True, weight=20),
    Column(title="for", flexible=True, weight=12),
    Column(title="promised", weight=18),
    Column(title="found", weight=19),
    Column(title="verdict", weight=16),
    Column(title="promise", weight=14),
    Column(title="output", weight=15),
    Column(title="kept", weight=17),
)


def tried_sections(diagnosis: Diagnosis) -> tuple[Section, ...]:
    """What was tried and what was not; nothing where no change was asked for."""
    if not diagnosis.tried and not diagnosis.untried:
        return ()
    blocks: list[Block] = []
    if diagnosis.tried:
        rows = tuple(_row(trial) for trial in diagnosis.tried)
        blocks.append(Table(caption="changes that were tried beside the original, against their promise", columns=_COLUMNS, rows=rows))
    notes = tuple(Item(title=trial.change or trial.action, detail=_capital(trial.reason)) for trial in diagnosis.tried if trial.reason)
    left = tuple(Item(title=f"not tried: {_name(other)}", detail=other.reason) for other in diagnosis.untried)
    if notes or left:
        blocks.append(Items(items=(*notes, *left)))
    return (Section(title="What was tried", blocks=tuple(blocks)),)


def _row(trial: Tried) -> tuple[Cell, ...]:
    return (
        words(trial.change or trial.action),
        words("control" if trial.control else trial.action),
        speedup(trial.promised) if trial.promised else missing("nothing was promised of a control"),
        words(f"{format_speedup(*trial.speedup)}{' an item' * (trial.metric == 'period')}") if trial.speedup else missing("the trial failed"),
        words(trial.verdict),
        words(trial.promise or "", "nothing was promised of a control" if trial.control else "the trial failed"),
        words(_output(trial)),
        words("yes" if trial.kept else "no"),
    )


def _output(trial: Tried) -> str:
    if trial.output_ok:
        return "equal" if not trial.difference else f"equal within {trial.tolerance:.0e}"
    if trial.verdict == "failed":
        return "none"
    return "CHANGED" if trial.output == "differs" else "not comparable"


def _name(other: Untried) -> str:
    """The action, and the change that would have carried it out."""
    if other.change in ("", other.action):
        return other.action
    return f"{other.action} ({other.change})" if other.action else other.change


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
