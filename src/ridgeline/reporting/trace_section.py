"""The section of a diagnosis about the calls that were recorded: what recording did to them, and what the trace answers, cut to a few rows a list.

What a trace whose calls were changed by the recording leaves out is decided before; here stands what is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import ReadReport, Recording, TraceFinding
from ridgeline.core.units import format_quantity, format_share

from .page import Block, Cell, Column, Item, Items, Pair, Pairs, Paragraph, Section, count, quantity, seconds, share, speedup, words
from .read_tables import (
    cut_table,
    device_section,
    gap_section,
    iteration_section,
    name_column,
    operator_section,
    overhead_section,
    partition_section,
    path_section,
    right_column,
    serial_section,
    what_if_section,
)

__all__ = ["trace_section"]

#: Rows of each list.
_ROWS = 5
_ALL = "Gaps, critical path, operators and what faster ones would give: --trace shows them, and the JSON has them."
_PERTURBED = {
    True: "recording changed the calls: times and shares of the trace are left out",
    False: "recording did not change the calls by more than 10 %",
    None: "it cannot be told whether recording changed the calls by more than 10 %",
}


def trace_section(report: ReadReport) -> Section:
    """What a recording of a few calls says."""
    doubt = report.recording is not None and report.recording.perturbed is None
    blocks: list[Block] = [Paragraph(text=f"As far as recording did not change it: {_sentence(report)}" if doubt else _sentence(report))]
    if report.recording is not None:
        blocks.append(_recording(report.recording))
    if report.findings:
        blocks.append(Items(items=tuple(_finding(found) for found in report.findings)))
    if report.recording is not None and report.recording.unasked:
        # What nobody asked for says what it found; how much is wrong with it stands in the ratio.
        rest = "What ran, in order: --trace lists it, and the JSON has it." if report.recording.perturbed else _ALL
        return Section(title="Trace", blocks=(*blocks, Paragraph(text=rest)))
    blocks += _answers(report)
    if report.counts:
        columns = (name_column(), Column(title="kind", weight=10), right_column("calls", 12))
        rows = ((words(one.name), words(one.kind), count(one.calls)) for one in report.counts)
        blocks.append(cut_table("what ran, in order of its first start", columns, rows, 2 * _ROWS))
    if report.warnings:
        blocks.append(Items(items=tuple(Item(title=f"{one.code}: {one.message}", detail=one.effect) for one in report.warnings)))
    return Section(title="Trace", blocks=tuple(blocks))


def _sentence(report: ReadReport) -> str:
    if report.recording is not None and report.recording.perturbed:
        return "Recording changed the calls, so only counts and order of the trace hold."
    if report.findings:
        return f"{report.findings[0].summary}."
    window_s, busy_s = sum(one.window_s for one in report.devices), sum(one.busy_s for one in report.devices)
    if window_s > 0:
        return f"Devices work for {format_share(busy_s / window_s)} of the recorded time; the trace names no cause."
    if report.overhead is not None and report.overhead.window_s > 0:
        return (
            f"Operators fill {format_share(report.overhead.operators_s / report.overhead.window_s)} of the recorded time; the trace names no cause."
        )
    return "The trace names no cause."


def _recording(found: Recording) -> Pairs:
    beside = [name for name, there in (("shapes", found.shapes), ("stacks", found.stacks)) if there]
    note = ", with ".join([found.instrument, *([" and ".join(beside)] if beside else [])])
    return Pairs(
        caption="how it was recorded",
        rows=(
            Pair(label="calls", cell=count(found.calls), note=note if found.calls == found.asked else f"{note}; {found.asked} were asked for"),
            Pair(label="a recorded call", cell=quantity(found.wall_s), note=f"clean calls around them {format_quantity(found.clean_s.value, 's')}"),
            Pair(label="ratio", cell=quantity(found.ratio_to_ground_truth), note=_PERTURBED[found.perturbed]),
            Pair(label="file", cell=words(found.file, "not kept: --trace --trace-out FILE keeps it for `ridgeline read` and Perfetto")),
        ),
    )


def _finding(found: TraceFinding) -> Item:
    numbers = [Pair(label="cause", cell=words(found.cause)), Pair(label="share", cell=share(found.share), note="of the recorded time")]
    numbers += [Pair(label=action.action, cell=speedup(action.speedup)) for action in found.actions]
    return Item(title=f"{found.summary}.", numbers=tuple(numbers))


def _answers(report: ReadReport) -> Iterator[Block]:
    if report.window_s is not None:
        window: Cell = seconds(report.window_s)
        yield Pairs(rows=(Pair(label="window", cell=window, note=report.what),))
    sections = (
        device_section(report),
        gap_section(report, _ROWS),
        overhead_section(report),
        path_section(report, _ROWS),
        what_if_section(report),
        operator_section(report, _ROWS),
        partition_section(report, _ROWS),
        iteration_section(report, _ROWS),
        serial_section(report, _ROWS),
    )
    for section in sections:
        if section is not None:
            for block in section.blocks:
                # Tables and bars say themselves what they are; pairs have only the title of the section that they were made for.
                yield Pairs(rows=block.rows, caption=block.caption or section.title.lower()) if isinstance(block, Pairs) else block
