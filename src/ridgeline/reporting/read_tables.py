"""The tables of a read report, one function a section; each returns nothing where the report has nothing for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ridgeline.core import PartitionReport, ReadReport
from ridgeline.core.units import format_quantity, format_share

from .page import Bars, Block, Cell, Column, Pair, Pairs, Section, Table, count, missing, number, seconds, share, words

__all__ = [
    "cut_table",
    "device_section",
    "figure_section",
    "gap_section",
    "iteration_section",
    "lane_section",
    "name_column",
    "operator_section",
    "overhead_section",
    "partition_section",
    "path_section",
    "right_column",
    "serial_section",
    "text_column",
    "what_if_section",
]  # fmt: skip

#: Units of which numerator and denominator both are, so that their quotient is a share.
_SHARES = ("s", "count", "B", "1")
#: Columns of a text that is better left out than squeezed.
_WIDE = 24


def cut_table(
    caption: str, titles: Sequence[Column], rows: Iterable[tuple[Cell, ...]], most: int, *, total: int | None = None, note: str = ""
) -> Table:
    """A table cut to `most` rows; `total` is how many there are where not all were given."""
    all_rows = tuple(rows)
    left = (total if total is not None else len(all_rows)) - min(most, len(all_rows))
    notes = [text for text in (f"{left} more in the JSON." if left > 0 else "", note) if text]
    return Table(caption=caption, columns=tuple(titles), rows=all_rows[:most], note=" ".join(notes))


def name_column(title: str = "name", least: int = 16) -> Column:
    """The column that says what a row is of."""
    return Column(title=title, flexible=True, weight=20, least=least, lines=3)


def text_column(title: str, weight: int, least: int = 12, lines: int = 3) -> Column:
    """A column of texts that may be long."""
    return Column(title=title, flexible=True, weight=weight, least=least, lines=lines)


def right_column(title: str, weight: int = 9) -> Column:
    """A column of numbers."""
    return Column(title=title, right=True, weight=weight)


def device_section(report: ReadReport) -> Section | None:
    """How devices were used."""
    if not report.devices:
        return None
    columns = (
        name_column("device"),
        right_column("busy", 15),
        right_column("idle", 15),
        right_column("idle share", 15),
        right_column("compute"),
        right_column("communication"),
        right_column("copy"),
        right_column("exposed communication", 6),
        right_column("exposed copy", 6),
        right_column("events", 5),
        right_column("sum", 4),
        right_column("window", 7),
    )
    rows = [
        (
            words(one.name),
            seconds(one.busy_s),
            seconds(one.idle_s),
            share(one.idle_share),
            seconds(one.compute_s),
            seconds(one.communication_s),
            seconds(one.copy_s),
            seconds(one.exposed_communication_s),
            seconds(one.exposed_copy_s),
            count(one.events),
            seconds(one.sum_s),
            seconds(one.window_s),
        )
        for one in report.devices
    ]
    blocks: list[Block] = [cut_table("unions of the work of each device, over its own window", columns, rows, len(rows))]
    why = [
        Pair(label=because, cell=share(part / whole), note=f"{format_quantity(part, 's')} of {format_quantity(whole, 's')} idle")
        for because, part, whole in _idle(report)
    ]
    if why:
        blocks.append(Bars(caption="what the host does while devices are idle", rows=tuple(why)))
    return Section(title="Devices", blocks=tuple(blocks))


def _idle(report: ReadReport) -> list[tuple[str, float, float]]:
    whole = sum(one.idle_s for one in report.devices)
    found: dict[str, float] = {}
    for device in report.devices:
        for because, part in device.idle_because_s.items():
            found[because] = found.get(because, 0.0) + part
    return [(because, part, whole) for because, part in sorted(found.items(), key=lambda item: -item[1]) if whole > 0]


def gap_section(report: ReadReport, most: int) -> Section | None:
    """The longest gaps."""
    if not report.gaps:
        return None
    columns = (
        name_column("device"),
        right_column("at", 8),
        right_column("length", 20),
        Column(title="because", weight=15),
        Column(title="waiting for", weight=6),
        text_column("after", 8),
        text_column("host", 7),
        right_column("of it", 4),
    )
    rows = [
        (
            words(gap.device),
            seconds(gap.start_s),
            seconds(gap.duration_s),
            words(gap.because),
            words(gap.waiting_for, "not known"),
            words(gap.after, "nothing before"),
            words(gap.activity, "nothing recorded"),
            share(gap.covered_share),
        )
        for gap in report.gaps[:most]
    ]
    note = "`of it`: share of the gap that the named host activity fills; `at`: from the start of the window."
    table = cut_table("gaps between pieces of work, the longest first", columns, rows, most, total=max(report.gap_count, len(report.gaps)), note=note)
    return Section(title="Gaps", blocks=(table,))


def path_section(report: ReadReport, most: int) -> Section | None:
    """The critical path."""
    path = report.critical_path
    if path is None or path.length_s <= 0:
        return None
    pairs = [
        Pair(label="length", cell=seconds(path.length_s), note=f"of {format_quantity(path.window_s, 's')} window, in {path.piece_count} pieces"),
        Pair(label="explained", cell=share(path.covered_share)),
    ]
    labels = [
        Pair(label=label, cell=share(s / path.length_s), note=format_quantity(s, "s"))
        for label, s in sorted(path.by_label.items(), key=lambda i: -i[1])
    ]
    columns = (name_column(), right_column("on the path", 15), right_column("share", 12))
    rows = [(words(name), seconds(s), share(s / path.length_s)) for name, s in sorted(path.by_name.items(), key=lambda item: -item[1])]
    blocks: list[Block] = [Pairs(rows=tuple(pairs)), Bars(caption="what the path is made of", rows=tuple(labels))]
    if rows:
        blocks.append(cut_table("names with most time on the path", columns, rows, most))
    return Section(title="Critical path", blocks=tuple(blocks))


def what_if_section(report: ReadReport) -> Section | None:
    """What the window would be."""
    if not report.what_if:
        return None
    columns = (
        name_column("what"),
        Column(title="made", weight=12),
        right_column("window now", 8),
        right_column("window then", 15),
        right_column("less", 12),
    )
    rows = [
        (
            words(one.what),
            words("take no time" if one.factor is None else f"{one.factor:g}× faster" if one.factor >= 1 else f"{1 / one.factor:.3g}× slower"),
            seconds(one.before_s),
            seconds(one.after_s),
            share(1 - one.after_s / one.before_s) if one.before_s > 0 else missing("there is no window"),
        )
        for one in report.what_if
    ]
    nested = any(one.nested for one in report.what_if)
    of = "calls of the host with all that is nested in them" if nested else "of calls of the host their own time, as on the path"
    table = cut_table(f"replayed through the dependencies, all else as it was: work of devices, and {of}", columns, rows, len(rows))
    return Section(title="What if", blocks=(table,))


def operator_section(report: ReadReport, most: int) -> Section | None:
    """Operators and kernels by time."""
    if not report.operators:
        return None
    columns = (
        name_column(),
        Column(title="kind", weight=10),
        right_column("calls", 10),
        right_column("total", 12),
        right_column("own", 12),
        right_column("share", 14),
        right_column("device", 8),
        right_column("on the path", 8),
        right_column("slack", 5),
        right_column("median", 6),
        right_column("least", 3),
        right_column("most", 3),
    )
    rows = [
        (
            words(one.name),
            words(one.kind),
            count(one.calls),
            seconds(one.total_s),
            seconds(one.own_s),
            share(one.share),
            seconds(one.device_s, reason="it is linked to none"),
            seconds(one.on_path_s),
            seconds(one.slack_s, reason="not worked out"),
            seconds(one.median_s),
            seconds(one.least_s),
            seconds(one.most_s),
        )
        for one in report.operators[:most]
    ]
    return Section(
        title="Operators", blocks=(cut_table("by name and kind; share is of the window", columns, rows, most, total=len(report.operators)),)
    )


def overhead_section(report: ReadReport) -> Section | None:
    """Time outside operators."""
    found = report.overhead
    if found is None:
        return None
    rows = [
        Pair(label="inside operators", cell=seconds(found.operators_s), note=f"union, of {format_quantity(found.window_s, 's')}"),
        Pair(label="outside", cell=seconds(found.gap_s), note=format_share(found.gap_share)),
    ]
    if found.linked_s is not None:
        rows.append(
            Pair(label="outside linked device work", cell=seconds(found.linked_s), note="window less the union of work that operators started")
        )
    if found.all_s is not None:
        rows.append(Pair(label="outside all device work", cell=seconds(found.all_s), note="window less the union of all device work"))
    return Section(title="Overhead", blocks=(Pairs(rows=tuple(rows)),))


def partition_section(report: ReadReport, most: int) -> Section | None:
    """How a graph was cut."""
    found = report.partitions
    if found is None:
        return None
    rows = [
        Pair(label="delegated", cell=words(f"{found.delegated} of {found.nodes} nodes"), note=f"in {found.count} partitions"),
        Pair(label="runs", cell=count(found.runs), note="stretches of nodes on one provider"),
        Pair(label="handoffs", cell=count(found.handoffs), note=f"{found.runs - 1} boundaries are crossed in one run"),
        Pair(label="they cost", cell=seconds(found.handoff_s, reason="the file does not tell"), note=_untimed(found)),
    ]
    rows += [Pair(label=f"on {name}", cell=seconds(s)) for name, s in found.providers.items()]
    if found.fallbacks:
        names = ", ".join(f"{name} × {times}" for name, times in list(found.fallbacks.items())[:most])
        rows.append(Pair(label="fall back", cell=words(names)))
    if found.without_s is not None:
        low, high = (format_quantity(s, "s") for s in found.without_s)
        rows.append(Pair(label="in one partition", cell=words(low if low == high else f"{low} – {high}"), note="one run without a boundary"))
    blocks: list[Block] = [Pairs(rows=tuple(rows))]
    if found.boundaries:
        columns = (
            name_column("from"),
            Column(title="to", weight=15),
            right_column("crossed"),
            right_column("cost"),
            text_column("between", 4),
        )
        lines = [
            (
                words(one.source),
                words(one.target),
                count(one.crossings),
                seconds(one.total_s, reason="the file has no time of its own for it"),
                words(" and ".join(node for node in (one.after, one.before) if node), "not named"),
            )
            for one in found.boundaries
        ]
        blocks.append(cut_table("boundaries", columns, lines, most))
    return Section(title="Partitions", blocks=tuple(blocks))


def _untimed(found: PartitionReport) -> str:
    """Of how many boundaries no time is known, where it is known of others."""
    none = sum(one.total_s is None for one in found.boundaries)
    if not 0 < none < len(found.boundaries):
        return ""
    return f"{none} of {len(found.boundaries)} boundaries listed {'has no time and is' if none == 1 else 'have no time and are'} not in it"


def iteration_section(report: ReadReport, most: int) -> Section | None:
    """Steps."""
    found = report.iterations
    if found is None or not found.spans_s:
        return None
    few = "there are too few"
    rows = [
        Pair(label="iterations", cell=count(len(found.spans_s)), note=f"found by {found.how}: {found.name}"),
        Pair(label="first ones apart", cell=count(found.first)),
        Pair(label="median", cell=seconds(found.median_s, found.median_ci_s, few)),
        Pair(label="least", cell=seconds(found.least_s, reason=few)),
        Pair(label="most", cell=seconds(found.most_s, reason=few)),
    ]
    columns = (right_column("iteration"), right_column("starts at"), right_column("length"), right_column("devices busy"))
    lines = [
        (
            count(index + 1),
            seconds(start_s) if start_s >= 0 else missing("it begins before the window"),
            seconds(duration_s),
            share(found.busy_share[index]) if index < len(found.busy_share) else missing("there is no device"),
        )
        for index, (start_s, duration_s) in enumerate(found.spans_s)
    ]
    return Section(title="Iterations", blocks=(Pairs(rows=tuple(rows)), cut_table("each", columns, lines, most)))


def serial_section(report: ReadReport, most: int) -> Section | None:
    """What takes turns."""
    if not report.serial:
        return None
    columns = (
        name_column("first"),
        name_column("second"),
        right_column("first takes"),
        right_column("second takes"),
        right_column("both at once"),
        right_column("could go", 15),
        right_column("steps", 5),
        right_column("ordered", 4),
    )
    rows = [
        (
            words(one.first),
            words(one.second),
            seconds(one.first_s),
            seconds(one.second_s),
            seconds(one.overlapped_s),
            seconds(one.saved_s),
            count(one.steps),
            share(one.ordered),
        )
        for one in report.serial
    ]
    table = cut_table("lanes that take turns though nothing recorded orders them, seconds in a step", columns, rows, most)
    return Section(title="One after the other", blocks=(table,))


def lane_section(report: ReadReport, most: int) -> Section | None:
    """Lanes."""
    if not report.lanes:
        return None
    columns = (
        name_column("lane"),
        Column(title="device", weight=6),
        right_column("events", 8),
        right_column("busy", 14),
        right_column("sum", 6),
        right_column("window", 8),
        right_column("overlapped events", 4),
    )
    rows = [
        (
            words(one.name),
            words(one.device, "the host"),
            count(one.events),
            seconds(one.busy_s),
            seconds(one.sum_s),
            seconds(one.window_s),
            count(one.overlapped_events),
        )
        for one in sorted(report.lanes, key=lambda one: -one.busy_s)[:most]
    ]
    return Section(title="Lanes", blocks=(cut_table("threads, streams and queues, the busiest first", columns, rows, most, total=len(report.lanes)),))


def figure_section(report: ReadReport) -> Section | None:
    """What every share was made of."""
    if not report.figures:
        return None
    columns = (
        name_column("figure"), right_column("value", 15), right_column("numerator", 12), text_column("which is", 8),
        right_column("denominator", 12), text_column("which is", 7), text_column("window", 4, _WIDE), text_column("left out", 5, _WIDE),
    )  # fmt: skip
    rows = [
        (
            words(" ".join(one.name.split())), share(one.value) if one.unit in _SHARES else number(one.value, one.unit),
            number(one.numerator, one.unit.removesuffix("/s")), words(one.numerator_of),
            number(one.denominator, one.unit if one.unit in _SHARES else "s"), words(one.denominator_of), words(one.window or "the whole"),
            words(one.left_out or "nothing"),
        )
        for one in report.figures
    ]  # fmt: skip
    return Section(title="Figures", blocks=(cut_table("every share with what it was made of", columns, rows, len(rows)),))
