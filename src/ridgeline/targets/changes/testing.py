"""For authors of changes: a conformance test class and a fake change whose effect is known.

Subclass `ChangeConformance` in a test module and give `changes`; a test runner such as pytest finds the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from ridgeline.core import Device, Machine, TargetInfo

from ..prepared import Prepared
from ..spec import TargetSpec
from .base import Applied, Change, Situation

__all__ = ["ChangeConformance", "FakeChange", "fake_situation"]

_KINDS = ("onnx", "openvino", "tflite", "torch", "python", "script", "command")


class FakeChange(Change):
    """Makes every call of the target `repeats` calls, and passes its result through `spoil`."""

    name = "fake"
    carries_out = ("fuse",)

    def __init__(self, repeats: int = 1, spoil: Callable[[Any], Any] | None = None) -> None:
        self.repeats = repeats
        self.spoil = spoil

    def apply(self, prepared: Prepared) -> Applied:
        """Wrap the call."""

        def call() -> Any:
            for _ in range(self.repeats - 1):
                prepared.call()
            result = prepared.call()
            return result if self.spoil is None else self.spoil(result)

        return Applied(call=call, synchronise=prepared.synchronise)


class ChangeConformance:
    """What every change must keep; override `changes`."""

    def changes(self) -> Iterable[Change]:
        """The changes under test."""
        return (FakeChange(),)

    def test_it_has_a_name_fit_for_a_command_line(self) -> None:
        """Lower case, digits and hyphens."""
        for change in self.changes():
            assert re.fullmatch(r"[a-z][a-z0-9-]*", change.name), f"{change.name!r}"

    def test_its_promises_can_be_held_against_it(self) -> None:
        """A known metric, a finite tolerance, kinds that exist, and a use: actions, or to be a control."""
        for change in self.changes():
            assert change.metric in ("latency", "period"), change.name
            assert math.isfinite(change.tolerance), change.name
            assert change.tolerance >= 0, change.name
            assert change.kinds, f"{change.name} fits nothing"
            assert set(change.kinds) <= set(_KINDS), f"{change.name}: {change.kinds}"
            assert all(re.fullmatch(r"[a-z][a-z-]*", action) for action in change.carries_out), f"{change.name}: {change.carries_out}"

    def test_its_precondition_is_pure_and_says_why_not(self) -> None:
        """The same answer twice, one line, and a refusal of every kind it does not fit."""
        for change in self.changes():
            for kind in _KINDS:
                situation = fake_situation(kind)
                answer = change.refusal(situation)
                assert answer == change.refusal(situation), f"{change.name}: two answers"
                assert "\n" not in answer, f"{change.name}: {answer!r}"
                assert kind in change.kinds or answer, f"{change.name} accepts a {kind} target that it does not fit"

    def test_it_starts_the_target_that_it_was_given(self) -> None:
        """What runs, its inputs and its use stay; only how it is started may change."""
        for change in self.changes():
            situation = fake_situation(change.kinds[0])
            before, after = situation.spec, change.before(situation.spec, situation.machine)
            for field in ("text", "kind", "path", "module", "function", "arguments", "input", "shapes", "seed", "use"):
                assert getattr(after, field) == getattr(before, field), f"{change.name} changes {field}"
            cpus = change.cpus(situation.machine)
            assert cpus is None or set(cpus) <= set(situation.machine.cpus_allowed), f"{change.name}: {cpus}"


def fake_situation(kind: str = "python", *, cpus: int = 4, precisions: Iterable[str] = (), device: Device | None = None, **info: Any) -> Situation:
    """A target of a kind on a machine of `cpus` CPUs, probed or not; further fields go to its `TargetInfo`."""
    machine = Machine(
        cpu_model="fake", architecture="x86_64", kernel="6", isa=(), cpus_online=cpus, cpus_allowed=tuple(range(cpus)), memory_bytes=2**33,
        fingerprint="fake",
    )  # fmt: skip
    spec = TargetSpec(text="fake.py:f", kind="onnx" if kind == "onnx" else "python", path="/fake.py", function="f")
    target = TargetInfo(spec=spec.text, kind=kind, name="fake", **{"allocator": "glibc malloc", **info})  # type: ignore[arg-type]
    return Situation(spec=spec, info=target, machine=machine, precisions=frozenset(precisions), device=device)
