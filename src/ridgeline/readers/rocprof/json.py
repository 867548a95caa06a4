"""`RocprofJson`: the JSON of rocprofv3 (`rocprofiler-sdk-tool`), decoded typed and whole.

This module decides how its records become lanes and events; several processes of one file stay apart. Seen: ROCm 7 (kernel dispatches only); calls,
copies, markers and counters as the tool's sources name them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ridgeline.core import Caution, Profile, Track

from ..assembling import Assembly, Whole, kind_of
from ..databases import MISSING
from ..joining import matches
from ..kinds import bare_kernel, call_kind, iteration_of
from ..source import Source
from .dispatches import Dispatch, add_dispatches, kernel_table, whole

__all__ = ["RocprofJson"]

_KEY = b'"rocprofiler-sdk-tool"'
#: Tables of calls by what they are; the rest of `buffer_records` (scratch memory, allocations, samples of counters) is no call.
_CALLS = ("hip_api", "hsa_api", "rccl_api", "rocdecode_api", "rocjpeg_api", "marker_api")


class _Handle(msgspec.Struct):
    handle: int = -1


class _Correlation(msgspec.Struct):
    internal: int = -1


class _Axes(msgspec.Struct):
    x: int = 0
    y: int = 0
    z: int = 0


class _Info(msgspec.Struct):
    agent_id: _Handle = msgspec.field(default_factory=_Handle)
    queue_id: _Handle = msgspec.field(default_factory=_Handle)
    kernel_id: int = -1
    dispatch_id: int = -1
    group_segment_size: int = -1
    workgroup_size: _Axes = msgspec.field(default_factory=_Axes)
    grid_size: _Axes = msgspec.field(default_factory=_Axes)


class _Record(msgspec.Struct):
    kind: int = -1
    operation: int = -1
    thread_id: int = -1
    correlation_id: _Correlation = msgspec.field(default_factory=_Correlation)
    start_timestamp: int = MISSING
    end_timestamp: int = MISSING
    dispatch_info: _Info = msgspec.field(default_factory=_Info)
    stream_id: _Handle = msgspec.field(default_factory=_Handle)
    src_agent_id: _Handle = msgspec.field(default_factory=_Handle)
    dst_agent_id: _Handle = msgspec.field(default_factory=_Handle)
    bytes: int = -1


class _Count(msgspec.Struct):
    counter_id: _Handle = msgspec.field(default_factory=_Handle)
    value: float = 0.0


class _Counted(msgspec.Struct):
    dispatch_data: _Record = msgspec.field(default_factory=_Record)
    records: list[_Count] = []
    arch_vgpr_count: int = -1
    lds_block_size_v: int = -1


class _Buffers(msgspec.Struct):
    kernel_dispatch: list[_Record] = []
    memory_copy: list[_Record] = []
    hip_api: list[_Record] = []
    hsa_api: list[_Record] = []
    rccl_api: list[_Record] = []
    rocdecode_api: list[_Record] = []
    rocjpeg_api: list[_Record] = []
    marker_api: list[_Record] = []


class _Callbacks(msgspec.Struct):
    counter_collection: list[_Counted] = []


class _Kind(msgspec.Struct):
    kind: str = ""
    operations: list[str] = []


class _Marker(msgspec.Struct):
    key: int = -1
    value: str = ""


class _Strings(msgspec.Struct):
    buffer_records: list[_Kind] = []
    marker_api: list[_Marker] = []


class _Agent(msgspec.Struct):
    id: _Handle = msgspec.field(default_factory=_Handle)
    type: int = 0
    product_name: str = ""
    logical_node_type_id: int = -1


class _Symbol(msgspec.Struct):
    kernel_id: int = -1
    kernel_name: str = ""
    formatted_kernel_name: str = ""
    arch_vgpr_count: int = -1
    accum_vgpr_count: int = 0


class _Counter(msgspec.Struct):
    id: _Handle = msgspec.field(default_factory=_Handle)
    name: str = ""


class _Metadata(msgspec.Struct):
    pid: int = -1
    command: list[str] = []


class _Tool(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    agents: list[_Agent] = []
    counters: list[_Counter] = []
    strings: _Strings = msgspec.field(default_factory=_Strings)
    kernel_symbols: list[_Symbol] = []
    buffer_records: _Buffers = msgspec.field(default_factory=_Buffers)
    callback_records: _Callbacks = msgspec.field(default_factory=_Callbacks)


class _File(msgspec.Struct):
    tools: list[_Tool] = msgspec.field(name="rocprofiler-sdk-tool")


class RocprofJson:
    """Reads the JSON of rocprofv3."""

    format = "rocprof-json"
    title = "rocprofv3 JSON"

    def recognises(self, source: Source) -> int:
        """By the key that stands first in it."""
        return 99 if _KEY in source.head[:1024] else 0

    def read(self, source: Source) -> Profile:
        """All records; raises `ReadError` where the JSON is damaged or there are none."""
        try:
            tools = msgspec.json.decode(source.data, type=_File).tools
        except msgspec.MsgspecError as error:
            raise source.damaged("a whole file of rocprofv3", str(error)) from error
        assembly = Assembly(1e-9)
        counted: list[Dispatch] = []
        warnings: list[Caution] = []
        for tool in tools:
            reading = _Reading(tool, assembly)
            counted += reading.counted()
            warnings += reading.events()
        kernels = kernel_table(counted, "rocprofv3")
        timeline, excluded = assembly.timeline()
        if timeline is None and kernels is None:
            raise source.damaged("records of dispatches, copies or calls", "none", "record with --kernel-trace")
        agents = {f"GPU {agent.logical_node_type_id}": agent.product_name for tool in tools for agent in tool.agents if agent.type == 2}
        command = " ".join(tools[0].metadata.command)[: source.limits.name_characters] if tools else ""
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="rocprofv3",
            resolution_s=1e-9,
            timeline=timeline,
            kernels=kernels,
            facts={**agents, **({"command": command} if command else {})},
            excluded=excluded,
            warnings=tuple(warnings),
        )


class _Reading:
    """One process's records."""

    def __init__(self, tool: _Tool, assembly: Assembly) -> None:
        self._tool, self._assembly = tool, assembly
        self._process = str(tool.metadata.pid) if tool.metadata.pid >= 0 else ""
        self._agents = {agent.id.handle: f"GPU {agent.logical_node_type_id}" for agent in tool.agents if agent.type == 2}
        self._symbols = {symbol.kernel_id: symbol for symbol in tool.kernel_symbols}
        # A queue serves several streams; streams are what the program orders its work by, and 0 in all records where the version knows none.
        self._streams = any(record.stream_id.handle > 0 for record in tool.buffer_records.kernel_dispatch)

    def counted(self) -> list[Dispatch]:
        """Dispatches whose counters were taken."""
        names = {counter.id.handle: counter.name for counter in self._tool.counters}
        found = []
        for each in self._tool.callback_records.counter_collection:
            counters: dict[str, float] = {}
            for count in each.records:
                name = names.get(count.counter_id.handle, f"counter {count.counter_id.handle}")
                counters[name] = counters.get(name, 0.0) + count.value
            found.append(self._dispatch(each.dispatch_data, counters))
        return found

    def events(self) -> list[Caution]:
        """Dispatches, copies and calls to the timeline, with links from calls to what they put into queues."""
        records = self._tool.buffer_records
        work, numbers = [], []
        if not self._tool.callback_records.counter_collection:
            dispatches = [self._dispatch(record, None) for record in records.kernel_dispatch]
            work.append(add_dispatches(self._assembly, dispatches, "stream" if self._streams else "queue"))
            numbers.append(_internal(records.kernel_dispatch))
        work.append(self._copies(records.memory_copy))
        numbers.append(_internal(records.memory_copy))
        calls = [self._calls(getattr(records, name), name) for name in _CALLS]
        called = np.concatenate([_internal(getattr(records, name)) for name in _CALLS])
        event, number = np.concatenate(work), np.concatenate(numbers)
        call = matches(np.zeros(len(called), np.int64), called, np.zeros(len(number), np.int64), number)
        linked = (call >= 0) & (number > 0)
        self._assembly.link(np.concatenate(calls)[call[linked]], event[linked], "launch")
        without = int((~linked).sum())
        if not without:
            return []
        message = f"{without} of {len(linked)} dispatches and copies have no launching call in the file" + (
            f" (process {self._process})" if self._process else ""
        )
        return [Caution(code="missing-launch", message=message, effect="what launched them, and when, is not known; they are in all times")]

    def _dispatch(self, record: _Record, counters: dict[str, float] | None) -> Dispatch:
        info = record.dispatch_info
        symbol = self._symbols.get(info.kernel_id, _Symbol())
        queue = record.stream_id.handle if self._streams else info.queue_id.handle
        return Dispatch(
            name=bare_kernel(symbol.formatted_kernel_name or symbol.kernel_name or f"kernel {info.kernel_id}"),
            start=record.start_timestamp,
            end=record.end_timestamp,
            device=self._agents.get(info.agent_id.handle, f"GPU of agent {info.agent_id.handle}"),
            queue=str(queue),
            process=self._process,
            number=info.dispatch_id,
            grid=_axes(info.grid_size),
            block=_axes(info.workgroup_size),
            registers=symbol.arch_vgpr_count + max(symbol.accum_vgpr_count, 0) if symbol.arch_vgpr_count >= 0 else -1,
            shared_bytes=info.group_segment_size,
            counters=counters,
        )

    def _copies(self, records: Sequence[_Record]) -> Whole:
        lanes = []
        for record in records:
            # A copy belongs to the device at one of its ends; to that which receives where both are devices.
            ends = (self._agents.get(record.dst_agent_id.handle), self._agents.get(record.src_agent_id.handle))
            device = next((end for end in ends if end), "GPU")
            name = f"{device} copies" + (f" of stream {record.stream_id.handle}" if record.stream_id.handle >= 0 else "")
            lanes.append(self._assembly.lane(Track(name=name, device=device, role="queue", process=self._process)))
        names = self._assembly.names([self._operation(record) or "MEMORY_COPY" for record in records])
        size = whole((record.bytes for record in records), -1)
        numbers = {"bytes": size} if (size >= 0).any() else {}
        return self._assembly.add(*_times(records), name=names, lane=np.array(lanes, np.int64), kind=kind_of("copy"), numbers=numbers, place="copy")

    def _calls(self, records: Sequence[_Record], table: str) -> Whole:
        markers = {marker.key: marker.value for marker in self._tool.strings.marker_api}
        names, kinds, lanes = [], [], []
        for record in records:
            name = self._operation(record) or table
            kind = call_kind(name)
            if table == "marker_api":
                name = markers.get(record.correlation_id.internal, name)
                kind = "iteration" if iteration_of(name) >= 0 else "annotation"
            names.append(name)
            kinds.append(kind_of(kind))
            track = Track(
                name=f"process {self._process} thread {record.thread_id}", role="thread", process=self._process, thread=str(record.thread_id)
            )
            lanes.append(self._assembly.lane(track))
        lane, kind_column = np.array(lanes, np.int64), np.array(kinds, np.int64)
        place = f"{table} record"
        return self._assembly.add(*_times(records), name=self._assembly.names(names), lane=lane, kind=kind_column, place=place)

    def _operation(self, record: _Record) -> str:
        kinds = self._tool.strings.buffer_records
        operations = kinds[record.kind].operations if 0 <= record.kind < len(kinds) else []
        return operations[record.operation] if 0 <= record.operation < len(operations) else ""


def _times(records: Sequence[_Record]) -> tuple[Whole, Whole]:
    return whole((record.start_timestamp for record in records), MISSING), whole((record.end_timestamp for record in records), MISSING)


def _internal(records: Sequence[_Record]) -> Whole:
    return whole((record.correlation_id.internal for record in records), -1)


def _axes(shape: _Axes) -> tuple[int, ...]:
    return (shape.x, shape.y, shape.z) if min(shape.x, shape.y, shape.z) > 0 else ()
