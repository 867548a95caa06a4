"""vidur's recordings (folder `data/profiling`): operators of a layer of language models in fp16, and collectives, on three NVIDIA GPUs.

This module decides what a column measured. `compute/DEVICE/…/mlp.csv.gz` has a row a number of tokens and of devices that share the layer, and a
median for each of ten operators; the device stands in the path alone. Times are in ms in steps of 1 µs, so that operators of 2 to 5 µs carry 10 to 25
% of rounding. Rows that repeat a key are measured again: their median is kept, in `network/` over all ranks. Sizes there are in bytes.
`ranks` are the devices that share the layer, for its operators to be put together again. `use_gated_mlp` doubles the first product and its activation
reads two operands.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec

from ridgeline.core import Excluded, ReadError
from ridgeline.core.latencies import LatencyTable
from ridgeline.core.networks import RecordedNetwork

from ..delimited import Columns, RowReader, table
from .folder import Folder

__all__ = ["Vidur"]

_LAYER, _NETWORK = "time_stats.mlp_up_proj.median", ("time_stats.all_reduce.median", "time_stats.send_recv.median")
#: Folder → device of the catalogue.
DEVICES = {"a100": "NVIDIA A100 SXM 80GB", "a40": "NVIDIA A40 48GB", "h100": "NVIDIA H100 SXM 80GB"}
_MODEL = ("n_head", "n_kv_head", "n_embd", "n_expanded_embd", "vocab_size", "num_tokens", "num_tensor_parallel_workers")
_OPERATORS = (
    "emb", "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm", "mlp_up_proj", "mlp_act", "mlp_down_proj",
    "add",
)  # fmt: skip
_MOST_MS = 1e6
_HALF = 2


class _Row(NamedTuple):
    """One row of a layer: the model's sizes; `share` is how many devices hold it."""

    heads: int
    kv_heads: int
    hidden: int
    inner: int
    vocabulary: int
    tokens: int
    share: int
    gated: bool


Key = tuple[str, str, str, str, tuple[tuple[str, int], ...]]


class Vidur:
    """Reads the folder `data/profiling` of vidur, or a part of it that still has the folder of the device in its path."""

    origin = "vidur"

    def sniff(self, folder: Folder) -> bool:
        """A table with vidur's columns."""
        return any(_is_table(folder, file) for file in folder.files)

    def read(self, folder: Folder) -> LatencyTable:
        """Every operator, shape and file once: the median of its repeats."""
        gathered = _Gathered(folder)
        for file in folder.files:
            if _is_table(folder, file):
                gathered.read(file)
        return gathered.table()

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """There are none: layers were measured operator by operator."""
        return ()


def _is_table(folder: Folder, file: str) -> bool:
    first = folder.first_line(file)
    return _LAYER in first or any(name in first for name in _NETWORK)


