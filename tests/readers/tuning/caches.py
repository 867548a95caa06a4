"""Caches of Kernel Tuner and T4 results made by hand, small."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

HEAD: dict[str, Any] = {
    "device_name": "Device A",
    "kernel_name": "sum",
    "problem_size": [1024, 1],
    "tune_params_keys": ["tile", "way"],
    "tune_params": {"tile": [8, 16], "way": ["row", "column"]},
    "objective": "time",
}
ENTRIES: dict[str, dict[str, Any]] = {
    "8,row": {
        "tile": 8, "way": "row", "time": 2.0, "times": [3.0, 1.0, 2.0], "compile_time": 100.0, "verification_time": 5, "benchmark_time": 20.5,
        "strategy_time": 0, "framework_time": 1.5, "GFLOP/s": 12.5, "nvml_energy": 0.25, "core_freqs": [1, 2], "timestamp": "2024-01-19",
    },
    "16,row": {"tile": 16, "way": "row", "time": "CompilationFailedConfig", "compile_time": 40.0, "verification_time": 0, "benchmark_time": 0},
    "8,column": {"tile": 8, "way": "column", "time": 0.5, "compile_time": 90.0},
    "16,column": {"tile": 16, "way": "column", "__error__": "InvalidConfig"},
}  # fmt: skip


def cache(head: dict[str, Any] | None = None, entries: dict[str, Any] | None = None) -> dict[str, Any]:
    """A document as Kernel Tuner has it."""
    return {**HEAD, **(head or {}), "cache": ENTRIES if entries is None else entries}


def as_kernel_tuner_writes(document: dict[str, Any], *, closed: bool = True) -> str:
    """One line an entry, the braces only at the end of the search."""
    head = json.dumps({key: value for key, value in document.items() if key != "cache"} | {"cache": {}}, indent="")[:-3]
    body = "".join("\n" + json.dumps({key: entry})[1:-1] + "," for key, entry in document["cache"].items())
    return head + (body[:-1] + "}\n}" if closed else body)


def written(folder: Path, text: str | bytes, name: str = "cache.json") -> Path:
    """A file, packed if its name says so."""
    data = text.encode() if isinstance(text, str) else text
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def result(config: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One result of T4."""
    times = {"compilation": 100.0, "runtimes": [3.0, 1.0, 2.0], "benchmark": 20.0, "framework": 1.0, "search_algorithm": 0.5, "validation": 5.0}
    made = {"configuration": config, "times": times, "invalidity": "correct", "correctness": 1, "measurements": [], "objectives": ["time"]}
    return {**made, **fields}


def results(*listed: dict[str, Any], timeunit: str | None = "milliseconds") -> dict[str, Any]:
    """A document of T4."""
    return {"schema_version": "1.0.0", "results": list(listed), **({"metadata": {"timeunit": timeunit}} if timeunit else {})}
