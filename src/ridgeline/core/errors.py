"""The errors of ridgeline: one base, few leaves, each named by what the user can do about it.

Every error carries three plain texts: what was expected, what was found (with file, line or byte offset where there is one),
and the remedy. `str(error)` joins them into the one line that the command line prints; the exit code belongs to the class, so
that only `cli` has to know how a process ends.
"""

from __future__ import annotations

from typing import ClassVar

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

    def __init__(self, expected: str, *, found: str = "", remedy: str = "") -> None:
        self.expected = expected
        self.found = found
        self.remedy = remedy
        super().__init__(expected, found, remedy)

    def __str__(self) -> str:
        parts = [self.expected.rstrip(".")]
        if self.found:
            parts.append(f"found: {self.found.rstrip('.')}")
        if self.remedy:
            parts.append(f"to do: {self.remedy.rstrip('.')}")
        # One line, whatever a file name or an exception text carried in.
        return " ".join("; ".join(parts).split())


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
