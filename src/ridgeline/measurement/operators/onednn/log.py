"""`primitives`: runs calls of a workload with oneDNN's log switched on and standard output caught where the library writes it.

It runs in a process of its own: descriptor 1 is another file meanwhile. Marks between the lines say which dispatched operator runs, and so to which
row a primitive belongs. Times are the library's; the wall is that of clean calls.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from ridgeline.core import BackendUnavailable, PrimitiveTable
from ridgeline.readers.onednn import MARK, read_verbose
from ridgeline.work.torch import record

from ..torch.rows import group_rows, name_of
from ..torch.table import ROW_LIMIT
from .table import tabulate

__all__ = ["primitives"]

#: A log longer than this is read up to here.
_MOST_BYTES = 64 * 2**20


def primitives(
    call: Callable[[], Any],
    rows: Mapping[tuple[str, str], int],
    *,
    calls: int = 3,
    synchronise: Callable[[Any], None] | None = None,
) -> PrimitiveTable:
    """What oneDNN ran inside the operators of one call.

    Args:
        call: the workload.
        rows: (name, shapes) of a row of the operator table → its index.
        calls: logged calls, at least 1.
        synchronise: waits for the result of a call.

    Raises:
        BackendUnavailable: torch is not installed, or has no oneDNN whose log can be switched on.
    """
    mkldnn = _mkldnn()
    waited = _waiting(call, synchronise)
    waited()
    walls = [_wall(waited) for _ in range(max(3, calls))]
    logs = []
    row_of: dict[int, int] = {}
    for _ in range(max(1, calls)):
        with _caught() as (file, mark), mkldnn.verbose(mkldnn.VERBOSE_ON):
            ops = record(waited, before=mark)
        file.seek(0)
        logs.append(read_verbose(file.read(_MOST_BYTES).decode("utf-8", "replace")))
        file.close()
        for group in group_rows(ops, ROW_LIMIT - 500):
            index = rows.get((name_of(group.kind, group.site), group.shapes))
            row_of.update((member, index) for member in group.members if index is not None)
    return tabulate(logs, row_of, walls)


def _mkldnn() -> Any:
    try:
        import torch
    except ImportError as error:
        raise BackendUnavailable("PyTorch", found=str(error), remedy="pip install 'ridgeline[torch]'") from error
    mkldnn = getattr(torch.backends, "mkldnn", None)
    if mkldnn is None or not mkldnn.is_available() or not hasattr(mkldnn, "verbose"):
        raise BackendUnavailable("a torch with oneDNN and its log", found=f"torch {torch.__version__} without", remedy="use a build with oneDNN")
    return mkldnn


@contextmanager
def _caught() -> Iterator[tuple[BinaryIO, Callable[[int], None]]]:
    """A file that has what is written to descriptor 1 meanwhile, and a function that writes a mark between it."""
    libc = ctypes.CDLL(None)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever reads it

    def mark(number: int) -> None:
        # What the library has printed so far may still be in its buffer.
        libc.fflush(None)
        os.write(1, f"\n{MARK}{number}\n".encode())

    libc.fflush(None)
    kept = os.dup(1)
    try:
        os.dup2(file.fileno(), 1)
        yield file, mark
    finally:
        libc.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def _waiting(call: Callable[[], Any], synchronise: Callable[[Any], None] | None) -> Callable[[], Any]:
    return call if synchronise is None else lambda: synchronise(call())


def _wall(call: Callable[[], Any]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before
