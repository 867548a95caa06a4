"""What all tables of an export share: interned texts, processes, threads, devices, and the lanes that follow from them.

Identifiers are packed (schema reference of Nsight Systems): `globalTid` is machine, process and thread, 24 bits each of the latter two, so that
`globalTid >> 24` is `globalPid >> 24`; correlation numbers count within a process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ridgeline.core import Track

from ..assembling import Assembly, Whole
from ..databases import MISSING, Database
from ..joining import distinct

__all__ = ["Export"]

_PART = 2**24 - 1


class Export:
    """An open export and the assembly that its events go to."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.assembly = Assembly(1e-9)
        self._contexts: dict[tuple[int, ...], int] = {}

    def numbers(self, table: str, *columns: str) -> dict[str, Whole]:
        """Columns of a table of events; empty ones where there is no such table (they are made only where something happened)."""
        if table not in self.database.tables:
            return {name: np.empty(0, np.int64) for name in columns}
        return self.database.whole(table, columns)

    def processes(self, ids: Whole) -> Whole:
        """`globalPid >> 24`; where rows do not say it (very old schemas) the one process that calls CUDA, if there is but one."""
        process = ids >> 24
        unknown = ids == MISSING
        if unknown.any() and self._calling is not None:
            process = np.where(unknown, self._calling, process)
        return process

    @cached_property
    def _calling(self) -> int | None:
        rows = self.numbers("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid")["globalTid"]
        found = np.unique(rows[rows != MISSING] >> 24)
        return int(found[0]) if len(found) == 1 else None

    @cached_property
    def strings(self) -> dict[int, str]:
        """Interned texts by their id."""
        return self.database.by_id("StringIds", "id", "value")

    def called(self, table: str, ids: Whole, column: str = "name", otherwise: str = "[unnamed]", shape: Callable[[str], str] = str) -> Whole:
        """Indices of the names of rows: interned in the file, or (in older ones) written out in a column of the table.

        Args:
            ids: of interned texts, `MISSING` where there is none.
            column: where the text may stand itself; otherwise: what a row without either is called; shape: applied to each text.
        """
        assembly, strings = self.assembly, self.strings
        found, inverse = distinct(ids)
        known = [assembly.name(shape(self.database.name(strings[each]))) if each in strings else -1 for (each,) in found]
        names: Whole = np.array(known, np.int64)[inverse]
        unknown = np.flatnonzero(names < 0)
        if len(unknown):
            texts = self.database.texts(table, column) if self.database.has(table, column) else [None] * len(names)
            names[unknown] = [assembly.name(shape(self.database.name(texts[row] or otherwise))) for row in unknown.tolist()]
        return names

    def each(self, names: Whole, made: Callable[[str], int]) -> Whole:
        """A number for each row by its name, made once a name."""
        strings = list(self.assembly.strings)
        found, inverse = distinct(names)
        return np.array([made(strings[name]) for (name,) in found], np.int64)[inverse]

    def threads(self, ids: Whole) -> Whole:
        """Lanes of host threads by `globalTid`."""
        return self._lanes(ids, self._thread)

    def beside(self, ids: Whole, what: str) -> Whole:
        """Lanes beside threads, for ranges that do not nest with what the thread calls."""
        return self._lanes(ids, lambda each: Track(name=f"{what} of {self._thread_name(each)}", role="ranges", process=self.process(each >> 24)))

    def streams(self, process: Whole, device: Whole, context: Whole, stream: Whole) -> Whole:
        """Lanes of queues; `process` as `globalPid >> 24`, `device` as CUDA numbers it in that process."""
        found, inverse = distinct(process, device, context, stream)
        return np.array([self.assembly.lane(self._stream(*key)) for key in found], np.int64)[inverse]

    def device(self, process: int, device: int) -> str:
        """Name of a device: by its number in the machine where the file maps the process's own numbers to those."""
        number = self._gpu_of.get((process & _PART, device), device)
        machine = process >> 24 if process >= 0 else 0
        several = len(self._machines) > 1
        label = f"GPU {number}" if number != MISSING else "GPU"
        return f"{label} of machine {machine}" if several and machine else label

    @cached_property
    def device_names(self) -> dict[int, str]:
        """What the devices are, by their number in the machine."""
        return self.database.by_id("TARGET_INFO_GPU", "id", "name")

    def note_contexts(self, process: Whole, context: Whole, device: Whole) -> None:
        """Which contexts a device has; known before its lanes are named."""
        for key in distinct(process, context, device)[0]:
            self._contexts.setdefault(key[:2], key[2])

    def process(self, number: int) -> str:
        """Identifier of a process, from `globalPid >> 24`."""
        return str(number & _PART) if number >= 0 else ""

    def _lanes(self, ids: Whole, made: Callable[[int], Track]) -> Whole:
        found, inverse = distinct(ids)
        return np.array([self.assembly.lane(made(each)) for (each,) in found], np.int64)[inverse]

    def _thread(self, thread: int) -> Track:
        if thread == MISSING:
            return Track(name="a thread that the file does not name", role="thread")
        return Track(name=self._thread_name(thread), role="thread", process=self.process(thread >> 24), thread=str(thread & _PART))

    def _thread_name(self, thread: int) -> str:
        if thread == MISSING:
            return "no thread"
        name = self._thread_names.get(thread, "")
        return f"process {self.process(thread >> 24)} thread {thread & _PART}" + (f" ({name})" if name else "")

    def _stream(self, process: int, device: int, context: int, stream: int) -> Track:
        where = self.device(process, device)
        number = str(stream) if stream != MISSING else ""
        name = f"{where} stream {number}".strip()
        if len(self._contexts_of(where)) > 1:
            name += f" of process {self.process(process)}" + (f" context {context}" if context != MISSING else "")
        return Track(name=name, device=where, role="queue", process=self.process(process), thread=number)

    def _contexts_of(self, where: str) -> list[tuple[int, ...]]:
        return [key for key, device in self._contexts.items() if self.device(key[0], device) == where]

    @property
    def _machines(self) -> set[int]:
        return {process >> 24 for process, _ in self._contexts if process >= 0}

    @cached_property
    def _thread_names(self) -> dict[int, str]:
        rows = self.numbers("ThreadNames", "globalTid", "nameId")
        pairs = zip(rows["globalTid"].tolist(), rows["nameId"].tolist(), strict=True)
        return {thread: self.strings[name] for thread, name in pairs if name in self.strings}

    @cached_property
    def _gpu_of(self) -> dict[tuple[int, int], int]:
        rows = self.numbers("TARGET_INFO_CUDA_DEVICE", "pid", "cudaId", "gpuId")
        triples = zip(rows["pid"].tolist(), rows["cudaId"].tolist(), rows["gpuId"].tolist(), strict=True)
        return {(pid & _PART, cuda): gpu for pid, cuda, gpu in triples if gpu != MISSING and pid != MISSING}