class _Gathered:
    """Times by what was measured, and what is left out."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._times: dict[Key, list[tuple[float, int]]] = {}
        self._left: dict[str, tuple[int, str]] = {}

    def read(self, file: str) -> None:
        """Take the rows of one file."""
        source = self._folder.source(file)
        device = _device(self._folder, file)
        reader = RowReader(source)
        columns, rows = table(source, reader, lambda found: _LAYER in found or any(name in found for name in _NETWORK), "vidur's columns")
        layer = _LAYER in columns
        needed = (*_MODEL, "use_gated_mlp") if layer else ("size", "num_workers", "devices_per_node", "collective")
        missing = [name for name in needed if name not in columns]
        if missing:
            raise source.damaged(f"columns {', '.join(needed)}", f"no {', '.join(missing)}")
        for number, (_, fields) in enumerate(rows, 1):
            if fields and fields != [""]:
                self._take(file, number, device, columns, fields, layer)
        for warning in reader.warnings:
            self._leave(f"{warning.code}: {warning.effect}", f"{file}: {warning.message}")

    def _take(self, file: str, number: int, device: str, columns: Columns, fields: list[str], layer: bool) -> None:
        found = _layer(columns, fields) if layer else _collective(columns, fields)
        if found is None:
            self._leave("sizes that cannot be", f"{file} row {number}")
            return
        for column, kind, variant, sizes in found:
            text = columns.text(fields, column)
            if not text and layer:
                continue  # phi-2 has no second normalisation
            milliseconds = _number(text)
            if not 0 < milliseconds < _MOST_MS:
                self._leave("a latency that cannot be (0 where it is less than the clock's step)", f"{file} row {number}: {column} {text[:30]!r} ms")
                continue
            self._times.setdefault((kind, variant, device, file, tuple(sorted(sizes.items()))), []).append((milliseconds, number))

    def _leave(self, reason: str, first: str) -> None:
        before, where = self._left.get(reason, (0, first))
        self._left[reason] = (before + 1, where)

    def table(self) -> LatencyTable:
        """All of them."""
        if not self._times:
            raise ReadError(
                "rows of operators as vidur publishes them", found=f"none in {self._folder.name}", remedy="name the folder data/profiling"
            )
        names = sorted({name for key in self._times for name, _ in key[4]})
        kinds, variants, devices, files, sizes = zip(*self._times, strict=True)
        again = sum(len(times) - 1 for times in self._times.values())
        found = LatencyTable.of(
            latency_s=[median(time for time, _ in times) / 1e3 for times in self._times.values()],
            row=[times[0][1] for times in self._times.values()],
            kind=kinds, variant=variants, device=devices, file=files, precision="fp16",
            sizes={name: [dict(each).get(name, 0) for each in sizes] for name in names},
            source="microsoft/vidur, data/profiling: PyTorch in fp16, medians in steps of 1 µs",
        )  # fmt: skip
        excluded = [Excluded(reason=reason, events=count, first=first) for reason, (count, first) in self._left.items()]
        if again:
            excluded.append(Excluded(reason="measured again: the median of the repeats stands for them", events=again))
        return msgspec.structs.replace(found, excluded=(*found.excluded, *excluded))


def _device(folder: Folder, file: str) -> str:
    """The device in the path: `compute/a100/…` or `network/a100_dgx/…`."""
    parts = [*Path(folder.path).resolve().parts, *Path(file).parts[:-1]]
    for part in reversed(parts):
        name = part.partition("_")[0].lower()
        if name in DEVICES:
            return DEVICES[name]
    known = ", ".join(DEVICES)
    raise ReadError(f"a device in the path: one of {known}", found=f"{folder.name}: {file}", remedy="keep the folders of vidur's data/profiling")


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _whole(columns: Columns, fields: list[str], names: tuple[str, ...]) -> list[int] | None:
    numbers = [_number(columns.text(fields, name)) for name in names]
    return [int(number) for number in numbers] if all(number.is_integer() and 1 <= number < 2**40 for number in numbers) else None


Measured = tuple[str, str, str, dict[str, int]]


def _layer(columns: Columns, fields: list[str]) -> list[Measured] | None:
    sizes = _whole(columns, fields, _MODEL)
    if sizes is None:
        return None
    heads, kv_heads, hidden, inner, vocabulary, tokens, share = sizes
    row = _Row(heads, kv_heads, hidden, inner, vocabulary, tokens, share, columns.text(fields, "use_gated_mlp").casefold() == "true")
    described = _operators(row)
    found: list[Measured] = []
    for name in _OPERATORS:
        kind, variant, operator = described[name]
        found.append((f"time_stats.{name}.median", kind, variant, operator | {"ranks": row.share}))
    return found


def _operators(row: _Row) -> dict[str, tuple[str, str, dict[str, int]]]:
    """Family, variant and sizes of each operator on one of the devices that share the layer."""
    head = row.hidden // row.heads
    projected, inner = (row.heads + 2 * row.kv_heads) * head // row.share, row.inner // row.share

    def product(n: int, k: int) -> tuple[str, str, dict[str, int]]:
        return "gemm", "linear", {"m": row.tokens, "n": max(1, n), "k": max(1, k)}

    def elements(variant: str, width: int, inputs: int) -> tuple[str, str, dict[str, int]]:
        return "elementwise", variant, {"elements": row.tokens * max(1, width), "inputs": inputs}

    rows: dict[str, Any] = {"rows": row.tokens, "columns": row.hidden}
    return {
        "emb": ("gather", "", {"rows": row.vocabulary, "width": row.hidden, "indices": row.tokens}),
        "input_layernorm": ("normalisation", "first", rows), "post_attention_layernorm": ("normalisation", "second", rows),
        "attn_pre_proj": product(projected, row.hidden), "attn_post_proj": product(row.hidden, row.hidden // row.share),
        "mlp_up_proj": product((2 if row.gated else 1) * inner, row.hidden), "mlp_down_proj": product(row.hidden, inner),
        "mlp_act": elements("silu" if row.gated else "gelu", inner, 2 if row.gated else 1),
        "attn_rope": elements("rope", (row.heads + row.kv_heads) * head // row.share, 1), "add": elements("add", row.hidden, 2),
    }  # fmt: skip


def _collective(columns: Columns, fields: list[str]) -> list[Measured] | None:
    sizes = _whole(columns, fields, ("size", "num_workers", "devices_per_node"))
    name = columns.text(fields, "collective")
    if sizes is None or name not in ("all_reduce", "send_recv"):
        return None
    elements = max(1, sizes[0] // _HALF)
    return [(f"time_stats.{name}.median", "collective", name.replace("_", "-"), {"elements": elements, "ranks": sizes[1], "node_ranks": sizes[2]})]
