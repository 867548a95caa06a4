"""OpenVINO: the reports of `benchmark_app`: counters of nodes (average, detailed), and the main report, as CSV or JSON.

This module decides that nodes whose status is not EXECUTED took no time and are in no figure, however many there are, and that `realTime` is the time
of a node while `cpuTime` may be that of several threads. Times are printed in milliseconds with three digits, and each node's is an average in whole
microseconds: a node of less shows as nothing.
Source: benchmark_app of OpenVINO 2026.4, as its files show them; older versions by their documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from ridgeline.core import Caution, Partition, PartitionTable, Profile, ProfileRow, ProfileTable, Quantity

from .delimited import Columns, Row, RowReader
from .small_json import decoded
from .source import Source
from .stacking import LeftOut
from .written_numbers import plain

__all__ = ["OpenVino"]

_MS = 1000.0
_NOT_RUN = "nodes that did not run"
_HEADER = ("layerName", "execStatus", "execType")
_SECTIONS = ("Command line parameters", "Configuration setup", "Execution results")
_KEYS = (b'"avg_performance"', b'"detailed_performance"', b'"execution_results"')
#: Kernels of the plugin for CPUs and of the one for GPUs, by how they call their implementations.
_CPU = re.compile(r"^(jit|brg|gemm|ref|acl|dnnl|mlas|kleidiai|simple|onednn)", re.IGNORECASE)
_GPU = re.compile(r"(^|_)(ocl|gpu|cl_|onednn_gpu)|__(f16|f32|i8|u8)$", re.IGNORECASE)
_PRECISION = re.compile(r"_(bf16|f16|f32|f64|i4|u4|i8|u8|i32|i64)$", re.IGNORECASE)
#: A printed sum of printed times may differ by this much for each of them.
_ROUNDING_S = 1e-6


class OpenVino:
    """Reports of OpenVINO's `benchmark_app`."""

    format = "openvino"
    title = "OpenVINO benchmark_app reports"

    def recognises(self, source: Source) -> int:
        """By the columns of its counters, the sections of its report, or the keys of either in JSON."""
        start = source.head_text.lstrip()
        if start.startswith("{"):
            return 90 if any(key in source.head for key in _KEYS) else 0
        first = start.split("\n", 1)[0].strip()
        if all(name in first for name in _HEADER):
            return 95
        return 90 if first in _SECTIONS and ";" in start else 0

    def read(self, source: Source) -> Profile:
        """The counters or the report; raises `ReadError` where there are none."""
        if source.head_text.lstrip().startswith("{"):
            return _from_json(source)
        reader = RowReader(source)
        rows = list(reader.rows(";"))
        first = next((row for row in rows if any(field.strip() for field in row.fields)), None)
        if first is not None and all(name in first.fields for name in _HEADER):
            tables = _Tables(source, _counters(rows))
            return tables.profile(reader.warnings)
        found = {row.fields[0].strip(): row.fields[1].strip() for row in rows if len(row.fields) == 2}
        return _report(source, found, reader.warnings)


class _Node(msgspec.Struct):
    """A row of counters, as text."""

    name: str = ""
    status: str = ""
    node_type: str = ""
    exec_type: str = ""
    real_time: str | float = ""
    cpu_time: str | float = ""
    place: str = ""


def _counters(rows: Iterable[Row]) -> Iterator[list[_Node]]:
    """Tables of nodes; each has a header of its own, and ends with a total."""
    columns: Columns | None = None
    nodes: list[_Node] = []
    for row in rows:
        if all(name in row.fields for name in _HEADER):
            if nodes:
                yield nodes
            columns, nodes = Columns(row.fields), []
        elif columns is not None and any(field.strip() for field in row.fields):
            text = columns.text
            nodes.append(
                _Node(
                    name=text(row.fields, "layerName"),
                    status=text(row.fields, "execStatus"),
                    node_type=text(row.fields, "layerType"),
                    exec_type=text(row.fields, "execType"),
                    real_time=text(row.fields, "realTime (ms)"),
                    cpu_time=text(row.fields, "cpuTime (ms)"),
                    place=f"line {row.line}",
                )
            )
    if nodes:
        yield nodes


