"""Which rows are held out: by row, shape, family, device or any column; in one part, k folds, one group after the other, or nested.

A split takes whole groups. Groups are put in order by a digest of the seed and what the group *is* (its texts and sizes), not of where its rows
stand, so that a split stays the same when rows come in another order. `row` is the only claim under which a shape may be on both sides; what else may
not is looked for in `leakage`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import LatencyTable, UsageError

__all__ = ["Split", "folds", "group_codes", "hold_out", "nested", "one_after_another"]

Indexes = NDArray[np.intp]
#: Claim → columns of a group; what is not here is a column of its own. A shape is one whatever device and precision it ran on.
_CLAIMS = {"family": ("kind",), "device": ("device",)}
_IDENTITY = ("kind", "variant", "precision", "device", "file", "row", "latency_s")


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """One division of a table.

    Args:
        by: the claim: in what test rows differ from all training rows.
        name: of this part, such as `fold 2 of 5` or `device A100`.
        train, test: indexes of rows, rising.
        seed: of the division.
    """

    by: str
    name: str
    train: Indexes
    test: Indexes
    seed: int = 0


def group_codes(table: LatencyTable, by: str) -> NDArray[np.int64]:
    """The group of each row under a claim, a number from 0, shape (n,).

    Args:
        by: `row`, `shape` (kind, variant and sizes, whatever the device and precision), `family` (kind), `device`, or a column of the table.

    Raises:
        UsageError: no such column.
    """
    if by == "row":
        return table.codes(*_IDENTITY, *sorted(table.sizes))
    if by == "shape":
        return table.shape_codes()
    return table.codes(*_CLAIMS.get(by, (by,)))


def hold_out(table: LatencyTable, by: str, share: float = 0.2, seed: int = 0) -> Split:
    """About `share` of the rows in whole groups, drawn by the seed.

    Args:
        share: of the rows, in (0, 1): groups are taken until as many rows are held out as are nearest to it, at least one group on each side.

    Raises:
        UsageError: a share out of its range, or fewer than two groups.
    """
    if not 0 < share < 1:
        raise UsageError("a share in (0, 1)", found=repr(share), remedy="give for example 0.2")
    codes, order = _drawn(table, by, seed)
    if len(order) < 2:
        raise UsageError(f"at least two groups by {by}", found=f"{len(order)}", remedy="hold out by something else")
    taken = np.cumsum(np.bincount(codes)[order])
    count = int(np.argmin(np.abs(taken[:-1] - share * len(table)))) + 1
    return _split(codes, order[:count], by, f"{100 * share:.3g} % held out", seed)


def folds(table: LatencyTable, by: str, count: int = 5, seed: int = 0) -> tuple[Split, ...]:
    """k splits; each group is held out in exactly one. The next group, in the order that the seed draws, goes to the fold with the fewest rows.

    Raises:
        UsageError: fewer than two folds, or fewer groups than folds.
    """
    codes, order = _drawn(table, by, seed)
    if not 2 <= count <= len(order):
        raise UsageError(f"from 2 to {len(order)} folds by {by}", found=repr(count), remedy="take fewer folds, or hold out by something finer")
    rows = np.zeros(count)
    sizes = np.bincount(codes)
    fold = np.empty(len(order), np.intp)
    for group in order.tolist():
        fold[group] = int(np.argmin(rows))
        # A group of a row still weighs something, so that no fold stays empty.
        rows[fold[group]] += sizes[group]
    return tuple(_split(codes, np.flatnonzero(fold == number), by, f"fold {number + 1} of {count}", seed) for number in range(count))


def one_after_another(table: LatencyTable, by: str) -> Iterator[Split]:
    """A split for each group, which is held out: leave one device, family or value of a column out."""
    codes = group_codes(table, by)
    first = np.unique(codes, return_index=True)[1]
    if len(first) < 2:
        raise UsageError(f"at least two groups by {by}", found=f"{len(first)}", remedy="hold out by something else")
    for code, index in enumerate(first.tolist()):
        yield _split(codes, np.array([code]), by, f"{by} {_named(table, by, index)}", 0)


def nested(table: LatencyTable, by: str, outer: int = 5, inner: int = 4, seed: int = 0) -> Iterator[tuple[Split, tuple[Split, ...]]]:
    """Each of the outer folds with the inner folds of its training rows, for a choice that must not see the outer test rows.

    Indexes of the inner splits are those of the whole table.
    """
    for split in folds(table, by, outer, seed):
        within = folds(table.rows(split.train), by, inner, seed)
        yield split, tuple(_within(split, part) for part in within)


def _within(outer: Split, inner: Split) -> Split:
    name = f"{outer.name}, inside it {inner.name}"
    return msgspec.structs.replace(inner, name=name, train=outer.train[inner.train], test=outer.train[inner.test])


def _split(codes: NDArray[np.int64], held: Indexes, by: str, name: str, seed: int) -> Split:
    test = np.isin(codes, held)
    return Split(by=by, name=name, train=np.flatnonzero(~test), test=np.flatnonzero(test), seed=seed)


def _drawn(table: LatencyTable, by: str, seed: int) -> tuple[NDArray[np.int64], Indexes]:
    """(Group of each row, groups in the order of their digests)."""
    codes = group_codes(table, by)
    first = np.unique(codes, return_index=True)[1]
    whole = by in ("row", "shape")
    words = _identities(table.rows(first), by) if whole else [_named(table, by, index) for index in first.tolist()]
    digests = [hashlib.blake2b(f"{seed}\0{text}".encode(), digest_size=16).digest() for text in words]
    return codes, np.array(sorted(range(len(digests)), key=lambda group: (digests[group], words[group])), dtype=np.intp)


def _named(table: LatencyTable, by: str, index: int) -> str:
    column = _CLAIMS.get(by, (by,))[0]
    if column in ("kind", "variant", "precision", "device", "file"):
        return table.texts_at(column, index)
    return f"{table.values(column)[index]!s}"


def _identities(table: LatencyTable, by: str) -> list[str]:
    """What each row is, in words that do not depend on the other rows."""
    columns: list[list[object]] = [
        list(table.texts(name)) for name in (("kind", "variant", "precision", "device", "file") if by == "row" else ("kind", "variant"))
    ]
    named = [(name, table.dimension(name).tolist()) for name in sorted(table.sizes)]
    if by == "row":
        columns += [table.row.values.tolist(), [repr(value) for value in table.latency_s.values.tolist()]]
    # A dimension of 0 is none, so that another kind's dimensions in the table change nothing.
    sizes = [" ".join(f"{name}={values[index]}" for name, values in named if values[index]) for index in range(len(table))]
    return ["\0".join([*(str(column[index]) for column in columns), sizes[index]]) for index in range(len(table))]
