"""From a table of measured latencies to rows that a corrector may learn from, each with its estimate; nothing is left out without a word.

The order: rows of families, devices, precisions or sizes that the estimates do not know; rows that cannot be estimated; then the checks of
`model.rows`, held against the peaks with FLOPs and bytes of the estimates where the table has none. A table of which the checks catch more than half
is refused: what is wrong with it is wrong with the rest too.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, Device, Excluded, LatencyTable, RidgelineError, SystemState, UsageError, Workload
from ridgeline.core.device import Precision
from ridgeline.core.documents import encode

from ..families import FAMILIES
from ..rows import CheckedRows, check_rows
from .estimates import Estimates, estimates
from .features import taken

__all__ = ["Group", "Prepared", "prepared", "some"]

Report = Callable[[str, float | None], None]
Indexes = NDArray[np.intp]
_PRECISIONS = frozenset(get_args(Precision)) - {"any"}


class Group(NamedTuple):
    """Rows of one device at one clock: `at`, indexes into the table, and their estimates in that order."""

    at: Indexes
    device: Device
    estimates: Estimates

    def part(self, inside: Indexes) -> Estimates:
        """The estimates of some of the rows, by their place in `at`."""
        return taken(self.estimates, inside)


class Prepared(NamedTuple):
    """Rows to learn from.

    `table`: these rows, with what was left out; `workloads`: one a row; `groups`: every row is in one; `unchecked`: check → rows that it could not be
    made for; `rows_given`: before; `data_version`: digest of the rows and their devices.
    """

    table: LatencyTable
    workloads: tuple[Workload, ...]
    groups: tuple[Group, ...]
    unchecked: dict[str, int]
    rows_given: int
    data_version: str


def prepared(table: LatencyTable, devices: Mapping[str, Device], *, report: Report | None = None) -> Prepared:
    """The rows of a table that may be learned from.

    Args:
        devices: name in the table → the device.
        report: told what is going on.

    Raises:
        UsageError: no row is left, or the checks caught most of them.
    """
    say = report or (lambda label, fraction: None)
    say(f"estimating {len(table)} operators", None)
    known, workloads = _known(table, devices)
    groups, failed = _estimated(known, workloads, devices)
    known, workloads, groups = _without(known, workloads, groups, failed)
    say(f"checking {len(known)} rows", None)
    checked = check_rows(_with_work(known, groups), devices)
    _refuse_most(checked, len(known))
    kept = np.flatnonzero(checked.kept)
    part = _part(known, workloads, groups, kept)
    learnable = msgspec.structs.replace(part[0], excluded=checked.learnable.excluded)
    if not len(learnable):
        raise UsageError("rows to learn from", found=_said(learnable.excluded), remedy="see what was left out; give devices by --device-file")
    return Prepared(learnable, part[1], part[2], checked.unchecked, len(table), _version(learnable, devices))


def some(found: Prepared, at: Indexes) -> Prepared:
    """Some of the rows, in that order, as if the table had no others."""
    table, workloads, groups = _part(found.table, found.workloads, found.groups, at)
    return found._replace(table=table, workloads=workloads, groups=groups)


def _known(table: LatencyTable, devices: Mapping[str, Device]) -> tuple[LatencyTable, tuple[Workload, ...]]:
    """Rows that have a family, a device and a precision that are known, as workloads."""
    columns = {name: column.values.tolist() for name, column in table.sizes.items()}
    texts = [table.texts(name) for name in ("kind", "precision", "device")]
    kept: list[int] = []
    workloads: list[Workload] = []
    left: dict[str, list[int]] = {}
    for index, (kind, precision, device) in enumerate(zip(*texts, strict=True)):
        sizes = {name: values[index] for name, values in columns.items() if values[index] > 0}
        why = _unfit(kind, precision, device, sizes, devices)
        if why:
            left.setdefault(why, []).append(index)
            continue
        kept.append(index)
        workloads.append(table.workload(index))
    excluded = [_excluded(table, why, np.array(at)) for why, at in left.items()]
    part = table.rows(np.array(kept, np.intp))
    return msgspec.structs.replace(part, excluded=(*table.excluded, *excluded)), tuple(workloads)


def _unfit(kind: str, precision: str, device: str, sizes: Mapping[str, int], devices: Mapping[str, Device]) -> str:
    family = FAMILIES.get(kind)
    if family is None:
        return f"{kind or 'no kind'}: no operator family"
    if device not in devices:
        return f"{device}: a device of which nothing is known"
    if precision not in _PRECISIONS:
        return f"{precision or 'no precision'}: no format of arithmetic"
    missing = [name for name in family.sizes if name not in sizes]
    strange = [name for name in sizes if name not in family.sizes and name not in family.defaults]
    if missing or strange:
        return f"{kind} without {', '.join(missing)}" if missing else f"{kind} with {', '.join(strange)}, which the family does not have"
    return ""


def _estimated(
    table: LatencyTable, workloads: tuple[Workload, ...], devices: Mapping[str, Device]
) -> tuple[tuple[Group, ...], dict[str, Indexes]]:  # fmt: skip
    """(Groups with their estimates, reason → rows that have none)."""
    # What a device cannot do in one precision says nothing of the others.
    codes = table.codes("device", "core_clock_hz", "memory_clock_hz", "precision", "kind")
    groups: list[Group] = []
    failed: dict[str, list[int]] = {}
    for code in np.unique(codes).tolist():
        at = np.flatnonzero(codes == code)
        name = table.texts_at("device", int(at[0]))
        device = devices[name]
        core, memory = (float(table.optional(name)[at[0]]) or None for name in ("core_clock_hz", "memory_clock_hz"))
        # What a trained model corrects is the estimate of as many threads as were measured.
        threads = table.threads(name) or None
        state = SystemState(core_clock_hz=core, memory_clock_hz=memory, threads=threads) if core or memory or threads else None
        try:
            found = estimates([workloads[index] for index in at.tolist()], device, state, core_to_core_s=_hops(table, at))
        except RidgelineError as error:
            failed.setdefault(f"{device.name}: no estimate: {error}", []).extend(at.tolist())
            continue
        sound = np.isfinite(found.latency_s) & (found.latency_s > 0)
        if not sound.all():
            failed.setdefault(f"{device.name}: its data say too little for an estimate", []).extend(at[~sound].tolist())
            at, found = at[sound], taken(found, np.flatnonzero(sound))
        if len(at):
            groups.append(Group(at, device, found))
    return tuple(groups), {why: np.array(at, np.intp) for why, at in failed.items()}


def _hops(table: LatencyTable, at: Indexes) -> NDArray[np.float64] | None:
    """Of rows that all say how far apart the cores were."""
    found = np.asarray(table.optional("core_to_core_s"), np.float64)[at]
    return found if (found > 0).all() else None


def _without(
    table: LatencyTable, workloads: tuple[Workload, ...], groups: tuple[Group, ...], failed: Mapping[str, Indexes]
) -> tuple[LatencyTable, tuple[Workload, ...], tuple[Group, ...]]:  # fmt: skip
    if not failed:
        return table, workloads, groups
    excluded = [_excluded(table, why, at) for why, at in failed.items()]
    rest = np.setdiff1d(np.arange(len(table)), np.concatenate(list(failed.values())))
    part = _part(table, workloads, groups, rest)
    return msgspec.structs.replace(part[0], excluded=(*table.excluded, *excluded)), part[1], part[2]


def _part(
    table: LatencyTable, workloads: tuple[Workload, ...], groups: tuple[Group, ...], at: Indexes
) -> tuple[LatencyTable, tuple[Workload, ...], tuple[Group, ...]]:  # fmt: skip
    place = np.full(len(table), -1, np.intp)
    place[at] = np.arange(len(at))
    found = []
    for group in groups:
        own = np.flatnonzero(place[group.at] >= 0)
        if len(own):
            found.append(Group(place[group.at[own]], group.device, taken(group.estimates, own)))
    return table.rows(at), tuple(workloads[index] for index in at.tolist()), tuple(found)


def _with_work(table: LatencyTable, groups: tuple[Group, ...]) -> LatencyTable:
    """The table with FLOPs and compulsory bytes of the estimates where it has none."""
    flop, moved = np.array(table.optional("flop")), np.array(table.optional("bytes"))
    for group in groups:
        own = group.estimates
        flop[group.at] = np.where(flop[group.at] > 0, flop[group.at], own.flop)
        moved[group.at] = np.where(moved[group.at] > 0, moved[group.at], own.read_bytes + own.weight_bytes + own.write_bytes)
    return msgspec.structs.replace(table, flop=Column(flop, "FLOP"), bytes=Column(moved, "B"))


def _refuse_most(checked: CheckedRows, rows: int) -> None:
    caught = Counter(row.fault for row in checked.caught)
    if 2 * len(checked.caught) > rows:
        told = ", ".join(f"{count} {fault}" for fault, count in caught.most_common())
        found = f"{len(checked.caught)} of {rows} rows caught ({told}), such as {checked.caught[0].text}"
        raise UsageError("a table most of whose rows can be right", found=found, remedy="check its unit and its device, and train again")


def _excluded(table: LatencyTable, why: str, at: Indexes) -> Excluded:
    return Excluded(reason=why, events=len(at), total_s=float(table.latency_s.values[at].sum()), first=table.place(int(at[0])))


def _said(excluded: tuple[Excluded, ...]) -> str:
    return "; ".join(f"{entry.events} {entry.reason}" for entry in sorted(excluded, key=lambda entry: -entry.events)[:5]) or "an empty table"


def _version(table: LatencyTable, devices: Mapping[str, Device]) -> str:
    """A digest of what is learned from; not of where it lies."""
    used = sorted(set(table.texts("device")))
    digest = hashlib.sha256(encode(msgspec.structs.replace(table, excluded=(), source="")))
    for name in used:
        digest.update(encode(devices[name]))
    return f"operators-{digest.hexdigest()[:16]}"