class _Tables:
    """Tables of nodes with what was left out of them."""

    def __init__(self, source: Source, tables: Iterable[Sequence[_Node]]) -> None:
        self._source = source
        self._left_out = LeftOut()
        self._warnings: list[Caution] = []
        found = [self._rows(nodes) for nodes in tables]
        several = len(found) > 1
        self.tables = tuple(
            ProfileTable(rows=rows, of="operators", per_call=True, name=f"request {number}" if several else "")
            for number, rows in enumerate(found, start=1)
            if rows
        )

    def profile(self, warnings: Iterable[Caution] = ()) -> Profile:
        """All of it; raises `ReadError` where no node ran."""
        if not self.tables and any(entry.reason.startswith(_NOT_RUN) for entry in self._left_out.listed):
            # The average report as JSON has been seen with its first node only, which is an input.
            self.tables = (ProfileTable(rows=(), of="operators", per_call=True),)
            message = "the file has no node that was executed; the report in JSON may hold its first node only"
            self._warnings.append(Caution(code="nothing-executed", message=message, effect="no times: take the report in CSV"))
        if not self.tables:
            raise self._source.damaged("nodes that were executed", "none with a time", "run benchmark_app with -report_type detailed_counters")
        return Profile(
            format=OpenVino.format,
            files=(self._source.name,),
            tool="OpenVINO benchmark_app",
            resolution_s=1e-6,
            tables=self.tables,
            partitions=_partitions(self.tables[0].rows),
            excluded=self._left_out.listed,
            warnings=(*self._warnings, *warnings),
        )

    def _rows(self, nodes: Sequence[_Node]) -> tuple[ProfileRow, ...]:
        rows, total_s = [], None
        for node in nodes:
            real_s, cpu_s = _seconds(node.real_time), _seconds(node.cpu_time)
            status = node.status.rpartition(".")[2].upper()
            if node.name == "Total" and not node.status:
                total_s = real_s
            elif real_s is None:
                self._left_out.add("nodes without a time, or with one that is none", node.place)
            elif status != "EXECUTED":
                self._left_out.add(f"{_NOT_RUN} ({(status or 'no status')[:40]})", node.place, total_s=real_s)
            else:
                rows.append(self._row(node, real_s, cpu_s))
        summed_s = sum(row.total_s for row in rows)
        if total_s is not None and abs(summed_s - total_s) > _ROUNDING_S * (len(nodes) + 1):
            message = f"the file's total is {total_s * _MS:.3f} ms, its executed nodes sum up to {summed_s * _MS:.3f} ms"
            self._warnings.append(Caution(code="total-differs", message=message, effect="the sum of the nodes is what counts here"))
        return tuple(rows)

    def _row(self, node: _Node, real_s: float, cpu_s: float | None) -> ProfileRow:
        longest = max(len(node.name), len(node.node_type), len(node.exec_type))
        if longest > self._source.limits.name_characters:
            raise self._source.damaged(f"names of at most {self._source.limits.name_characters} characters", "a longer one", "raise the limit")
        precision = _PRECISION.search(node.exec_type)
        return ProfileRow(
            name=node.name,
            kind=node.node_type,
            calls=1.0,
            total_s=real_s,
            device=_device(node.exec_type),
            provider="OpenVINO",
            precision=precision[1].lower() if precision else "",
            kernel=node.exec_type,
            numbers={} if cpu_s is None else {"cpu_s": cpu_s},
        )


def _device(kernel: str) -> str:
    """Where a kernel ran, as far as its name tells."""
    return "CPU" if _CPU.search(kernel) else "GPU" if _GPU.search(kernel) else ""


