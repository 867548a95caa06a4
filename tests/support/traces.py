"""Small traces as PyTorch and others write them, for tests of what is done with a file."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["launch_bound", "steady", "trace_bytes"]


def _span(cat: str, name: str, start: float, end: float, **args: Any) -> dict[str, Any]:
    on_device = cat in ("kernel", "gpu_memcpy")
    where = {"pid": 0, "tid": 7} if on_device else {"pid": 100, "tid": 100}
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "ts": start,
        "dur": end - start,
        "args": {**({"device": 0, "stream": 7} if on_device else {}), **args},
        **where,
    }


def trace_bytes(events: list[dict[str, Any]]) -> bytes:
    """A file of trace events; `schemaVersion` makes it one of PyTorch."""
    return json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()


def launch_bound(steps: int = 10, *, kernel_us: float = 10.0, launch_us: float = 30.0, name: str = "gemm") -> bytes:
    """Each step launches four kernels that end long before the next one is issued: of 40 µs a device works `kernel_us`."""
    events = []
    for step in range(steps):
        at = step * 4 * (launch_us + 10.0)
        events.append(_span("user_annotation", f"ProfilerStep#{step}", at, at + 4 * (launch_us + 10.0)))
        for nth in range(4):
            start = at + nth * (launch_us + 10.0)
            number = step * 4 + nth + 1
            events.append(_span("cpu_op", "aten::mm", start, start + launch_us + 9, **{"External id": number}))
            events.append(_span("cuda_runtime", "cudaLaunchKernel", start + 1, start + launch_us, correlation=number))
            events.append(_span("kernel", name, start + launch_us, start + launch_us + kernel_us, correlation=number))
    return trace_bytes(events)


def steady() -> bytes:
    """Kernels back to back: a device that never waits."""
    events = []
    for nth in range(40):
        events.append(_span("cuda_runtime", "cudaLaunchKernel", nth * 2.0, nth * 2.0 + 1, correlation=nth + 1))
        events.append(_span("kernel", "gemm", 10 + nth * 50.0, 60 + nth * 50.0, correlation=nth + 1))
    return trace_bytes(events)
