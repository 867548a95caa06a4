"""Pitot's recordings: WebAssembly programs on single-board computers and laptops, alone and beside a neighbour.

This module decides how programs, runtimes, devices and neighbours stand in a `LatencyTable`: `device` is `device/runtime` (a platform), `variant`
the program, or `program beside neighbour`; `neighbours` says how many. Times are nanoseconds. Most pairs were measured once; the devices hc-42 and
hc-80 have few rows.

A `LatencyTable` cannot hold what is known of programs (logs of counts of instructions) and of platforms (sizes of caches, microarchitecture);
`described` gives it. Source: Pitot, WiseLabCMU, `data.npz` and `if2.npz`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError
from ridgeline.core.latencies import LatencyTable
from ridgeline.core.networks import RecordedNetwork

from .arrays import array_names, read_arrays
from .folder import Folder
from .gathering import Gathered

__all__ = ["BESIDE", "Described", "Pitot", "described"]

#: Between a program and its neighbour in `variant`.
BESIDE = " beside "
_NAMED = frozenset(("t", "i_platform", "i_workload", "n_platform", "n_workload", "d_platform", "d_workload"))
_BESIDE = frozenset(("t", "i_platform", "i_workload", "i_interference0"))
_MORE = "i_interference1"
_MOST_NS = 1e15


class Described(NamedTuple):
    """What is known beforehand: names and features of P platforms (P, p) and W programs (W, w), as the file gives them."""

    platforms: tuple[str, ...]
    programs: tuple[str, ...]
    platform_features: NDArray[np.float64]
    program_features: NDArray[np.float64]


class Pitot:
    """Reads a folder with `data.npz`, and what lies beside it with one neighbour."""

    origin = "pitot"

    def sniff(self, folder: Folder) -> bool:
        """An archive of arrays with names of platforms and programs."""
        return any(array_names(folder.source(file)) >= _NAMED for file in _archives(folder))

    def read(self, folder: Folder) -> LatencyTable:
        """All times alone and with one neighbour."""
        home, known = _home(folder)
        rows = Gathered(sizes=("neighbours",))
        names = _names(known)
        for file in _archives(folder):
            there = array_names(folder.source(file))
            if _MORE in there:
                rows.leave("more than one neighbour, which is not read", file, len(read_arrays(folder.source(file), ["t"])["t"]))
            elif file == home:
                _take(rows, folder, file, names, known, neighbour=False)
            elif there >= _BESIDE:
                _take(rows, folder, file, names, known, neighbour=True)
        return rows.table("WiseLabCMU/pitot: WebAssembly programs, alone and with one neighbour")

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """None: these are programs."""
        return ()


def described(path: str | Path) -> Described:
    """Features of platforms and programs.

    Raises:
        ReadError: no archive with them, or a damaged one.
    """
    _, known = _home(Folder(path))
    return Described(
        tuple(_platform(name) for name in known["n_platform"].tolist()), tuple(known["n_workload"].tolist()),
        known["d_platform"].astype(np.float64), known["d_workload"].astype(np.float64),
    )  # fmt: skip


def _archives(folder: Folder) -> list[str]:
    return [file for file in folder.files if file.endswith(".npz")]


def _home(folder: Folder) -> tuple[str, dict[str, NDArray[Any]]]:
    for file in _archives(folder):
        source = folder.source(file)
        if array_names(source) >= _NAMED:
            known = read_arrays(source, ["n_platform", "n_workload", "d_platform", "d_workload"])
            for name, rows in (("d_platform", len(known["n_platform"])), ("d_workload", len(known["n_workload"]))):
                if known[name].ndim != 2 or len(known[name]) != rows or not np.isfinite(known[name]).all():
                    raise source.damaged(f"{name} with finite features of {rows} names", f"shape {known[name].shape}", "fetch it again")
            return file, known
    raise ReadError("data.npz with names of platforms and programs", found=f"none in {folder.name}", remedy="name the folder that holds it")


def _platform(name: str) -> str:
    """`iwasm-a:hc-10` → `hc-10/iwasm-a`."""
    runtime, _, device = name.partition(":")
    return f"{device}/{runtime}"


def _names(known: dict[str, NDArray[Any]]) -> tuple[list[str], list[str]]:
    return [_platform(name) for name in known["n_platform"].tolist()], known["n_workload"].tolist()


def _take(rows: Gathered, folder: Folder, file: str, names: tuple[list[str], list[str]], known: dict[str, NDArray[Any]], *, neighbour: bool) -> None:
    source = folder.source(file)
    wanted = ["t", "i_platform", "i_workload", *(["i_interference0"] if neighbour else [])]
    arrays = read_arrays(source, wanted)
    for name, limit in zip(wanted[1:], (len(known["n_platform"]), len(known["n_workload"]), len(known["n_workload"])), strict=False):
        index = arrays[name]
        if (
            index.shape != arrays["t"].shape
            or index.ndim != 1
            or index.dtype.kind not in "iu"
            or (len(index) and not 0 <= index.min() <= index.max() < limit)
        ):
            raise source.damaged(f"{name} with whole numbers under {limit}, one a row", f"{index.dtype} of shape {index.shape}", "fetch it again")
    platforms, programs = names
    columns = [arrays[name].tolist() for name in wanted]
    for order, values in enumerate(zip(*columns, strict=True), 1):
        nanoseconds, platform, program = values[:3]
        if not 0 < nanoseconds < _MOST_NS:
            rows.leave("a latency that cannot be", f"{file} row {order}")
            continue
        variant = programs[program] + (BESIDE + programs[values[3]] if neighbour else "")
        rows.add(
            {"kind": "program", "variant": variant, "device": platforms[platform], "file": file, "row": order, "latency_s": nanoseconds / 1e9},
            {"neighbours": int(neighbour)},
        )
