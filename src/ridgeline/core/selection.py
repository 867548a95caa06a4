"""`Selection`: the best configurations that were found, by target, device and shape, in one file from which a program takes the one that suits it."""

from __future__ import annotations

import msgspec

from .space import Value

__all__ = ["Selected", "Selection"]


class Selected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One configuration.

    Args:
        target: that it is of; shape: name → value of what it was tuned for, such as the sizes of the problem.
        device: its name; fingerprint: what of it decides about times.
        config: name → value; objective: median of its runs, in `unit`; verdict: as of `TunedBest`.
        at: date and time, ISO 8601.
    """

    target: str
    config: dict[str, Value]
    objective: float
    unit: str = "s"
    shape: dict[str, Value] = {}
    device: str = ""
    fingerprint: str = ""
    verdict: str = ""
    at: str = ""


class Selection(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.selection/1"):
    """Configurations, of which no two have target, shape and device in common."""

    entries: tuple[Selected, ...] = ()

    def with_entry(self, entry: Selected) -> Selection:
        """With one more, in place of that of the same target, shape and device."""

        def key(each: Selected) -> tuple[str, str, dict[str, Value]]:
            return each.target, each.fingerprint or each.device, each.shape

        return Selection(entries=(*(each for each in self.entries if key(each) != key(entry)), entry))
