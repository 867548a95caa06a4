"""`LatencyTable`: measured latencies of operators as columns, with where each row is from and what was left out.

This module decides how such rows are kept; which of them may be learned from is decided in `model.rows`, which of them are held out in
`model.validation`. numpy is imported late, as in `column`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from .column import Column
from .errors import UsageError
from .profile import Excluded
from .query import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LatencyTable", "MeasuredOn"]

#: Texts that are kept as codes: column → where its texts are.
_TEXTS = {"kind": "kinds", "variant": "variants", "precision": "precisions", "device": "devices", "file": "files"}
#: Columns that a table may have, with their units; 0 stands where a row does not say.
_OPTIONAL = {
    "power_w": "W", "energy_j": "J", "memory_bytes": "B", "core_clock_hz": "Hz", "memory_clock_hz": "Hz", "flop": "FLOP", "bytes": "B",
    "reuse_bytes": "B", "age_bytes": "B", "result_age_bytes": "B", "core_to_core_s": "s",
}  # fmt: skip
#: Those of them that are of `Workload`.
_DISTANCES = ("reuse_bytes", "age_bytes", "result_age_bytes")
_CODE = "<i4"


class MeasuredOn(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of one device were measured.

    Args:
        threads: of the runtime; 0 for its own choice, and where that is not known.
        fingerprint: of the machine, which others of its name do not share; empty where it is not known.
    """

    threads: int = 0
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.threads < 2**31:
            raise UsageError("threads of a runtime from 0", found=str(self.threads), remedy="give 0 for its own choice")


