"""What may be shown of a text that someone else chose: names of operators, files, machines.

Control characters could move the cursor, recolour the terminal or reverse the direction of a line, so none of them gets through; escaping
for a format is left to its renderer.
"""

from __future__ import annotations

import os
import unicodedata

from rich.cells import cell_len

__all__ = ["ELLIPSIS", "clean", "shorten", "shown_path", "width"]

ELLIPSIS = "…"
# Categories: control, format (which holds the direction overrides and zero-width characters), surrogate, private use, unassigned.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# Joiners are needed to write several scripts, and do no harm.
_KEPT = frozenset({"\u200c", "\u200d"})


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
