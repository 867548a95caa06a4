"""`Gathering`: what a reader has found, made into a `SeriesSet`; one place for what every format has in common.

This module decides which values are none (absent, not a number, infinite, negative, and zero where nothing can take no time), counts them under
their reason, tells benchmarks of one name apart, and refuses a file of which nothing remains. What the values are is left to the readers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, Column, LeftOut, ReadError, Series, SeriesSet
from ridgeline.core.series import Better

from .content import Content
from .scales import Scale, finite

__all__ = ["COUNTED", "Gathering", "text_keys"]

#: Aggregates that are counts or ratios, and so have no unit to convert.
COUNTED = frozenset({"n", "cv"})
#: Aggregates that can stand for a benchmark whose values are not in the file.
_MIDDLES = ("mean", "median", "min", "p50")
_KEY_LENGTH = 300


class Gathering:
    """Series and what was left out, for one file.

    Args:
        content: the file.
        tool: that wrote it.
    """

    def __init__(self, content: Content, tool: str) -> None:
        self._content = content
        self._tool = tool
        self._series: list[Series] = []
        self._left_out = _Counted()
        self._cautions: dict[str, Caution] = {}

    def leave_out(self, reason: str, first: str = "", count: int = 1) -> None:
        """Count entries that become no series."""
        self._left_out.add(reason, first, count)

    def caution(self, code: str, message: str, effect: str = "") -> None:
        """Say something about the whole file, once."""
        self._cautions.setdefault(code + message, Caution(code=code, message=message, effect=effect))

    def add(
        self,
        name: str,
        metric: str,
        scale: Scale,
        values: Sequence[object] | NDArray[np.float64] = (),
        *,
        better: Better = "lower",
        process: Sequence[int] | None = None,
        aggregates: Mapping[str, object] | None = None,
        keys: Mapping[str, object] | None = None,
        at: str = "",
        zero: bool = False,
        failed: Iterable[LeftOut] = (),
    ) -> None:
        """Add one series, or leave it out where it holds neither a value nor a middle.

        Args:
            name, metric: as in `Series`.
            scale: of values and aggregates.
            values: as the file has them, numbers or not.
            process: of each value; not known if not given.
            aggregates: statistic → value; what is no number is dropped.
            keys: anything; what is absent or empty is dropped, the rest becomes text.
            zero: whether zero is a value (bytes, counts, CPU time) or the mark of a run that failed (wall time).
            failed: values that the reader itself has left out.
        """
        dropped = _Counted()
        for entry in failed:
            dropped.add(entry.reason, entry.first, entry.count)
        kept, where = _usable(values, scale, zero, dropped, name)
        stated = _stated(aggregates or {}, scale, zero)
        if not len(kept) and not any(key in stated for key in _MIDDLES):
            for entry in dropped.entries() or (LeftOut(reason="neither values nor a mean or median", count=1, first=name),):
                self.leave_out(entry.reason, entry.first or name, entry.count)
            return
        numbers = np.zeros(len(kept), np.int64) if process is None else np.asarray(process, np.int64)[where]
        self._series.append(
            Series(
                name=name,
                metric=metric,
                unit=scale.unit,
                better=better,
                values=Column(kept, scale.unit),
                process=Column(numbers, "count"),
                processes_known=process is not None,
                aggregates=stated,
                keys=text_keys(keys or {}),
                left_out=dropped.entries(),
                at=at,
            )
        )

    def finish(self) -> SeriesSet:
        """All of it.

        Raises:
            ReadError: no series remains, with the reasons.
        """
        series = self._told_apart()
        if not series:
            reasons = "; ".join(f"{entry.count} × {entry.reason}" for entry in self._left_out.entries()) or "no benchmark in it"
            what = f"{self._content.name}: {reasons}"
            raise ReadError(f"results of {self._tool} with at least one usable benchmark", found=what, remedy="look at why the benchmarks failed")
        return SeriesSet(
            source=self._content.name,
            tool=self._tool,
            series=series,
            left_out=self._left_out.entries(),
            cautions=tuple(self._cautions.values()),
        )

    def _told_apart(self) -> tuple[Series, ...]:
        """Benchmarks of one name get the keys in which they differ as a suffix; those that differ in none cannot be told apart and are left out."""
        groups: dict[tuple[str, str], list[Series]] = defaultdict(list)
        for series in self._series:
            groups[series.name, series.metric].append(series)
        kept: list[Series] = []
        for (name, _), group in groups.items():
            kept.extend(group if len(group) == 1 else self._suffixed(name, group))
        return tuple(kept)

    def _suffixed(self, name: str, group: list[Series]) -> list[Series]:
        differing = sorted({key for series in group for key in series.keys if len({other.keys.get(key) for other in group}) > 1})
        names = [f"{name} [{', '.join(f'{key}={series.keys[key]}' for key in differing if key in series.keys)}]" for series in group]
        clear = [series for series, own in zip(group, names, strict=True) if names.count(own) == 1]
        if len(clear) < len(group):
            self.leave_out("several benchmarks of one name and nothing that tells them apart", name, len(group) - len(clear))
        return [_renamed(series, own) for series, own in zip(group, names, strict=True) if names.count(own) == 1]


class _Counted:
    """Reasons, how often, and where first."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, str]] = {}

    def add(self, reason: str, first: str, count: int) -> None:
        if count:
            before, earlier = self._counts.get(reason, (0, first))
            self._counts[reason] = (before + count, earlier)

    def entries(self) -> tuple[LeftOut, ...]:
        return tuple(LeftOut(reason=reason, count=count, first=first) for reason, (count, first) in self._counts.items())