def _partitions(rows: Sequence[ProfileRow]) -> PartitionTable | None:
    """Stretches of nodes on one device, where the kernels show more than one."""
    devices = [row.device for row in rows]
    known = [device for device in dict.fromkeys(devices) if device]
    if len(known) < 2 or "" in devices:
        return None
    partitions = []
    for device, stretch in groupby(enumerate(rows), key=lambda each: each[1].device):
        members = list(stretch)
        total_s = Quantity.exact(sum(row.total_s for _, row in members), "s", source="measured", origin="sum of the nodes' averages")
        nodes, kinds = tuple(node for node, _ in members), tuple(row.kind for _, row in members)
        partitions.append(Partition(provider=device, nodes=nodes, kinds=kinds, total_s=total_s))
    most = max(known, key=devices.count)
    return PartitionTable(partitions=tuple(partitions), delegate=most, instrument="names of the kernels in benchmark_app's counters")


def _seconds(value: str | float) -> float | None:
    number = plain(value) if isinstance(value, str) else plain(repr(value))
    return None if number is None or number < 0.0 else number / _MS


def _from_json(source: Source) -> Profile:
    found = decoded(source, "a report in JSON")
    if not isinstance(found, dict):
        raise source.damaged("an object", f"a {type(found).__name__}")
    if isinstance(found.get("execution_results"), dict):
        groups = (found.get(group) for group in ("cmd_options", "configuration_setup", "execution_results"))
        texts = {str(name): str(value) for group in groups if isinstance(group, dict) for name, value in group.items()}
        return _report(source, texts, ())
    lists = found.get("detailed_performance") or [found.get("avg_performance")]
    tables = [_json_nodes(each["nodes"]) for each in lists if isinstance(each, dict) and isinstance(each.get("nodes"), list)]
    return _Tables(source, tables).profile()


def _json_nodes(entries: Sequence[Any]) -> list[_Node]:
    nodes = []
    for number, entry in enumerate(entries, start=1):
        texts: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
        known = {key: texts[key] if isinstance(texts[key], str) else repr(texts[key]) for key in _Node.__struct_fields__ if key in texts}
        nodes.append(_Node(**{**known, "place": f"node {number}"}))
    return nodes


_LATENCIES = {"median_s": ("latency (ms)", "median latency"), "least_s": ("min latency",), "most_s": ("max latency",)}


def _report(source: Source, texts: Mapping[str, str], warnings: Sequence[Caution]) -> Profile:
    """The main report: what starting cost, and what an inference takes."""
    times = {name: _seconds(texts.get(name, "")) for name in ("read model time (ms)", "compile model time (ms)", "load network time (ms)")}
    first_s, mean_s = _seconds(texts.get("first inference time (ms)", "")), _seconds(texts.get("avg latency", ""))
    middle = {field: value for field, names in _LATENCIES.items() if (value := _first_of(texts, names)) is not None}
    count = plain(texts.get("total number of iterations", ""))
    iterations = int(count) if count is not None and 1 <= count < 1e15 else None
    total_s = _seconds(texts.get("total execution time (ms)", ""))
    setup_s = sum(value for value in times.values() if value is not None)
    wall_s = mean_s if mean_s is not None else middle.get("median_s")
    tables = []
    if wall_s is not None:
        row = msgspec.structs.replace(ProfileRow(name="inference", calls=1.0, total_s=wall_s, first_s=first_s), **middle)
        tables.append(
            ProfileTable(
                rows=(row,),
                of="ranges",
                per_call=True,
                iterations=iterations,
                wall_s=wall_s,
                first_wall_s=first_s,
                setup_s=setup_s or None,
                name="inferences",
            )
        )
    started = tuple(ProfileRow(name=name.removesuffix(" (ms)"), calls=1.0, total_s=value) for name, value in times.items() if value is not None)
    if started:
        tables.append(ProfileTable(rows=started, of="ranges", wall_s=total_s, first_wall_s=first_s, setup_s=setup_s, name="start"))
    if not tables:
        raise source.damaged("times of inferences, or of starting", "none", "run benchmark_app with -report_type no_counters")
    facts = {name[:100]: value[:200] for name, value in list(texts.items())[:100]}
    return Profile(
        format=OpenVino.format, files=(source.name,), tool="OpenVINO benchmark_app", tables=tuple(tables), facts=facts, warnings=tuple(warnings)
    )


def _first_of(texts: Mapping[str, str], names: Sequence[str]) -> float | None:
    return next((value for name in names if (value := _seconds(texts.get(name, ""))) is not None), None)
