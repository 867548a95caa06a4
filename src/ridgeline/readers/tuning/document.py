"""The JSON of a tuner: whole, with numbers that JSON has not (Python writes NaN), or cut off while it was being written.

Kernel Tuner keeps its cache open: each configuration is appended as a line of its own, and the closing braces come at the end of the search.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ..source import Damaged, Source

__all__ = ["decoded_document", "number", "scalar", "table"]

_EXPECTED = "the JSON of a tuner"


def decoded_document(source: Source) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(What is in the file, what had to be mended).

    Raises:
        ReadError: no JSON, no object, or nothing whole in it.
    """
    data, remarks = _data(source)
    found = _decoded(data)
    if found is None:
        found, remark = _mended(data)
        remarks = (*remarks, remark)
    if found is None:
        raise source.damaged(_EXPECTED, _reason(data))
    if not isinstance(found, dict):
        raise source.damaged(f"{_EXPECTED}, an object", f"a {type(found).__name__}")
    return found, remarks


def _data(source: Source) -> tuple[bytes, tuple[str, ...]]:
    try:
        return source.data, ()
    except Damaged as error:
        parts = list(_until_damage(source))
        if not parts:
            raise
        return b"".join(parts), (f"the {source.packed or 'file'} is cut short or damaged: {error.found}",)


def _until_damage(source: Source) -> Iterator[bytes]:
    try:
        yield from source.pieces()
    except Damaged:
        return


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _mended(data: bytes) -> tuple[Any, str]:
    """What a file that was still being written holds, and a word on it; null where it is damaged in another way."""
    body = data.strip().removesuffix(b",")
    if b'"cache"' not in body:
        return None, ""
    whole, _, _ = body.rpartition(b"\n")
    opened = body[: body.find(b"{", body.find(b'"cache"')) + 1]
    open_words = "it was still being written: its closing braces are missing"
    for text, words in ((body, open_words), (whole.rstrip().removesuffix(b","), f"{open_words}, and its last line, which is cut off, is left out")):
        # One brace is missing, or two; shorter than the beginning of `cache` there is nothing in it.
        for braces in (b"}", b"}}") if len(text) >= len(opened) else ():
            found = _decoded(text + braces)
            if isinstance(found, dict):
                return found, words
    return None, ""


def _reason(data: bytes) -> str:
    try:
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return str(error) or type(error).__name__
    return "nothing"


def table(found: Any, where: str, source: Source) -> Mapping[str, Any]:
    """An object of the file.

    Raises:
        ReadError: it is none.
    """
    if not isinstance(found, dict):
        raise source.damaged(f"an object as {where}", f"{found!r:.80}")
    return found


def scalar(found: Any, where: str, source: Source) -> bool | int | float | str:
    """A value of a parameter.

    Raises:
        ReadError: a list, an object, or nothing.
    """
    if not isinstance(found, bool | int | float | str) or found != found:
        raise source.damaged(f"a number, a text, true or false as {where}", f"{found!r:.80}")
    return found


def number(found: Any) -> float | None:
    """A finite number as float; null for anything else."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        value = float(found)
    except OverflowError:
        return None
    return value if abs(value) < float("inf") else None
