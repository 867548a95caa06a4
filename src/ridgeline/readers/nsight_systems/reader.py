"""`NsightSystems`: the SQLite export of NVIDIA Nsight Systems (`nsys export --type sqlite`).

This module decides in which order tables are read and what the profile says of the run. Tables are made only where something happened, and columns
come and go with the version (seen: schemas 3.24 and 3.25 of 2026); what is missing is missing and nothing fails for it. What is not read is said.
"""

from __future__ import annotations

from ridgeline.core import Caution, Profile

from ..databases import has_tables, opened
from ..source import Source
from . import device, host, ordering
from .export import Export

__all__ = ["NsightSystems"]

_TELLING = ("CUPTI_ACTIVITY_KIND_", "TARGET_INFO_SESSION_START_TIME", "NVTX_EVENTS", "OSRT_API")
#: Tables of events that hold more than is read here.
_UNREAD = ("SCHED_EVENTS", "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "GPU_METRICS", "GENERIC_EVENTS", "CUDA_GPU_MEMORY_USAGE_EVENTS", "MPI_", "DX1",
           "VULKAN_", "OPENGL_", "OPENMP", "OPENACC", "ETW_", "NET_", "IB_", "FECS_", "CUDA_UM_", "PMU", "CPU_METRICS", "UCX", "SYSCALL")  # fmt: skip
_FACTS = {"EXPORT_PRODUCT_VERSION": "version", "EXPORT_SCHEMA_VERSION": "schema", "CUDA_GRAPH_TRACE_OPTIONS:MODE": "graphs", "EXPORT_HOST": "host"}


class NsightSystems:
    """Reads the SQLite export of Nsight Systems."""

    format = "nsight-systems"
    title = "Nsight Systems SQLite export"

    def recognises(self, source: Source) -> int:
        """Sure by the tables that only this tool makes."""
        return 95 if has_tables(source, *_TELLING) else 0

    def read(self, source: Source) -> Profile:
        """All events of the tables that are known.

        Raises:
            ReadError: damaged, or none of them has anything in it.
        """
        with opened(source) as database:
            export = Export(database)
            warnings = _events(export)
            timeline, excluded = export.assembly.timeline()
            if timeline is None:
                found = f"no events in {len(database.tables)} tables"
                raise source.damaged("an export with CUDA, NVTX or OS runtime events", found, "record with --trace=cuda,nvtx,osrt and export again")
            facts = {**database.pairs("META_DATA_EXPORT", "name", "value"), **database.pairs("META_DATA_CAPTURE", "name", "value")}
            kept = {name: facts[key] for key, name in _FACTS.items() if facts.get(key)}
            kept |= {f"GPU {number}": name for number, name in sorted(export.device_names.items())}
            unread = sorted(name for name in database.tables if name.startswith(_UNREAD) and database.rows(name))
            if unread:
                kept["tables not read"] = ", ".join(unread)
            tool = " ".join(filter(None, (facts.get("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"), facts.get("EXPORT_PRODUCT_VERSION", ""))))
            return Profile(
                format=self.format,
                files=(source.name,),
                tool=tool,
                resolution_s=1e-9,
                timeline=timeline,
                facts=kept,
                excluded=excluded,
                warnings=warnings,
            )


def _events(export: Export) -> tuple[Caution, ...]:
    work = device.device_work(export)
    rows = ordering.synchronisations(export)
    calls = host.calls(export, ordering.waiting_calls(rows), ordering.own_copies(work))
    warnings = ordering.link_launches(export, work, calls)
    warnings += ordering.link_waits(export, rows, work, calls)
    ordering.link_copies(export, work, calls)
    host.ranges(export)
    host.system_calls(export)
    host.overhead(export)
    return warnings
