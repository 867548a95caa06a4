"""Which profiled operator is which recorded one, and whose time is whose.

Pure. The recorder sees leaves of the dispatcher, the profiler every level of nesting. Both are in order, so a walk over the profile, parents first,
that takes the next recorded name wherever it appears finds them; what is below a match is how its kernel works and belongs to it. Times are
conserved: the recorded operators and the left-overs add up to the operators at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from .events import Event, Forest, is_compiled

__all__ = ["Accounts", "account", "align"]

# How far to look ahead, in operators, before one is given up as missing on either side.
_WINDOW = 64
_FAR = 10 * _WINDOW


class Accounts(msgspec.Struct, frozen=True):
    """Times of one call.

    Args:
        recorded_ns: recorded index → nanoseconds.
        left_ns: (recorded index reached so far, event, nanoseconds) of operators that match nothing.
        matched: event index → recorded index.
    """

    recorded_ns: dict[int, int]
    left_ns: list[tuple[int, Event, int]]
    matched: dict[int, int]


def align(forest: Forest, recorded: Sequence[str]) -> dict[int, int]:
    """Event index → recorded index, increasing on both sides.

    An operator may be in one of the two runs only: autograd detaches more tensors under a recorder, a compiled graph has none at all. So where the
    names differ, that side moves on which finds its partner sooner. In-place and out-of-place forms are taken for the same, since compositions choose
    between them by whether anyone looks on.
    """
    names = [_plain(event.name) for event in forest.events]
    kinds = [_plain(kind) for kind in recorded]
    matched: dict[int, int] = {}
    event, wanted = 0, 0
    while event < len(names) and wanted < len(kinds):
        if names[event] == kinds[wanted]:
            matched[event] = wanted
            wanted += 1
            event = forest.end[event]
        elif _distance(kinds, wanted, names[event]) < _distance(names, event, kinds[wanted]):
            wanted += 1
        else:
            event += 1
    return matched


def _plain(name: str) -> str:
    return name if name.endswith("__") else name.removesuffix("_")


def _distance(names: Sequence[str], start: int, name: str) -> int:
    """Steps from `start` to the next of that name, a large number if there is none within the window."""
    for step, other in enumerate(islice(names, start + 1, start + 1 + _WINDOW), 1):
        if other == name:
            return step
    return _FAR


def account(forest: Forest, recorded: Sequence[str], idle: Callable[[Event], bool]) -> Accounts:
    """Give every nanosecond of the top-level operators to a recorded operator or to a left-over.

    A composition's own time goes to its longest recorded part; so does the time of an `idle` part, an operator that is itself only a composition and
    under which nothing was recorded.

    Args:
        forest: operators of the calling thread in one call.
        recorded: kinds in order.
        idle: whether an operator without recorded parts did no work on tensors.
    """
    matched = align(forest, recorded)
    longest = _longest_match(forest, matched)
    own = forest.self_ns()
    recorded_ns = {wanted: forest.events[event].duration_ns for event, wanted in matched.items()}
    left: list[tuple[int, Event, int]] = []
    reached, skip_to = 0, 0
    for index, event in enumerate(forest.events):
        if index < skip_to:
            continue
        if index in matched:
            reached, skip_to = matched[index] + 1, forest.end[index]
        elif longest[index] is None:
            skip_to = forest.end[index]
            parent = forest.parent[index]
            host = longest[parent] if parent >= 0 and idle(event) else None
            if host is None:
                left.append((reached, event, event.duration_ns))
            else:
                recorded_ns[host[1]] += event.duration_ns
        else:
            host = longest[index]
            if host is None or is_compiled(event.name):
                left.append((reached, event, own[index]))
            else:
                recorded_ns[host[1]] += own[index]
    return Accounts(recorded_ns, left, matched)


def _longest_match(forest: Forest, matched: dict[int, int]) -> list[tuple[int, int] | None]:
    """(nanoseconds, recorded index) of the longest match at or below each event."""
    longest: list[tuple[int, int] | None] = [None] * len(forest)
    for index in range(len(forest) - 1, -1, -1):
        if index in matched:
            longest[index] = (forest.events[index].duration_ns, matched[index])
        found, parent = longest[index], forest.parent[index]
        if found is not None and parent >= 0:
            known = longest[parent]
            longest[parent] = found if known is None or found[0] > known[0] else known
    return longest
