"""What a performance model is asked: the work, how its kernel is written, and the state of the machine.

Every field that is not given is the model's to choose; what a model does not know it names in `Prediction.out_of_range`. The devices themselves are
in `device`. Fields follow the inputs of performance models: kernel parameters, workload properties, system state.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from .device import Precision
from .errors import UsageError

__all__ = ["KernelParameters", "Neighbour", "OperatorList", "PlannedOperator", "Sparsity", "SystemState", "Workload"]

#: What is larger is no size of anything that exists, and products of a few of them still fit a float.
_MOST = 2**53
_LARGEST = "less than 2⁵³, about 9e15"


def _positive(owner: object, *names: str) -> None:
    for name in names:
        value: Any = getattr(owner, name)
        if value is not None and not (math.isfinite(value) and 0 < value < _MOST):
            _refuse(owner, name, value, _LARGEST if value >= _MOST else "a positive number")


def _refuse(owner: object, name: str, value: Any, wanted: str) -> None:
    remedy = "check its unit and its digits" if wanted is _LARGEST else "leave it out where it is not known"
    raise UsageError(f"{type(owner).__name__}.{name} to be {wanted}", found=repr(value), remedy=remedy)


class KernelParameters(msgspec.Struct, frozen=True, kw_only=True):
    """How a kernel is written.

    Args:
        work_group: threads of a work-group by dimension.
        tile: elements of an output tile and of the reduction: (m, n, k).
        unroll: how often the inner loop is unrolled.
        vector_width: elements that one instruction takes.
        padding_bytes: added to rows in local memory.
        prefetch_distance: iterations that loads run ahead.
        stages: buffers of a software pipeline.
        split: parts that the reduction is split into (split-K).
        registers: per thread.
        shared_memory_bytes: per work-group.
    """

    work_group: tuple[int, ...] = ()
    tile: tuple[int, ...] = ()
    unroll: int | None = None
    vector_width: int | None = None
    padding_bytes: int | None = None
    prefetch_distance: int | None = None
    stages: int | None = None
    split: int | None = None
    registers: int | None = None
    shared_memory_bytes: int | None = None

    def __post_init__(self) -> None:
        _positive(self, "unroll", "vector_width", "stages", "split", "registers")
        for name in ("padding_bytes", "prefetch_distance", "shared_memory_bytes"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < _MOST:
                _refuse(self, name, value, "no less than 0")
        for name, most in (("work_group", 3), ("tile", 3)):
            value = getattr(self, name)
            if len(value) > most or not all(0 < size < _MOST for size in value):
                _refuse(self, name, value, f"at most {most} positive numbers")


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """Something else that runs on the device: what it asks for while it runs alone.

    Args:
        cores: execution units that it keeps busy.
        byte_per_s: traffic to the memory that is shared.
        cache_bytes: of the shared cache that it fills.
        kernels: how many kernels of it are in flight at once.
    """

    name: str = ""
    cores: float = 0.0
    byte_per_s: float = 0.0
    cache_bytes: float = 0.0
    kernels: int = 1

    def __post_init__(self) -> None:
        for name in ("cores", "byte_per_s", "cache_bytes", "kernels"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                _refuse(self, name, value, "no less than 0")


class SystemState(msgspec.Struct, frozen=True, kw_only=True):
    """The state that the device is in; what is not given is its usual state.

    Args:
        neighbours: what else runs; memory_contention: share of the memory's bandwidth that others take, in [0, 1).
        core_clock_hz, memory_clock_hz: clocks that are set.
        power_cap_w: the most power that it may take.
        temperature_k: of the die; a device near its limit lowers its clock.
        threads: cores that the work may use.
        dispatch_s: time under which the host cannot issue one kernel; 0 where kernels are replayed from a recorded graph. It belongs to host and
            software: no data sheet of an accelerator says it.
        core_to_core_s: time for a cache line to pass between two cores of a CPU; where a host moves a virtual machine's CPUs, it changes by the
            minute.
    """

    neighbours: tuple[Neighbour, ...] = ()
    memory_contention: float = 0.0
    core_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_cap_w: float | None = None
    temperature_k: float | None = None
    threads: int | None = None
    dispatch_s: float | None = None
    core_to_core_s: float | None = None

    def __post_init__(self) -> None:
        _positive(self, "core_clock_hz", "memory_clock_hz", "power_cap_w", "temperature_k", "threads", "core_to_core_s")
        if not 0 <= self.memory_contention < 1:
            _refuse(self, "memory_contention", self.memory_contention, "a share in [0, 1)")
        if self.dispatch_s is not None and not 0 <= self.dispatch_s < _MOST:
            _refuse(self, "dispatch_s", self.dispatch_s, "no less than 0")


class Sparsity(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the weights are zero.

    Args:
        pattern: `structured` is n of m, as 2 of 4; `block` whole blocks; `unstructured` anywhere.
        density: share that is not zero, in (0, 1].
        group: (n, m) of a structured pattern, (rows, columns) of a block.
    """

    pattern: Literal["structured", "block", "unstructured"]
    density: float
    group: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.density <= 1:
            _refuse(self, "density", self.density, "a share in (0, 1]")
        if (self.pattern == "unstructured") != (self.group is None):
            _refuse(self, "group", self.group, "given for structured and block patterns, and only for them")
        if self.group is not None and (min(self.group) < 1 or (self.pattern == "structured" and self.group[0] > self.group[1])):
            _refuse(self, "group", self.group, "two positive numbers, n ≤ m")


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """One operator with all that its time depends on.

    Args:
        kind: an operator family that models know, such as `gemm`, `convolution`, `elementwise`, `attention`.
        sizes: dimension → size; which a family needs is in `ridgeline.model.families`.
        precision: of the arithmetic; weight_precision: as the weights are stored, where that differs.
        variant: what else tells operators of a family apart, such as the function of an elementwise one.
        layout: of the operands, such as `NCHWc16`; empty for the family's usual one.
        sparsity: of the weights.
        reuse_bytes: touched between two executions of it: where its weights come from then; age_bytes: touched since its inputs were written;
            result_age_bytes: touched since the memory that its results are written to was last used. As in a loop of its own if not given.
    """

    kind: str
    sizes: dict[str, int]
    precision: Precision = "fp32"
    weight_precision: Precision | None = None
    variant: str = ""
    layout: str = ""
    sparsity: Sparsity | None = None
    reuse_bytes: float | None = None
    age_bytes: float | None = None
    result_age_bytes: float | None = None

    def __post_init__(self) -> None:
        _positive(self, "reuse_bytes", "age_bytes", "result_age_bytes")
        if not self.sizes:
            _refuse(self, "sizes", self.sizes, "at least one dimension")
        for name, size in self.sizes.items():
            if not 0 < size < _MOST:
                _refuse(self, f"sizes[{name!r}]", size, _LARGEST if size >= _MOST else "a positive whole number")


class PlannedOperator(msgspec.Struct, frozen=True, kw_only=True):
    """One operator of a list, and how often a call runs it."""

    name: str
    workload: Workload
    repeats: float = 1

    def __post_init__(self) -> None:
        _positive(self, "repeats")


class OperatorList(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.operators/1"):
    """Operators one after the other, written by hand or by a program, for what no model file says: a layer with experts, attention over a cache.

    Args:
        name: of the whole; batch: items that one call works on.
    """

    name: str
    operators: tuple[PlannedOperator, ...]
    batch: int = 1

    def __post_init__(self) -> None:
        _positive(self, "batch")
