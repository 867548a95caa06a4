"""The errors of ridgeline: one base, few leaves, each named by what the user can do about it.

Every error carries three plain texts: what was expected, what was found (with file, line or byte offset where there is one),
and the remedy. `str(error)` joins them into the one line that the command line prints; the exit code belongs to the class, so
that only `cli` has to know how a process ends.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "BackendUnavailable",
    "NotComparable",
    "OutOfRange",
    "PluginError",
    "ReadError",
    "RidgelineError",
    "TargetFailed",
    "Unstable",
    "UsageError",
]


class RidgelineError(Exception):
    """Base of every error that ridgeline raises on purpose.

    Args:
        expected: what would have been right, as a noun phrase or sentence.
        found: what was there instead, with its place.
        remedy: what to do, in the imperative.
    """

    exit_code: ClassVar[int] = 70
    # The longest part that is printed: a clear line is one that a person can read to its end.
    _PART = 600

    def __init__(self, expected: str, *, found: str = "", remedy: str = "") -> None:
        self.expected = expected
        self.found = found
        self.remedy = remedy
        super().__init__(expected, found, remedy)

    def __str__(self) -> str:
        parts = [f"expected {_one_line(self.expected, self._PART)}"]
        if self.found:
            parts.append(f"found: {_one_line(self.found, self._PART)}")
        if self.remedy:
            parts.append(f"to do: {_one_line(self.remedy, self._PART)}")
        return "; ".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with three positional arguments; errors must survive the way between processes.
        return (_rebuild, (type(self), self.expected, self.found, self.remedy))


def _rebuild(kind: type[RidgelineError], expected: str, found: str, remedy: str) -> RidgelineError:
    return kind(expected, found=found, remedy=remedy)


def _one_line(text: str, limit: int) -> str:
    """One printable line, whatever a file name or an exception text carried in: breaks, escape sequences, lone surrogates, a megabyte."""
    words = " ".join(text[: 20 * limit].split()).rstrip(".")
    line = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in words)
    if len(line) <= limit and len(text) <= 20 * limit:
        return line
    half = limit // 2
    return f"{line[:half]} … {line[-half:]}"


class UsageError(RidgelineError):
    """The call itself is wrong: an option, a unit, a target that does not exist. Change the call."""

    exit_code = 2


class ReadError(RidgelineError):
    """A file or stored document cannot be read as what it claims to be. Mend or replace the file."""

    exit_code = 2


class TargetFailed(RidgelineError):
    """The thing to be measured raised, exited, crashed or ran out of its time or memory. Mend the target."""

    exit_code = 2


class OutOfRange(RidgelineError):
    """A number lies outside what the formula or model is valid for. Change the input or accept the wider answer."""

    exit_code = 2


class NotComparable(RidgelineError):
    """Two results differ in a key that must be equal. Measure again alike, or declare the change."""

    exit_code = 2


class Unstable(RidgelineError):
    """A measurement did not settle and the caller asked for one that does. Quieten the machine or allow more time."""

    exit_code = 3


class BackendUnavailable(RidgelineError):
    """An optional package or tool is missing. Install the extra that the message names."""

    exit_code = 4


class PluginError(RidgelineError):
    """An entry point does not load or does not keep its contract. Mend or remove the plugin."""

    exit_code = 4
