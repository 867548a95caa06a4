"""Events of one profiled call as a forest, and which of them are operators.

Pure: what the profiler wrote is handed in. A record that only wraps operators (autograd's engine, the compiler's runtime, annotations) is
transparent: its own time is overhead between operators, not an operator's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec

__all__ = ["Event", "Forest", "is_compiled", "is_operator"]


class Event(msgspec.Struct, frozen=True, gc=False):
    """One record of the profiler.

    Args:
        name: such as `aten::addmm`.
        start_ns, end_ns: on the profiler's clock.
        lane: thread; negative for a device.
        overload: overload name, empty for the default one.
    """

    name: str
    start_ns: int
    end_ns: int
    lane: int
    overload: str = ""

    @property
    def duration_ns(self) -> int:
        """end_ns − start_ns."""
        return self.end_ns - self.start_ns


def is_compiled(name: str) -> bool:
    """Whether the record is a graph that torch.compile made, which runs kernels no record names."""
    return name.startswith("## Call CompiledFxGraph") or "cpp_fused" in name


@cache  # names repeat by the hundred thousand
def is_operator(name: str) -> bool:
    """Whether the record is an operator: a qualified name that is not the autograd engine's or the profiler's, or a compiled graph."""
    return is_compiled(name) or ("::" in name and not name.startswith(("autograd::", "torch::", "profiler::", "c10d::")) and " " not in name)


class Forest:
    """Operators of one lane in order of start, with their nesting.

    Args:
        events: of one lane, in any order; transparent ones are dropped, their children move up.

    Attributes:
        events: the operators, parents before children.
        parent: index of the nearest enclosing operator, −1 at the top.
        end: index after the last descendant.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = sorted((event for event in events if is_operator(event.name)), key=lambda event: (event.start_ns, -event.end_ns))
        self.parent: list[int] = []
        self.end = [0] * len(self.events)
        open_: list[int] = []
        for index, event in enumerate(self.events):
            # A child may outlast its parent by the clock's granularity: the start alone decides.
            while open_ and self.events[open_[-1]].end_ns <= event.start_ns:
                self.end[open_.pop()] = index
            self.parent.append(open_[-1] if open_ else -1)
            open_.append(index)
        for index in open_:
            self.end[index] = len(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def roots(self) -> list[Event]:
        """Operators that no other operator encloses."""
        return [event for event, parent in zip(self.events, self.parent, strict=True) if parent < 0]

    def self_ns(self) -> list[int]:
        """Duration of each operator less its operator children."""
        own = [event.duration_ns for event in self.events]
        for index, parent in enumerate(self.parent):
            if parent >= 0:
                own[parent] -= self.events[index].duration_ns
        return own
