"""What a runtime does for one call of a graph on a device: tasks in order, each an operator with its workload, or why there is none.

This module decides which kernels a runtime makes of a graph (`fusion`, unless the graph is already a runtime's own), what stands in for an operator
of no family (its bytes alone), and in which precision the device computes. What a task takes is decided in `operators.pricing`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ridgeline.core import Graph, Op, OperatorList, OutOfRange, Precision, Tensor, UsageError, Workload

from ..analytic.memory import elementwise_in_place, peak_memory
from ..families import FAMILIES, sizes_of
from ..operators.asked import WIDTH, held_bytes
from .batches import batched
from .distances import ages, result_ages
from .fusion import fused
from .workloads import Unknown, workload

__all__ = ["Footprint", "Plan", "Task", "plan_of_graph", "plan_of_list", "precision_of_tasks"]

#: Executions of an operator in a call, up to which each is counted by a double.
_MOST_TRIPS = 2.0**53
#: Precisions that a conversion of a model changes; whole numbers of indices stay.
_CONVERTED = frozenset(("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4", "any"))


class Task(NamedTuple):
    """One operator of a call.

    `work`: null where nothing is known of it but its bytes or not even those; `repeats`: executions in a call; `reason`: why its time may be wrong;
    `members`: operators of the graph that it does along.
    """

    name: str
    kind: str
    work: Workload | None
    repeats: float
    reason: str = ""
    members: tuple[str, ...] = ()


class Footprint(NamedTuple):
    """Bytes of one call: weights and constants, and the most activations at a time; null where sizes are not known, with the `reason`."""

    weight_bytes: float | None
    activation_bytes: float | None
    reason: str = ""


class Plan(NamedTuple):
    """Tasks of one call for `batch` items; `precision`: of most of its arithmetic; `reasons`: of the whole."""

    name: str
    tasks: tuple[Task, ...]
    batch: int | None
    precision: str
    footprint: Footprint
    runtime: str
    reasons: tuple[str, ...] = ()

    def batched(self, batch: int) -> Plan:
        """The plan for another number of items; a batch that is not known counts as one."""
        factor = batch / (self.batch or 1)
        if factor == 1:
            return self._replace(batch=batch)
        tasks = tuple(task._replace(work=batched(task.work, factor)) if task.work else task for task in self.tasks)
        held = self.footprint
        more = None if held.activation_bytes is None else held.activation_bytes * factor
        return self._replace(tasks=tasks, batch=batch, footprint=held._replace(activation_bytes=more))

    def converted(self, precision: Precision) -> Plan:
        """The plan with all arithmetic, weights and activations in another precision; weights that are stored narrower stay so."""
        tasks = tuple(task._replace(work=_converted(task.work, precision)) if task.work else task for task in self.tasks)
        ratio = WIDTH[precision] / WIDTH.get(self.precision, 4.0)
        weights, live, reason = self.footprint
        held = Footprint(None if weights is None else weights * ratio, None if live is None else live * ratio, reason)
        return self._replace(tasks=tasks, precision=precision, footprint=held)


def _converted(work: Workload, precision: Precision) -> Workload:
    narrower = work.weight_precision if work.weight_precision and WIDTH[work.weight_precision] < WIDTH[precision] else None
    return msgspec.structs.replace(work, precision=precision, weight_precision=narrower) if work.precision in _CONVERTED else work


def plan_of_graph(graph: Graph, runtime: str, *, made: bool = False, block: int = 16, batch: int | None = None) -> Plan:
    """Tasks of a graph under a runtime.

    Args:
        graph: with shapes bound.
        runtime: a key of `fusion.RUNTIMES`; made: whether the graph is already what the runtime makes of it.
        block: channels of onnxruntime's own layout on the CPU, 0 elsewhere.
        batch: items that the shapes are for.

    Raises:
        OutOfRange: a graph without anything to do, or with a loop that never ends. UsageError: as `fusion.fused`.
    """
    net, members = (graph, dict[str, tuple[str, ...]]()) if made else fused(graph, runtime, block=block, fixed=True)
    tensors = {tensor.name: tensor for tensor in net.tensors}
    tasks, reasons, idle = [], [], 0.0
    for op, age, place in zip(net.ops, ages(net), result_ages(net), strict=True):
        _check_trips(op)
        task = _task(op, tensors, members.get(op.name, ()))
        idle += op.trips.count if task is None else 0.0
        if task is not None and op.trips.count > 0:
            tasks.append(_aged(task, age, place))
            reasons += [f"how often {op.name} runs is {op.trips.known}"] if op.trips.known != "exact" else []
    if not tasks:
        raise OutOfRange("a model with at least one operator that does something", found=graph.name or "an empty graph", remedy="give another model")
    if made:
        # What the runtime takes around its operators is known where the runtime itself was asked.
        tasks.append(Task("(call)", "call", Workload(kind="call", sizes={"nodes": max(1, round(idle))}), 1.0))
    count = len(reasons)
    if count > 3:
        reasons = [f"how often {count} operators run is not exact: it depends on branches or loops"]
    return Plan(graph.name, tuple(tasks), batch, precision_of_tasks(tasks), _footprint(graph), runtime, tuple(reasons))


def _check_trips(op: Op) -> None:
    """A call that runs an operator as often as no counter counts never ends: its time would be a number of nothing."""
    if op.trips.count >= _MOST_TRIPS:
        found = f"{op.name}, which runs {op.trips.count:.3g} times"
        raise OutOfRange("operators that run fewer than 2⁵³ times in a call", found=found, remedy="check the trip counts of the loops around it")


def _aged(task: Task, age: float, place: float) -> Task:
    known = {name: distance for name, distance in (("age_bytes", age), ("result_age_bytes", place)) if distance > 0}
    return task._replace(work=msgspec.structs.replace(task.work, **known)) if task.work is not None else task


def _task(op: Op, tensors: Mapping[str, Tensor], members: Sequence[str]) -> Task | None:
    found = workload(op, tensors)
    along = tuple(name for name in members if name != op.name)
    if isinstance(found, Workload):
        return Task(op.name, op.kind, found, op.trips.count, "", along)
    if found.idle:
        return None
    moved = (op.read_bytes or 0) + (op.write_bytes or 0)
    if op.read_bytes is None or op.write_bytes is None or moved <= 0:
        return Task(op.name, op.kind, None, op.trips.count, _unknown(found, "its time is missing in the latency"), along)
    width = WIDTH.get(op.precision, 4.0)
    work = Workload(kind="copy", sizes={"elements": max(1, math.ceil(moved / 2 / width)), "run": 64}, precision=op.precision, variant=op.kind)
    return Task(op.name, op.kind, work, op.trips.count, _unknown(found, "only its bytes count"), along)


def _unknown(found: Unknown, so: str) -> str:
    return f"{found.reason}: {so}"


def precision_of_tasks(tasks: Sequence[Task]) -> str:
    """That of most of the multiply-adds, else of most elements."""
    by: dict[str, float] = {}
    for task in tasks:
        if task.work is not None:
            sizes = sizes_of(task.work.kind, task.work.sizes)
            heavy = 1.0 if task.work.kind in ("gemm", "convolution", "attention", "moe", "recurrent") else 1e-9
            by[task.work.precision] = by.get(task.work.precision, 0.0) + heavy * float(FAMILIES[task.work.kind].demand(sizes).flop.sum() + 1.0)
    return max(by, key=lambda name: by[name], default="any")


def _footprint(graph: Graph) -> Footprint:
    """Of the graph before anything is joined: what is joined needs no more."""
    try:
        held = peak_memory(graph, in_place=elementwise_in_place)
    except (OutOfRange, UsageError) as error:
        constants = [tensor.size_bytes for tensor in graph.tensors if tensor.constant]
        weights = float(sum(size for size in constants if size is not None)) if None not in constants else None
        return Footprint(weights, None, f"{error.expected}: {error.found}")
    return Footprint(float(held.constant_bytes), float(held.activation_bytes))


def _check_parts(name: str, work: Workload) -> None:
    """A person mistypes what no graph can hold: more experts at work than there are, heads that cannot share the keys evenly."""
    for part, whole in (("active", "experts"), ("kv_heads", "heads")):
        some, all_ = work.sizes.get(part, 1), work.sizes.get(whole)
        if all_ is not None and some > all_:
            raise UsageError(f"{part} of {name} of at most its {all_} {whole}", found=str(some), remedy="mend the list")
    heads, keys = work.sizes.get("heads", 0), work.sizes.get("kv_heads", 1)
    if heads % keys:
        raise UsageError(f"heads of {name} in equal numbers for each of kv_heads", found=f"{heads} heads for {keys} kv_heads", remedy="mend the list")


def plan_of_list(listed: OperatorList) -> Plan:
    """Tasks of operators that were written down; memory holds every weight, also of experts that no token reaches.

    Raises:
        OutOfRange: an empty list. UsageError: a family that there is not, or sizes that it lacks or that cannot be together.
    """
    if not listed.operators:
        raise OutOfRange("a list with at least one operator", found=f"{listed.name}, which is empty", remedy="write down the operators")
    for each in listed.operators:
        _check_parts(each.name, each.workload)
    tasks = tuple(Task(each.name, each.workload.kind, each.workload, each.repeats) for each in listed.operators)
    held = [held_bytes(each.workload) for each in listed.operators]
    weights = sum(each.repeats * weight for each, (weight, _) in zip(listed.operators, held, strict=True))
    return Plan(listed.name, tasks, listed.batch, precision_of_tasks(tasks), Footprint(weights, max(live for _, live in held)), "operators")
