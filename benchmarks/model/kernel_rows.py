"""Rows of the recordings of language-model kernels as columns of the kernels' forms; shared by `aiconfigurator`, `vidur` and `fit_kernels`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ridgeline.core import Device
from ridgeline.core.latencies import LatencyTable
from ridgeline.device import find
from ridgeline.model.analytic.attention import attention
from ridgeline.model.kernels.attention import AttentionCost, attention_cost
from ridgeline.model.kernels.calibrated import GemmRows
from ridgeline.model.kernels.constants import constants
from ridgeline.model.kernels.gemm import gemm_cost, gemm_features
from ridgeline.model.kernels.sheet import KernelSheet, kernel_sheet
from ridgeline.readers.latencies import read_latencies

#: Bytes of an element of the operands where the data file has no constants yet.
IN_BYTES = {("bf16", "linear"): 2.0, ("fp16", "linear"): 2.0, ("fp8", "linear"): 1.0, ("fp8", "linear block"): 1.0, ("fp4", "linear"): 0.5625}
OUT_BYTES = 2.0


def recordings(*parts: str) -> Path:
    """A folder of the recordings; the script ends with a word where there is none."""
    root = os.environ.get("RIDGELINE_DATA")
    place = Path(root, *parts) if root else None
    if place is None or not place.is_dir():
        print(f"skipped: RIDGELINE_DATA names no folder with {'/'.join(parts)}")
        sys.exit(0)
    return place


def device(name: str) -> Device:
    """From the catalogue, with two numbers that it has no source for and these benchmarks assume: the GB200 has the units of the B200, and the matrix
    units of the A40 run at four times its fp32 lanes, as those of the other GPUs of its generation and market do."""
    found = find(name)
    if "A40 " in name and not any(each.units == "matrix" for each in found.ceilings):
        lanes = next(each for each in found.ceilings if each.engine == "fma" and each.precision == "fp32")
        rate = msgspec.structs.replace(lanes.rate, value=4 * lanes.rate.value, low=4 * lanes.rate.value, high=4 * lanes.rate.value, source="assumed")
        return msgspec.structs.replace(found, ceilings=(*found.ceilings, msgspec.structs.replace(lanes, precision="fp16", units="matrix", rate=rate)))
    if found.execution_units is None and "GB200" in name:
        return msgspec.structs.replace(found, execution_units=find("NVIDIA B200 SXM 180GB").execution_units)
    return found


class Products(NamedTuple):
    """Products of one file, precision and variant."""

    file: str
    precision: str
    variant: str
    sheet: KernelSheet
    rows: GemmRows
    features: np.ndarray
    shape: np.ndarray  # m, n, k
    log_s: np.ndarray
    power_w: np.ndarray
    index: np.ndarray

    @property
    def quantised(self) -> bool:
        """Whether the call quantises its operands."""
        return self.precision in ("fp8", "fp4")

    @property
    def key(self) -> tuple[str, str]:
        """Precision and variant."""
        return self.precision, self.variant

    def take(self, at: np.ndarray) -> Products:
        """Some of its rows."""
        columns = {name: getattr(self, name)[at] for name in ("features", "shape", "log_s", "power_w", "index")}
        return self._replace(rows=self.rows.rows(at), **columns)


def products(table: LatencyTable, most: int = 0) -> list[Products]:
    """Products by file, precision and variant; at most `most` of each, drawn by a fixed seed."""
    found = []
    kind, gemm = table.kind.values, table.kinds.index("gemm")
    code = table.codes("file", "precision", "variant")
    chosen = np.flatnonzero(kind == gemm)
    for number in np.unique(code[chosen]):
        at = chosen[code[chosen] == number]
        words = {name: table.texts_at(name, int(at[0])) for name in ("file", "precision", "variant", "device")}
        key = words["precision"], words["variant"]
        if key not in IN_BYTES:
            continue
        shape = np.array([table.dimension(name)[at] for name in ("m", "n", "k")], np.float64)
        order = np.lexsort((shape[2], shape[1], shape[0]))
        if most and len(order) > most:
            order = order[np.sort(np.random.default_rng(0).choice(len(order), most, replace=False))]
        at, shape = at[order], shape[:, order]
        sheet = kernel_sheet(device(words["device"]), words["precision"])
        cost = gemm_cost(*shape, sheet, in_bytes=IN_BYTES[key], out_bytes=OUT_BYTES)
        features = gemm_features(*shape, cost, sheet, in_bytes=IN_BYTES[key], out_bytes=OUT_BYTES)
        units, rate = np.full(len(at), float(sheet.units)), np.full(len(at), sheet.byte_per_s)
        rows = GemmRows(shape[0], shape[2], cost, units, rate)
        found.append(
            Products(
                words["file"],
                *key,
                sheet,
                rows,
                features,
                shape.T,
                np.log(table.latency_s.values[at]),
                table.optional("power_w")[at],
                np.arange(len(at)),
            )
        )
    return found


class Attentions(NamedTuple):
    """Attention calls of one file and phase."""

    file: str
    cost: AttentionCost
    sizes: dict[str, np.ndarray]
    precision: np.ndarray
    cache: np.ndarray
    log_s: np.ndarray


def attentions(table: LatencyTable) -> list[Attentions]:
    """Causal attention by file."""
    found = []
    code = table.codes("file")
    chosen = np.flatnonzero((table.kind.values == table.kinds.index("attention")) & (table.dimension("causal") == 1))
    for number in np.unique(code[chosen]):
        at = chosen[code[chosen] == number]
        sizes = {name: table.dimension(name)[at].astype(float) for name in ("batch", "heads", "kv_heads", "head_size", "queries", "keys", "window")}
        precision = np.array([table.texts_at("precision", int(row)) for row in at])
        cache = np.array([table.texts_at("variant", int(row)) for row in at])
        parts: list[Any] = [None] * 8
        columns = np.empty((8, len(at)))
        for word in np.unique(precision):
            for kept in np.unique(cache):
                on = (precision == word) & (cache == kept)
                if not on.any():
                    continue
                work = attention(
                    batch=sizes["batch"][on], heads=sizes["heads"][on], queries=sizes["queries"][on], keys=sizes["keys"][on],
                    key_dim=sizes["head_size"][on], kv_heads=sizes["kv_heads"][on],
                    window=np.where(sizes["window"] > 0, np.minimum(sizes["window"], sizes["keys"]), sizes["keys"])[on],
                )  # fmt: skip
                element = 1.0 if word == "fp8" else 2.0
                kv = {"cache fp8": 1.0, "cache bf16": 2.0}.get(str(kept), element)
                sheet = kernel_sheet(device(table.texts_at("device", int(at[0]))), word)
                columns[:, on] = attention_cost(work, sheet, element_bytes=element, kv_element_bytes=kv)
        del parts
        found.append(
            Attentions(
                table.files[int(table.file.values[at[0]])], AttentionCost(*columns), sizes, precision, cache, np.log(table.latency_s.values[at])
            )
        )
    return found


def figures(log_error: np.ndarray) -> str:
    """Median, p90, mean, p99 and worst of |e^error − 1| in per cent."""
    error = np.abs(np.expm1(log_error)) * 100
    half, ninety, most = np.quantile(error, [0.5, 0.9, 0.99])
    return f"median {half:6.2f}  p90 {ninety:6.2f}  mean {error.mean():6.2f}  p99 {most:6.1f}  worst {error.max():6.0f} %"


def short(file: str) -> str:
    """The system, operator, framework and version in a file's path."""
    return "/".join(part for part in Path(file).parts[:-1] if part not in ("systems", "data"))


def read(place: Path) -> LatencyTable:
    """Through the door that users have."""
    return read_latencies(place)


def menu() -> str:
    """How many tiles and splits the form chooses from."""
    known = constants().menu
    return f"{len(known.tiles)} tiles × {len(known.splits)} splits"
