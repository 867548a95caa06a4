"""The target of this process: prepared once, held in a module variable, since that is what a process is for, and measured many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ridgeline.core import Caution, TargetFailed, TargetInfo
from ridgeline.targets import CommandSample, Prepared, ProcessFlavour, TargetSpec
from ridgeline.targets import prepare as prepare_target

from ..stages.marks import marks_of
from ..stages.recorder import recording

__all__ = ["PreparedReport", "Session", "held", "inside", "prepare"]


class PreparedReport(msgspec.Struct, frozen=True, kw_only=True):
    """What preparing found: the target as it is, its first call in seconds, and what the reader must know."""

    info: TargetInfo
    first_s: float | None
    load_s: float
    warnings: tuple[Caution, ...] = ()


class Session:
    """The prepared target of this process, and where every call is a process of its own, the runs so far."""

    current: Prepared | None = None
    runs: tuple[CommandSample, ...] = ()


def held() -> Prepared:
    """The target that `prepare` has loaded.

    Raises:
        TargetFailed: it was not called.
    """
    if Session.current is None:
        raise TargetFailed("a prepared target", found="none in this process", remedy="call prepare first")
    return Session.current


def prepare(spec: TargetSpec) -> PreparedReport:
    """Load the target; its first call is part of that and timed apart.

    Raises:
        RidgelineError: whatever is wrong with the target, in one line.
    """
    with recording(most=1) as first:
        prepared = prepare_target(spec)
    prepared.describe(marks=marks_of(prepared, marked=first.entered, children=first.children > 0))
    if prepared.inputs is not None and len(prepared.inputs.names) > 1:
        names = prepared.inputs.names
        message = f"of {len(names)} inputs, the first one, {names[0]}, is diagnosed"
        effect = "the others may take another time: ridgeline bench measures all of them"
        prepared.warnings.append(Caution(code="one-of-many-inputs", message=message, effect=effect))
    Session.current = prepared
    return PreparedReport(info=prepared.info, first_s=prepared.first_s, load_s=prepared.load_s, warnings=tuple(prepared.warnings))


def inside(prepared: Prepared) -> Callable[[], Any] | None:
    """What instruments that look inside this process call: the workload, or a script's source run here; `None` where the target is only ever
    outside."""
    if not isinstance(prepared.flavour, ProcessFlavour):
        return prepared.call
    return prepared.flavour.load(None) if prepared.flavour.load is not None else None
