"""Small JSON files that must be whole: decoded, or refused with the byte where they are damaged.

Traces are not read this way: of a file of events what is whole is kept.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .source import Source

__all__ = ["decoded"]


def decoded(source: Source, expected: str) -> Any:
    """What the file holds.

    Raises:
        ReadError: no JSON, nested too deeply, or numbers beyond any.
    """
    try:
        return msgspec.json.decode(source.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise source.damaged(expected, f"{error}" or type(error).__name__) from error
