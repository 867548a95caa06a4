"""Two parts of one benchmark put together: what an earlier, interrupted one measured, and what was measured since."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ridgeline.core import Benchmark, Column, ProcessRecord, Samples

__all__ = ["joined"]


def joined(earlier: Benchmark, later: Benchmark, offset_s: float) -> Benchmark:
    """Both as one; the processes of the later follow those of the earlier.

    Args:
        offset_s: seconds from the start of the earlier to the start of the later.
    """
    number = len(earlier.processes)
    records = tuple(_moved(record, number, offset_s) for record in later.processes)
    shifted = msgspec.structs.replace(
        later.samples,
        start_s=Column(later.samples.start_s.values + offset_s, "s"),
        process=Column((later.samples.process.values + number).astype(np.int32), "count"),
    )
    process = None if later.batched_process is None else Column((later.batched_process.values + number).astype(np.int32), "count")
    return msgspec.structs.replace(
        later,
        samples=_samples(earlier.samples, shifted),
        processes=(*earlier.processes, *records),
        batched_s=_either(earlier.batched_s, later.batched_s),
        batched_process=_either(earlier.batched_process, process),
        batch_size=later.batch_size or earlier.batch_size,
        overhead=later.overhead or earlier.overhead,
        target=later.target or earlier.target,
        input_names=later.input_names or earlier.input_names,
        device_s=_both(earlier.device_s, later.device_s, len(earlier.samples), len(later.samples)),
        stages={name: (*earlier.stages.get(name, ()), *later.stages.get(name, ())) for name in (earlier.stages | later.stages)},
        seed=earlier.seed,
        soaked_s=earlier.soaked_s if later.soaked_s is None else later.soaked_s,
        cautions=tuple(dict.fromkeys((*earlier.cautions, *later.cautions))),
    )


def _moved(record: ProcessRecord, number: int, offset_s: float) -> ProcessRecord:
    return msgspec.structs.replace(record, index=record.index + number, at_s=record.at_s + offset_s)


def _samples(earlier: Samples, later: Samples) -> Samples:
    columns: dict[str, Any] = {}
    for name in Samples.__struct_fields__:
        first, second = getattr(earlier, name), getattr(later, name)
        if isinstance(first, Column) or isinstance(second, Column):
            columns[name] = _both(first, second, len(earlier), len(later))
    return msgspec.structs.replace(later, **columns, method=_said(earlier.method, later.method), timer_s=later.timer_s or earlier.timer_s)


def _said(first: str, second: str) -> str:
    return f"{first}; later {second}" if first and second else first or second


def _both(first: Column | None, second: Column | None, of_first: int, of_second: int) -> Column | None:
    """One after the other; null where a part that has samples does not have it."""
    if (first is None and of_first) or (second is None and of_second):
        return None
    return _either(first, second)


def _either(first: Column | None, second: Column | None) -> Column | None:
    if first is None or second is None:
        return first or second
    return Column(np.concatenate([first.values, second.values]), first.unit)
