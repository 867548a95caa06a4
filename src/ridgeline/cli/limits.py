"""How much of a file is taken in: the options of the commands that read what others wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ridgeline.core import UsageError
from ridgeline.core.units import parse

if TYPE_CHECKING:
    from ridgeline.readers.source import Limits

__all__ = ["limit_options", "limits_of"]

F = TypeVar("F", bound=Callable[..., Any])

_LARGEST = 2**40
#: What `--limit` calls them → fields of `Limits`.
_LIMITS = {"names": "name_characters", "depth": "depth", "events": "events", "packing": "packing"}


def limit_options(command: F) -> F:
    """`--most-bytes` and `--limit`."""
    size = "How much of a file is taken in once unpacked, such as 4GiB. [default: 64GiB, 1GiB where needed whole]"
    other = "Take in more, or less: names=CHARACTERS, depth=LEVELS, events=NUMBER, packing=TIMES; repeatable."
    command = click.option("--limit", "limit", metavar="NAME=NUMBER", multiple=True, help=other)(command)
    return click.option("--most-bytes", metavar="SIZE", help=size)(command)


def limits_of(most_bytes: str | None, limit: Sequence[str]) -> Limits | None:
    """Limits of `--most-bytes`, which is for unpacked files and for those that are needed whole as well, and of `--limit`."""
    if most_bytes is None and not limit:
        return None
    from ridgeline.readers.source import Limits

    size = _LARGEST if most_bytes is None else parse(most_bytes, "B")
    if not 1 <= size <= _LARGEST:
        raise UsageError("a size of at least one byte and at most 1 TiB", found=str(most_bytes), remedy="give something like 4GiB")
    raised: dict[str, int] = {} if most_bytes is None else {"unpacked_bytes": int(size), "whole_bytes": int(size)}
    for text in limit:
        name, _, number = text.partition("=")
        if name not in _LIMITS or not re.fullmatch(r"[1-9][0-9]{0,11}", number):
            raise UsageError(f"--limit NAME=NUMBER, NAME one of {', '.join(_LIMITS)}", found=repr(text), remedy="write something like depth=10000")
        raised[_LIMITS[name]] = int(number)
    return Limits(**raised)
