"""Deployments of OpenVINO: properties that a model is compiled with.

Needs openvino (extra `openvino`). Source: documentation of OpenVINO ("High-level Performance Hints", and in "CPU Device" NUM_STREAMS,
INFERENCE_NUM_THREADS, ENABLE_CPU_PINNING, ENABLE_HYPER_THREADING).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from ridgeline.core import NotComparable
from ridgeline.core.space import Value
from ridgeline.targets import Prepared
from ridgeline.targets.changes import REORDERED, Applied, Change, Situation
from ridgeline.targets.openvino import OpenvinoFlavour, caller

from .base import Deployment
from .space import Setting, choice, threads_of, whole

__all__ = ["Openvino"]

#: `auto` leaves a property to OpenVINO, as the deployment does.
_OWN = ("auto", "on", "off")
_SWITCHES = {"cpu_pinning": "ENABLE_CPU_PINNING", "hyper_threading": "ENABLE_HYPER_THREADING"}


class Openvino(Deployment):
    """A model that OpenVINO has compiled for the CPU."""

    name = "openvino"
    package, extra = "openvino", "openvino"
    names = ("threads", "streams", "performance_hint", "cpu_pinning", "hyper_threading")
    kinds = ("openvino",)
    covers = {"one-thread": "threads", "all-threads": "threads"}

    def settings(self, situation: Situation) -> Sequence[Setting]:
        """Threads, streams, hints, and where threads run."""
        cpus = situation.machine.cpus_usable
        hyper = situation.machine.threads_per_core or 1
        found = [
            Setting(threads_of(situation), situation.info.threads, "INFERENCE_NUM_THREADS", REORDERED),
            Setting(whole("streams", 1, cpus), 1, "NUM_STREAMS", REORDERED),
            Setting(choice("performance_hint", ("LATENCY", "THROUGHPUT")), "LATENCY", "PERFORMANCE_HINT", REORDERED),
            Setting(choice("cpu_pinning", _OWN), "auto", _SWITCHES["cpu_pinning"]),
        ]
        return [*found, Setting(choice("hyper_threading", _OWN), "auto", _SWITCHES["hyper_threading"], REORDERED)] if hyper > 1 else found

    def constraints(self, situation: Situation) -> Sequence[tuple[frozenset[str], str]]:
        """A stream has a thread at least."""
        return (*super().constraints(situation), (frozenset({"streams", "threads"}), "streams <= threads"))

    def apply(self, prepared: Prepared, changes: Sequence[Change], values: Mapping[str, Value]) -> Applied:
        """Compiled once more with all properties; where nothing but threads is set, the model that was compiled.

        Raises:
            NotComparable: another kind of target.
        """
        flavour = prepared.flavour
        if not isinstance(flavour, OpenvinoFlavour):
            raise NotComparable("a model that OpenVINO runs", found=f"a {prepared.info.kind} target", remedy="give it a model.xml")
        properties = _properties(values)

        def compiled(more: Mapping[str, Any]) -> Any:
            return flavour.compile({**properties, **more})

        if properties:
            prepared = msgspec.structs.replace(prepared, flavour=replace(flavour, compile=compiled))
            # A change of the hint compiles for itself.
            if not any(change.precision for change in changes):
                prepared.call = caller(compiled({}), flavour.feeds)
        return super().apply(prepared, changes, values)


def _properties(values: Mapping[str, Value]) -> dict[str, Any]:
    """What is not as it is by default."""
    found: dict[str, Any] = {}
    if values.get("streams", 1) != 1:
        found["NUM_STREAMS"] = values["streams"]
    if values.get("performance_hint", "LATENCY") != "LATENCY":
        found["PERFORMANCE_HINT"] = values["performance_hint"]
    return found | {key: values[name] == "on" for name, key in _SWITCHES.items() if values.get(name, "auto") != "auto"}
