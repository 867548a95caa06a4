"""Deployments of onnxruntime: options of its session.

Needs onnxruntime (extra `onnx`). Sources: documentation of onnxruntime ("Thread management", "Graph Optimizations"), and of its session configuration
keys `session.dynamic_block_base`, `session.force_spinning_stop`, `session.disable_prepacking`, `session.use_device_allocator_for_initializers` and
`session.intra_op_thread_affinities` (onnxruntime_session_options_config_keys.h; all of them are there since version 1.16).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec

from ridgeline.core import Parameter
from ridgeline.core.space import Value
from ridgeline.machine import read_machine
from ridgeline.targets import Prepared
from ridgeline.targets.changes import REORDERED, Applied, Change, Situation
from ridgeline.targets.changes.onnx import ParallelExecution, SessionChange, flavour_of

from .base import Deployment
from .space import Setting, choice, switch, threads_of, whole

__all__ = ["OnnxRuntime"]

#: (runtime, options of a session), which it changes.
Configure = Callable[[Any, Any], None]
_LEVELS = {"all": "ORT_ENABLE_ALL", "extended": "ORT_ENABLE_EXTENDED", "basic": "ORT_ENABLE_BASIC", "none": "ORT_DISABLE_ALL"}
#: Setting → (key, what it is set to where the setting is true).
_SWITCHES = {
    "stop_spinning": ("session.force_spinning_stop", "1"),
    "no_prepacking": ("session.disable_prepacking", "1"),
    "device_allocator": ("session.use_device_allocator_for_initializers", "1"),
}
_BLOCK_BASES = (0, 2, 4, 8, 16)


class OnnxRuntime(Deployment):
    """A model in a session of onnxruntime on the CPU."""

    name = "onnxruntime"
    package, extra = "onnxruntime", "onnx"
    names = (
        "threads", "optimisation", "no_prepacking", "device_allocator", "inter_op_threads", "block_base", "stop_spinning", "bound_threads",
    )  # fmt: skip
    kinds = ("onnx",)
    covers = {"one-thread": "threads", "all-threads": "threads", "ort-optimise-basic": "optimisation"}

    def settings(self, situation: Situation) -> Sequence[Setting]:
        """Threads, optimisations, how work is divided among threads, and where these run."""
        cpus = situation.machine.cpus_usable
        found = [
            Setting(threads_of(situation), situation.info.threads, "options.intra_op_num_threads", REORDERED),
            Setting(choice("optimisation", tuple(_LEVELS)), "all", "options.graph_optimization_level", REORDERED),
            Setting(switch("no_prepacking"), False, _entry("no_prepacking"), REORDERED),
            Setting(switch("device_allocator"), False, _entry("device_allocator")),
            Setting(whole("inter_op_threads", 1, cpus, when="ort_parallel"), None, "options.inter_op_num_threads", REORDERED, "ort-parallel"),
        ]
        if cpus > 1:
            several = "threads > 1"
            many = situation.info.threads > 1
            found += [
                Setting(
                    Parameter(name="block_base", values=_BLOCK_BASES, when=several),
                    0 if many else None,
                    "options.add_session_config_entry('session.dynamic_block_base', …); 0 leaves it out",
                    REORDERED,
                ),
                Setting(switch("stop_spinning", when=several), False if many else None, _entry("stop_spinning")),
                Setting(
                    switch("bound_threads", when=several),
                    False if many else None,
                    "options.add_session_config_entry('session.intra_op_thread_affinities', …): a CPU for each thread but the caller's",
                ),
            ]
        return found

    def excludes(self, one: Change, other: Change) -> bool:
        """Two that make the session each in a way of its own."""
        return _makes_session(one) and _makes_session(other)

    def apply(self, prepared: Prepared, changes: Sequence[Change], values: Mapping[str, Value]) -> Applied:
        """One session with all options; where nothing but threads is set, the one that was prepared."""
        configure: list[Configure] = [change.configure for change in changes if isinstance(change, SessionChange) and not _makes_session(change)]
        for change in changes:
            if isinstance(change, ParallelExecution):
                change.inter_op_threads = int(values.get("inter_op_threads", 0))
        moved = _options(values, prepared.info.threads)
        configure += [moved] if moved is not None else []
        maker = next((change for change in changes if _makes_session(change)), None)
        if configure or maker is not None:
            applied = (maker or SessionChange()).apply(_with(prepared, configure))
            prepared = msgspec.structs.replace(prepared, call=applied.call, synchronise=applied.synchronise)
        return super().apply(prepared, [change for change in changes if not isinstance(change, SessionChange)], values)


def _makes_session(change: Change) -> bool:
    return isinstance(change, SessionChange) and type(change).apply is not SessionChange.apply


def _with(prepared: Prepared, configure: Sequence[Configure]) -> Prepared:
    """The target with further options in every session that is made of it."""
    flavour, runtime = flavour_of(prepared), import_module("onnxruntime")

    def options() -> Any:
        made = flavour.session_options()
        for each in configure:
            each(runtime, made)
        return made

    return msgspec.structs.replace(prepared, flavour=msgspec.structs.replace(flavour, session_options=options))


def _options(values: Mapping[str, Value], threads: int) -> Configure | None:
    """What sets the options that are not as they are by default; null where all are."""
    level, base = values.get("optimisation", "all"), values.get("block_base", 0)
    entries = {key: value for name, (key, value) in _SWITCHES.items() if values.get(name)}
    if base:
        entries["session.dynamic_block_base"] = str(base)
    if values.get("bound_threads"):
        entries["session.intra_op_thread_affinities"] = _affinities(read_machine().cpus_allowed, threads)
    if level == "all" and not entries:
        return None

    def configure(runtime: Any, options: Any) -> None:
        options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, _LEVELS[str(level)])
        for key, value in entries.items():
            options.add_session_config_entry(key, value)

    return configure


def _affinities(cpus: Sequence[int], threads: int) -> str:
    """A CPU for each thread of the pool, counted from 1; the caller is none of the pool, and is left the first.

    >>> _affinities((0, 1, 2, 3), 3)
    '2;3'
    """
    return ";".join(str(cpus[number % len(cpus)] + 1) for number in range(1, threads))


def _entry(name: str) -> str:
    key, value = _SWITCHES[name]
    return f"options.add_session_config_entry({key!r}, {value!r})"
