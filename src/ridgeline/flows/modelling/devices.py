"""Which device a name in a table means: a file that was given, the catalogue, or a kept probe of this machine; else none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ridgeline.core import Device, LatencyTable, RidgelineError, UsageError
from ridgeline.core.documents import decode
from ridgeline.device import find
from ridgeline.device.files import read_device
from ridgeline.machine import cache_directory

from .documents import read_document

__all__ = ["devices_of", "given_devices", "kept_probes"]


def devices_of(table: LatencyTable, files: Sequence[str | Path] = ()) -> dict[str, Device]:
    """Name in the table → the device; names that nothing is known of are missing.

    Args:
        files: documents of devices, as `ridgeline probe --json` writes them, or `.toml` in the form of the catalogue; they are taken before what the
            catalogue says.

    Raises:
        ReadError: a file that is no device. UsageError: two files of one name, or a file of another machine than the rows are of.
    """
    given = given_devices(files)
    names = sorted(set(table.texts("device")))
    found = {name: device for name in names if (device := given.get(name) or _listed(name)) is not None}
    for name, device in found.items():
        machine = table.machine(name)
        if machine and device.fingerprint not in ("", machine):
            told = f"a file of another one of that name ({device.fingerprint}; the rows are of {machine})"
            raise UsageError(
                f"the machine that rows of {name} are of", found=told, remedy="give what `ridgeline probe --json` writes on that machine"
            )
    # The last of the probes is believed most.
    probes = kept_probes()[::-1] if len(found) < len(names) else ()
    for name in [name for name in names if name not in found]:
        kept = next((kept for kept in probes if kept.name == name and table.machine(name) in ("", kept.fingerprint)), None)
        if kept is not None:
            found[name] = kept
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
        device = read_device(Path(file)) if Path(file).suffix.lower() == ".toml" else read_document(file, Device)
        if device.name in given:
            raise UsageError("files of different devices", found=f"{device.name} twice", remedy="leave one out")
        given[device.name] = device
    return given


def _listed(name: str) -> Device | None:
    try:
        return find(name) if name else None
    except UsageError:
        return None


def kept_probes() -> tuple[Device, ...]:
    """Probes of this machine that were kept, the one to be believed most last: quick ones before full ones, old ones before new ones."""
    try:
        files = sorted(cache_directory("probe").glob("*.json"), key=lambda file: (not file.stem.endswith("-quick"), file.stat().st_mtime))
    except (OSError, RidgelineError):
        return ()
    found: list[Device] = []
    for file in files:
        try:
            found.append(decode(file.read_bytes(), Device))
        except (OSError, RidgelineError):
            continue
    return tuple(found)
