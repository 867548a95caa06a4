"""Which measured rows may be learned from: each that may not is caught with a reason, a figure and its place; nothing is dropped without a word.

The checks go from what is impossible to what is unlikely, and a caught row takes no part in later ones: times that are not positive; latencies that
do not change with the work; blocks in another unit; more than the peak of arithmetic or memory; another clock; repeats that disagree; and rows that
neither level nor slope of their neighbours in shape explains. Peaks are in `physics`, neighbours in `neighbours`. This module decides the limits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, Excluded, LatencyTable

from .neighbours import far_off, from_others, local_fit, robust_line
from .physics import Against, against_peaks
from .repeats import disagreeing, other_clock, other_level

__all__ = ["CaughtColumn", "CaughtRow", "CheckedRows", "Fault", "Limits", "check_rows"]

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Fault = Literal["not positive", "constant", "unit", "utilisation", "bandwidth", "clock", "disagrees", "outlier"]
#: ln of a thousand, and how near to a multiple of it a wrong unit puts a row.
_THOUSAND, _NEAR = math.log(1e3), math.log(6.0)
#: Part of the rows up to which one size is rare, so that far rows have it in common for a reason.
_RARE = 0.2
_MEASURES = ("power_w", "energy_j", "memory_bytes")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What is caught.

    Args:
        over: share of a peak beyond which a row is impossible; above 1, since a boost clock may be above the one that a peak was specified at.
        constant_rows: rows of different work with one latency from which they are caught, a count.
        unit_rows: rows in a stretch from which another unit is told from outliers, a count.
        unit_faster, unit_slower: median factors faster than the peaks allow, and slower at work that fills the device, of a block in another unit.
        clock: relative difference of clocks, and of levels between repeats, that is another state.
        repeats: ratio of repeats up to which they agree, however quiet they are elsewhere.
        outlier: factor from the neighbours up to which a row is none: one tile more than they need doubles the time of small work. spreads: robust
            standard deviations up to which it is none.
        fitted_rows: rows of one kind, precision and device from which neighbours are asked, a count.
    """

    over: float = 1.1
    constant_rows: int = 8
    unit_rows: int = 3
    unit_faster: float = 30.0
    unit_slower: float = 300.0
    clock: float = 0.03
    repeats: float = 1.25
    outlier: float = 2.2
    spreads: float = 6.0
    fitted_rows: int = 24


class CaughtRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that must not be learned from.

    Args:
        index: in the table; place: file and row.
        fault: which check caught it; figure: what it has, limit: what it may have, both in the unit of the check (a factor, a share or seconds).
        text: the whole in words.
    """

    index: int
    place: str
    fault: Fault
    figure: float
    limit: float
    text: str


class CaughtColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the rows of one file and device that says the same for all of them though their work differs; figure in the column's SI unit."""

    name: str
    device: str
    file: str
    rows: int
    figure: float


