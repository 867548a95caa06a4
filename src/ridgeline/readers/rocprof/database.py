"""`Rocpd`: SQLite databases of AMD's profilers: those of rocprofv3 (tables named for the run) and the older ones of rocmProfileData.

This module decides which table holds what; joins are made on columns, never in the database. No real file was at hand: tables and columns are those
of the tools' schemas.
"""

from __future__ import annotations

import numpy as np

from ridgeline.core import Caution, Profile, Track

from ..assembling import Assembly, Whole, kind_of
from ..databases import MISSING, Database, has_tables, opened
from ..delimited import unverified
from ..joining import distinct, matches
from ..kinds import bare_call, bare_kernel, call_kind, device_kind, iteration_of
from ..source import Source
from .dispatches import Dispatch, kernel_table

__all__ = ["Rocpd"]

_NEW, _OLD = "rocpd_kernel_dispatch", "rocpd_op"


class Rocpd:
    """Reads rocpd databases."""

    format = "rocpd"
    title = "rocpd SQLite database (rocprofv3, rocmProfileData)"

    def recognises(self, source: Source) -> int:
        """By the names of its tables."""
        return 95 if has_tables(source, _OLD, _NEW) else 0

    def read(self, source: Source) -> Profile:
        """All dispatches, copies and calls; raises `ReadError` for a damaged file or one without any."""
        with opened(source) as database:
            assembly = Assembly(1e-9)
            counted: list[Dispatch] = []
            suffixes = sorted(name.removeprefix(_NEW) for name in database.tables if name.startswith(_NEW))
            for suffix in suffixes:
                run = _Run(database, assembly, suffix)
                own = run.counted()
                counted += own
                run.events(bool(own))
            if _OLD in database.tables:
                _older(database, assembly)
            kernels = kernel_table(counted, "rocprofv3")
            timeline, excluded = assembly.timeline()
        if timeline is None and kernels is None:
            raise source.damaged("dispatches, copies or calls", "none", "record with --kernel-trace")
        tool = "rocprofv3" if suffixes else "rocmProfileData"
        warnings: tuple[Caution, ...] = (unverified("a database of rocpd"),)
        return Profile(
            format=self.format,
            files=(source.name,),
            tool=tool,
            resolution_s=1e-9,
            timeline=timeline,
            kernels=kernels,
            excluded=excluded,
            warnings=warnings,
        )


