"""Values of a configuration as texts: in command lines and flags where `{name}` stands, and as macros."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from ridgeline.core import UsageError
from ridgeline.core.space import Value

__all__ = ["as_text", "macros_of", "placed", "placed_words"]

#: `{{name}}` stands for `{name}` itself; other braces are what they are.
_PLACE = re.compile(r"\{\{(?P<kept>\w+)\}\}|\{(?P<name>[A-Za-z_]\w*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def as_text(value: Value) -> str:
    """As C writes it: 1 and 0 for truth, the shortest digits that stand for a number.

    >>> [as_text(value) for value in (True, 8, 0.1, "float4")]
    ['1', '8', '0.1', 'float4']
    """
    return str(int(value)) if isinstance(value, bool) else str(value)


def placed(text: str, values: Mapping[str, Value]) -> str:
    """The text with the values of a configuration in it.

    >>> placed("--tile={tile} {{tile}} {'json': 1}", {"tile": 8})
    "--tile=8 {tile} {'json': 1}"

    Raises:
        UsageError: a name that is neither a constant nor an active parameter.
    """

    def replace(match: re.Match[str]) -> str:
        if match["kept"]:
            return f"{{{match['kept']}}}"
        if match["name"] not in values:
            known = ", ".join(sorted(values)) or "none"
            raise UsageError(f"a name of {known}", found=f"{match[0]} in {text!r}", remedy="name a constant or parameter, or double the braces")
        return as_text(values[match["name"]])

    return _PLACE.sub(replace, text)


def placed_words(words: Iterable[str], values: Mapping[str, Value], absent: Collection[str]) -> list[str]:
    """`placed` of each word; one that names a parameter that is not active is left out.

    >>> placed_words(["--tile={tile}", "--level={level}", "x"], {"tile": 8}, ("level",))
    ['--tile=8', 'x']

    Raises:
        UsageError: as `placed`.
    """
    return [placed(word, values) for word in words if not any(match["name"] in absent for match in _PLACE.finditer(word))]


def macros_of(values: Mapping[str, Value]) -> list[str]:
    """`-Dname=value` for each value, in order of name.

    Raises:
        UsageError: a name that is no name in C.
    """
    for name in values:
        if not _IDENTIFIER.fullmatch(name):
            raise UsageError("names that C allows, for macros", found=repr(name), remedy="rename the parameter: letters, digits, underscores")
    return [f"-D{name}={as_text(value)}" for name, value in sorted(values.items())]
