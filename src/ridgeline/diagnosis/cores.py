"""Whether the host moved the cores while something was measured, and whether that matters to it: only threads that work together pay for it."""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Caution, ClockState, CoreToCore, Samples
from ridgeline.core.units import format_quantity

__all__ = ["MOVED", "moved", "moved_between", "moved_caution", "moved_within", "others_work", "side_by_side"]

#: Code of all cautions here.
MOVED = "cores-moved"
#: Longest ÷ shortest look from which on the cores were moved. Source: 2400 looks in nine minutes on a virtual machine of two CPUs, of which 1604 took
#: 30 to 67 ns (2.3 times) and 796 took 161 to 220 ns (1.4 times), and none anything between; forty beside a busy program took 35 to 57 ns.
_FACTOR = 2.5
#: CPU time of other threads than the caller's ÷ wall, from which on several work side by side. Source: on the same machine, calls beside which only
#: idle threads of a mathematics library ran had 0.12 to 0.15, a small product of matrices on two threads 0.48.
_BESIDE = 0.25
_HOST = "the host of a virtual machine moves its CPUs"


def side_by_side(samples: Samples | None) -> bool:
    """Whether several threads or processes of the target work at once; false where CPU time was not measured."""
    process, caller, wall = (samples.mean(name) if samples else None for name in ("process_cpu_s", "thread_cpu_s", "wall_s"))
    return process is not None and bool(wall) and others_work(process, caller, wall or 0.0)


def others_work(process_s: float, caller_s: float | None, wall_s: float) -> bool:
    """Whether threads work beside the caller: by CPU seconds of the process and of its caller, and wall seconds of the same time.

    Of a command no thread is the caller (`caller_s` null): what is beyond one CPU is the others'.
    """
    return process_s - (wall_s if caller_s is None else caller_s) >= _BESIDE * wall_s


def moved(looks_s: Sequence[float]) -> bool:
    """Whether looks differ by more than one placement of the cores explains."""
    return bool(looks_s) and max(looks_s) >= _FACTOR * min(looks_s)


def moved_within(clock: ClockState, samples: Samples | None, what: str) -> tuple[Caution, ...]:
    """A caution where the cores were moved while `what` was measured, of which several threads work side by side."""
    looks_s = clock.core_to_core.looks_s if clock.core_to_core is not None else ()
    return (moved_caution(looks_s, what),) if moved(looks_s) and side_by_side(samples) else ()


def moved_caution(looks_s: Sequence[float], what: str) -> Caution:
    """That the cores were moved while `what` was measured."""
    low, high = (format_quantity(end(looks_s), "s", 2) for end in (min, max))
    message = f"how far apart the cores are changed while measuring {what}: a cache line took {low} to {high} from one to the other"
    effect = f"{_HOST}; threads that work together take longer where they are far apart, so that the median is that of a mixture"
    return Caution(code=MOVED, message=message, effect=effect)


def moved_between(a: CoreToCore | None, b: CoreToCore | None) -> Caution | None:
    """A caution where the cores were further apart beside one of two sides; none where nobody looked at one of them."""
    first, second = (None if found is None else found.typical_s for found in (a, b))
    if first is None or second is None or not moved((first, second)):
        return None
    taken = f"{format_quantity(first, 's', 2)} beside A and {format_quantity(second, 's', 2)} beside B"
    message = f"the cores were not equally far apart: a cache line took {taken} from one to the other"
    effect = f"{_HOST}; threads that work together take longer where they are far apart: measure both beside each other"
    return Caution(code=MOVED, message=message, effect=effect)
