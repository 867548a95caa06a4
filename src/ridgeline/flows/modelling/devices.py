"""Which device a name in a table means: a file that was given, the catalogue, or a kept probe of this machine; else none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ridgeline.core import Device, LatencyTable, RidgelineError, UsageError
from ridgeline.core.documents import decode
from ridgeline.device import find
from ridgeline.machine import cache_directory

from .documents import read_document

__all__ = ["devices_of", "given_devices"]


def devices_of(table: LatencyTable, files: Sequence[str | Path] = ()) -> dict[str, Device]:
    """Name in the table → the device; names that nothing is known of are missing.

    Args:
        files: documents of devices, as `ridgeline probe --json` writes them; they are taken before what the catalogue says.

    Raises:
        ReadError: a file that is no device. UsageError: two files of one name.
    """
    given = given_devices(files)
    probes: Mapping[str, Device] | None = None
    found: dict[str, Device] = {}
    for name in sorted(set(table.texts("device"))):
        device = given.get(name) or _listed(name)
        if device is None:
            probes = _probes() if probes is None else probes
            device = probes.get(name)
        if device is not None:
            found[name] = device
    unused = sorted(set(given) - set(found))
    if unused:
        there = ", ".join(sorted(set(table.texts("device"))))[:200]
        raise UsageError(f"rows of {unused[0]}, whose file was given", found=f"rows of {there}", remedy="give the file of the device in the table")
    return found


def given_devices(files: Sequence[str | Path]) -> dict[str, Device]:
    """Devices of files, by name.

    Raises:
        ReadError: a file that is no device. UsageError: two files of one name.
    """
    given: dict[str, Device] = {}
    for file in files:
        device = read_document(file, Device)
        if device.name in given:
            raise UsageError("files of different devices", found=f"{device.name} twice", remedy="leave one out")
        given[device.name] = device
    return given


def _listed(name: str) -> Device | None:
    try:
        return find(name) if name else None
    except UsageError:
        return None


def _probes() -> dict[str, Device]:
    """Kept probes of this machine by name, full ones before quick ones, of each the newest."""
    try:
        files = sorted(cache_directory("probe").glob("*.json"), key=lambda file: (not file.stem.endswith("-quick"), file.stat().st_mtime))
    except (OSError, RidgelineError):
        return {}
    found: dict[str, Device] = {}
    for file in files:
        try:
            device = decode(file.read_bytes(), Device)
        except (OSError, RidgelineError):
            continue
        found[device.name] = device
    return found
