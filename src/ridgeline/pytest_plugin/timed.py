"""One call of a test, timed in this process, by the harness that every benchmark uses."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ridgeline.core import Caution, UsageError
from ridgeline.measurement.harness import Plan, measure
from ridgeline.targets import adapter_for, unfinished

__all__ = ["Timing", "refuse_unstarted", "timed"]

R = TypeVar("R")


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """What one process found of one call.

    Args:
        name: id of the test; ` #2` and so on behind it for its further calls.
        first_s: the first call, seconds.
        wall_s: seconds of each call once steady, in order.
        cautions: what its reader must know.
    """

    name: str
    first_s: float
    wall_s: list[float]
    cautions: tuple[Caution, ...] = ()


def timed(
    name: str, call: Callable[[], R], *, samples: int | None = None, min_time_s: float = 0.25, clock: Callable[[], int] = time.perf_counter_ns
) -> tuple[R, Timing]:
    """The result of the first call, and the times of those after it.

    Args:
        name: of the timing.
        samples: at most so many.
        min_time_s: about how long to measure, seconds.
        clock: monotonic nanoseconds, a fake one in tests.

    Raises:
        UsageError: a call that does its work only later. What the call raises goes through as it is.
    """
    __tracebackhide__ = True
    before = clock()
    result = call()
    synchronise = adapter_for(result)
    if synchronise is not None:
        synchronise(result)
    first_s = (clock() - before) / 1e9
    refuse_unstarted(name, result)
    cautions = [caution for caution in (unfinished(result), _traced()) if caution is not None]
    found = measure(call, synchronise=synchronise, plan=Plan(budget_s=min_time_s, samples=samples or 2000), clock=clock)
    if found.steady is False:
        effect = "its median may depend on how long it was measured"
        cautions.append(Caution(code="not-steady", message="its times did not settle", effect=effect))
    return result, Timing(name=name, first_s=first_s, wall_s=found.samples.wall_s.values.tolist(), cautions=tuple(cautions))


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
