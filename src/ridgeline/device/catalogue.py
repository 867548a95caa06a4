"""All known devices, ours and those of plugins, through the one door `ridgeline.devices`.

A plugin is a callable without arguments that returns devices. Decides how a name that a person writes finds its device; a plugin that is
broken never hides the devices of the others, but is named where a name was not found.
"""

from __future__ import annotations

import difflib
import re
from functools import cache

from ..core import Device, PluginError, UsageError
from ..core.plugins import load, names

__all__ = ["broken", "catalogue", "find", "select"]


def catalogue() -> tuple[Device, ...]:
    """Every known device, in order of name; plugins that do not load are left out (see `broken`)."""
    return _survey()[0]


def broken() -> tuple[PluginError, ...]:
    """Why plugins of devices were left out of the catalogue."""
    return _survey()[1]


def find(name: str) -> Device:
    """The device of that name; case, blanks and dashes do not matter, and words that fit only one device are enough.

    A part of a word fits nothing: an L40 is no L40S. Words may be written as one, as in `rtx4090`.

    Raises:
        UsageError: none fits, or several do; names the near ones.

    >>> find("h200").name, find("rtx4090").name
    ('NVIDIA H200 SXM 141GB', 'NVIDIA GeForce RTX 4090')
    """
    devices = catalogue()
    wanted = _words(name)
    whole = [device for device in devices if _words(device.name) == wanted]
    fitting = whole or [device for device in devices if wanted and set(wanted) <= set(_words(device.name))]
    fitting = fitting or [device for device in devices if wanted and _as_one("".join(wanted), _words(device.name))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError("the name of one device", found=f"{name!r}, which fits {_listed(fitting)}", remedy="add a word")
    raise UsageError("a device of the catalogue", found=f"{name!r}{_left_out()}", remedy=f"take one of: {_listed(_near(name, devices))}")


def select(kind: str | None = None, vendor: str | None = None) -> tuple[Device, ...]:
    """The devices of a kind, of a vendor, or both; in order of name.

    Args:
        kind: `cpu`, `gpu` or `npu`.
        vendor: maker, such as `NVIDIA`; case does not matter.

    Raises:
        UsageError: none is left; names the kinds and vendors there are.

    >>> {device.vendor for device in select(kind="gpu", vendor="amd")}
    {'AMD'}
    """
    devices = catalogue()
    found = tuple(
        device for device in devices if kind in (None, device.kind) and (vendor is None or device.vendor.casefold() == vendor.strip().casefold())
    )
    if found:
        return found
    kinds, vendors = sorted({device.kind for device in devices}), sorted({device.vendor for device in devices if device.vendor})
    asked = ", ".join(f"{name} {value!r}" for name, value in (("kind", kind), ("vendor", vendor)) if value is not None)
    raise UsageError("a kind and a vendor of the catalogue", found=asked, remedy=f"kinds: {', '.join(kinds)}; vendors: {', '.join(vendors)}")


@cache
def _survey() -> tuple[tuple[Device, ...], tuple[PluginError, ...]]:
    devices: dict[str, Device] = {}
    errors: list[PluginError] = []
    for plugin in names("devices"):
        try:
            found = _call(plugin)
        except PluginError as error:
            errors.append(error)
            continue
        for device in found:
            if device.name in devices:
                errors.append(PluginError("device names that occur once", found=f"{device.name!r} again in {plugin}", remedy="rename it"))
            else:
                devices[device.name] = device
    return tuple(sorted(devices.values(), key=lambda device: device.name)), tuple(errors)


def _call(plugin: str) -> tuple[Device, ...]:
    try:
        found = tuple(load("devices", plugin)())
    except PluginError:
        raise
    except Exception as error:  # a stranger's function may raise anything
        raise PluginError(f"devices from plugin {plugin}", found=f"{type(error).__name__}: {error}", remedy="update or remove it") from error
    if not all(isinstance(device, Device) for device in found):
        raise PluginError(f"plugin {plugin} to return devices", found=", ".join(sorted({type(item).__name__ for item in found})), remedy="mend it")
    return found


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", name.casefold()))


def _as_one(text: str, words: tuple[str, ...]) -> bool:
    """Whether the text is some of the words, which follow one another, without blanks between."""
    return any("".join(words[start:end]) == text for start in range(len(words)) for end in range(start + 1, len(words) + 1))


def _near(name: str, devices: tuple[Device, ...]) -> list[Device]:
    """Devices with a word that looks like one of those asked for, the most alike in all words first; or else all."""
    wanted = _words(name[:200])

    def alike(device: Device) -> list[float]:
        theirs = _words(device.name)
        return [max(difflib.SequenceMatcher(None, mine, each).ratio() for each in theirs) for mine in wanted]

    found = {device.name: alike(device) for device in devices}
    ranked = sorted(devices, key=lambda device: -sum(found[device.name]))
    return [device for device in ranked if max(found[device.name], default=0.0) > 0.6][:5] or ranked


def _listed(devices: list[Device]) -> str:
    return ", ".join(device.name for device in devices)


def _left_out() -> str:
    return "".join(f"; left out: {error}" for error in broken())
