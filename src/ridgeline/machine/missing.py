"""Whether a module that a target misses is a package that an extra of ours brings, by the metadata of the installed ridgeline.

Where the import failed, and what is said of a module that only the user can know about, is left to whoever caught the error.
"""

from __future__ import annotations

import re
from functools import cache

from ridgeline.core import BackendUnavailable

__all__ = ["missing_extra"]

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+).*;.*extra\s*==\s*[\"'](?P<extra>[\w-]+)[\"']")


def missing_extra(module: str | None, place: str = "") -> BackendUnavailable | None:
    """The error for a module that is not there and that an extra of ours brings; `None` for any other module.

    Args:
        module: its dotted name, as `ModuleNotFoundError.name`.
        place: where it was imported, such as ` at FILE:LINE`.
    """
    extra = _extras().get(module or "")
    if extra is None:
        return None
    remedy = f"pip install 'ridgeline[{extra}]'"
    found = f"not installed; imported{place}" if place else "not installed"
    return BackendUnavailable(f"the package {module}, which the target imports", found=found, remedy=remedy)


@cache
def _extras() -> dict[str, str]:
    """Import name → extra. Every package that our extras name is imported by its own name, with underscores for dashes."""
    from importlib.metadata import PackageNotFoundError, requires  # late: every child imports this module, hardly one needs the metadata

    try:
        texts = requires("ridgeline") or []
    except PackageNotFoundError:
        return {}
    found: dict[str, str] = {}
    for text in texts:
        match = _REQUIREMENT.match(text)
        # `all` names ridgeline itself, which is never missing.
        if match and match["name"] != "ridgeline":
            found.setdefault(re.sub("[-.]", "_", match["name"].lower()), match["extra"])
    return found
