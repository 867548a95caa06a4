"""A TARGET of `ridgeline diagnose` that some profiler wrote: told from its contents, and answered as `ridgeline read` answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ridgeline.core import ReadError, UsageError
from ridgeline.reporting.read_page import MOST

from .read import read_and_emit

__all__ = ["is_profile", "read_recorded"]

#: Files that are targets of another kind, whatever is in them.
_OTHERS = (".onnx", ".tflite", ".xml", ".py")
#: Options of `diagnose` that mean something only where something is measured, by their names in the call, with what they are where nobody gave them.
_MEASURING: Mapping[str, tuple[str, Any]] = {
    "input_path": ("--input", None),
    "shapes": ("--shape", ()),
    "runtime": ("--runtime", None),
    "budget": ("--budget", None),
    "use": ("--use", "repeated"),
    "threads": ("--threads", None),
    "time_budget": ("--time-budget", None),
    "samples": ("--samples", None),
    "attempt": ("--try", False),
    "trace": ("--trace", None),
    "trained": ("--model", ()),
    "fail_on": ("--fail-on", None),
    "notebook": ("--notebook", None),
}


def is_profile(target: str) -> bool:
    """Whether a target is a file that a profiler wrote; damaged ones count if they can still be told, and ones that have to be exported first."""
    from ridgeline.readers.foreign import is_recording
    from ridgeline.readers.reading import recognised
    from ridgeline.readers.source import Source

    if target.lower().endswith(_OTHERS):
        return False
    try:
        if not Path(target).is_file():
            return False
        source = Source(target)
        return recognised(source) is not None or is_recording(source)
    except (ReadError, OSError, ValueError):
        return False


def read_recorded(target: str, given: Mapping[str, Any]) -> int:
    """Answer for a profile; what would ask for a measurement is refused.

    Raises:
        UsageError: an option that a profile has no use for.
    """
    # Nothing is recorded of a profile anyway.
    wanted = {**given, "trace": given["trace"] or None}
    useless = [option for name, (option, unset) in _MEASURING.items() if wanted[name] != unset]
    if useless:
        remedy = "leave it out, or give the program that the profile was taken of"
        raise UsageError("options that a recorded profile has a use for", found=", ".join(useless), remedy=remedy)
    kept = {name: given[name] for name in ("as_json", "as_markdown", "html_path", "force", "quiet", "no_colour", "strict")}
    asked = {
        "format": "",
        "window": "",
        "iteration": None,
        "top": MOST,
        "what_if": (),
        "nested": False,
        "against": None,
        "to": None,
        "out": None,
        "most_bytes": None,
        "limit": (),
    }
    return read_and_emit([target], {**asked, **kept})