def text_keys(keys: Mapping[str, object]) -> dict[str, str]:
    """Keys as text: what is absent or empty is dropped, what is long is cut, lists are joined."""
    texts = {key: _text(value) for key, value in keys.items() if value is not None}
    return {key: text[:_KEY_LENGTH] for key, text in texts.items() if text}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, list | tuple):
        return " ".join(_text(item) for item in value)
    return str(value).strip()


def _usable(
    values: Sequence[object] | NDArray[np.float64], scale: Scale, zero: bool, dropped: _Counted, name: str
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The values that are some, in the base unit, and where they were."""
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    numbers = _numbers(values)
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is counted as such
        scaled: NDArray[np.float64] = numbers * scale.times / scale.per
    good = np.isfinite(scaled)
    dropped.add("no value", name, int(missing.sum()))
    dropped.add("not a finite number", name, int((~good & ~missing).sum()))
    dropped.add("below zero", name, int((good & (scaled < 0)).sum()))
    if not zero:
        reason = "a time of zero: a run that failed, or one below the timer's resolution" if scale.unit == "s" else "zero"
        dropped.add(reason, name, int((good & (scaled == 0)).sum()))
    good &= (scaled >= 0) if zero else (scaled > 0)
    where = np.flatnonzero(good)
    return scaled[where], where


def _numbers(values: Sequence[object] | NDArray[np.float64]) -> NDArray[np.float64]:
    """As floats, NaN for what is no number; one by one only where there is something else among them."""
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    if all(type(value) is float for value in values):
        return np.asarray(values, np.float64)
    return np.array([np.nan if (number := finite(value)) is None else number for value in values], np.float64)


def _stated(aggregates: Mapping[str, object], scale: Scale, zero: bool) -> dict[str, float]:
    found = {key: number for key, value in aggregates.items() if (number := finite(value)) is not None}
    if not zero and any(found.get(key, 1.0) <= 0 for key in ("mean", "median")):
        return {}
    scaled = {key: number if key in COUNTED else scale.of(number) for key, number in found.items()}
    return {key: number for key, number in scaled.items() if finite(number) is not None}


def _renamed(series: Series, name: str) -> Series:
    kept = {field: getattr(series, field) for field in Series.__struct_fields__}
    return Series(**{**kept, "name": name})


def file_name(path: str) -> str:
    """The last part of a path in either style, for a name that does not depend on where it was run."""
    return PurePath(path.replace("\\", "/")).name
