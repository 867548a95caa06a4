"""The last part of a diagnosis page: the doubts (warnings, what could not be measured) and how to get the same numbers again."""

from __future__ import annotations

import shlex

from ridgeline.core import ClockState, CoreToCore, Diagnosis
from ridgeline.core.units import format_quantity

from .page import Item, Items, Pair, Pairs, Paragraph, Section, number, share, words

__all__ = ["apart_pairs", "doubt_sections", "recipe_section"]


def doubt_sections(diagnosis: Diagnosis) -> tuple[Section, ...]:
    """Warnings with their effect, and what could not be measured with how to enable it."""
    sections = []
    if diagnosis.warnings:
        items = tuple(Item(title=f"{caution.code}: {caution.message}", detail=caution.effect) for caution in diagnosis.warnings)
        sections.append(Section(title="Warnings", blocks=(Items(items=items),)))
    lines = _not_measured(diagnosis)
    if lines:
        hint = Paragraph(text="`ridgeline doctor` says what can be enabled on this machine, and how.")
        sections.append(Section(title="What could not be measured", blocks=(Items(items=lines), hint)))
    return tuple(sections)


def _not_measured(diagnosis: Diagnosis) -> tuple[Item, ...]:
    skipped = [f"{level.instrument}: {level.skipped}" for level in diagnosis.levels if level.skipped]
    # A level that was skipped is usually said to be missing as well, in the same words.
    return tuple(Item(title=text) for text in dict.fromkeys((*diagnosis.missing, *skipped)))


def recipe_section(diagnosis: Diagnosis) -> Section:
    """Machine, software, clock, method, commit and the command: what must be alike for two numbers to compare."""
    software = ", ".join(f"{name} {version}" for name, version in sorted(diagnosis.software.items()))
    rows = (
        Pair(label="command", cell=words(_command(diagnosis))),
        Pair(label="machine", cell=words(diagnosis.machine, "not known")),
        Pair(label="software", cell=words(software, "not recorded")),
        *_clock(diagnosis.clock),
        Pair(label="threads", cell=words(str(diagnosis.threads) if diagnosis.threads else "as the target decides")),
        Pair(label="allocator", cell=words(diagnosis.allocator, "not known")),
        Pair(label="input", cell=words("; ".join(diagnosis.input) or "none")),
        Pair(label="method", cell=words(diagnosis.method, "not recorded")),
        Pair(label="commit", cell=words(diagnosis.commit or "", "the target is in no repository")),
        Pair(label="run", cell=words(diagnosis.run or "", "not kept in a notebook")),
    )
    return Section(title="How to reproduce", blocks=(Pairs(rows=rows),))


def _clock(clock: ClockState) -> tuple[Pair, ...]:
    throttled = {True: "seen", False: "not seen", None: ""}[clock.throttled]
    return (
        Pair(label="governor", cell=words(clock.governor or "", "not visible on this machine")),
        Pair(label="clock", cell=number(clock.hz, "Hz", reason="not visible on this machine")),
        Pair(label="throttling", cell=words(throttled, "not visible on this machine")),
        Pair(label="stolen", cell=share(clock.steal, "not visible on this machine"), note="of the CPU time, by the hypervisor"),
        *apart_pairs(clock.core_to_core),
    )


def apart_pairs(found: CoreToCore | None, label: str = "core to core") -> tuple[Pair, ...]:
    """How far apart the cores were, as a line; none where nobody looked."""
    if found is None:
        return ()
    note = "a cache line between two cores"
    if found.looks_s and min(found.looks_s) < max(found.looks_s):
        low, high = (format_quantity(end(found.looks_s), "s") for end in (min, max))
        note += f", {low} to {high}"
    return (Pair(label=label, cell=number(found.typical_s, "s", reason=found.missing or "not looked at"), note=note if found.looks_s else ""),)


def _command(diagnosis: Diagnosis) -> str:
    if diagnosis.command:
        return diagnosis.command
    options = ["--budget", diagnosis.budget] if diagnosis.budget else []
    return shlex.join(["ridgeline", "diagnose", *options]) + f" {diagnosis.target}"
