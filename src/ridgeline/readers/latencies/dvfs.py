"""NV-DVFS-Benchmark's recordings: kernels of CUDA samples at many core and memory clocks, with mean power.

This module decides which rows are measurements, once each, and in which units. Two layouts: nvprof's counters with `time/ms` and `power/W`, and
activity of DCGM with `time` (ms) and `average_power`. The files `…-Performance` hold again what `…-Performance-Power` holds; `ptx` and the
parameters of fits are no measurements. The device stands in the names of files only. Memory clocks are as the driver names them: 3500 MHz of the
GTX 980 are 224 GB/s, so 64 bytes a cycle; 877 MHz of the V100 are 1024 bytes a cycle. Core clocks of the DCGM files are those that were asked for,
not those that were reached: from 405 to 502 MHz compute-bound kernels gain a factor of 2.3.

A `LatencyTable` holds time, power, clocks, launch sizes, FLOPs and DRAM bytes; the other counters, which were measured again at each clock, are not
in it: `with_counters` gives them row by row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError
from ridgeline.core.latencies import LatencyTable
from ridgeline.core.networks import RecordedNetwork

from ..delimited import Columns, RowReader, table
from .folder import Folder
from .gathering import Gathered, number, starts

__all__ = ["NvDvfs", "with_counters"]

_COUNTERS = ("appName,coreF,memF,", ",appName,coreF,memF,", "Unnamed: 0,appName,coreF,memF,")
_ACTIVITY = ("DRAMA,FP16A,FP32A,FP64A,",)
#: Of both layouts: application, input, core clock, memory clock, time, power.
_NAMES = {
    "counters": ("appName", "argNo", "coreF", "memF", "time/ms", "power/W"),
    "activity": ("benchmark", "argNo", "core_frequency", "memory_frequency", "time", "average_power"),
}
#: Part of a file's name → device; which of the V100's boards it was is not said.
_DEVICES = {"gtx980": "NVIDIA GeForce GTX 980", "v100": "NVIDIA V100"}
_LAUNCH = re.compile(r"\((\d{1,9}) (\d{1,9}) (\d{1,9})\) \((\d{1,9}) (\d{1,9}) (\d{1,9})\)$")
_OPTIONAL = ("power_w", "core_clock_hz", "memory_clock_hz", "flop", "bytes")
_MOST_MHZ, _MOST_MS, _MOST_W = 1e5, 1e7, 1e5
_SOURCE = "blackjack2015/NV-DVFS-Benchmark: kernels of CUDA samples and Rodinia at fixed clocks"


class NvDvfs:
    """Reads the folders `raw` and `data` of NV-DVFS-Benchmark, or a part of them."""

    origin = "NV-DVFS-Benchmark"

    def sniff(self, folder: Folder) -> bool:
        """A table with clocks of core and memory in its first columns, or one of DCGM's activities."""
        return starts(folder, *_COUNTERS, *_ACTIVITY)

    def read(self, folder: Folder) -> LatencyTable:
        """Every kernel, input and pair of clocks of a device once, of each of the two layouts."""
        return _Recording(folder, ()).table()

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """None: these are kernels."""
        return ()


def with_counters(path: str | Path, names: Sequence[str]) -> tuple[LatencyTable, dict[str, NDArray[np.float64]]]:
    """The table of `NvDvfs.read`, and columns of the files that it cannot hold, each as it stands there, shape (n,); NaN where a file has none.

    Raises:
        ReadError: as `NvDvfs.read`.
    """
    recording = _Recording(Folder(path), tuple(names))
    return recording.table(), {name: np.array(values) for name, values in recording.counters.items()}


class _Recording:
    """The files of a folder: those with power first, and of DCGM's those without what was joined to them."""

    def __init__(self, folder: Folder, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._rows = Gathered(_OPTIONAL, ("blocks", "threads"))
        self.counters: dict[str, list[float]] = {name: [] for name in names}

    def table(self) -> LatencyTable:
        for file in sorted(self._folder.files, key=self._order):
            start = self._folder.first_line(file)
            if start.startswith(_COUNTERS):
                self._read(file, "counters")
            elif start.startswith(_ACTIVITY):
                self._read(file, "activity")
        if not len(self._rows):
            raise ReadError("kernels at fixed clocks", found=f"none in {self._folder.name}", remedy="name the folder with `raw` and `data`")
        return self._rows.table(_SOURCE)

    def _order(self, file: str) -> tuple[bool, int, str]:
        start = self._folder.first_line(file)
        return "power" not in start, len(start) if start.startswith(_ACTIVITY) else 0, file

    def _read(self, file: str, layout: str) -> None:
        source = self._folder.source(file)
        names = _NAMES[layout]
        columns, rows = table(source, RowReader(source), lambda found: names[0] in found and names[2] in found, f"columns {names[0]} and {names[2]}")
        if names[4] not in columns:
            return  # power alone, without the times that belong to it
        device = next((name for part, name in _DEVICES.items() if part in file.rpartition("/")[2].lower()), "")
        for order, (line, fields) in enumerate(rows, 1):
            if fields == [""]:
                continue
            if len(fields) < len(columns.names):
                raise source.damaged("whole rows", f"line {line} with {len(fields)} of {len(columns.names)} fields", "fetch it again")
            self._take(file, order, columns, fields, layout, device)

    def _take(self, file: str, order: int, columns: Columns, fields: list[str], layout: str, device: str) -> None:
        where = f"{file} row {order}"
        application, given, *columns_of_numbers = _NAMES[layout]
        core, memory, milliseconds, watts = (number(columns.text(fields, name)) for name in columns_of_numbers)
        if not device:
            return self._rows.leave("a file whose name names no device that is known", where)
        if not 0 < milliseconds < _MOST_MS:
            return self._rows.leave("a latency that cannot be", where)
        if not (0 < core < _MOST_MHZ and 0 < memory < _MOST_MHZ):
            return self._rows.leave("a clock that cannot be", where)
        name = f"{columns.text(fields, application)}/{columns.text(fields, 'kernel')} {columns.text(fields, given)}"
        if not self._rows.new((layout, device, name, core, memory)):
            return self._rows.leave("the same kernel and clocks again", where)
        sizes, optional = _launch(columns.text(fields, "blocks")), _work(columns, fields, milliseconds / 1e3)
        self._rows.add(
            {
                "kind": "kernel", "variant": name, "device": device, "file": file, "row": order, "latency_s": milliseconds / 1e3,
                "power_w": watts if 0 < watts < _MOST_W else math.nan, "core_clock_hz": core * 1e6, "memory_clock_hz": memory * 1e6, **optional,
            },
            sizes,
        )  # fmt: skip
        for counter, values in self.counters.items():
            values.append(number(columns.text(fields, counter)) if counter in columns else math.nan)
        return None


def _launch(text: str) -> dict[str, int]:
    """Work-groups and threads of one from `(3584 1 1) (128 1 1)`."""
    found = _LAUNCH.search(text)
    if not found:
        return {}
    sizes = [int(part) for part in found.groups()]
    return {"blocks": math.prod(sizes[:3]), "threads": math.prod(sizes[3:])}


def _work(columns: Columns, fields: list[str], seconds: float) -> dict[str, Any]:
    """FLOPs and DRAM bytes of one execution, where they were counted."""
    flop = number(columns.text(fields, "flop_count_sp")) + number(columns.text(fields, "flop_count_dp"))
    moved = (number(columns.text(fields, "dram_read_throughput")) + number(columns.text(fields, "dram_write_throughput"))) * 1e9 * seconds
    return {"flop": flop if flop >= 0 else math.nan, "bytes": moved if moved >= 0 else math.nan}
