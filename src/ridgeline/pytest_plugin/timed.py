"""One call of a test, timed in this process, by the harness that every benchmark uses."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ridgeline.core import Benchmark, Caution, UsageError
from ridgeline.measurement.bench import BenchPlan
from ridgeline.measurement.bench.here import bench_here

__all__ = ["Timing", "refuse_unstarted", "timed"]

R = TypeVar("R")


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """What one process found of one call.

    Args:
        name: id of the test; ` #2` and so on behind it for its further calls.
        first_s: the first call, seconds.
        wall_s: seconds of each call once steady, in order.
        batched_s: seconds a call where many are issued and waited for once, one value a batch; empty where none fits.
        cautions: what its reader must know.
    """

    name: str
    first_s: float
    wall_s: list[float]
    batched_s: list[float] = []
    cautions: tuple[Caution, ...] = ()


def timed(name: str, call: Callable[[], R], *, samples: int | None = None, min_time_s: float = 0.25) -> tuple[R, Timing]:
    """The result of the first call, and the times of those after it.

    Args:
        name: of the timing.
        call: the workload; a partial is called with the least overhead.
        samples: so many calls after the first; as many as fit if null.
        min_time_s: about how long to measure, seconds.

    Raises:
        UsageError: a call that does its work only later. What the call raises goes through as it is.
    """
    __tracebackhide__ = True
    before = time.perf_counter_ns()
    result = call()
    first_s = (time.perf_counter_ns() - before) / 1e9
    refuse_unstarted(name, result)
    found = bench_here(call, name, BenchPlan(processes=1, budget_s=min_time_s, process_s=min_time_s, samples=samples))
    cautions = [*found.cautions, *([traced] if (traced := _traced()) is not None else [])]
    steady = _steady(found)
    if not steady:
        steady = found.samples.wall_s.values.tolist()
        message, effect = "its times did not settle", "its median may depend on how long it was measured"
        cautions.append(Caution(code="not-steady", message=message, effect=effect))
    batched = found.batched_s.values.tolist() if found.batched_s is not None else []
    return result, Timing(name=name, first_s=first_s, wall_s=steady, batched_s=batched, cautions=tuple(cautions))


def _steady(found: Benchmark) -> list[float]:
    values: list[float] = found.samples.wall_s.values[found.steady()].tolist()
    return values


def refuse_unstarted(name: str, result: Any) -> None:
    """Raise `UsageError` for a result that is work still to be done: its call would be measured as nothing."""
    __tracebackhide__ = True
    if inspect.iscoroutine(result):
        result.close()  # or Python complains that nobody awaited it
    if inspect.iscoroutine(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        remedy = "give a function that does the work, such as one that calls asyncio.run or list"
        raise UsageError(f"{name} to time a call that does its work", found=f"a {type(result).__name__}, which does it later", remedy=remedy)


def _traced() -> Caution | None:
    """Said where a debugger or a coverage tool looks at every line: it is timed with the call."""
    monitoring = getattr(sys, "monitoring", None)
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring is not None else []
    tool = next((tool for tool in tools if tool), None)
    if sys.gettrace() is None and tool is None:
        return None
    message = f"lines are traced{f' by {tool}' if tool else ''} while the call is timed"
    return Caution(code="traced", message=message, effect="the times are those of the traced call; to do: run without coverage or debugger")
