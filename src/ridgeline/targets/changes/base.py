"""`Change`: one option that can be applied to a target, how it applies itself in a fresh process, and how equal its output must be.

A change never measures and never judges. Its life: `refusal` in the parent, pure; `before` in the parent, which shapes the process; `apply` in the
child, after the target has been prepared and has made its first call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from ridgeline.core import Device, Machine, Precision, TargetInfo

from ..prepared import Prepared
from ..spec import TargetSpec

__all__ = ["EXACT", "REORDERED", "Applied", "Change", "Situation"]

#: Tolerances: largest |after − before| of an array ÷ its largest |before|. Bit for bit, and for the same arithmetic in another order.
EXACT = 0.0
REORDERED = 1e-4

_EVERY_KIND = ("onnx", "openvino", "tflite", "torch", "python", "script", "command")


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What a precondition may look at.

    Attributes:
        spec: as the person wrote the target.
        info: what preparing it found.
        machine: the host.
        precisions: precisions that the person allows besides the target's own.
        device: what the machine can do; null where it was not probed.
        other_threads: part of its CPU time that threads other than the caller's took, 0…1; null where not known.
    """

    spec: TargetSpec
    info: TargetInfo
    machine: Machine
    precisions: frozenset[str] = frozenset()
    device: Device | None = None
    other_threads: float | None = None


def _itself(result: Any) -> Any:
    """The result as it is."""
    return result


@dataclass(kw_only=True)
class Applied:
    """A target with a change applied.

    Attributes:
        call: the workload, without arguments.
        synchronise: waits for the result of a call; null where it is finished when returned.
        items: items that one call works on; their number over that of the original is what a period is divided by.
        restore: makes of a result what the original would have returned, for the comparison of outputs.
    """

    call: Callable[[], Any]
    synchronise: Callable[[Any], None] | None = None
    items: int = 1
    restore: Callable[[Any], Any] = field(default=_itself)


class Change:
    """Base of a change. Register the class as an entry point in group `ridgeline.changes`, named as `name`; it is made without arguments.

    Attributes:
        name: such as `ort-io-binding`.
        carries_out: names of the actions of a diagnosis that it carries out; none for one that only ever is a control.
        tolerance: largest difference of an array, relative to its largest magnitude, that still counts as the same output.
        any_float: whether results may come in another floating-point type; that they do is then said beside the result.
        metric: `latency` of one call, or `period` where one call does not get shorter.
        control: whether it is tried unasked, to see that nothing moves without a cause.
        likely: of the controls, whether it goes before the others, since programs often gain from it without anything that foretells it.
        kinds: kinds of targets that it fits.
        caveat: what a person who keeps it must know; empty for nothing.
        cold: whether it is about the first call of a process and not about steady calls.
        precision: the lower precision of its arithmetic, which the person must allow; null where results stay as exact as they are.
        applying: what takes the time when it is applied, such as `compiling`; said where that does not come to an end.
    """

    name: str = ""
    carries_out: tuple[str, ...] = ()
    tolerance: float = EXACT
    any_float: bool = False
    metric: Literal["latency", "period"] = "latency"
    control: bool = False
    likely: bool = False
    kinds: tuple[str, ...] = _EVERY_KIND
    caveat: str = ""
    cold: bool = False
    precision: Precision | None = None
    applying: str = "applying it"

    def refusal(self, situation: Situation) -> str:
        """Why it cannot be applied, empty where it can; pure."""
        if situation.info.kind not in self.kinds:
            return f"it fits {', '.join(self.kinds)}, and this is a {situation.info.kind} target"
        return self.why_not(situation)

    def why_not(self, situation: Situation) -> str:
        """Why it cannot be applied to a target of a kind that fits, empty where it can; pure."""
        return ""

    def before(self, spec: TargetSpec, machine: Machine) -> TargetSpec:
        """The target as it must be started: variables, threads."""
        return spec

    def cpus(self, machine: Machine) -> tuple[int, ...] | None:
        """Logical CPUs that the process may run on; all if null."""
        return None

    def place(self, prepared: Prepared) -> None:
        """Look whether it has a place in this target, without changing anything; `apply` may still find that it has none.

        Raises:
            NotComparable: it has none, which only the prepared target shows.
        """

    def apply(self, prepared: Prepared) -> Applied:
        """Apply it in the process of the target; by default there is nothing left to do.

        Raises:
            NotComparable: it has no place in this target, which only the prepared target shows.
            Exception: whatever the libraries it sets up raise.
        """
        return Applied(call=prepared.call, synchronise=prepared.synchronise)
