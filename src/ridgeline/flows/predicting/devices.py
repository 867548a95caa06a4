"""Devices as a person names them: of the catalogue, from a file, or this machine.

This module decides what a text stands for; what a device can do is the catalogue's, the file's or the probe's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ridgeline.core import Device, UsageError
from ridgeline.device import find
from ridgeline.device.files import read_device

from ..modelling.documents import read_document

__all__ = ["HOST", "devices_of"]

#: What this machine is called.
HOST = "host"
Report = Callable[[str, float | None], None]


def devices_of(asked: Sequence[str | Device], report: Report | None = None) -> tuple[Device, ...]:
    """The devices, in the order asked; this machine is probed if it was not before.

    Args:
        asked: names, files (`.toml` of the catalogue's form, `.json` as `ridgeline probe --json` writes), `host`, or devices.

    Raises:
        UsageError: none is asked for, a name that fits no device or several, or one device twice. ReadError: a file that is none.
    """
    if not asked:
        raise UsageError("at least one device", found="none", remedy="give --device NAME, or --device host for this machine")
    found = tuple(each if isinstance(each, Device) else _device(each, report) for each in asked)
    names = [device.name for device in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError("each device once", found=f"{twice} twice", remedy="leave one out")
    return found


def _device(text: str, report: Report | None) -> Device:
    if text == HOST:
        from ridgeline.flows.probe import probe

        return probe(report=report)
    path = Path(text)
    if path.suffix.lower() == ".toml":
        return read_device(path)
    return read_document(path, Device) if path.suffix.lower() == ".json" else find(text)
