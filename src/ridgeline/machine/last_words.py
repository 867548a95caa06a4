"""What a process said before it failed, short enough for one line: of a Python traceback its last line and its place, else the end of the text."""

from __future__ import annotations

import os
import re
import sys

__all__ = ["LIBRARIES", "files_in", "last_words", "missing_in", "shortened"]

#: Where code lives that is not the user's own. `sysconfig` says the same, and takes every process a millisecond to load.
LIBRARIES = tuple(
    sorted({os.path.dirname(os.__file__), *(place for place in sys.path if os.path.basename(place) in ("site-packages", "dist-packages"))})
)

# Texts and not compiled: every process that is measured imports this, hardly one says a word.
_FRAME = r'(?m)^ +File "(?P<file>[^"\n]+)", line (?P<line>\d+)(, in (?P<function>.+))?$'
_HEAD = "Traceback (most recent call last):"
_MOST = 400
_MISSING = r"ModuleNotFoundError: No module named '(?P<module>[\w.]+)'"


def last_words(said: str, most: int = _MOST) -> str:
    """At most about `most` characters of it, cut between words.

    >>> last_words("one two three", 8)
    '… three'
    """
    block = said.rpartition(_HEAD)[2]
    frames = list(re.finditer(_FRAME, block))
    message = _message(block[frames[-1].end() :]) if frames else ""
    if not message:
        return shortened(said, most, end=True)
    return shortened(message, most) + _place(frames)


def missing_in(said: str) -> tuple[str, str] | None:
    """The module whose absence ended a Python program, and its place as ` at FILE:LINE in FUNCTION`; `None` if it ended by anything else."""
    found = re.match(_MISSING, last_words(said))
    return (found["module"], last_words(said)[found.end() :]) if found else None


def files_in(said: str) -> list[str]:
    """Files of the frames of a Python program's last traceback, outermost first; none where it printed none."""
    return [frame["file"] for frame in re.finditer(_FRAME, said.rpartition(_HEAD)[2])] if _HEAD in said else []


def shortened(text: str, most: int = _MOST, *, end: bool = False) -> str:
    """The first `most` characters of a text in one line, or the last ones, cut between words where there is one to cut at."""
    words = " ".join(text.split())
    if len(words) <= most:
        return words
    if end:
        kept = words[-most:].partition(" ")[2] or words[-most:]
        return f"… {kept}"
    kept = words[:most].rpartition(" ")[0] or words[:most]
    return f"{kept} …"


def _message(after: str) -> str:
    """What follows the last frame, without the lines of source and the marks below them."""
    lines = after.splitlines()
    while lines and (not lines[0].strip() or lines[0].startswith(" ")):
        lines.pop(0)
    return "\n".join(lines)


def _place(frames: list[re.Match[str]]) -> str:
    own = [frame for frame in frames if not frame["file"].startswith((*LIBRARIES, "<frozen"))]
    last = (own or frames)[-1]
    # The body of a file is no function that anybody named.
    inside = "" if last["function"] in (None, "<module>") else f" in {last['function']}"
    return f" at {last['file']}:{last['line']}{inside}"
