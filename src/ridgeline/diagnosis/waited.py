"""Arithmetic on timed waits that the rules about waiting share.

What went on during a wait decides what a change can be worth: native work can run side by side on as many CPUs as there are, sleep on as many
threads, and work that holds the interpreter's lock on none. Which change that is, the rules in `causes` say.
"""

from __future__ import annotations

import math

from ridgeline.core import Quantity, Site, Wait, Where

from .case import Case

__all__ = [
    "FOR_THREADS", "LEAST_GAIN", "LOOKS_ERR", "beside", "busy_waits", "caller_waits", "careful", "counted", "disturbed", "line_of", "side_by_side",
    "waits_of", "wall_of", "where_of",
]  # fmt: skip

#: Under this gain a change is not worth naming.
LEAST_GAIN = 1.1
#: A change in how threads wait reaches half of what is possible at the least.
_CAREFUL = 0.5
#: Kinds in which a caller waits for its own threads.
FOR_THREADS = ("lock", "condition", "queue", "future", "join")
#: Shares that come from looks at threads may be this far off.
LOOKS_ERR = 0.1


def waits_of(case: Case, kind: str) -> list[Wait]:
    """Waits of a kind, the longest first; none where they were not timed."""
    table = case.facts.waits
    return [wait for wait in table.waits if wait.kind == kind] if table is not None else []


def wall_of(case: Case) -> float:
    """Wall of the calls whose waits were timed, seconds, above 0."""
    table = case.facts.waits
    return max(1e-12, table.wall_s.value if table is not None else case.wall_s)


def caller_waits(case: Case) -> float:
    """Share of the wall in which the caller waits for its threads or for a lock."""
    return min(1.0, sum(wait.caller_s.value for kind in FOR_THREADS for wait in waits_of(case, kind)) / wall_of(case))


def busy_waits(case: Case) -> float:
    """Share of the wall in which the caller waits for its threads while these are not seen to sleep: at work, in turn for a lock, or not known."""
    waits = (wait for kind in FOR_THREADS for wait in waits_of(case, kind))
    return min(1.0, sum(wait.caller_s.value * (1.0 - (wait.asleep or 0.0)) for wait in waits) / wall_of(case))


def disturbed(case: Case) -> bool:
    """Whether timing the waits changed the time by more than 10 %."""
    table = case.facts.waits
    return table is not None and any(record.perturbed for record in case.facts.levels if record.instrument == table.instrument)


def side_by_side(case: Case, share: float, wait: Wait, surely: float, most: float, asleep: float) -> tuple[float, float]:
    """Gain when what is waited for runs side by side: native work on CPUs, sleep on threads, the interpreter on none.

    1 ÷ (native ÷ min(n, CPUs) + asleep ÷ n + interpreted), half of it at the least; 1 where it is not known what went on.

    Args:
        share: of the wall that gains.
        surely, most: n, how many would run at the same time.
        asleep: the most of them that can be asleep.
    """
    if wait.native is None or wait.asleep is None:
        return 1.0, 1.0
    # What is not clear counts as the interpreter's: it promises nothing.
    rest = max(0.0, 1.0 - wait.native - wait.asleep)

    def gain(together: float, native: float, rest: float) -> float:
        return 1.0 / (native / max(1.0, min(together, case.cores)) + (wait.asleep or 0.0) / max(1.0, min(together, asleep)) + rest)

    low = gain(surely, wait.native, rest)
    # What was taken for the interpreter's may have been work by as much as looks are off.
    error = min(rest, LOOKS_ERR) if low >= LEAST_GAIN else 0.0
    return _bounded(case, share, careful(low)[0]), _bounded(case, share, gain(most, wait.native + error, rest - error))


def _bounded(case: Case, share: float, gain: float) -> float:
    """The gain, no more than the CPUs can give: the call's CPU time has to fit on them."""
    samples = case.facts.samples
    cpu = samples.mean("process_cpu_s") if samples else None
    if cpu is None or not case.wall_s:
        return gain
    saved = share * (1.0 - 1.0 / gain)
    idle = max(0.0, 1.0 - cpu / (case.cores * case.wall_s))
    return gain if saved <= idle else 1.0 / (1.0 - idle / share)


def beside(case: Case) -> float | None:
    """CPU time of the other threads ÷ wall; null where it was not measured."""
    samples = case.facts.samples
    process, caller, wall = (samples.mean(name) if samples else None for name in ("process_cpu_s", "thread_cpu_s", "wall_s"))
    return max(0.0, process - caller) / wall if process is not None and caller is not None and wall else None


def careful(gain: float) -> tuple[float, float]:
    """A gain and the half of it that is sure."""
    return 1.0 + _CAREFUL * (gain - 1.0), gain


def counted(value: float, origin: str) -> Quantity:
    """A count as evidence."""
    return Quantity.exact(value if math.isfinite(value) else 0.0, "count", source="counted", origin=origin)


def where_of(site: Site | None) -> Where:
    """A line as a place; the threads where it is not known."""
    return Where(function=site.function, file=site.file, line=site.line) if site is not None else Where(lane="threads")


def line_of(site: Site) -> str:
    """A line as short text, `file.py:3`."""
    return f"{(site.file or '').rsplit('/', 1)[-1]}:{site.line}"
