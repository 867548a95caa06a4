"""The reader of `perf stat`: counts with the fraction of time they were counted, counter tracks over the intervals, and the times of the command.

This module decides how intervals add up and what is left out: what was not counted or is not supported is in no sum. A count that was multiplexed is
scaled by perf to the whole time; it stays as printed, with its fraction beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from ridgeline.core import Caution, Column, Counters, CounterTrack, Excluded, Profile, ProfileRow, ProfileTable, Timeline

from ..source import Source
from .numbers import NOT_COUNTED, NOT_SUPPORTED, decimal_mark, in_base_unit, number
from .rows import Count, fields_row, json_row, separator_of, text_row

__all__ = ["PerfStat"]

_TITLE = re.compile(r"Performance counter stats for (.{1,2000}?)(?: \((\d{1,6}) runs\))?:\s*$")
_STARTS = re.compile(r"[+-]?(?:\d|nan\b|inf\b)", re.IGNORECASE)
_TIMES = re.compile(r"^\s*([\d.,]{1,30})(?: \+- ([\d.,]{1,30}))? seconds (time elapsed|user|sys)\b")
_NAMES = {"time elapsed": "elapsed", "user": "user", "sys": "sys"}
_JSON = re.compile(r'\{\s*(?:"[a-z-]+"\s*:\s*(?:"[^"]*"|[\d.]+)\s*,\s*){0,4}"counter-value"\s*:')
_REASONS = {NOT_COUNTED: "not counted", NOT_SUPPORTED: "not supported here"}
_TICK_S = 1e-9
_MOST_FACTS = 200


class PerfStat:
    """Reads what `perf stat` prints, with `-x`, `-j`, `-I`, `-r` and any aggregation."""

    format = "perf-stat"
    title = "perf stat (text, -x, -j)"

    def recognises(self, source: Source) -> int:
        """By its title, its JSON keys, or lines of `-x` with an event, a running time and a percentage."""
        text = source.head_text
        if "Performance counter stats for " in text or _JSON.search(text):
            return 95
        if re.search(r"^#\s+time\s+(?:\w+\s+)*counts unit events", text, re.MULTILINE):
            return 95
        if text.lstrip()[:1] == "{":
            return 0
        lines = [line for line in text.splitlines()[:60] if line.strip()]
        counts = [line for line in lines if not line.startswith("#")]
        mark = decimal_mark(counts)
        separator = separator_of(counts, mark)
        good = sum(_is_count(line, separator, mark) for line in counts) if separator else 0
        if not good or good < len(counts) / 2:
            return 0
        return 90 if lines[0].startswith("# started on ") else 70

    def read(self, source: Source) -> Profile:
        """All that it printed.

        Raises:
            ReadError: no line with an event in it.
        """
        lines = source.text.splitlines()
        mark = decimal_mark(lines)
        counts, unread = _counts(lines, mark)
        table, times = _table(lines, mark)
        if not counts:
            raise source.damaged("lines of perf stat, each with a count and an event", f"{len(lines)} lines without one")
        timed = [count for count in counts if count.time_s is not None]
        whole = [count for count in counts if count.time_s is None]
        counters, warnings = _counters(whole or timed)
        excluded = _excluded(counts, unread, summed=bool(timed and whole))
        timeline = _timeline(timed)
        if counters is None and timeline is None and table is None:
            raise source.damaged("an event that was counted", f"{len(counts)} events, none of them counted", "ask for events that this machine has")
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="perf stat",
            timeline=timeline,
            tables=(table,) if table is not None else (),
            counters=counters,
            facts={**_facts(lines), **times, **_metrics(counts)},
            excluded=excluded,
            warnings=warnings,
        )


def _is_count(line: str, separator: str, mark: str) -> bool:
    """Whether a line of `-x` is one beyond doubt: with a running time and a percentage, or a count that is missing."""
    found = fields_row(line, separator, mark)
    return found is not None and (bool(found.missing) or (found.running_s is not None and found.fraction is not None))


def _counts(lines: list[str], mark: str) -> tuple[list[Count], list[int]]:
    """All counts, and the lines that should hold one and could not be read."""
    jsons = any('"counter-value"' in line for line in lines[:400])
    title = next((number for number, line in enumerate(lines) if "Performance counter stats for" in line or "counts unit events" in line), None)
    separator = "" if jsons or title is not None else separator_of(lines, mark)
    counts, unread = [], []
    for at, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = json_row(line.encode(), mark, at) if jsons else fields_row(line, separator, mark, at) if separator else text_row(line, mark, at)
        if found is not None and (found.missing or (found.value is not None and found.value >= 0.0)):
            counts.append(found)
        elif _should_be(line, separator, jsons):
            unread.append(at)
    return counts, unread


def _should_be(line: str, separator: str, jsons: bool) -> bool:
    """Whether a line that could not be read looks like one that holds a count."""
    if jsons:
        return '"counter-value"' in line
    starts = _STARTS.match(line.strip(separator + " ")) is not None
    return starts and (line.count(separator) > 3 if separator else _TIMES.match(line[:200]) is None)


def _named(count: Count) -> str:
    return f"{count.event} [{count.where}]" if count.where else count.event


def _counters(counts: Sequence[Count]) -> tuple[Counters | None, tuple[Caution, ...]]:
    """Sums over the intervals (or the one line of each), with the fraction of the time it was counted."""
    groups: dict[str, list[Count]] = {}
    twice: dict[tuple[str, float | None], int] = {}
    for count in counts:
        if count.value is not None:
            again = twice[_named(count), count.time_s] = twice.get((_named(count), count.time_s), 0) + 1
            groups.setdefault(_named(count) + (f" ({again})" if again > 1 else ""), []).append(count)
    if not groups:
        return None, ()
    values = [in_base_unit(math.fsum(count.value or 0.0 for count in group), group[0].unit) for group in groups.values()]
    fractions = [_fraction(group) for group in groups.values()]
    deviations = [group[0].deviation if len(group) == 1 else None for group in groups.values()]
    plain = all(unit == "count" for _, unit in values)
    counters = Counters(
        names=tuple(groups),
        counts=Column([value for value, _ in values], "count" if plain else "1", "float64"),
        counted_fraction=Column(fractions, "1", "float64"),
        instrument="perf stat",
        units=() if plain else tuple(unit for _, unit in values),
        deviation=Column([deviation or 0.0 for deviation in deviations], "1", "float64") if any(d is not None for d in deviations) else None,
    )
    return counters, tuple(_cautions(tuple(groups), fractions))


def _fraction(group: Sequence[Count]) -> float:
    """Σ running ÷ Σ enabled; each enabled time is running ÷ fraction. The least where running times are not written."""
    fractions = [min(1.0, count.fraction) if count.fraction is not None else 1.0 for count in group]
    running = [count.running_s for count in group]
    if all(time is not None and time > 0 for time in running) and all(fraction > 0 for fraction in fractions):
        times = [time or 0.0 for time in running]
        enabled = sum(time / fraction for time, fraction in zip(times, fractions, strict=True))
        return min(1.0, sum(times) / enabled)
    return min(fractions)


def _cautions(names: Sequence[str], fractions: Sequence[float]) -> Iterable[Caution]:
    scaled = [(fraction, name) for name, fraction in zip(names, fractions, strict=True) if fraction < 0.995]
    hybrid = {name.split("/", 1)[0] for _, name in scaled if name.startswith(("cpu_core/", "cpu_atom/"))}
    if hybrid:
        message = "counts of one kind of core are scaled to the whole time, though the program ran on the other kind for the rest of it"
        yield Caution(code="hybrid-scaled", message=message, effect="multiply each by its counted fraction before adding kinds of cores")
    others = [pair for pair in scaled if pair[1].split("/", 1)[0] not in hybrid]
    if others:
        least, name = min(others)
        message = f"{len(others)} events shared counters and were scaled; {name} was counted for {least:.1%} of the time"
        yield Caution(code="multiplexed", message=message, effect="their counts are estimates, and ratios of two of them more so")


def _timeline(timed: Sequence[Count]) -> Timeline | None:
    """Rates over the intervals, in units per second from the start of each interval on."""
    times = sorted({count.time_s for count in timed if count.time_s is not None and 0 <= count.time_s < 1e9})
    if not times:
        return None
    before = dict(zip(times, [0.0, *times], strict=False))
    tracks: dict[str, tuple[list[int], list[float]]] = {}
    for count in timed:
        if count.value is None or count.time_s not in before or count.time_s <= before[count.time_s]:
            continue
        value, unit = in_base_unit(count.value, count.unit)
        ticks, values = tracks.setdefault(f"{_named(count)}, {'' if unit == 'count' else unit + ' '}per second", ([], []))
        start = round(before[count.time_s] / _TICK_S)
        if not ticks or start > ticks[-1]:
            ticks.append(start)
            values.append(value / (count.time_s - before[count.time_s]))
    counters = tuple(
        CounterTrack(name=name, tick=Column(ticks, "count", "int64"), value=Column(values, "1", "float64"))
        for name, (ticks, values) in tracks.items()
    )
    empty = Column([], "count", "int64")
    return Timeline(tick_s=_TICK_S, start_tick=empty, duration_tick=empty, name=empty, track=empty, strings=(), tracks=(), counters=counters)


def _excluded(counts: Sequence[Count], unread: Sequence[int], *, summed: bool) -> tuple[Excluded, ...]:
    entries = []
    for missing, reason in _REASONS.items():
        found = [count for count in counts if count.missing == missing]
        names = list(dict.fromkeys(_named(count) for count in found))
        if found:
            named = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            entries.append(Excluded(reason=f"{reason}: {named}", events=len(found), first=f"line {found[0].line}"))
    if unread:
        entries.append(Excluded(reason="a line that could not be read", events=len(unread), first=f"line {unread[0]}"))
    if summed:
        intervals = [count for count in counts if count.time_s is not None and count.value is not None]
        if intervals:
            entries.append(Excluded(reason="counts of intervals, which the summary sums", events=len(intervals), first=f"line {intervals[0].line}"))
    return tuple(entries)


def _table(lines: Sequence[str], mark: str) -> tuple[ProfileTable | None, dict[str, str]]:
    """The times of the command: elapsed as the wall, user and system as its rows; and the same as facts."""
    found = {
        _NAMES[match[3]]: (number(match[1], mark), number(match[2] or "", mark))
        for line in lines
        if " seconds " in line[:200] and (match := _TIMES.match(line[:200]))
    }
    known = {name: value for name, (value, _) in found.items() if value is not None and value >= 0}
    facts = {f"{name}_s": repr(value) for name, value in known.items()}
    if not known:
        return None, facts
    runs = next((int(match[2]) for line in lines if (match := _TITLE.search(line[:2200])) and match[2]), None)
    error = found.get("elapsed", (None, None))[1]
    return ProfileTable(
        rows=tuple(ProfileRow(name=name, total_s=known[name]) for name in ("user", "sys") if name in known),
        of="runtime",
        per_call=runs is not None,
        iterations=runs,
        wall_s=known.get("elapsed"),
        # perf gives the error of the mean.
        wall_deviation_s=error * math.sqrt(runs) if error is not None and runs else None,
        name="times of the command",
    ), facts


def _facts(lines: Sequence[str]) -> dict[str, str]:
    title = next((match for line in lines if (match := _TITLE.search(line[:2200]))), None)
    started = next((line[len("# started on ") :].strip() for line in lines[:3] if line.startswith("# started on ")), "")
    facts = {"command": title[1].strip("'")} if title else {}
    if title and title[2]:
        facts["runs"] = title[2]
    return {**facts, **({"started": started[:80]} if started else {})}


def _metrics(counts: Sequence[Count]) -> dict[str, str]:
    """What perf computed of the counts, such as `CPUs utilized`, from lines that are of the whole."""
    facts: dict[str, str] = {}
    for count in counts:
        if count.metric is not None and count.metric_unit and count.time_s is None and len(facts) < _MOST_FACTS:
            facts.setdefault(f"{_named(count)}: {count.metric_unit.strip()}", f"{count.metric:.6g}")
    return facts