class CheckedRows(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a table.

    Args:
        learnable: the rows that were not caught, with `excluded` entries for those that were; caught columns are 0 in it.
        kept: shape (n,), of the table that was given.
        caught: in the order of the table; columns: that were caught.
        unchecked: check → rows that it could not be made for, because device, peak or work are not known, or that it let pass for a reason.
    """

    learnable: LatencyTable
    kept: Mask
    caught: tuple[CaughtRow, ...]
    columns: tuple[CaughtColumn, ...]
    unchecked: dict[str, int]


def check_rows(table: LatencyTable, devices: Mapping[str, Device] | None = None, limits: Limits | None = None) -> CheckedRows:
    """The table without what must not be learned, and all of that with reasons.

    Args:
        devices: name in the table → the device with its peaks; rows of others are not held against peaks, and are counted as unchecked.
    """
    limits = limits or Limits()
    caught: dict[int, CaughtRow] = {}
    unchecked: dict[str, int] = {}
    kept = np.ones(len(table), bool)

    def catch(fault: Fault, at: NDArray[np.intp], figures: Floats, limit: float, words: str) -> None:
        for index, figure in zip(at.tolist(), figures.tolist(), strict=True):
            place = table.place(index)
            text = f"{place}: {table.described(index)}: {words.format(figure=figure, limit=limit)}"
            caught[index] = CaughtRow(index=index, place=place, fault=fault, figure=figure, limit=limit, text=text)
        kept[at] = False

    _not_positive(table, catch)
    for check in (_constant, _units_in_line, _peaks, _clocks, _repeats, _outliers):
        rest = np.flatnonzero(kept)
        if rest.size:
            check(table.rows(rest), rest, limits, devices or {}, catch, unchecked)
    columns = tuple(_constant_columns(table, kept, limits))
    rows = tuple(caught[index] for index in sorted(caught))
    return CheckedRows(learnable=_learnable(table, kept, rows, columns), kept=kept, caught=rows, columns=columns, unchecked=unchecked)


Catch = Callable[[Fault, NDArray[np.intp], Floats, float, str], None]
Check = tuple[LatencyTable, NDArray[np.intp], Limits, Mapping[str, Device], Catch, dict[str, int]]


def _not_positive(table: LatencyTable, catch: Catch) -> None:
    at = np.flatnonzero(table.latency_s.values <= 0)
    catch("not positive", at, table.latency_s.values[at], 0.0, "a latency of {figure:.3g} s")
    for name in ("power_w", "energy_j", "memory_bytes", "core_clock_hz", "memory_clock_hz", "flop", "bytes"):
        values = table.optional(name)
        at = np.flatnonzero((values < 0) & (table.latency_s.values > 0))
        catch("not positive", at, values[at], 0.0, f"{name} of {{figure:.3g}}")


def _constant(
    table: LatencyTable, at: NDArray[np.intp], limits: Limits, devices: Mapping[str, Device], catch: Catch, unchecked: dict[str, int]
) -> None:  # fmt: skip
    """One latency for works that differ by four times and more: a placeholder, or a clock too coarse for them."""
    work = _work(table)
    for own in _groups(table.codes("kind", "variant", "precision", "device", "file"), limits.constant_rows):
        times, codes, counts = np.unique(table.latency_s.values[own], return_inverse=True, return_counts=True)
        for number in np.flatnonzero(counts >= limits.constant_rows).tolist():
            same = own[codes == number]
            if np.ptp(work[same]) >= 2.0 and 2 * counts[number] >= len(own):
                words = f"one latency for {len(same)} works that differ by {2 ** float(np.ptp(work[same])):.3g} times: {{figure:.3g}} s"
                catch("constant", at[same], np.full(len(same), times[number]), float(limits.constant_rows), words)


def _units_in_line(
    table: LatencyTable, at: NDArray[np.intp], limits: Limits, devices: Mapping[str, Device], catch: Catch, unchecked: dict[str, int]
) -> None:  # fmt: skip
    """Stretches of rows that lie a thousand or a million times from a line through all rows of their kind, precision and device, and from those of
    the other rows that are like them: a line alone is no model of work that is far larger than most."""
    order = np.lexsort((table.row.values, table.file.values))
    place = np.empty(len(table), np.intp)
    place[order] = np.arange(len(table))
    logs, work = np.log(table.latency_s.values), _work(table) * math.log(2)
    for own in _groups(table.codes("kind", "precision", "device"), limits.fitted_rows):
        features = _features(table, own)
        left = robust_line(features, logs[own])
        steps = np.rint(left / _THOUSAND)
        spread = 1.4826 * float(np.median(np.abs(left)))
        off = (steps != 0) & (np.abs(left - steps * _THOUSAND) < _NEAR) & (np.abs(left) > 5 * spread)
        # Single rows of a stretch may lie further from the line than the others.
        way = np.where(np.abs(left) > _THOUSAND / 2, np.sign(left), 0.0)
        in_file = np.argsort(place[own])
        for start, stop in _stretches(way[in_file], limits.unit_rows):
            block = in_file[start:stop]
            if 2 * int(off[block].sum()) < len(block):
                continue
            apart = from_others(features, logs[own], work[own], block, np.flatnonzero(way == 0))
            if abs(float(np.median(apart))) < _THOUSAND - _NEAR:
                continue
            words = f"{stop - start} rows in a stretch lie {{figure:.3g}} times from the other rows of their kind: another unit"
            catch("unit", at[own[block]], np.exp(left[block]), 1.0, words)


def _peaks(
    table: LatencyTable, at: NDArray[np.intp], limits: Limits, devices: Mapping[str, Device], catch: Catch, unchecked: dict[str, int]
) -> None:  # fmt: skip
    """Whole blocks faster, or far slower, than the device can be: another unit; then single rows above a peak."""
    found = against_peaks(table, devices)
    unchecked["utilisation"] = int((~found.arithmetic_checked).sum())
    unchecked["bandwidth"] = int((~found.memory_checked).sum())
    free = np.ones(len(table), bool)
    for block, factor in _blocks_off(table, found, limits):
        free[block] = False
        words = (
            f"a block of {len(block)} rows takes {factor:.3g} times as long as the peaks allow at best: another unit; this row {{figure:.3g}} times"
        )
        catch("unit", at[block], table.latency_s.values[block] / found.least_s[block], 1.0, words)
    for fault, share, of in (("utilisation", found.utilisation, "arithmetic"), ("bandwidth", found.bandwidth, "memory, caches left out")):
        over = np.flatnonzero(free & (share > limits.over))
        free[over] = False
        name: Fault = "utilisation" if fault == "utilisation" else "bandwidth"
        catch(name, at[over], share[over], limits.over, f"{{figure:.3g}} times the peak of {of} of {_device_words(table, over)}")


def _blocks_off(table: LatencyTable, found: Against, limits: Limits) -> Iterator[tuple[NDArray[np.intp], float]]:
    known = np.flatnonzero(found.least_s > 0)
    codes = table.codes("kind", "precision", "device", "file")[known]
    ratio = table.latency_s.values[known] / found.least_s[known]
    for own in _groups(codes, max(5, limits.unit_rows)):
        middle = float(np.median(ratio[own]))
        # Small work is slow for many reasons; work that fills the device for a tenth of a millisecond is not.
        large = own[found.least_s[known][own] > 1e-4]
        slow = len(large) >= 5 and float(np.quantile(ratio[large], 0.05)) > limits.unit_slower
        if middle < 1 / limits.unit_faster or slow:
            yield known[own], middle


def _clocks(
    table: LatencyTable, at: NDArray[np.intp], limits: Limits, devices: Mapping[str, Device], catch: Catch, unchecked: dict[str, int]
) -> None:  # fmt: skip
    apart, ratio = other_clock(table, limits.clock)
    catch("clock", at[apart], ratio[apart], limits.clock, "measured at {figure:.3f} of the clock of nearly all rows of its device")
    moved, factor = other_level(table, limits.clock)
    moved = np.setdiff1d(moved, apart)
    catch("clock", at[moved], factor[moved], limits.clock, "a stretch of repeats that all take {figure:.3f} times as long: another clock or state")


def _repeats(
    table: LatencyTable, at: NDArray[np.intp], limits: Limits, devices: Mapping[str, Device], catch: Catch, unchecked: dict[str, int]
) -> None:  # fmt: skip
    rows, ratio, limit = disagreeing(table, limits.repeats)
    catch("disagrees", at[rows], ratio[rows], limit, "{figure:.3f} times the other measurements of the same, which agree up to {limit:.3f}")


def _outliers(
    table: LatencyTable, at: NDArray[np.intp], limits: Limits, devices: Mapping[str, Device], catch: Catch, unchecked: dict[str, int]
) -> None:  # fmt: skip
    logs = np.log(table.latency_s.values)
    codes = table.codes("kind", "variant", "precision", "device", "core_clock_hz", "memory_clock_hz")
    checked = let_pass = 0
    for own in _groups(codes, limits.fitted_rows):
        checked += len(own)
        far, distance = far_off(local_fit(_features(table, own), logs[own]), math.log(limits.outlier), limits.spreads)
        alike = _of_one_size(table, own, far)
        let_pass, far = let_pass + int(alike.sum()), far & ~alike
        words = "{figure:.3g} times what its neighbours in shape take; up to {limit:.3g} times would be let pass"
        catch("outlier", at[own[far]], np.exp(distance[far]), limits.outlier, words)
    unchecked["outlier"] = len(table) - checked
    if let_pass:
        unchecked["outlier of one size"] = let_pass


def _of_one_size(table: LatencyTable, own: NDArray[np.intp], far: Mask) -> Mask:
    """Far rows that share one size with most of the others: a kernel that is slow at that size, such as 257, does so each time; a fault does not."""
    alike = np.zeros(len(own), bool)
    for column in table.sizes.values():
        sizes, codes, counts = np.unique(column.values[own], return_inverse=True, return_counts=True)
        among = np.bincount(codes[far], minlength=len(sizes))
        shared = (among >= 5) & (2 * among > far.sum()) & (counts < _RARE * len(own))
        alike |= far & shared[codes]
    return alike


def _constant_columns(table: LatencyTable, kept: Mask, limits: Limits) -> Iterator[CaughtColumn]:
    """Power, energy or memory that is the same for latencies that differ by twice and more: it was not measured."""
    at = np.flatnonzero(kept)
    for name in _MEASURES:
        values = table.optional(name)
        for own in _groups(table.codes("device", "file")[at], limits.constant_rows):
            rows = at[own]
            first = float(values[rows[0]])
            if first > 0 and (values[rows] == first).all() and np.ptp(np.log(table.latency_s.values[rows])) >= math.log(2):
                index = int(rows[0])
                yield CaughtColumn(
                    name=name, device=table.texts_at("device", index), file=table.texts_at("file", index), rows=len(rows), figure=first
                )


def _learnable(table: LatencyTable, kept: Mask, caught: tuple[CaughtRow, ...], columns: tuple[CaughtColumn, ...]) -> LatencyTable:
    count = Counter(row.fault for row in caught)
    first = {row.fault: row for row in reversed(caught)}
    total = {fault: math.fsum(max(0.0, float(table.latency_s.values[row.index])) for row in caught if row.fault == fault) for fault in count}
    excluded = [
        Excluded(reason=f"{fault}: {first[fault].text}", events=count[fault], total_s=total[fault], first=first[fault].place) for fault in count
    ]
    changed: dict[str, object] = {}
    for column in columns:
        values = np.array(changed.get(column.name, table.optional(column.name)))
        own = (table.device.values == table.devices.index(column.device)) & (table.file.values == table.files.index(column.file))
        changed[column.name] = np.where(own, 0.0, values)
        reason = f"{column.name} is {column.figure:.6g} for all rows of {column.device}, whose latencies differ: the column is not learned"
        excluded.append(Excluded(reason=reason, events=column.rows, first=column.file))
    replaced = {name: type(table.latency_s)(values, getattr(table, name).unit) for name, values in changed.items()}  # type: ignore[arg-type]
    return msgspec.structs.replace(table, **replaced, excluded=(*table.excluded, *excluded)).rows(np.flatnonzero(kept))


def _groups(codes: NDArray[np.int64], least: int) -> Iterator[NDArray[np.intp]]:
    """Indexes of the rows of each group with at least so many."""
    order = np.argsort(codes, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        if len(part) >= least:
            yield part


def _stretches(way: Floats, least: int) -> Iterator[tuple[int, int]]:
    """Ends of stretches of one sign, not 0, with at least so many."""
    edges = [0, *(np.flatnonzero(np.diff(way)) + 1).tolist(), len(way)]
    for start, stop in pairwise(edges):
        if stop - start >= least and way[start] != 0:
            yield start, stop


def _work(table: LatencyTable) -> Floats:
    """log₂ of the work of each row: its FLOP, else its bytes, else the product of its sizes."""
    sizes = np.sum([np.log2(np.maximum(column.values, 1)) for column in table.sizes.values()], axis=0) if table.sizes else np.zeros(len(table))
    found = np.where(table.optional("bytes") > 0, np.log2(np.maximum(table.optional("bytes"), 1)), sizes)
    return np.where(table.optional("flop") > 0, np.log2(np.maximum(table.optional("flop"), 1)), found)


def _features(table: LatencyTable, own: NDArray[np.intp]) -> Floats:
    """log₂ of the sizes that differ within some rows, shape (rows, dimensions); at least one column."""
    columns = [np.log2(np.maximum(column.values[own], 1)) for column in table.sizes.values()]
    varying = [values for values in columns if values.size and np.ptp(values) > 0]
    return np.stack(varying or [np.zeros(len(own))], axis=1)


def _device_words(table: LatencyTable, rows: NDArray[np.intp]) -> str:
    names = {table.texts_at("device", int(index)) for index in rows[:1000]}
    return names.pop() if len(names) == 1 else "its device"
