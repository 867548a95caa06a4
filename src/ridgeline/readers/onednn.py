"""oneDNN's verbose log: the lines that `ONEDNN_VERBOSE=1` (or 2, or `DNNL_VERBOSE`) makes the library print, as executed primitives.

This module decides what a line says; which operator of a framework a primitive belongs to is told by marks between the lines, which whoever takes the
log may write (`MARK` and a number), and what reorders mean is left to the diagnosis. Lines of anything else that prints are passed over; lines cut
short are counted. Times are milliseconds in the log, seconds here.
Source of the format: oneDNN developer guide, "Verbose Mode", versions 2 and 3 (the fields after `exec` are the same in both).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

import msgspec

from ridgeline.core import DTYPE_BYTES

__all__ = ["MARK", "PrimitiveRun", "VerboseLog", "read_verbose"]

#: Begins a line that says which operator runs from here on.
MARK = "ridgeline-operator,"
_PREFIXES = ("onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,")
#: Fields after `exec`: engine, primitive, implementation, propagation, memory, attributes, auxiliary, problem, time.
_FIELDS = 9
_DESCRIPTOR = re.compile(r"(src|dst)[:_]([a-z0-9]+):([^\s]*)")
_LAYOUT = re.compile(r"blocked:(\w+)")
_PROBLEM = re.compile(r"\d+(x\d+)*")
_LONGEST = 400
_DTYPES = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16", "s32": "int32", "s8": "int8", "u8": "uint8", "boolean": "bool"}


class PrimitiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """One execution.

    Args:
        kind: such as `convolution` or `reorder`.
        implementation: such as `jit:avx512_core`.
        shapes: problem and layouts, for display.
        seconds: as the library timed it.
        mark: number of the last mark before it; `None` before the first.
        read_bytes, write_bytes: of a reorder, whose problem is its shape; `None` for others.
    """

    kind: str
    implementation: str
    shapes: str
    seconds: float
    mark: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None


class VerboseLog(msgspec.Struct, frozen=True, kw_only=True):
    """The executions in order, the library's version (empty if not said), and lines of the log that could not be read."""

    runs: tuple[PrimitiveRun, ...]
    version: str = ""
    unread: int = 0


def read_verbose(text: str) -> VerboseLog:
    """Read a log; other output in between is passed over.

    >>> line = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 dst:f32::blocked:aBcd16b::f0,,,4x16x8x8,0.5"
    >>> run = read_verbose(line).runs[0]
    >>> run.kind, run.seconds, run.read_bytes
    ('reorder', 0.0005, 16384)
    """
    runs: list[PrimitiveRun] = []
    mark: int | None = None
    version, unread = "", 0
    for line in _lines(text):
        if line.startswith(MARK):
            mark = _number(line[len(MARK) :], mark)
        elif ",exec," in line:
            found = _run(line, mark)
            unread += found is None
            runs += [found] if found is not None else []
        elif not version and ",info,oneDNN v" in line:
            version = line.partition(",info,oneDNN v")[2].split(" ", 1)[0]
    return VerboseLog(runs=tuple(runs), version=version, unread=unread)


def _lines(text: str) -> Iterable[str]:
    return (line.strip() for line in text.splitlines() if line.lstrip().startswith((*_PREFIXES, MARK)))


def _number(text: str, otherwise: int | None) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def _run(line: str, mark: int | None) -> PrimitiveRun | None:
    fields = line.partition(",exec,")[2].split(",")
    if len(fields) < _FIELDS:
        return None
    seconds = _seconds(fields[-1])
    if seconds is None or not fields[1]:
        return None
    kind, problem = fields[1], fields[-2]
    described = dict(_described(fields[4]))
    layouts = " → ".join(layout for _, layout in described.values() if layout)
    read, written = (_bytes(problem, described.get(side, ("", ""))[0]) if kind == "reorder" else None for side in ("src", "dst"))
    return PrimitiveRun(
        kind=kind,
        implementation=fields[2][:_LONGEST],
        shapes=" ".join(part for part in (problem, layouts) if part)[:_LONGEST],
        seconds=seconds,
        mark=mark,
        read_bytes=read,
        write_bytes=written,
    )


def _described(descriptors: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """(side, (element type, layout)) of the source and the result; of several sources the first."""
    seen: set[str] = set()
    for side, dtype, rest in _DESCRIPTOR.findall(descriptors):
        if side not in seen:
            seen.add(side)
            layout = _LAYOUT.search(rest)
            yield side, (dtype, layout.group(1) if layout else "")


def _bytes(problem: str, dtype: str) -> int | None:
    width = DTYPE_BYTES.get(_DTYPES.get(dtype, ""))
    if width is None or not _PROBLEM.fullmatch(problem):
        return None
    size = math.prod(int(dim) for dim in problem.split("x"))
    return int(size * width) if size < 2**50 else None


def _seconds(text: str) -> float | None:
    try:
        found = float(text) * 1e-3
    except ValueError:
        return None
    return found if math.isfinite(found) and found >= 0 else None
