"""NeuSight's recordings (folder `scripts/asplos`): fp32 kernels of PyTorch 2.1 on seven GPUs, one row a shape.

This module decides which rows are measurements and what they measured. Files with `OPName`, `Latency` (ms) and `Device` are; several hold the same
ones again, which are kept once. Straight-line fits (`coef`, `intercept`: some of devices that nobody measured) and tables that name no device are
never taken for measurements. Columns of products are misnamed: in (B, M, N) × (B, N, K) `N` is the contraction and `K` the columns of the result, as
the grids of the recorded kernels show (⌈K ÷ tile⌉ × ⌈M ÷ tile⌉ × B). Networks are left to `neusight_networks`.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from ridgeline.core import Excluded, LatencyTable, ReadError, RecordedNetwork

from ..delimited import Columns, RowReader, table
from .folder import Folder
from .neusight_networks import DEVICES, is_label, networks

__all__ = ["NeuSight"]

_HEADER = "OPName,Latency,Device,"
_FITS = "Device,coef,intercept,"
_NAMELESS = ",B,M,N,K,Latency,"
_VECTOR = ("B", "H")
_PRODUCT = ("B", "M", "N", "K")
_CONVOLUTION = ("B", "Input_Channel", "Output_Channel", "Kernel_Szie", "Input_Size", "Stride", "Padding")
#: Operators → columns of their sizes.
_COLUMNS = {
    **dict.fromkeys(("add", "addu", "div", "divu", "mul", "mulu", "pow", "powu", "gelu", "relu", "tanh", "softmax", "ln"), _VECTOR),
    "linear": _PRODUCT, "bmm": _PRODUCT, "conv": _CONVOLUTION,
}  # fmt: skip
_TWO = frozenset(("add", "div", "mul", "pow"))
_MOST_MS = 1e6


class NeuSight:
    """Reads the folder `scripts/asplos` of NeuSight, or a part of it."""

    origin = "NeuSight"

    def sniff(self, folder: Folder) -> bool:
        """A table of operators with NeuSight's columns, or a label of a network."""
        return any(folder.first_line(file).startswith(_HEADER) or is_label(folder, file) for file in folder.files)

    def read(self, folder: Folder) -> LatencyTable:
        """Every operator and shape of a device once."""
        return _Gathered(folder).table()

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """Measured networks, with the operators of those that were traced."""
        return networks(folder)


class _Gathered:
    """Rows as they are read, and what is left out."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._rows: dict[str, list[Any]] = {name: [] for name in ("kind", "variant", "device", "file", "row", "latency_s", "sizes")}
        self._seen: set[tuple[object, ...]] = set()
        self._left: dict[str, tuple[int, str]] = {}

    def table(self) -> LatencyTable:
        # Files of one operator and device come before those that hold many again: `collect` sorts before `elem`.
        for file in self._folder.files:
            start = self._folder.first_line(file)
            if start.startswith(_HEADER):
                self._read(file)
            elif start.startswith(_FITS):
                self._leave("straight lines fitted to rows, no measurements", file, _lines(self._folder, file))
            elif start.startswith(_NAMELESS):
                self._leave("rows that do not name their device", file, _lines(self._folder, file))
        if not self._rows["kind"]:
            raise ReadError(
                "rows of operators as NeuSight publishes them", found=f"none in {self._folder.name}", remedy="name the folder scripts/asplos"
            )
        sizes = self._rows.pop("sizes")
        names = sorted({name for each in sizes for name in each})
        found = LatencyTable.of(
            **self._rows, precision="fp32", sizes={name: [each.get(name, 0) for each in sizes] for name in names},
            source="sitar-lab/NeuSight, scripts/asplos: PyTorch 2.1 in fp32 without TF32, one call after the other",
        )  # fmt: skip
        excluded = tuple(Excluded(reason=reason, events=count, first=first) for reason, (count, first) in self._left.items())
        return msgspec.structs.replace(found, excluded=(*found.excluded, *excluded))

    def _read(self, file: str) -> None:
        source = self._folder.source(file)
        columns, rows = table(source, RowReader(source), lambda found: "OPName" in found and "Latency" in found, "columns OPName and Latency")
        for number, (_, fields) in enumerate(rows, 1):
            if fields and fields != [""]:
                self._take(file, number, columns, fields)

    def _take(self, file: str, number: int, columns: Columns, fields: list[str]) -> None:
        where = f"{file} row {number}"
        operator, device = columns.text(fields, "OPName"), columns.text(fields, "Device")
        needed = _COLUMNS.get(operator)
        if needed is None or device not in DEVICES:
            reason = "an operator that is not known" if needed is None else "a device that is not known"
            self._leave(reason, f"{where}: {(operator if needed is None else device)[:40]!r}")
            return
        milliseconds = _number(columns.text(fields, "Latency"))
        if not 0 < milliseconds < _MOST_MS:
            self._leave("a latency that cannot be", f"{where}: {columns.text(fields, 'Latency')[:40]!r} ms")
            return
        numbers = tuple(_number(columns.text(fields, name)) for name in needed)
        if not all(value.is_integer() and 0 <= value < 2**40 for value in numbers) or min(numbers[:2]) < 1:
            self._leave("sizes that cannot be", f"{where}: {', '.join(columns.text(fields, name)[:20] for name in needed)}")
            return
        key = (operator, device, numbers)
        if key in self._seen:
            self._leave("the same operator and shape again", where)
            return
        self._seen.add(key)
        kind, variant, sizes = _described(operator, [int(value) for value in numbers])
        for name, value in (
            ("kind", kind), ("variant", variant), ("device", DEVICES[device]), ("file", file), ("row", number),
            ("latency_s", milliseconds / 1e3), ("sizes", sizes),
        ):  # fmt: skip
            self._rows[name].append(value)

    def _leave(self, reason: str, first: str, count: int = 1) -> None:
        before, where = self._left.get(reason, (0, first))
        self._left[reason] = (before + count, where)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _lines(folder: Folder, file: str) -> int:
    return sum(1 for number, line in RowReader(folder.source(file)).lines() if number > 1 and line.strip())


def _described(operator: str, numbers: list[int]) -> tuple[str, str, dict[str, int]]:
    """Family, variant and sizes of an operator."""
    if operator in ("linear", "bmm"):
        batch, m, contraction, columns = numbers
        return "gemm", "linear" if operator == "linear" else "matmul", {"batch": batch, "groups": batch, "m": m, "n": columns, "k": contraction}
    if operator in ("softmax", "ln"):
        return {"softmax": "softmax", "ln": "normalisation"}[operator], "", {"rows": numbers[0], "columns": numbers[1]}
    if operator == "conv":
        return "convolution", "", _convolution(numbers)
    function = operator[:-1] if operator[:-1] in _TWO else operator
    return "elementwise", function, {"elements": numbers[0] * numbers[1], "inputs": 2 if operator in _TWO else 1}


def _convolution(numbers: list[int]) -> dict[str, int]:
    batch, channels, filters, side, image, stride, padding = numbers
    out = (image + 2 * padding - side) // max(1, stride) + 1
    return {"n": batch, "c": channels, "h": image, "w": image, "k": filters, "p": out, "q": out, "r": side, "s": side, "groups": 1}