class LatencyTable(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.latencies/1"):
    """Measured latencies of n operators.

    Args:
        latency_s: seconds of one execution, shape (n,).
        kind, variant, precision, device, file: codes into `kinds`, `variants`, `precisions`, `devices`, `files`, int32, shape (n,): the family and
            variant of `Workload`, the format of the arithmetic, the name of the device, and the file that the row is from.
        row: its number in that file, from 1, int64.
        sizes: dimension → int64, shape (n,); 0 where the kind of a row does not have the dimension.
        power_w, energy_j: mean power during the execution, and energy of one; memory_bytes: most that was in use.
        core_clock_hz, memory_clock_hz: clocks at which it was measured; core_to_core_s: as of `SystemState`, at that time.
        flop, bytes: work and compulsory traffic of one execution; reuse_bytes,
            age_bytes, result_age_bytes: as of `Workload`. Of all columns that may be null, 0 stands where a row does not say.
        source: of the whole, for a person; excluded: rows that are not here, and why.
        measured_on: device → how its rows were measured; a device of which nothing is known beside its name is missing.

    Raises:
        UsageError: columns of different lengths or kinds, or a code without a text.
    """

    kinds: tuple[str, ...]
    variants: tuple[str, ...]
    precisions: tuple[str, ...]
    devices: tuple[str, ...]
    files: tuple[str, ...]
    kind: Column
    variant: Column
    precision: Column
    device: Column
    file: Column
    row: Column
    sizes: dict[str, Column]
    latency_s: Column
    power_w: Column | None = None
    energy_j: Column | None = None
    memory_bytes: Column | None = None
    core_clock_hz: Column | None = None
    memory_clock_hz: Column | None = None
    flop: Column | None = None
    bytes: Column | None = None
    reuse_bytes: Column | None = None
    age_bytes: Column | None = None
    result_age_bytes: Column | None = None
    core_to_core_s: Column | None = None
    source: str = ""
    excluded: tuple[Excluded, ...] = ()
    measured_on: dict[str, MeasuredOn] = {}

    def __post_init__(self) -> None:
        length = len(self.latency_s)
        for name, column in self._columns().items():
            if len(column) != length:
                raise UsageError(f"a LatencyTable with columns of one length ({length})", found=f"{name} with {len(column)}", remedy="fill it with 0")
            whole = name in (*_TEXTS, "row") or name.startswith("sizes ")
            if whole and column.values.dtype.kind not in "iu":
                raise UsageError(f"LatencyTable.{name} in whole numbers", found=column.dtype, remedy="convert it")
        for name, home in _TEXTS.items():
            codes, texts = getattr(self, name).values, getattr(self, home)
            if length and not 0 <= int(codes.min()) <= int(codes.max()) < len(texts):
                raise UsageError(
                    f"LatencyTable.{name} with codes under {len(texts)}", found=f"{codes.min()} to {codes.max()}", remedy=f"extend {home}"
                )

    def __len__(self) -> int:
        return len(self.latency_s)

    def _columns(self) -> dict[str, Column]:
        optional = {name: getattr(self, name) for name in _OPTIONAL if getattr(self, name) is not None}
        named = {f"sizes {name}": column for name, column in self.sizes.items()}
        return {**{name: getattr(self, name) for name in (*_TEXTS, "row")}, "latency_s": self.latency_s, **optional, **named}

    @classmethod
    def of(
        cls,
        *,
        latency_s: ArrayLike,
        kind: str | Sequence[str],
        device: str | Sequence[str],
        precision: str | Sequence[str] = "",
        variant: str | Sequence[str] = "",
        file: str | Sequence[str] = "",
        row: ArrayLike | None = None,
        sizes: Mapping[str, ArrayLike],
        source: str = "",
        **optional: ArrayLike,
    ) -> LatencyTable:
        """A table of plain arrays; one text stands for all rows.

        A row whose latency is no finite number, or another value of it infinite, is left out with its reason; a NaN elsewhere is not known (0).

        Args:
            latency_s: seconds, shape (n,); row: 1, 2, … if not given; sizes: dimension → shape (n,), whole numbers.
            optional: `power_w` … `core_to_core_s`, shape (n,).

        Raises:
            UsageError: lengths that differ, sizes that are no whole numbers, or a column that a table does not have.

        >>> table = LatencyTable.of(latency_s=[1e-3, float("nan")], kind="gemm", device="d", sizes={"m": [8, 8]})
        >>> len(table), table.excluded[0].reason, table.excluded[0].first
        (1, 'latency_s is no finite number', 'row 2')
        """
        import numpy as np

        seconds = np.asarray(latency_s, dtype=np.float64)
        count = seconds.shape[0] if seconds.ndim == 1 else -1
        unknown = set(optional) - set(_OPTIONAL)
        if count < 0 or unknown:
            raise UsageError(
                "a LatencyTable of columns", found=f"shape {seconds.shape}, {sorted(unknown)}", remedy=f"give some of {sorted(_OPTIONAL)}"
            )
        numbers = {name: np.asarray(values, dtype=np.float64) for name, values in optional.items()}
        rows = np.arange(1, count + 1) if row is None else np.asarray(row, dtype=np.int64)
        texts = {"kind": kind, "variant": variant, "precision": precision, "device": device, "file": file}
        listed = {name: [given] * count if isinstance(given, str) else list(given) for name, given in texts.items()}
        whole = {name: _whole(name, values) for name, values in sizes.items()}
        lengths = {name: len(values) for name, values in {**numbers, **listed, **whole, "row": rows}.items()}
        wrong = next((f"{name} with {length}" for name, length in lengths.items() if length != count), "")
        if wrong:
            raise UsageError(f"columns of {count} rows", found=wrong, remedy="give one value a row")
        reasons = _unusable(seconds, numbers)
        kept = np.ones(count, bool)
        excluded = []
        for reason, bad in reasons.items():
            caught = np.flatnonzero(bad & kept)
            if caught.size:
                excluded.append(Excluded(reason=reason, events=int(caught.size), first=_place(listed["file"][caught[0]], int(rows[caught[0]]))))
            kept &= ~bad
        at = np.flatnonzero(kept)
        coded = _codes({name: [values[index] for index in at] for name, values in listed.items()})
        coded |= {name: Column(np.nan_to_num(values[at]), _OPTIONAL[name]) for name, values in numbers.items()}
        return cls(
            **coded,
            row=Column(rows[at], "1", "<i8"), sizes={name: Column(values[at], "1", "<i8") for name, values in whole.items()},
            latency_s=Column(seconds[at], "s"), source=source, excluded=tuple(excluded),
        )  # fmt: skip

    @classmethod
    def of_workloads(
        cls,
        workloads: Sequence[Workload],
        *,
        latency_s: ArrayLike,
        device: str,
        file: str = "",
        row: ArrayLike | None = None,
        source: str = "",
        **optional: ArrayLike,
    ) -> LatencyTable:
        """A table of operators on one device, with the distances that they say; the variant holds the layout before it, where there is one.

        >>> work = Workload(kind="pooling", variant="MaxPool", layout="NCHWc", sizes={"c": 16, "h": 8, "w": 8, "p": 4, "q": 4})
        >>> table = LatencyTable.of_workloads([work], latency_s=[1e-5], device="d")
        >>> table.texts("variant"), table.workload(0) == work
        (['NCHWc MaxPool'], True)
        """
        names = list(dict.fromkeys(name for work in workloads for name in work.sizes))
        return cls.of(
            latency_s=latency_s, kind=[work.kind for work in workloads], device=device, precision=[work.precision for work in workloads],
            variant=[f"{work.layout} {work.variant}".strip() for work in workloads], file=file, row=row, source=source,
            sizes={name: [work.sizes.get(name, 0) for work in workloads] for name in names},
            **{name: [getattr(work, name) or 0.0 for work in workloads] for name in _DISTANCES}, **optional,
        )  # fmt: skip

    def workload(self, index: int) -> Workload:
        """One row as the operator that it is of, without what a table does not hold (sparsity, a format of the weights of its own)."""
        layout, _, variant = self.texts_at("variant", index).rpartition(" ")
        sizes = {name: size for name, column in self.sizes.items() if (size := int(column.values[index]))}
        columns = {name: getattr(self, name) for name in _DISTANCES}
        known: dict[str, Any] = {name: None if column is None else float(column.values[index]) or None for name, column in columns.items()}
        precision: Any = self.texts_at("precision", index) or "any"
        kind = self.texts_at("kind", index)
        return Workload(kind=kind, sizes=sizes, variant=variant, layout=layout, precision=precision, **known)

    @classmethod
    def joined(cls, tables: Sequence[LatencyTable]) -> LatencyTable:
        """The rows of all tables, one after the other; what only some of them have is 0 in the others.

        Raises:
            UsageError: rows of one device that were measured in two ways.

        >>> one = LatencyTable.of(latency_s=[1.0], kind="gemm", device="a", sizes={"m": [8]})
        >>> two = LatencyTable.of(latency_s=[2.0], kind="softmax", device="b", sizes={"n": [9]}, power_w=[5.0])
        >>> both = LatencyTable.joined([one, two])
        >>> both.texts("kind"), both.dimension("m").tolist(), both.power_w.values.tolist()
        (['gemm', 'softmax'], [8, 0], [0.0, 5.0])
        """
        import numpy as np

        coded = _codes({name: [text for table in tables for text in table.texts(name)] for name in _TEXTS})
        dimensions = list(dict.fromkeys(name for table in tables for name in table.sizes))
        known = [name for name in _OPTIONAL if any(getattr(table, name) is not None for table in tables)]

        def stacked(parts: list[NDArray[Any]], unit: str, dtype: str) -> Column:
            return Column(np.concatenate(parts) if parts else [], unit, dtype)

        coded |= {name: stacked([table.optional(name) for table in tables], _OPTIONAL[name], "<f8") for name in known}
        return cls(
            **coded,
            row=stacked([table.row.values for table in tables], "1", "<i8"),
            sizes={name: stacked([table.dimension(name) for table in tables], "1", "<i8") for name in dimensions},
            latency_s=stacked([table.latency_s.values for table in tables], "s", "<f8"),
            source="; ".join(dict.fromkeys(table.source for table in tables if table.source)),
            excluded=tuple(entry for table in tables for entry in table.excluded), measured_on=_alike(tables),
        )  # fmt: skip

    def rows(self, chosen: NDArray[Any]) -> LatencyTable:
        """The rows that a mask or indexes choose, in that order; texts and `excluded` stay as they are."""
        changed: dict[str, Any] = {}
        for name, column in self._columns().items():
            if not name.startswith("sizes "):
                changed[name] = Column(column.values[chosen], column.unit)
        sizes = {name: Column(column.values[chosen], column.unit) for name, column in self.sizes.items()}
        return msgspec.structs.replace(self, sizes=sizes, **changed)

    def threads(self, device: str) -> int:
        """Threads of the runtime, a count, that the rows of a device were measured with; 0 for its own choice, and where that is not known."""
        return self.measured_on.get(device, MeasuredOn()).threads

    def machine(self, device: str) -> str:
        """Fingerprint of the machine that the rows of a device are of; empty where it is not known."""
        return self.measured_on.get(device, MeasuredOn()).fingerprint

    def texts(self, name: str) -> list[str]:
        """The texts of `kind`, `variant`, `precision`, `device` or `file`, one a row."""
        texts: tuple[str, ...] = getattr(self, _TEXTS[name])
        return [texts[code] for code in getattr(self, name).values.tolist()]

    def dimension(self, name: str) -> NDArray[np.int64]:
        """Sizes of one dimension, int64, shape (n,); 0 throughout where no row has it."""
        import numpy as np

        column = self.sizes.get(name)
        found: NDArray[np.int64] = np.zeros(len(self), np.int64) if column is None else column.values
        return found

    def optional(self, name: str) -> NDArray[np.float64]:
        """One of the columns that may be null, in its SI unit, shape (n,); 0 where a row, or the table, does not say."""
        import numpy as np

        if name not in _OPTIONAL:
            raise UsageError(f"one of {sorted(_OPTIONAL)}", found=repr(name), remedy="ask for a column of the table")
        column: Column | None = getattr(self, name)
        found: NDArray[np.float64] = np.zeros(len(self)) if column is None else np.asarray(column.values, np.float64)
        return found

    def values(self, name: str) -> NDArray[Any]:
        """Any column by its name: codes of a text, `row`, `latency_s`, an optional one, or a dimension; shape (n,).

        Raises:
            UsageError: there is no such column.
        """
        if name in (*_TEXTS, "row", "latency_s"):
            found: NDArray[Any] = getattr(self, name).values
            return found
        if name in _OPTIONAL:
            return self.optional(name)
        if name not in self.sizes:
            known = [*_TEXTS, "row", "latency_s", *_OPTIONAL, *self.sizes]
            raise UsageError("a column of the table", found=repr(name), remedy=f"ask for one of {', '.join(known)}")
        return self.dimension(name)

    def codes(self, *names: str) -> NDArray[np.int64]:
        """A number for each row, equal where the rows are equal in all the named columns: 0, 1, … in rising order of the columns, shape (n,).

        >>> table = LatencyTable.of(latency_s=[1.0, 2.0, 3.0], kind="gemm", device=["a", "b", "a"], sizes={"m": [8, 8, 8]})
        >>> table.codes("device", "m").tolist()
        [0, 1, 0]
        """
        import numpy as np

        codes = np.zeros(len(self), np.int64)
        for name in names:
            _, own = np.unique(self.values(name), return_inverse=True)
            _, codes = np.unique(codes * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
        return codes

    def shape_codes(self, *further: str) -> NDArray[np.int64]:
        """`codes` over kind, variant and all sizes, which is what one shape is, and further columns."""
        return self.codes("kind", "variant", *sorted(self.sizes), *further)

    def place(self, index: int) -> str:
        """Where a row is from, such as `gemm.csv row 17`."""
        return _place(self.files[int(self.file.values[index])], int(self.row.values[index]))

    def described(self, index: int) -> str:
        """A row in words: its kind and sizes, such as `gemm fp16 m=8 n=16`."""
        words = [self.texts_at(name, index) for name in ("kind", "variant", "precision")]
        sizes = [f"{name}={size}" for name, column in self.sizes.items() if (size := int(column.values[index]))]
        return " ".join([*(word for word in words if word), *sizes])

    def texts_at(self, name: str, index: int) -> str:
        """One text of one row."""
        texts: tuple[str, ...] = getattr(self, _TEXTS[name])
        return texts[int(getattr(self, name).values[index])]


def _alike(tables: Sequence[LatencyTable]) -> dict[str, MeasuredOn]:
    """How each device was measured, by all tables that have rows of it."""
    ways: dict[str, list[MeasuredOn]] = {}
    for table in tables:
        for name in {table.devices[code] for code in table.device.values.tolist()}:
            ways.setdefault(name, []).append(table.measured_on.get(name, MeasuredOn()))
    found = {name: _one(name, own) for name, own in sorted(ways.items())}
    return {name: way for name, way in found.items() if way != MeasuredOn()}


def _one(device: str, ways: Sequence[MeasuredOn]) -> MeasuredOn:
    """What all of them are; a machine that is not said may be any."""
    threads, machines = {way.threads for way in ways}, {way.fingerprint for way in ways if way.fingerprint}
    for what, found in (("with one number of threads", sorted(map(str, threads))), ("on one machine", sorted(machines))):
        if len(found) > 1:
            raise UsageError(f"rows of {device} that were measured {what}", found=" and ".join(found), remedy="train a model of each table")
    return MeasuredOn(threads=threads.pop(), fingerprint=machines.pop() if machines else "")


def _place(file: str, row: int) -> str:
    return f"{file} row {row}".strip()


def _codes(listed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Texts of each kind in alphabetical order, so that codes do not depend on the order of rows, and a column with the code of each row."""
    found: dict[str, Any] = {}
    for name, texts in listed.items():
        known = {text: code for code, text in enumerate(sorted(set(texts)))}
        found |= {_TEXTS[name]: tuple(known), name: Column([known[text] for text in texts], "1", _CODE)}
    return found


def _whole(name: str, values: ArrayLike) -> NDArray[np.int64]:
    import numpy as np

    array = np.asarray(values)
    sound = array.ndim == 1 and array.dtype.kind in "iuf" and bool((array.astype(np.float64) == np.floor(array)).all())
    if not sound or (array.size and not 0 <= float(array.min()) <= float(array.max()) < 2**53):
        raise UsageError(f"sizes of {name} in whole numbers from 0", found=repr(array[:4])[:80], remedy="give 0 where a row does not have it")
    return array.astype(np.int64)


def _unusable(seconds: NDArray[np.float64], numbers: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.bool_]]:
    import numpy as np

    reasons = {"latency_s is no finite number": ~np.isfinite(seconds)}
    return reasons | {f"{name} is infinite": np.isinf(values) for name, values in numbers.items()}
