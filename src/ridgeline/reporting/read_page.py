"""The page of a read trace or profile: the answer first, then what it stands on, last what was left out.

Nothing is computed here that the report does not say. Sections that a format has nothing for are absent; lists are cut to `most`, and say so. The
tables of single kinds (operators, kernels, stacks, …) are in `read_tables`.
"""

from __future__ import annotations

from typing import Literal

from ridgeline.core import Action, ReadReport, TimelineDifference, TraceFinding, TraceOverhead
from ridgeline.core.units import format_quantity, format_share, format_speedup

from .diagnosis_page import BOUND_WORDS, place
from .page import (
    Block,
    Cell,
    Column,
    Item,
    Items,
    Page,
    Pair,
    Pairs,
    Paragraph,
    Section,
    Table,
    count,
    format_cell,
    missing,
    seconds,
    share,
    speedup,
    words,
)
from .rank_section import rank_section
from .read_largest import largest_part, outside_rows
from .read_profiles import counter_section, frame_section, kernel_section, table_sections
from .read_tables import (
    cut_table,
    device_section,
    figure_section,
    gap_section,
    iteration_section,
    lane_section,
    name_column,
    operator_section,
    overhead_section,
    partition_section,
    path_section,
    serial_section,
    what_if_section,
)
from .text import shorten

__all__ = ["MOST", "read_headline", "read_page", "warning_section"]

#: Rows of a list where nobody asked for another number.
MOST = 10
#: Columns of the place on the page; names of kernels can be thousands of characters long.
_PLACE = 120
#: Devices that are busy for so much of their own window do not idle.
_BUSY = 0.9
#: What a page cannot say of a device that is busy.
_FAST = "whether that work is fast is for counters or a roofline to say"
#: What a file says of the run: so many lines of it.
_FACTS = 30


def read_page(report: ReadReport, *, most: int = MOST) -> Page:
    """The page of a report, with at most so many rows a list."""
    sections = (
        _verdict(report),
        _what_to_do(report),
        device_section(report),
        gap_section(report, most),
        path_section(report, most),
        what_if_section(report),
        operator_section(report, most),
        overhead_section(report),
        partition_section(report, most),
        iteration_section(report, most),
        rank_section(report, most),
        serial_section(report, most),
        frame_section(report, most),
        kernel_section(report, most),
        *table_sections(report, most),
        counter_section(report),
        lane_section(report, most),
        figure_section(report),
        _files(report),
        _left_out(report),
        warning_section(report),
    )
    return Page(
        title=f"ridgeline read: {', '.join(report.files)}",
        headline=read_headline(report),
        tone=_tone(report),
        sections=tuple(section for section in sections if section is not None),
    )


def read_headline(report: ReadReport) -> str:
    """One sentence: where, why, what to do and what it is worth; or healthy; or that the file cannot tell."""
    if report.findings:
        found = report.findings[0]
        return f"{_upper(found.summary)}.{_advice(found)}{_larger(report)}"
    largest = largest_part(report)
    if report.healthy:
        return f"Healthy: {_healthy_because(report)}{f'; {largest}' if largest else ''}."
    return f"{largest if largest else 'Nothing in this file tells what limits the program'}{';' if largest else ':'} {_why_unknown(report)}."


def _larger(report: ReadReport) -> str:
    """The largest share that nothing explains, where it is above that of what comes first."""
    unnamed = [found for found in report.findings[1:] if not found.actions and found.share > report.findings[0].share]
    return f" {_upper(max(unnamed, key=lambda found: found.share).summary)}." if unnamed else ""


def _advice(found: TraceFinding) -> str:
    if not found.actions:
        return ""
    best = found.actions[0]
    of = "between results" if best.metric == "period" else "if nothing else is in the way"
    return f" {_upper(best.action)} is worth {format_speedup(*best.speedup)} {of}."


def _upper(text: str) -> str:
    """As a sentence begins; names of files and functions stay as they are."""
    first = text.partition(" ")[0]
    return f"{text[:1].upper()}{text[1:]}" if first.rstrip(",").replace("-", "").isalpha() else text


