"""What may be shown of a text that someone else chose: names of operators, files, machines.

Control characters could move the cursor, recolour the terminal or reverse the direction of a line, so none of them gets through; escaping
for a format is left to its renderer.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len

__all__ = ["ELLIPSIS", "clean", "fitted", "shorten", "shorten_apart", "shown_path", "width"]

ELLIPSIS = "…"
# Categories: control, format (which holds the direction overrides and zero-width characters), surrogate, private use, unassigned.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# Joiners are needed to write several scripts, and do no harm.
_KEPT = frozenset({"\u200c", "\u200d"})
#: Behind what a name may be broken, the best first; an opening bracket begins what follows.
_JOINTS = (re.compile(r"\s+"), re.compile(r"[/_,.:;>)\]|+=]+|(?=[<(\[])"))
#: How often names that look alike are looked at again.
_ROUNDS = 4


def clean(text: str) -> str:
    """The text on one line without control characters; each of those is shown as `\\xNN` or `\\uNNNN`.

    >>> clean("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\r\t" or unicodedata.category(character) in {"Zl", "Zp", "Zs"}:
        return " "
    if unicodedata.category(character) in _HIDDEN and character not in _KEPT:
        code = ord(character)
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    return character


def width(text: str) -> int:
    """Columns a text takes on a terminal, by the table that also lays out the page: wide characters take two, combining marks none."""
    return cell_len(text)


def shorten(text: str, columns: int) -> str:
    """The text in at most `columns` columns, with its middle left out: the ends of a name tell more than its middle.

    >>> shorten("/encoder/layer.0/attention/MatMul", 16)
    '/encoder…/MatMul'
    """
    if width(text) <= columns:
        return text
    if columns <= 1:
        return ELLIPSIS[:columns]
    head_columns = (columns - 1 + 1) // 2
    head, tail = _taken(text, head_columns), _taken(text[::-1], columns - 1 - head_columns)[::-1]
    return f"{head}{ELLIPSIS}{tail}"


def shorten_apart(texts: Sequence[str], columns: int) -> list[str]:
    """Texts as `shorten` makes them; of those that it would make alike what differs is kept instead of their ends.

    >>> shorten_apart(["gemm<float, 128, 64>(int*, long)", "gemm<float, 256, 64>(int*, long)"], 16)
    ['gemm…128, 64>(i…', 'gemm…256, 64>(i…']
    """
    shown = {text: shorten(text, columns) for text in texts}
    for _ in range(_ROUNDS):
        alike: dict[str, list[str]] = {}
        for text, short in shown.items():
            alike.setdefault(short, []).append(text)
        groups = [group for group in alike.values() if len(group) > 1]
        if not groups:
            break
        for group in groups:
            shown |= {text: _from(text, _in_common(group), columns) for text in group}
    return [shown[text] for text in texts]


def _in_common(texts: Sequence[str]) -> int:
    """How many characters all begin with: as many as the first and the last of them in order."""
    first, last = min(texts), max(texts)
    return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def _from(text: str, at: int, columns: int) -> str:
    """The beginning of a text and what stands at a place in it, in `columns`."""
    head = _taken(text, columns // 4)
    left = columns - width(head) - 1
    tail = text[at:] if width(text[at:]) <= left else f"{_taken(text[at:], left - 1)}{ELLIPSIS}"
    return f"{head}{ELLIPSIS}{tail}" if left > 1 and at > len(head) else shorten(text, columns)


def fitted(texts: Sequence[str], columns: int, lines: int = 1) -> list[list[str]]:
    """Each text on at most so many lines of `columns`, broken where names have their joints; shortened (`shorten_apart`) where that is too little.

    >>> fitted(["critical path: synchronisation", "idle"], 16, 2)
    [['critical path:', 'synchronisation'], ['idle']]
    """
    found = {text: _broken(text, columns, lines) or _broken(text, columns, lines, joints=False) for text in dict.fromkeys(texts)}
    # What is broken behind its joints leaves ends of lines empty, so that less of it fits.
    for room in (columns * lines, columns * lines - columns // 2, columns * lines - columns):
        long = [text for text, parts in found.items() if parts is None]
        found |= {text: _broken(short, columns, lines) for text, short in zip(long, shorten_apart(long, max(1, room)), strict=True)}
    long = [text for text, parts in found.items() if parts is None]
    found |= {text: _broken(short, columns, lines, joints=False) for text, short in zip(long, shorten_apart(long, columns * lines), strict=True)}
    return [found[text] or [shorten(text, columns)] for text in texts]


def _broken(text: str, columns: int, lines: int, *, joints: bool = True) -> list[str] | None:
    """The text in lines, broken behind a blank or else a joint, if there is one far enough in a line; `None` if it takes more lines."""
    found: list[str] = []
    while width(text) > columns and len(found) < lines - 1:
        head = _taken(text, columns)
        at = _joint(head, text[len(head) :]) if joints else len(head)
        found.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*found, text] if width(text) <= columns else None


def _joint(head: str, rest: str) -> int:
    """Where to break behind `head` at the latest: at a blank in its last two thirds, at another joint, or at its end."""
    if rest[:1].isspace():
        return len(head)
    for joint in _JOINTS:
        ends = [match.end() for match in joint.finditer(head)]
        if ends and 3 * ends[-1] >= len(head):
            return ends[-1]
    return max(1, len(head))


def shown_path(path: str) -> str:
    """The path from the working directory on where it lies below it, else as it is; what is stored keeps the whole path.

    >>> shown_path("net.py")
    'net.py'
    """
    try:
        below = os.path.join(os.getcwd(), "")
    except OSError:  # it was deleted
        return path
    # Below the root lies everything: there the whole path says more.
    return path[len(below) :] if below != os.sep and path.startswith(below) else path


def _taken(text: str, columns: int) -> str:
    """The longest start of `text` within `columns`."""
    used = 0
    for index, character in enumerate(text):
        used += width(character)
        if used > columns:
            return text[:index]
    return text
