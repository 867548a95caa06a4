"""`probe`: what this machine can do, measured once and kept until the machine or the software that reaches its ceilings changes.

What is measured is decided in `measurement.probe`; this module decides when, in which process, and where the result is kept. It runs in a child of
its own, so that nothing it loads stays behind. A result that cannot be kept is still returned, and a kept one that cannot be read is measured again;
both are noted on the device.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import Cost, Device, Machine, Quantity, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.machine import Worker, cache_directory, read_machine, software_versions, write_atomic
from ridgeline.measurement.core_to_core import NO_TURN, ORIGIN, core_to_core_here

from .left_over import put_back_settings

__all__ = ["measure_here", "probe"]

Report = Callable[[str, float | None], None]
#: Packages whose libraries reach ceilings, so that another version is another probe.
_LIBRARIES = ("ridgeline", "numpy", "scipy", "torch", "onnxruntime")
#: A probe takes about a minute; far beyond that it hangs.
_LIMIT_S = 900.0
_CORE_TO_CORE = "core-to-core"


def probe(*, quick: bool = False, refresh: bool = False, report: Report | None = None) -> Device:
    """The ceilings of this machine: those kept for it, or measured now.

    Args:
        quick: whether a rougher probe will do; a full one that is kept is preferred to it.
        refresh: measure although there is one.
        report: told what is going on and the fraction done (0…1, null if not known).

    Raises:
        TargetFailed: the child that measures ended.
    """
    say = report or (lambda label, fraction: None)
    put_back_settings(say)
    machine = read_machine()
    try:
        directory = cache_directory("probe")
    except UsageError as error:
        return _noted(_measured(machine, quick, say), say, f"not kept: {error}")
    key = _key(machine)
    names = (f"{key}.json", f"{key}-quick.json") if quick else (f"{key}.json",)
    with _alone(directory / f"{key}.lock", say):
        found, notes = (None, []) if refresh else _kept(directory, names, machine)
        if found is None:
            found = _measured(machine, quick, say)
            for note in notes:
                found = _noted(found, say, note)
            found = _keep(found, directory / names[-1], say)
        return _as_placed_now(found)


def measure_here(machine: Machine, quick: bool, report: Callable[[Any], None]) -> Device:
    """The child's side of `probe`; `report` receives [label, fraction]."""
    from ridgeline.measurement.probe import probe as measure

    device: Device = measure(machine=machine, quick=quick, report=lambda label, fraction: report([label, fraction]))
    return device


def _as_placed_now(device: Device) -> Device:
    """A probe with what a host changes by the minute measured again: how far apart the CPUs are of a virtual machine.

    Where other programs leave no turn to measure it, it is not known: that of another minute may be several times off.
    """
    seconds = core_to_core_here()
    others = tuple(cost for cost in device.costs if cost.name != _CORE_TO_CORE)
    if seconds > 0:
        found = Cost(name=_CORE_TO_CORE, seconds=Quantity.exact(seconds, "s", source="measured", origin=f"{ORIGIN}; measured now"))
        return msgspec.structs.replace(device, costs=(*others, found))
    if len(others) == len(device.costs):
        return device
    return msgspec.structs.replace(device, costs=others, notes=(*device.notes, f"How far apart the cores are could not be measured now: {NO_TURN}."))


def _key(machine: Machine) -> str:
    """The machine's fingerprint and a digest of the software, as a file name."""
    software = hashlib.sha256(json.dumps(software_versions(_LIBRARIES), sort_keys=True).encode()).hexdigest()[:8]
    return f"{machine.fingerprint}-{software}"


def _measured(machine: Machine, quick: bool, say: Report) -> Device:
    def heard(told: Any) -> None:
        label, fraction = told
        say(f"probing this machine: {label}", fraction)

    say("probing this machine, once", 0.0)
    with Worker() as worker:
        arguments = {"machine": machine, "quick": quick}
        return worker.call("ridgeline.flows.probe:measure_here", arguments, Device, timeout_s=_LIMIT_S, on_report=heard)


def _kept(directory: Path, names: tuple[str, ...], machine: Machine) -> tuple[Device | None, list[str]]:
    """The first readable probe, and what was wrong with those that are not."""
    notes = []
    for name in names:
        try:
            device = decode((directory / name).read_bytes(), Device)
        except FileNotFoundError:
            continue
        except (OSError, ReadError) as error:
            notes.append(f"a kept probe was unreadable and measured again ({error})")
            continue
        if device.fingerprint == machine.fingerprint and device.ceilings:
            return device, notes
        notes.append("a kept probe was of another machine or empty and measured again")
    return None, notes


def _keep(device: Device, path: Path, say: Report) -> Device:
    try:
        write_atomic(path, encode(device))
    except UsageError as error:
        return _noted(device, say, f"not kept: {error}")
    return device


def _noted(device: Device, say: Report, note: str) -> Device:
    say(f"warning: the probe is {note}" if note.startswith("not kept") else f"probe: {note}", None)
    return msgspec.structs.replace(device, notes=(*device.notes, note))


@contextlib.contextmanager
def _alone(path: Path, say: Report) -> Iterator[None]:
    """Hold the lock of the cache: two probes at once would measure each other. Where no lock can be had, go on without."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another probe of this machine", None)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)