def _healthy_because(report: ReadReport) -> str:
    window_s, busy_s = sum(one.window_s for one in report.devices), sum(one.busy_s for one in report.devices)
    if report.judged and report.iterations is not None and report.iterations.busy_share:
        steady = sorted(report.iterations.busy_share[report.iterations.first :])
        return f"in a steady iteration devices work for {format_share(steady[len(steady) // 2])} of the time; {_FAST}"
    if window_s > 0:
        names = report.devices[0].name if len(report.devices) == 1 else f"{len(report.devices)} devices"
        verb = "works" if len(report.devices) == 1 else "work"
        return f"{names} {verb} for {format_share(busy_s / window_s)} of the time; {_FAST}"
    if report.overhead is not None and report.overhead.window_s > 0:
        part = 1.0 - _outside(report.overhead, report)
        return f"operators fill {format_share(part)} of the time; whether they are fast is for `ridgeline diagnose` of the program to say"
    if report.partitions is not None and not any(table.wall_s for table in report.tables):
        return "the graph runs in one piece"
    return "the rows fill the wall of a call; whether they are fast is for `ridgeline diagnose` of the program to say"


def _why_unknown(report: ReadReport) -> str:
    if report.kernels is not None and report.kernels.replayed:
        return "a profiler that replays kernels gives numbers of each, no timeline and no share of the program"
    window_s, busy_s = sum(one.window_s for one in report.devices), sum(one.busy_s for one in report.devices)
    if window_s > 0 and busy_s / window_s >= _BUSY:
        part = format_share(window_s / len(report.devices) / report.window_s) if report.window_s else "a part"
        return f"devices work for {format_share(busy_s / window_s)} of the time from their first work to their last, which is {part} of the window"
    if window_s > 0:
        return _idle(report, window_s, window_s - busy_s)
    if report.overhead is not None and report.overhead.window_s > 0:
        of = "a steady iteration" if report.judged else "the time"
        python_s = report.critical_path.by_label.get("python", 0.0) if report.critical_path is not None else 0.0
        what = "in Python" if 2 * python_s > report.overhead.gap_s > 0 else "and nothing recorded says what happened there"
        return f"{format_share(_outside(report.overhead, report))} of {of} lies outside operators, {what}"
    if report.frames:
        return "what binds it counters would have to say"
    if report.counters is not None:
        return _counted(report)
    if report.window_s is None and not report.tables:
        return "it holds no event with a time"
    return outside_rows(report) or "the file has times of parts and none of what lies between"


def _idle(report: ReadReport, window_s: float, idle_s: float) -> str:
    """Devices that idle: whether the file does not show why, or they are not what the time goes to."""
    who = f"{report.devices[0].name} is" if len(report.devices) == 1 else f"{len(report.devices)} devices are"
    known_s = sum(took_s for one in report.devices for because, took_s in one.idle_because_s.items() if because != "nothing known")
    said = f"{who} idle for {format_share(idle_s / window_s)} of the time"
    if 2 * known_s <= idle_s or not report.window_s:
        return f"{said}, and the file does not show why"
    return f"{said} from the first work to the last, which is {format_share(window_s / len(report.devices) / report.window_s)} of the window"


def _counted(report: ReadReport) -> str:
    """Counts of a whole run: how much of it was on a CPU, where the file has both times."""
    said = "it counts the events of a whole run and not where they happened"
    table = next((table for table in report.tables if table.wall_s and table.rows), None)
    if table is None or not table.wall_s:
        return said
    on_s = sum(row.total_s for row in table.rows)
    return f"{said}; the run was on a CPU for {format_quantity(on_s, 's')} of {format_quantity(table.wall_s, 's')} ({on_s / table.wall_s:.2f} CPUs)"


def _outside(overhead: TraceOverhead, report: ReadReport) -> float:
    """Share of the time outside operators, of the iterations that were judged where these are not all."""
    steady = overhead.iterations[report.iterations.first :] if report.judged and report.iterations is not None else ()
    window_s = sum(window for window, _ in steady)
    return sum(gap for _, gap in steady) / window_s if window_s > 0 else overhead.gap_share


def _tone(report: ReadReport) -> Literal["good", "bad", "unsure"]:
    if report.findings:
        return "bad"
    return "good" if report.healthy else "unsure"


# ---- verdict and actions ---------------------------------------------------------------------------------------------------------------


def _verdict(report: ReadReport) -> Section:
    rows: list[Pair] = []
    if report.findings:
        found = report.findings[0]
        rows += [
            Pair(label="where", cell=words(shorten(place(found.where), _PLACE))),
            Pair(label="bound", cell=words(found.bound), note=BOUND_WORDS[found.bound]),
            Pair(label="cause", cell=words(found.cause), note="suspected: a recording cannot confirm, `ridgeline compare` of both versions can"),
            Pair(label="share", cell=share(found.share), note="of the time that the evidence names"),
        ]
    if report.judged:
        rows.append(Pair(label="judged by", cell=words(report.judged)))
    rows.append(Pair(label="window", cell=seconds(report.window_s, reason="the file has no timeline"), note=report.what or report.window))
    blocks: list[Block] = [Pairs(rows=tuple(rows))]
    blocks += [_evidence(found) for found in report.findings[:1] if found.evidence]
    return Section(title="Verdict", blocks=tuple(blocks))