class _Run:
    """The tables of one run of rocprofv3, which share what stands behind their names."""

    def __init__(self, database: Database, assembly: Assembly, suffix: str) -> None:
        self._database, self._assembly, self._suffix = database, assembly, suffix
        self._strings = database.by_id(f"rocpd_string{suffix}", "id", "string")
        self._processes = self._map("info_process", "pid")
        self._threads = self._map("info_thread", "tid")
        agents = self._columns("info_agent", "id", "type_index")
        kinds = database.by_id(f"rocpd_info_agent{suffix}", "id", "type")
        pairs = zip(agents["id"].tolist(), agents["type_index"].tolist(), strict=True)
        self._agents = {agent: f"GPU {index if index != MISSING else agent}" for agent, index in pairs if kinds.get(agent, "GPU") == "GPU"}
        symbols = f"rocpd_info_kernel_symbol{suffix}"
        self._kernels = {**database.by_id(symbols, "id", "kernel_name"), **database.by_id(symbols, "id", "display_name")}
        self._stacks = dict(zip(*(self._columns("event", "id", "stack_id")[name].tolist() for name in ("id", "stack_id")), strict=True))

    def counted(self) -> list[Dispatch]:
        """Dispatches whose counters were taken, by the event that both belong to."""
        values = self._database.real(f"rocpd_pmc_event{self._suffix}", ("value",))["value"] if self._has("pmc_event") else np.empty(0)
        rows = self._columns("pmc_event", "event_id", "pmc_id")
        names = {**self._names("info_pmc", "symbol"), **self._names("info_pmc", "name")}
        by_event: dict[int, dict[str, float]] = {}
        for event, counter, value in zip(rows["event_id"].tolist(), rows["pmc_id"].tolist(), values.tolist(), strict=True):
            if np.isfinite(value) and event != MISSING:
                counters = by_event.setdefault(event, {})
                name = names.get(counter, f"counter {counter}")
                counters[name] = counters.get(name, 0.0) + value
        if not by_event:
            return []
        sides = ("grid_size_x", "grid_size_y", "grid_size_z", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z")
        work = self._columns("kernel_dispatch", "start", "end", "agent_id", "kernel_id", "queue_id", "dispatch_id", "event_id", *sides)
        table = zip(*(values.tolist() for values in work.values()), strict=True)
        return [
            Dispatch(
                name=bare_kernel(self._kernels.get(kernel, f"kernel {kernel}")),
                start=start,
                end=end,
                device=self._agents.get(agent, "GPU"),
                queue=str(queue),
                number=dispatch,
                grid=tuple(shape[:3]) if min(shape) > 0 else (),
                block=tuple(shape[3:]) if min(shape) > 0 else (),
                counters=by_event.get(event),
            )
            for start, end, agent, kernel, queue, dispatch, event, *shape in table
        ]

    def events(self, counted: bool) -> None:
        """Dispatches (unless they ran alone to be counted), copies and calls to the timeline."""
        work = [] if counted else [self._dispatches()]
        work.append(self._copies())
        event, call_of = (np.concatenate(columns) for columns in zip(*work, strict=True))
        region, stack = self._regions()
        call = matches(np.zeros(len(stack), np.int64), stack, np.zeros(len(call_of), np.int64), call_of)
        linked = (call >= 0) & (call_of > 0)
        self._assembly.link(region[call[linked]], event[linked], "launch")

    def _dispatches(self) -> tuple[Whole, Whole]:
        rows = self._columns("kernel_dispatch", "start", "end", "agent_id", "kernel_id", "queue_id", "stream_id", "pid", "event_id")
        found, inverse = distinct(rows["kernel_id"])
        texts = [bare_kernel(self._kernels.get(kernel, f"kernel {kernel}")) for (kernel,) in found]
        names, kinds = self._assembly.names(texts)[inverse], np.array([kind_of(device_kind(text)) for text in texts], np.int64)[inverse]
        stream = rows["stream_id"] if (rows["stream_id"] > 0).any() else rows["queue_id"]
        lanes = self._lanes(rows["agent_id"], stream, rows["pid"])
        return self._assembly.add(rows["start"], rows["end"], name=names, lane=lanes, kind=kinds, place="dispatch"), self._stack(rows["event_id"])

    def _copies(self) -> tuple[Whole, Whole]:
        rows = self._columns("memory_copy", "start", "end", "name_id", "dst_agent_id", "src_agent_id", "size", "stream_id", "pid", "event_id")
        found, inverse = distinct(rows["name_id"])
        names = self._assembly.names([self._strings.get(name, "MEMORY_COPY") for (name,) in found])[inverse]
        devices = np.isin(rows["dst_agent_id"], list(self._agents))
        lanes = self._lanes(np.where(devices, rows["dst_agent_id"], rows["src_agent_id"]), rows["stream_id"], rows["pid"])
        numbers = {"bytes": np.where(rows["size"] == MISSING, -1, rows["size"])}
        event = self._assembly.add(rows["start"], rows["end"], name=names, lane=lanes, kind=kind_of("copy"), numbers=numbers, place="copy")
        return event, self._stack(rows["event_id"])

    def _regions(self) -> tuple[Whole, Whole]:
        rows = self._columns("region", "start", "end", "name_id", "pid", "tid", "event_id")
        categories = self._columns("event", "id", "category_id")
        category = dict(zip(categories["id"].tolist(), categories["category_id"].tolist(), strict=True))
        found, inverse = distinct(rows["name_id"], np.array([category.get(event, MISSING) for event in rows["event_id"].tolist()], np.int64))
        texts = [(self._strings.get(name, "[unnamed]"), self._strings.get(kind, "")) for name, kind in found]
        names = self._assembly.names([name for name, _ in texts])[inverse]
        kinds = np.array([kind_of(_region_kind(name, kind)) for name, kind in texts], np.int64)[inverse]
        keys, place = distinct(rows["pid"], rows["tid"])
        lanes = np.array([self._assembly.lane(self._thread(*key)) for key in keys], np.int64)[place]
        return self._assembly.add(rows["start"], rows["end"], name=names, lane=lanes, kind=kinds, place="region"), self._stack(rows["event_id"])

    def _thread(self, process: int, thread: int) -> Track:
        pid, tid = str(self._processes.get(process, process)), str(self._threads.get(thread, thread))
        return Track(name=f"process {pid} thread {tid}", role="thread", process=pid, thread=tid)

    def _lanes(self, agent: Whole, stream: Whole, process: Whole) -> Whole:
        found, inverse = distinct(agent, stream, process)
        made = []
        for each, number, of in found:
            device, text = self._agents.get(each, "GPU"), str(number) if number != MISSING else ""
            track = Track(name=f"{device} queue {text}".strip(), device=device, role="queue", process=str(self._processes.get(of, "")), thread=text)
            made.append(self._assembly.lane(track))
        return np.array(made, np.int64)[inverse]

    def _stack(self, events: Whole) -> Whole:
        return np.array([self._stacks.get(event, MISSING) for event in events.tolist()], np.int64)

    def _has(self, name: str) -> bool:
        return f"rocpd_{name}{self._suffix}" in self._database.tables

    def _columns(self, name: str, *columns: str) -> dict[str, Whole]:
        if not self._has(name):
            return {column: np.empty(0, np.int64) for column in columns}
        return self._database.whole(f"rocpd_{name}{self._suffix}", columns)

    def _names(self, name: str, column: str) -> dict[int, str]:
        return self._database.by_id(f"rocpd_{name}{self._suffix}", "id", column)

    def _map(self, name: str, column: str) -> dict[int, int]:
        rows = self._columns(name, "id", column)
        return dict(zip(rows["id"].tolist(), rows[column].tolist(), strict=True))


def _region_kind(name: str, category: str) -> str:
    if "MARKER" in category.upper():
        return "iteration" if iteration_of(name) >= 0 else "annotation"
    return call_kind(name)


def _older(database: Database, assembly: Assembly) -> None:
    """Tables of rocmProfileData: calls, work, and which call caused which work."""
    strings = database.by_id("rocpd_string", "id", "string")
    work = database.whole("rocpd_op", ("id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"))
    found, inverse = distinct(work["description_id"], work["opType_id"])
    # A description is empty where the operation is no kernel.
    texts = [strings.get(text, "") or strings.get(kind, "") or "[unnamed]" for text, kind in found]
    kinds = [_operation_kind(text, strings.get(kind, "")) for text, (_, kind) in zip(texts, found, strict=True)]
    lanes_of, lane = distinct(work["gpuId"], work["queueId"])
    lanes = [assembly.lane(Track(name=f"GPU {gpu} queue {queue}", device=f"GPU {gpu}", role="queue", thread=str(queue))) for gpu, queue in lanes_of]
    name, kind = assembly.names(texts)[inverse], np.array([kind_of(each) for each in kinds], np.int64)[inverse]
    events = assembly.add(work["start"], work["end"], name=name, kind=kind, lane=np.array(lanes, np.int64)[lane], place="table rocpd_op row")
    calls = _older_calls(database, assembly, strings)
    pairs = database.whole("rocpd_api_ops", ("api_id", "op_id")) if "rocpd_api_ops" in database.tables else {"api_id": lane[:0], "op_id": lane[:0]}
    none = np.zeros(len(pairs["api_id"]), np.int64)
    source = matches(np.zeros(len(calls[0]), np.int64), calls[0], none, pairs["api_id"])
    target = matches(np.zeros(len(work["id"]), np.int64), work["id"], none, pairs["op_id"])
    linked = (source >= 0) & (target >= 0)
    assembly.link(calls[1][source[linked]], events[target[linked]], "launch")


def _operation_kind(name: str, operation: str) -> str:
    """Of work by what rocmProfileData calls the operation, else by its name."""
    told = {"Copy": "copy", "Fill": "fill", "Barrier": "sync", "Marker": "sync"}
    return next((kind for start, kind in told.items() if operation.startswith(start)), None) or device_kind(name)


def _older_calls(database: Database, assembly: Assembly, strings: dict[int, str]) -> tuple[Whole, Whole]:
    if "rocpd_api" not in database.tables:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = database.whole("rocpd_api", ("id", "pid", "tid", "start", "end", "apiName_id", "args_id"))
    found, inverse = distinct(rows["apiName_id"], np.where(np.isin(rows["apiName_id"], _user_marks(strings)), rows["args_id"], -1))
    texts, kinds = [], []
    for name, argument in found:
        text = bare_call(strings.get(name, "[unnamed call]"))
        marked = argument >= 0 and strings.get(argument, "")
        texts.append(strings[argument] if marked else text)
        kinds.append(kind_of(("iteration" if iteration_of(texts[-1]) >= 0 else "annotation") if marked else call_kind(text)))
    keys, place = distinct(rows["pid"], rows["tid"])
    lanes = [assembly.lane(Track(name=f"process {pid} thread {tid}", role="thread", process=str(pid), thread=str(tid))) for pid, tid in keys]
    names, lane, kind = assembly.names(texts)[inverse], np.array(lanes, np.int64)[place], np.array(kinds, np.int64)[inverse]
    return rows["id"], assembly.add(rows["start"], rows["end"], name=names, lane=lane, kind=kind, place="table rocpd_api row")


def _user_marks(strings: dict[int, str]) -> list[int]:
    """Ids of the names under which ranges of the program stand, whose text is their argument."""
    return [key for key, text in strings.items() if text in ("UserMarker", "roctx", "roctxRange")]
