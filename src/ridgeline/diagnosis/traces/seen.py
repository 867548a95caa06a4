"""`Seen`: a report as the rules look at it, and how shares become promises.

A share is of the time that all devices (or the host, where there is none) had: numerator and denominator stand in the evidence. What removing a share
can give is bounded twice: by Amdahl (speedup = 1 ÷ (1 − share · part), G. M. Amdahl, AFIPS 1967) and by the critical path, since what lies beside it
delays nobody. Rules say which part of a share their action removes, from at least to at most. What a host does delays a device for as long as it is
on the path, be it that the device still has something to do then: without it the window is shorter by that, down to what the device is busy for.
A promise is of the whole: of a steady iteration, else of all that was recorded. A share of the devices' windows, which begin with their first work,
is a smaller one of that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from ridgeline.core import DEVICE_WORK, Action, Bound, Evidence, Quantity, ReadReport, TraceFinding, Where
from ridgeline.core.units import format_quantity, format_share
from ridgeline.core.verdict import Metric

__all__ = ["LEAST", "Fix", "Seen", "called", "counted", "of_all"]

#: Under this share of the time a finding would be noise: a trace with a few per cent of idle time is healthy.
LEAST = 0.05
#: A path that explains less of the window than this bounds nothing.
_KNOWN_PATH = 0.5
#: Devices whose windows are this part of the whole one.
_ALL = 0.9
#: What is never promised, however large the share is.
_MOST_SHARE = 0.99
#: Characters of a name in a sentence.
_LINE = 72


@dataclass(frozen=True, kw_only=True)
class Fix:
    """An action and the part of the share that it removes, from at least to at most, 0…1."""

    action: str
    because: str
    part: tuple[float, float]
    metric: Metric = "latency"


@dataclass(frozen=True)
class Seen:
    """A report, asked by the rules."""

    report: ReadReport

    @cached_property
    def window_s(self) -> float:
        """Seconds of the whole."""
        return self.report.window_s or 0.0

    @cached_property
    def device_s(self) -> float:
        """Windows of all devices together."""
        return sum(device.window_s for device in self.report.devices)

    @cached_property
    def busy_s(self) -> float:
        """Busy time of all devices together."""
        return sum(device.busy_s for device in self.report.devices)

    def idle_s(self, because: str) -> float:
        """Idle time of all devices that one host activity fills."""
        return sum(device.idle_because_s.get(because, 0.0) for device in self.report.devices)

    def idlest(self, because: str) -> str:
        """The device that idles longest for a reason."""
        return max(self.report.devices, key=lambda device: device.idle_because_s.get(because, 0.0)).name

    def told(self, device: str, one: str, many: str) -> tuple[str, str]:
        """(who does it, of whose time): a device where there is one, else all of them, since a share and its seconds are of all."""
        count = len(self.report.devices)
        who, whose = (f"{device} {one}", "its") if count == 1 else (f"{count} devices {many}", "their")
        if self.device_part >= _ALL:
            return who, "of its time" if count == 1 else "of their time together"
        # A share of a small part of the window must not pass for one of all of it.
        mean = f"{format_quantity(self.device_s / count, 's')}{' each' if count > 1 else ''}"
        return who, f"of the {mean} from {whose} first work to {whose} last"

    @cached_property
    def idle_share(self) -> float:
        """Idle time of all devices of their windows."""
        return max(0.0, 1.0 - self.busy_s / self.device_s) if self.device_s > 0 else 0.0

    def removable(self, share: float, labels: Collection[str]) -> tuple[float, float]:
        """(share of a step that goes with a host's activity, what can go at the most): its time on the path, and the idle time of the devices.

        Args:
            share: of the devices' windows, in which they idle because of it; all that is known without a path.
            labels: what the path calls it.
        """
        part = self.device_part
        # The path is of the window: where the devices' windows are a part of it, what it has of the host is not all of them.
        if not self.knows_path or self.device_s < _ALL * self.window_s * len(self.report.devices):
            return share * part, share * part if self.steady_s else min(share * part, self.path_share(labels))
        # What waits for data or a copy goes on waiting for it.
        other_s = self.idle_s("data loading") + self.idle_s("copy")
        return self.path_share(labels), part * max(share, self.idle_share - other_s / self.device_s)

    @property
    def knows_path(self) -> bool:
        """Whether there is a path that explains enough of the window to bound anything."""
        path = self.report.critical_path
        return path is not None and path.length_s > 0 and path.covered_share >= _KNOWN_PATH

    @property
    def steady_s(self) -> float:
        """Seconds of a steady iteration; 0 where there is none."""
        steps = self.report.iterations
        return (steps.median_s or 0.0) if steps is not None else 0.0

    @cached_property
    def step(self) -> tuple[float, str]:
        """Seconds that a promise is about, and of what they are: a steady iteration where there are any, else the whole window."""
        return (self.steady_s, "an iteration") if self.steady_s else (self.window_s, "the window")

    @cached_property
    def device_part(self) -> float:
        """The part of a step that the devices' windows are, on average: all of a steady iteration, of the whole what begins with their work."""
        if self.steady_s or not self.device_s or not self.window_s:
            return 1.0
        return min(1.0, self.device_s / len(self.report.devices) / self.window_s)

    def path_share(self, labels: Collection[str] | None = None) -> float:
        """Share of the critical path that pieces with `labels` take (all that is no device work without); 1 where no path is known."""
        path = self.report.critical_path
        if path is None or not self.knows_path:
            return 1.0
        found = [s for label, s in path.by_label.items() if (label in labels if labels is not None else label not in DEVICE_WORK)]
        return min(1.0, sum(found) / path.length_s)

    def named_share(self, names: re.Pattern[str]) -> float:
        """Share of the critical path that pieces with such names take; 1 where no path is known."""
        path = self.report.critical_path
        if path is None or not self.knows_path:
            return 1.0
        return min(1.0, sum(s for name, s in path.by_name.items() if names.search(name)) / path.length_s)

    def action(self, fix: Fix, share: float, on: str, path: float = 1.0, base: tuple[float, str] | None = None, goes: float | None = None) -> Action:
        """The promise of a fix to something with a share of `base` (of a step without), of which at most `path` can go.

        Ids are given later; `goes` is what the fix works on where that is not the share itself, which alone is sure.
        """
        goes, most = share if goes is None else goes, min(path, _MOST_SHARE)
        gone = fix.part[0] * min(share, goes, most), min(fix.part[1] * goes, most)
        gains = tuple(1.0 / (1.0 - part) for part in gone)
        most = min(goes, most)
        base_s, of = base or self.step
        whole = f"{of} ({format_quantity(base_s, 's')})" if base_s > 0 else of
        because = f"{fix.because}; at most {format_share(most)} of {whole} can go"
        # Samples, cycles and bytes are no seconds, and nobody measured a time to promise.
        after_s = (base_s / gains[1], base_s / gains[0]) if base_s > 0 else None
        return Action(
            id="", action=fix.action, on=on, because=because, metric=fix.metric, speedup=(gains[0], gains[1]), median_after_s=after_s
        )  # fmt: skip

    def finding(
        self, cause: str, bound: Bound, where: Where, share: float, summary: str, evidence: Sequence[Evidence], fixes: Sequence[Fix], *,
        path: float = 1.0, base: tuple[float, str] | None = None, goes: float | None = None, part: float = 1.0,
    ) -> TraceFinding:  # fmt: skip
        """A finding with the promises of its fixes, best first.

        `part` is the part of `base` that the share is of; `goes` is what they take away of `base` where that is not the share itself.
        """
        on = called(where.operator or where.function or where.lane or where.stage or "")
        actions = sorted((self.action(fix, share * part, on, path, base, goes) for fix in fixes), key=lambda action: -action.speedup[0])
        return TraceFinding(
            where=where, bound=bound, cause=cause, share=min(1.0, share), evidence=tuple(evidence), summary=summary, actions=tuple(actions)
        )


def called(name: str) -> str:
    """A name in a sentence: of one that is longer than a line, its two ends."""
    return name if len(name) <= _LINE else f"{name[: _LINE * 2 // 3]}…{name[-_LINE // 4 :]}"


def counted(name: str, value: float, unit: str, origin: str) -> Evidence:
    """A number as the trace has it."""
    return Evidence(name=name, quantity=Quantity.exact(value, unit, source="measured", origin=origin))


def of_all(name: str, part_s: float, whole_s: float, what: str) -> tuple[Evidence, Evidence]:
    """A share with what it was made of, and its numerator."""
    origin = f"{format_quantity(part_s, 's')} of {format_quantity(whole_s, 's')}: {what}"
    return counted(name, part_s / whole_s, "1", origin), counted(f"{name}, time", part_s, "s", what)
