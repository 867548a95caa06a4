"""A stored run as series: its steady calls as `latency`, its batches as `batched`, with the keys that make them comparable."""

from __future__ import annotations

import numpy as np

from ridgeline.core import Column, Facts, Run, Samples, Series, SeriesSet

__all__ = ["keys_of", "series_of"]


def series_of(run: Run) -> SeriesSet:
    """The latency of the steady calls, process by process, and the batched seconds a call where batches were measured.

    A run without samples holds no series.
    """
    name = run.facts.target.name or run.facts.target.spec
    found = []
    keys = keys_of(run)
    latency = _latency(run)
    if latency is not None:
        found.append(_series(name, "latency", *latency, keys, run))
    bench = run.bench
    if bench is not None and bench.batched_s is not None and bench.batched_process is not None:
        found.append(_series(name, "batched", bench.batched_s.values, bench.batched_process.values, keys, run))
    return SeriesSet(source=run.id, tool="ridgeline", series=tuple(found), cautions=run.facts.warnings)


def _latency(run: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """(seconds, process) of the steady calls."""
    samples: Samples | None = run.bench.samples if run.bench is not None else run.facts.samples
    if samples is None or len(samples) == 0:
        return None
    steady = run.bench.steady() if run.bench is not None else np.ones(len(samples), np.bool_)
    return samples.wall_s.values[steady], samples.process.values[steady]


def _series(name: str, metric: str, values: np.ndarray, process: np.ndarray, keys: dict[str, str], run: Run) -> Series:
    return Series(
        name=name, metric=metric, values=Column(values, "s", np.float64), process=Column(process, "count", np.int64), keys=keys, at=run.at
    )  # fmt: skip


def keys_of(run: Run) -> dict[str, str]:
    """What the run depended on, as text; what could not be seen is left out."""
    target, facts = run.facts.target, run.facts
    keys = {
        "workload": target.name or target.spec,
        "kind": target.kind,
        "input": "; ".join(target.inputs),
        "precision": target.precision,
        "threads": str(target.threads) if target.threads else "default",
        "providers": ", ".join(target.providers),
        "allocator": target.allocator,
        "use": target.use,
        "cache": run.bench.cache if run.bench is not None else "warm",
        "commit": run.commit or "",
        "digest": target.digest,
        "id": run.id,
        "at": run.at,
        **_machine_keys(facts),
        **{f"environment.{name}": value for name, value in target.environment.items()},
        **{f"software.{name}": version for name, version in run.software.items()},
    }
    return {key: value for key, value in keys.items() if value}


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
