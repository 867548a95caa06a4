"""`findings_of`: the rules put to one report, their findings ranked, and whether the program is healthy.

Healthy is said only where the report could show otherwise: devices that work nearly all of the time, or a host whose operators fill the window. Where
it could not, and nothing was found, the answer is that it cannot be told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import msgspec

from ridgeline.core import ReadReport, TraceFinding

from .functions import functions
from .host import between_operators, blocked, cold_start, outside, polling, python_alone, starting_up, taking_turns
from .kernels import kernel_findings
from .placed import conversions, handoffs
from .seen import Seen
from .waiting import before_and_after, exposed, imbalance, unexplained, waiting

__all__ = ["RULES", "findings_of"]

Rule = Callable[[Seen], Iterator[TraceFinding]]


def _kernels(seen: Seen) -> Iterator[TraceFinding]:
    """What counters of kernels say; beside a timeline the shares would be of other times than those of the other rules."""
    if seen.report.kernels is not None:
        yield from kernel_findings(seen.report.kernels)


#: Each looks at the report on its own; the order does not matter.
RULES: tuple[Rule, ...] = (
    waiting,
    before_and_after,
    exposed,
    imbalance,
    between_operators,
    taking_turns,
    polling,
    blocked,
    python_alone,
    starting_up,
    conversions,
    handoffs,
    functions,
    _kernels,
)
#: Asked only where no other rule found anything: first iterations are no bottleneck of a program that goes on.
LAST: tuple[Rule, ...] = (cold_start,)
#: Asked only where something was found: what nothing explains is no bottleneck alone, and stands beside what is, in its place.
BESIDE: tuple[Rule, ...] = (unexplained, outside)
#: A device that works at least this part of its window, or a host whose operators fill it so far, is healthy where nothing else was found.
_BUSY = 0.9
#: So many steps show what a program goes on with.
_STEPS = 3
#: A gain that nobody would notice.
_LEAST_GAIN = 1.02
#: The part of an unexplained share that it is weighed with, as in a diagnosis of a program.
_UNNAMED = 0.3


def findings_of(report: ReadReport) -> tuple[tuple[TraceFinding, ...], bool | None]:
    """What limits the program, worst first, and whether it is healthy.

    Args:
        report: with its answers; its own `findings` are not looked at. Shares of findings are in 0…1.

    Returns:
        Findings with actions whose ids are unique; true where nothing was found and the report shows that there is nothing, null where it cannot.
    """
    seen = Seen(report)
    found = [finding for rule in RULES for finding in rule(seen) if _limits(finding)]
    found = found or [finding for rule in LAST for finding in rule(seen) if _limits(finding)]
    if found:
        found += [finding for rule in BESIDE for finding in rule(seen)]
    found.sort(key=lambda finding: (-_worth(finding, seen), -finding.share))
    if found:
        return _numbered(found), False
    return (), _healthy(seen)


def _limits(finding: TraceFinding) -> bool:
    """Whether anything would be faster without it: what lies beside the critical path has a share and no worth."""
    return not finding.actions or max(action.speedup[1] for action in finding.actions) >= _LEAST_GAIN


def _worth(finding: TraceFinding, seen: Seen) -> float:
    """What the best action would give, as a share of the time: a geometric mean of its gain in which what is sure counts twice.

    Of what has no action a third might go: a small waste with a name must not pass for the bottleneck beside a large one that has none.
    """
    gains = [math.cbrt(action.speedup[0] ** 2 * action.speedup[1]) for action in finding.actions]
    if gains:
        return 1.0 - 1.0 / max(gains)
    # A promise is of the whole, the share of a device is of what begins with its work.
    part = seen.device_part if finding.where.lane in {device.name for device in seen.report.devices} else 1.0
    return _UNNAMED * finding.share * part


def _numbered(found: list[TraceFinding]) -> tuple[TraceFinding, ...]:
    number = 0
    numbered = []
    for finding in found:
        actions = []
        for action in finding.actions:
            number += 1
            actions.append(msgspec.structs.replace(action, id=f"a{number}"))
        numbered.append(msgspec.structs.replace(finding, actions=tuple(actions)))
    return tuple(numbered)


def _whole(seen: Seen) -> bool:
    """Whether what devices do between their first work and their last tells of the program: most of the window, or its steps."""
    if seen.device_s / (len(seen.report.devices) * seen.window_s) >= _BUSY:
        return True
    steps = seen.report.iterations
    steady = sorted(steps.busy_share[steps.first :]) if steps is not None else []
    return len(steady) >= _STEPS and steady[len(steady) // 2] >= _BUSY


def _healthy(seen: Seen) -> bool | None:
    report = seen.report
    if report.devices:
        return True if seen.device_s > 0 and seen.busy_s / seen.device_s >= _BUSY and _whole(seen) else None
    if report.overhead is not None and report.operators and report.overhead.window_s > 0:
        return True if report.overhead.operators_s / report.overhead.window_s >= _BUSY else None
    walls = [
        (sum(row.total_s for row in table.rows), table.wall_s) for table in report.tables if table.per_call and not table.nested and table.wall_s
    ]
    if walls:
        inside_s, wall_s = max(walls, key=lambda pair: pair[1])
        # One piece that leaves a good part of the wall to something else is not all that a call does.
        if report.partitions is None or inside_s / wall_s < _BUSY:
            return True if inside_s / wall_s >= _BUSY else None
    if report.partitions is not None and report.partitions.nodes:
        return True if report.partitions.runs == 1 else None
    return None
