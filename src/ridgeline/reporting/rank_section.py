"""The section of a read page that says which of several ranks is late, and how long the others waited for it."""

from __future__ import annotations

from ridgeline.core import RankUse, ReadReport
from ridgeline.core.units import format_quantity

from .page import Paragraph, Section, count, seconds, share, words
from .read_tables import cut_table, name_column, right_column

__all__ = ["rank_section", "rank_sentence"]


def rank_section(report: ReadReport, most: int) -> Section | None:
    """Who waited for whom."""
    if not report.ranks:
        return None
    columns = (
        name_column("rank"),
        right_column("collectives", 8),
        right_column("came last", 15),
        right_column("awaited", 15),
        right_column("late by", 9),
        right_column("waited", 15),
        right_column("of its window", 12),
        right_column("window", 4),
    )
    told = format_quantity(max(one.told_s for one in report.ranks), "s")
    rows = [
        (
            words(f"rank {one.rank}"),
            count(one.collectives),
            count(one.last),
            seconds(one.awaited_s),
            seconds(one.late_s, reason=f"less than {told}"),
            seconds(one.waited_s),
            share(one.waited_share),
            seconds(one.window_s),
        )
        for one in sorted(report.ranks, key=lambda one: (-one.last, -one.awaited_s, one.rank))
    ]
    note = f"awaited: it alone was missing; late by: median, behind the first; less than {told} is not told, by so much ends are apart"
    unlike = report.ranks[0].unlike
    note += f"; {unlike} more match by name and order, do not end together and are left out" if unlike else ""
    table = cut_table("collectives that the ranks have in common, the rank that came last most often first", columns, rows, most, note=note)
    return Section(title="Ranks", blocks=(Paragraph(text=rank_sentence(report)), table))


def rank_sentence(report: ReadReport) -> str:
    """Which rank comes last most often, and what that costs the others."""
    worst = max(report.ranks, key=lambda one: (one.last, one.awaited_s, -one.rank))
    if not worst.last:
        told = format_quantity(max(one.told_s for one in report.ranks), "s")
        return f"No rank comes last by more than {told}, and less cannot be told."
    others = "the other waits" if len(report.ranks) == 2 else "the others wait"
    return f"Rank {worst.rank} comes last in {worst.last} of {worst.collectives} collectives; {others} {_awaited(worst, report)} for it."


def _awaited(worst: RankUse, report: ReadReport) -> str:
    # Of collectives that were left out nobody knows how long an iteration waited in them.
    steps = len(report.iterations.spans_s) if report.iterations is not None and not worst.unlike else 0
    return f"{format_quantity(worst.awaited_s / steps, 's')} an iteration" if steps else f"{format_quantity(worst.awaited_s, 's')} in these"