def _evidence(found: TraceFinding) -> Table:
    columns = (Column(title="number", flexible=True, weight=10), Column(title="value", right=True), Column(title="from", flexible=True, weight=6))
    rows = tuple(
        (words(one.name), Cell(value=one.quantity.value, unit="share" if one.quantity.unit == "1" else one.quantity.unit), words(one.quantity.origin))
        for one in found.evidence
    )
    return Table(caption="what the verdict stands on", columns=columns, rows=rows)


def _what_to_do(report: ReadReport) -> Section | None:
    if not report.findings:
        return None
    first, others = report.findings[0], report.findings[1:]
    blocks: list[Block] = [Items(items=tuple(_action(one) for one in first.actions), numbered=True)]
    if not first.actions:
        blocks = [Paragraph(text="No change with a promise that could be worked out is known for this.")]
    if others:
        blocks.append(Paragraph(text="Found as well:"))
        blocks.append(Items(items=tuple(_other(one) for one in others)))
    return Section(title="What to do", blocks=tuple(blocks))


def _action(action: Action) -> Item:
    of = "between results; one call gets no shorter" if action.metric == "period" else "for one call"
    numbers = (Pair(label="gain", cell=speedup(action.speedup), note=of), Pair(label="after", cell=_after(action)))
    return Item(title=f"{action.action}: {action.on}" if action.on else action.action, numbers=numbers, detail=action.because)


def _after(action: Action) -> Cell:
    """What the action leaves; weights in samples or cycles, and files without times, have no seconds to promise."""
    if action.median_after_s is None:
        return missing("the file has no time of it")
    low, high = (format_cell(seconds(end)) for end in action.median_after_s)
    # A speedup is of what a low end of it leaves the high end of: what it is now.
    now = format_cell(seconds(action.median_after_s[1] * action.speedup[0]))
    return words(f"{low if low == high else f'{low} – {high}'} instead of {now}")


def _other(found: TraceFinding) -> Item:
    best = found.actions[0] if found.actions else None
    numbers = [Pair(label="cause", cell=words(found.cause)), Pair(label="share", cell=share(found.share))]
    if best is not None:
        numbers.append(Pair(label=best.action, cell=speedup(best.speedup)))
    return Item(title=f"{found.summary}.", numbers=tuple(numbers))


# ---- files and doubts ------------------------------------------------------------------------------------------------------------------


def _files(report: ReadReport) -> Section:
    rows = [Pair(label="format", cell=words(report.format), note=report.tool)]
    rows += [Pair(label="file", cell=words(name), note=_skew(report, name)) for name in report.files]
    blocks: list[Block] = [Pairs(rows=tuple(rows))]
    if report.facts:
        facts = ((words(name), words(text, "empty")) for name, text in report.facts.items())
        blocks.append(
            cut_table("what the file says of the run", (name_column("name"), Column(title="value", flexible=True, weight=20)), facts, _FACTS)
        )
    return Section(title="What was read", blocks=tuple(blocks))


def _skew(report: ReadReport, name: str) -> str:
    skew_s = report.skew_s.get(name)
    if skew_s is None:
        return ""
    return "on the first file's clock" if skew_s == 0 else f"its clock is {format_quantity(skew_s, 's')} off the first file's"


def _left_out(report: ReadReport) -> Section | None:
    if not report.excluded:
        return None
    columns = (
        Column(title="why", flexible=True, weight=10),
        Column(title="events", right=True),
        Column(title="time", right=True),
        Column(title="first", flexible=True, weight=4),
    )
    rows = tuple((words(one.reason), count(one.events), seconds(one.total_s), words(one.first, "not known")) for one in report.excluded)
    return Section(title="Left out", blocks=(Table(caption="what is in no figure", columns=columns, rows=rows),))


def warning_section(report: ReadReport | TimelineDifference) -> Section | None:
    """What to doubt."""
    if not report.warnings:
        return None
    items = tuple(Item(title=f"{_upper(one.message)}.", detail=one.effect) for one in report.warnings)
    return Section(title="Warnings", blocks=(Items(items=items),))
