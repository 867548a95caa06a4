"""A stored run as series: its steady calls as `latency`, its batches as `batched`, where each start is used for one call its first calls as
`first_call`; with the keys that make them comparable.
"""

from __future__ import annotations

import numpy as np

from ridgeline.core import Column, Facts, Run, Samples, Series, SeriesSet, TargetInfo

from ..cores import side_by_side

__all__ = ["keys_of", "series_of", "target_keys"]

#: Kind of a model file → what runs it.
_RUNTIMES = {"onnx": "onnxruntime", "openvino": "openvino", "tflite": "tflite"}


def series_of(run: Run) -> SeriesSet:
    """The latency of the steady calls, process by process, and the batched seconds a call where batches were measured; the first call of each
    process where the target is used once a start.

    A run without samples holds no series.
    """
    name = run.facts.target.name or run.facts.target.spec
    found = []
    keys = keys_of(run)
    latency = _latency(run)
    if latency is not None:
        found.append(_series(name, "latency", latency[0], latency[1], keys, run, latency[2]))
    bench = run.bench
    if bench is not None and bench.batched_s is not None and bench.batched_process is not None:
        found.append(_series(name, "batched", bench.batched_s.values, bench.batched_process.values, keys, run))
    first = _first_calls(run)
    if first is not None:
        found.append(_series(name, "first_call", *first, keys, run))
    return SeriesSet(source=run.id, tool="ridgeline", series=tuple(found), cautions=run.facts.warnings)


def _latency(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """(seconds, process, sentinels beside them) of the steady calls."""
    samples: Samples | None = run.bench.samples if run.bench is not None else run.facts.samples
    if samples is None or len(samples) == 0:
        return None
    steady = run.bench.steady() if run.bench is not None else np.ones(len(samples), np.bool_)
    return samples.wall_s.values[steady], samples.process.values[steady], None if samples.sentinel_s is None else samples.sentinel_s.values[steady]


def _first_calls(run: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """(seconds, process) of the first call of each process, where each start is used for one."""
    if run.bench is None or run.facts.target.use != "once":
        return None
    records = [record for record in run.bench.processes if record.first_s is not None]
    if not records:
        return None
    return np.array([record.first_s for record in records], float), np.array([record.index for record in records])


def _series(
    name: str, metric: str, values: np.ndarray, process: np.ndarray, keys: dict[str, str], run: Run, sentinel_s: np.ndarray | None = None
) -> Series:
    # Whoever takes one series from the set must not take times of unfinished work for times of the work.
    unfinished = tuple(caution for caution in run.facts.warnings if caution.code == "unsynchronised")
    return Series(
        name=name, metric=metric, values=Column(values, "s", np.float64), process=Column(process, "count", np.int64), keys=keys, at=run.at,
        cautions=unfinished, sentinel_s=None if sentinel_s is None else Column(sentinel_s, "s", np.float64),
        core_to_core=run.facts.clock.core_to_core, side_by_side=side_by_side(run.facts.samples),
    )  # fmt: skip


def keys_of(run: Run) -> dict[str, str]:
    """What the run depended on, as text; what could not be seen is left out."""
    facts = run.facts
    keys = {
        **target_keys(facts.target),
        "cache": run.bench.cache if run.bench is not None else "warm",
        "commit": run.commit or "",
        "id": run.id,
        "at": run.at,
        **_machine_keys(facts),
        **{f"software.{name}": version for name, version in run.software.items()},
    }
    return {key: value for key, value in keys.items() if value}


def target_keys(target: TargetInfo) -> dict[str, str]:
    """What a target says of what its times depend on, before anything is measured."""
    keys = {
        "workload": target.name or target.spec,
        "kind": "model" if target.kind in _RUNTIMES else target.kind,
        "runtime": _RUNTIMES.get(target.kind, ""),
        "runtime.providers": ", ".join(target.providers),
        "input": "; ".join(target.inputs),
        "precision": target.precision,
        "threads": str(target.threads) if target.threads else "default",
        "allocator": target.allocator,
        "use": target.use,
        "digest": target.digest,
        **{f"environment.{name}": value for name, value in _variables(target).items()},
    }
    return {key: value for key, value in keys.items() if value}


def _variables(target: TargetInfo) -> dict[str, str]:
    """Variables, without those that only size pools as `threads` says: one change is one key."""
    threads = str(target.threads)
    return {name: value for name, value in target.environment.items() if not (name.endswith("_NUM_THREADS") and value == threads)}


def _machine_keys(facts: Facts) -> dict[str, str]:
    machine = facts.machine
    return {
        "machine.cpu": machine.cpu_model,
        "machine.architecture": machine.architecture,
        "machine.fingerprint": machine.fingerprint,
        "machine.kernel": machine.kernel,
        "machine.governor": machine.governor or facts.clock.governor or "",
        "machine.quota": f"{machine.quota_cpus:g}" if machine.quota_cpus is not None else "",
    }
